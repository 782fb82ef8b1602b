// Package kv is a lossless map of byte strings over the memory of all ranks, read and written
// by one-sided operations alone (Szepesi, Wong, Cassell, Brecht: Designing A Low-Latency
// Cuckoo Hash Table for Write-Intensive Workloads Using RDMA; "NE" below). Every operation is
// linearizable, and a rank that dies stops nobody.
//
// The protocol is not the paper's, which has histories that are not linearizable:
// docs/nessie.md tells of them, step by step, and proves the one used here; spec has both as
// models.
//
// # Layout
//
// Two windows. The slots of rank r are numbers r*n to (r+1)*n-1 of all; a slot is one word,
// or with [Config].Copies four:
//
//	slot    | word |   or   | word | seal of the copy | pair, 16 bytes |
//
//	word    | 1 | moving | removed | class (4) | fingerprint (10) | use (15) | item (32) |
//	         63   62       61        60     57   56            47   46    32   31       0
//
// Zero is empty. The bit moving is kept for tables that grow. The other window has the items
// of each rank, numbered in units of 8 words over all ranks. An item of class c has 8<<c words:
//
//	item    | mark | seal | size of key (32), of value (32) | key | value |
//
// Keys and values fill whole words, padded with zeros. The seal is a hash of what follows it
// and of the slot's word (without moving and removed). The mark is not sealed: it tells the
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
// seal has changed since, and is read again.
//
// The copy of a small pair is written together with the compare-and-swap. Its seal is over the
// slot's word as well, so that it is believed beside that word only, whoever wins.
//
// # Invariants
//
//   - A slot that is not empty keeps its key.
//   - Between the home of a key and its slot no slot is empty.
//   - No key has two slots, no item two slots that refer to it.
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
//   - Nobody waits for another rank. A call goes round again only when another one has
//     succeeded.
//   - A rank that dies leaves what it has put. A put that it was in the midst of has taken
//     effect or not. Where its memory is gone, so are its slots and items, and calls that need
//     them return the engine's error.
//   - An error of the engine leaves open whether a write was done.
//   - [Map.Range] and [Map.Len] tell of keys that are there all the while; others may be counted.
//
// # Memory
//
// Who swaps an item out of its slot gives it back to its owner: directly where it is its own,
// else by a put of its mark, which nobody waits for. The owner looks for marks when it runs
// dry. An item whose mark got lost with a rank that died is not used again, nor are those that
// the dead rank owned. Items keep their class.
//
// Slots are never given back, so a table needs one for each key that it ever has. Where there
// is none left, or no item, a put of a new key returns a [FullError], and nothing is lost.
package kv
