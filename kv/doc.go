// Package kv is a lossless map of byte strings over the memory of all ranks, read and written
// by one-sided operations alone (Szepesi, Wong, Cassell, Brecht: Designing A Low-Latency
// Cuckoo Hash Table for Write-Intensive Workloads Using RDMA; "NE" below). Every operation is
// linearizable, and a rank that dies stops nobody.
//
// The protocol is not the paper's, which has histories that are not linearizable:
// docs/nessie.md has them, step by step, and proves the one used here; spec has both as models. The
// paper's is package eval/ne/nessie of the module that measures the papers.
//
// # Layout
//
// Two windows. The slots of rank r are numbers r*n to (r+1)*n-1 of all; a slot is one word,
// or with [Config].Copies four:
//
//	slot    | word |   or   | word | seal of the copy | pair, 16 bytes |
//
//	word    | 1 | frozen | removed | class (4) | fingerprint (10) | use (15) | item (32) |
//	         63   62       61        60     57   56            47   46    32   31       0
//
// Zero is empty. The other window has the items of each rank, numbered in units of 8 words
// over all ranks. An item of class c has 8<<c words:
//
//	item    | mark | seal | size of key (32), of value (32) | key | value |
//
// Keys and values fill whole words, padded with zeros. The seal is a hash of what follows it
// and of the slot's word (without frozen and removed). The mark is not sealed: it tells the
// owner that a use of the item has ended.
//
// # Protocol
//
// A key belongs to the first slot, from its home on, around the end, that was empty when it was
// first put; homes are at cache lines. It keeps the slot for good. Slots come in chunks, one get
// each; a second chunk is asked for when the first one has neither key nor empty slot.
//
//	Get      chunk; item, unless the copy does        1 or 2 round trips
//	Put      item and chunk; item of the key, if it
//	         has one; compare-and-swap and copy       2 or 3
//	Delete   chunk; item; compare-and-swap            1 to 3
//
// A put writes an item of its own rank that no slot refers to, then swaps the slot's word to
// refer to it. A delete sets the bit removed and leaves the item, which says whose the slot is.
// Who loses a compare-and-swap looks at the word that won. A slot whose item does not fit its
// seal has changed since, and is read again. Writes of one batch to the same key take turns
// (internal/turns), or each time all but one would lose.
//
// The copy of a small pair is written together with the compare-and-swap. Its seal is over the
// slot's word as well, so that it is believed beside that word only, whoever wins.
//
// Where a rank sees the memory of a slot and of the item, those of its host, a get is a look at
// them (direct.go): the same slots and the same item, verified by the same seal. What tells of a
// table that moves is left to the machine. Those of a batch ask the memory for what they need
// before they need it.
//
// # Access
//
// Batches may travel: with [Config].Access at [ship.Shipped], or at [ship.Auto] where that takes
// less time, calls go to the rank that has the home of their key, many in a message, and that
// rank makes them, by the code of this package (ship.go, desk.go). A put then has its item there
// too, beside the slot, and later gets that travel find both by a look at memory. Where an item
// is elsewhere the owner gets it one-sided. Single calls do not travel.
//
//   - An answer has room for values as long as those of the batches before, on the average. A
//     Get whose value does not fit comes back, and is made one-sided; so are calls for which
//     the owner has no slot or no item, and Gets that it cannot make.
//   - The home is that in the latest table which the rank that asks has seen. While tables
//     move another rank may have it; then the owner goes there.
//   - A call counts in the [Stats] of the rank that has made it, and there as Served as well; one
//     that comes back counts in both.
//   - The error of a write that has met a lost rank is that [rma.RankError]; other errors of an
//     owner are told in words. Both leave open whether the write was done.
//
// # Growth
//
// With [Config].MaxSlotsPerRank the table moves to another one, while all go on, when a new key
// finds no empty slot, or finds it far from home and 7 of 8 slots that it then looks at are
// taken. The next table is twice as large, until the most is reached; it is as large as this one
// if more than half of those slots are of removed keys, or at least one of 8 when there can be
// no more. What is removed is given back.
//
// Tables have generations, 1 and on. The window of slots has two parts of MaxSlotsPerRank, used
// in turn; a third window has the state of the map in its first word: which generation, which
// size, and whether it is moving. The slots move one by one, and anyone may move any of them:
//
//	empty      swapped for a word that says from which generation it has moved
//	occupied   frozen: swapped for the same word with the bit set and the generation in
//	           place of the fingerprint; then, if the state says that it is still moving,
//	removed    swapped for moved; its item is free
//	there      find-or-put of the frozen word into the next table; then the old slot is
//	           swapped for moved; then the word there is thawed
//
// For the next generation but one, which has the same place, moved words of earlier ones are
// empty. A search that meets a moved slot and not its key goes on in the next table; one that
// means to write and meets an empty slot first swaps that for moved. A write that finds its key
// frozen has that part of the table, up to 64 slots, moved first; other writes that meet moved
// slots help with as much. A put of a key that is not in the next table has all of the old one
// moved first, so that there is room for all that comes: it may take long, waits for nobody, and
// the ranks that do so divide the work. Gets, deletes, and puts of keys that are there take at
// most a few round trips more. When all has moved, each rank learns of it by one more, in
// parallel with others, at its next call.
//
// Memory is reserved when the map is made, as NewWindow is collective: 2 times MaxSlotsPerRank
// slots on each rank. rma/local and rma/sim take it when it is used, rma/shm at once.
//
// # Invariants
//
//   - A slot that is not empty keeps its key, until it has moved.
//   - Between the home of a key and its slot no slot is empty.
//   - No key has two slots in a table, no item two slots that refer to it; where a key has one
//     in two tables, the older one is frozen, and both refer to the same item.
//   - While a table does not move, the place of the next one has no keys.
//   - An item that a slot refers to does not change.
//
// Check verifies them.
//
// # Guarantees
//
//   - Each call takes effect at one moment between its call and its return: the
//     compare-and-swap that succeeded, or the read of the slot that decided.
//   - A [Version] names a put. It comes again after 32,768 uses of the same item, of which at
//     least 64 take turns while there is room.
//   - Another value than the one put is told with a chance of 2^-64, or 2^-54 for copies, in
//     each read that is torn.
//   - Where tables move, that a key is not there is told rightly by gets that take no longer
//     than it takes to move all slots twice.
//   - Nobody waits for another rank. A call goes round again only when another one has
//     succeeded.
//   - A rank that dies leaves what it has put. A put that it was in the midst of has taken
//     effect or not: there is no invalid item, and no key is hidden, not even for a moment. A
//     slot that it has frozen is read as before, and moved by who wants to write it. Where its
//     memory is gone, so are its slots and items, and calls that need
//     them return the engine's error.
//   - An error of the engine leaves open whether a write was done.
//   - [Map.Range] and [Map.Len] tell of keys that are there all the while; others may be counted.
//
// # Memory
//
// Who swaps an item out of its slot gives it back to its owner: directly where it is its own,
// else by a put of its mark, which nobody waits for. The owner looks for marks when it runs
// dry. When it finds none it walks the slots for items whose mark was lost, with a rank that
// died; [Map.Sweep] does so at any time. If there is nothing either, and one of 8 slots is of a
// removed key, the table moves, for the sake of their items. After a walk in vain it waits until
// a rank dies, or an eighth of its items has been handed out.
//
// What is free in the memory of a rank that died, or comes free there, is not used again; nor is
// an item whose put has failed with an error of the engine, as that may still write it. Items
// keep their class.
//
// A table that does not move needs a slot for each key that it ever has. Where there is none
// left, or no item, a put of a new key returns a [FullError], and nothing is lost.
package kv
