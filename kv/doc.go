// Package kv is a lossless map of byte strings over the memory of all ranks, read and written by
// one-sided operations alone. Every operation is linearizable, and a rank that dies stops nobody.
//
//	m, err := kv.New(ctx, job, kv.Config{})
//	...
//	v, err := m.Put(key, []byte("1"))
//	value, v, found, err := m.Get(key, nil)
//	v, done, err := m.CompareAndPut(key, []byte("2"), v)
//	sum, v, err := m.Add(counter, 1)
//	err = m.Batch([]kv.Call{{Kind: kv.Get, Key: key}, {Kind: kv.Delete, Key: other}})
//
// [Open] opens a map by name, which any number of processes of a host share as they come and go.
//
// [Typed] is the same for keys and values of Go types, with [Typed.Compute] for changes that are
// atomic:
//
//	visits, err := kv.NewTyped[string, int](ctx, job, kv.Config{})
//	...
//	n, _, err := visits.Compute("page", func(n int, _ bool) (int, bool) { return n + 1, true })
//
// # Guarantees
//
//   - Each call takes effect at one moment between its call and its return: the
//     compare-and-swap that succeeded, or the read of the slot that decided.
//   - Nobody waits for another rank, but for one case: a table moves only to memory in which no
//     living process is moving slots. There is room for four tables, or for two in a map of more
//     than 8,192 slots that takes its memory at once ([rma.Reserves]). So it takes two processes
//     that have stopped in two moves, or one, and new keys that need a third move: those wait until
//     one of the processes goes on or has ended. A call repeats a step only when another call has
//     succeeded.
//   - A rank that dies leaves what it has put. A put in progress has taken effect or not: there
//     is no invalid item, and no key is hidden at any time. A slot that the rank has frozen is
//     read as before, and the next write of its key moves it. If the memory of the rank is
//     lost, its slots and items are lost too, and calls that need them return the engine's
//     error.
//   - After an error of the engine a write may or may not have been done.
//   - A [Version] identifies a put. It comes again after 32,768 uses of the same item, of which
//     at least 64 are used in rotation while there is room.
//   - [Map.All] and [Map.Len] include the keys that are there all the while; others may be
//     included.
//   - Where no slot is left, or no item, and too few are of removed keys for the table to move, a
//     put of a new key returns a [FullError], and nothing is lost. Keys that are there still take
//     other values, in maps of at least 64 KiB for each rank.
//
// A torn read returns a wrong value with a probability of 2^-64, or 2^-54 for copies. A direct read
// compares slot and seal with what they were before. Like a compare-and-swap it needs that the item
// is not used 32,768 times during the call. However long a call is stopped, tables that move
// meanwhile lose nothing. Over a network, calls that find no key read the state of the map once
// more, one for all of a batch, if their gets of slots took more than three times as long as the
// fastest one: else the table cannot have moved twice meanwhile, if all hosts are about as far from
// each other.
//
// # Counters
//
// [Map.Add] adds to a counter, as one call that takes effect at one moment, and returns the sum. A
// counter is a value of 8 bytes, a little-endian int64. A key that is not there counts as 0. Sums
// wrap around: so they do not depend on the order of the calls, and are exact for uint64 as well. A
// value of another length is not changed, and the error of the call is a [CounterError]. All other
// calls take counters as the values that they are, and each Add gives a new version. Adds of one
// batch to one key are made one after the other, so it takes less time to add up first.
//
// As for a put, after an error of the engine an Add may or may not have been done. Adding again may
// count twice. Where that matters, get the counter first and use CompareAndPut.
//
// # Sizes
//
// A map needs no sizes. A key takes a slot, of 8 bytes, or 32 with [Config].Copies. A key and its
// value take an item, in the memory of the rank that puts them. Both grow while all calls continue,
// up to [Config].MaxBytes, by default a share of the memory that the hosts have left. MaxBytes is
// divided when the map is made, as NewWindow is collective:
//
//	slots   a quarter, or 4/7 with Copies: the present table and the next one, which is up to
//	        twice as large
//	items   the rest, which is three items of 64 bytes for four slots; each rank has its share
//
// These are addresses. A rank takes memory for items in steps of 2 MiB, and whoever has the table
// move takes the memory of the next one before. No memory is given back before Close. Where the
// engine cannot reserve addresses ([rma.Reserves]) all of MaxBytes is taken at once. Where there is
// no memory left, a put returns a [FullError] that says so, and later puts try again. An item takes
// 4 bytes more for each 64 in the process of its rank, which MaxBytes does not include.
//
// Slots, MaxSlots and Bytes set the sizes one by one. With Slots and Bytes, and no MaxBytes, memory
// for MaxSlots and Bytes is set aside when the map is made: rma/local and rma/sim take it when it
// is used, rma/shm at once. [Map.Used] counts slots of removed keys too until the table moves:
// compare [Map.Len] with MaxSlots.
//
// Keys and values may have [MaxSize] bytes by default. Buffers for items are as long as the longest
// item that was used.
//
// # Batches
//
// Batches may be shipped: with [Config].Access at [ship.Shipped], or at [ship.Auto] where that
// takes less time. Calls go to the rank that has the home of their key, many in a message. That
// rank makes them by the code of this package (batch.go). A shipped put then has its item there
// too, beside the slot, and later shipped gets find both in directly addressable memory. Where an
// item is in another rank the owner gets it one-sided. Single calls are not shipped.
//
//   - An answer has room for values as long as in the batches before, on the average. A
//     Get whose value does not fit is handed back, and is made one-sided. So are calls for which
//     the owner has no item, or no slot in a table that cannot grow, and Gets that it cannot make.
//   - The owner declines a call for which the table has to move, and the calls after it in the
//     request, because it answers nobody else meanwhile. It also declines calls when nearly all of
//     its slots are taken and the table can grow. The rank that has shipped the calls has the table
//     move, and ships them again.
//   - The home is that in the latest table which the requesting rank knows. While the table
//     moves another rank may have it; then the owner continues one-sided.
//   - A call counts in the [Stats] of the rank that has made it, and there as Served as well; one
//     that is handed back counts in both.
//   - If a write fails because a rank is lost, its error is that [rma.RankError]. Other errors
//     of an owner arrive as text. After both the write may or may not have been done.
//
// # Files
//
// [Map.Save] writes keys and values to an archive (checksummed blocks, written by all ranks), and
// [Map.Load] puts them into a map with any number of ranks, slots and bytes. So a map survives the
// end of its job. Versions begin anew.
//
// # Layout
//
// Two windows. The slots of rank r are numbers r*n to (r+1)*n-1 of all; a slot is one word, or with
// [Config].Copies four:
//
//	slot    | word |   or   | word | seal of the copy | pair, 16 bytes |
//
// A word has the number of an item, its use and class, and the fingerprint of the key (layout.go).
// Zero is empty. The other window has the items of each rank, numbered in units of 8 words over all
// ranks. An item of class c has 8<<c words:
//
//	item    | mark | seal | size of key (32), of value (32) | key | value |
//
// Keys and values fill whole words, padded with zeros. The seal is a hash of what follows it and of
// the slot's word (without frozen and removed). The mark is not sealed: it reports to the owner
// that a use of the item has ended.
//
// # Protocol
//
// A key belongs to the first slot, from its home on, around the end, that was empty when it was
// first put; homes are at cache lines. It keeps the slot for good. A call takes these steps:
//
//	write    a put writes an item of its own rank that no slot refers to. An Add writes one for a
//	         key that is not there
//	search   slots from the home of the key on: an empty one ends the search, and so does one
//	         with the fingerprint of the key whose item has the key
//	compare  the key with the key of an item, unless the slot has its copy. When the seal of the
//	         item does not fit the slot's word, the slot has changed since, and is read again
//	decide   what the call makes of its key: Call.decide. If the sum of an Add is not the one in
//	         its item, it writes the item again
//	swap     the word of the slot for one that refers to the new item, by compare-and-swap. A
//	         delete sets the bit removed and keeps the item, which still holds the key. A call
//	         that loses examines the word that won; an Add with another sum then takes another
//	         item, as a copy of the first sum may be in the slot
//	copy     of a small pair, with the swap. Its seal covers the slot's word as well, so that
//	         it is valid beside that word only, whichever write wins
//	release  the item that the slot had: it is given back to its owner
//
// Slots come in chunks, one get each. A second chunk is requested when the first one has neither
// key nor empty slot. So a call needs, where memory is reached through a queue (machine.go),
//
//	Get      search; compare, unless the copy does    1 or 2 round trips
//	Put      write and search; compare, if the key
//	         is there; swap and copy                  2 or 3
//	Add      as Put; write again, if the key is there 2 to 4
//	Delete   search; compare; swap                    1 to 3
//
// Writes of one batch to the same key are made one after the other (internal/core). Otherwise all
// but one would lose each time.
//
// Where slots and items are directly addressable, as on the ranks of one host, the same steps work
// on them directly (direct.go). The rest is left to the machine. Both decide by the same functions
// (protocol.go). TestLab runs both forms, as ranks of a simulated cluster address their own memory.
// There a search takes the slots of a line at once: it reads all of them, and again the first one
// that may end it. What the second read finds decides, and the slots before were read before. A put
// writes its item before it compares keys, while it waits for the other item, and gives it back if
// the machine has to make the call.
//
// # Growth
//
// The table moves to another one, while all calls continue, when a new key finds no empty slot, or
// finds it far from home and at least 7 of 8 slots of a sample are taken. The next table is twice
// as large, until [Config].MaxSlots is reached. It is as large as this one if more than half of the
// slots examined are of removed keys, or at least one of 8 when the table cannot grow. The slots of
// removed keys become free. So a map of any size takes new keys without end while others are
// removed, if at most 7 of 8 slots have a key.
//
// Tables have generations, 1 and on. The window of slots has areas of MaxSlots, of which a map uses
// two in turn. A third window has the state of the map in its first word: which generation, which
// size, in which area, and whether it is moving. The slots move one by one, and any rank may move
// any of them. While it does, it holds both areas, by a count in its word of the third window, and
// no table begins in an area that somebody alive holds (areas.go):
//
//	empty      swapped for a word that says from which generation it has moved
//	occupied   frozen: swapped for the same word with the bit set and the generation in
//	           place of the fingerprint; then
//	removed    swapped for moved; its item is free
//	present    find-or-put of the frozen word into the next table; then the old slot is
//	           swapped for moved; then the word in the next table is thawed
//
// Where batches are shipped, a rank that has the table move asks the others, by requests, to move
// the slots that are in their memory, and waits for the answers as for those of its calls
// (asked.go).
//
// A later generation uses the same memory. In it, moved words of earlier generations are empty. A
// search that finds a moved slot and not its key follows it to the next table. A write
// that then finds an empty slot first swaps this slot for moved. A write that finds its key frozen
// first has that part of the table, up to 64 slots, moved. One that finds its key where it has
// arrived, and not thawed yet, thaws it, and holds the area for that. Other writes that find moved
// slots help to move as many.
//
// A put of a key that is not in the next table first has all of the old one moved, so that there is
// room for all slots that move. That may take long, but waits for nobody, and the ranks that do so
// divide the work. Gets, deletes, and puts of keys that are present take at most a few round trips
// more. What several calls of a batch need is done once for all. Slots move side by side, each by
// four round trips, one after the other. Where messages take milliseconds, up to 32 times as many
// slots are in flight as calls of a batch ([Config].Depth), with some 12 MiB of buffers until they
// have moved. So a batch that has 8,192 slots move takes as long as a few others. Where an engine
// carries no requests, nothing is known of its messages, and as many are in flight.
//
// When all has moved, each rank learns of it by one more round trip, in parallel with others,
// at its next call.
//
// # Invariants
//
//   - A slot that is not empty keeps its key, until it has moved.
//   - Between the home of a key and its slot no slot is empty.
//   - No key has two slots in a table, no item two slots that refer to it. Where a key has a slot
//     in two tables, the older one is frozen, and both refer to the same item.
//   - While a table does not move, the other areas have no keys.
//   - Whoever freezes, empties or thaws a slot holds its area, and has read since then that the
//     table is there.
//   - A table has memory before it is moved to, an item before it is handed out.
//   - An item that a slot refers to does not change.
//
// Check verifies them.
//
// # Items
//
// The call that swaps an item out of its slot gives it back to its owner: directly where it is the
// owner, else by a put of the item's mark, which nobody waits for. The owner reads the marks when
// it has no free item, and before it takes more memory if many of a sample are marked. When it
// finds none it walks the slots for items whose mark was lost with a rank that died. If it finds
// none either, and one of 8 slots is of a removed key, the table moves, to free their items. After
// a walk without success the owner does not walk again until a rank dies, until it has handed out
// an eighth of its items or deleted keys for a 64th, or until it has refused 64 puts, as other
// ranks delete keys too.
//
// Free items in the memory of a rank that died, and items that become free there, are not used
// again. Nor is an item whose put has failed with an error of the engine, as that may still write
// it. Items keep their class.
//
// A key that is there needs another item for another value. So each process keeps up to 64 items of
// a class in reserve, one of 1,024 units (of 16,384 in a map by name), which new keys do not get.
//
// # By name
//
// All processes that have opened a map by name are its one rank (rma.Shared). So what a rank keeps
// in its process is in windows: the states of items, and how many units are divided and have
// memory. Lists of free items stay in processes, and are only hints: who swaps the state of a free
// item has it. Where a process finds no free item it looks for some among the states, before it
// takes memory if many of a sample are free. The state of a held item names the process. When that
// has ended, and others need the item, they note it as published, and a sweep finds out whether a
// slot refers to it.
//
// # Paper
//
// Szepesi, Wong, Cassell, Brecht: Designing A Low-Latency Cuckoo Hash Table for Write-Intensive
// Workloads Using RDMA. The protocol is not the paper's, which has histories that are not
// linearizable. eval/docs/nessie.md shows these histories step by step, and proves the protocol of
// this package. spec has both as models. The paper's protocol is package eval/ne/nessie of the
// module that measures the papers.
package kv
