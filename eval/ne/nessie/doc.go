// Package nessie is the protocol of the paper that package kv comes from (Szepesi, Wong,
// Cassell, Brecht: Designing A Low-Latency Cuckoo Hash Table for Write-Intensive Workloads
// Using RDMA; "NE"), section 3. It is there to be measured beside the protocol of kv. It is not
// linearizable: see below.
//
// # Layout
//
// Two windows, the index and the items. A slot of the index is a word that changes by
// compare-and-swap only:
//
//	slot    | 1 | use (31) | item (32) |
//
// 0 is an empty slot that has never been used. A slot that was cleared keeps its word without
// the first bit: use and item are then its version. Each key has a primary slot p and a
// secondary slot s. The items of a rank are its own; only it writes them:
//
//	item    | mark | flag | seal | size of key (32), of value (32) | key and value |
//
// The seal is a hash of what follows it and of the slot's word. The flag is the seal where the
// item is valid, and else 0. The mark is what another rank leaves that has taken the item
// out of the table: the use that has ended.
//
// # Protocol
//
//	Read     p, its item; s, its item; where neither has the key, both slots again
//	Write    item, flag off; p := item if p is empty or has the key; s cleared if it has the
//	         key too; or s := item if p has another key; check of the other slot; flag on
//	Delete   s cleared if it has the key, then p; check of s
//	Migrate  copy of the item, flag off; destination := copy; source cleared; flag on
//
// Each is a step machine for one attempt: NE's functions, cut where they wait. What does not come
// out as expected ends the attempt. The next one begins after a pause, of random length, that
// may be twice as long each time. After [Config].Attempts of them there is a [BusyError].
//
// A write that finds other keys in both slots has the key in p moved to its other slot, or
// else the one in s. Where both of these are taken NE calls the server, which moves a chain
// of keys or makes the table larger. Here the client moves the chain by itself, from its
// end, one migration at a time, which NE 4 speaks of. Nobody makes the table larger: where no chain
// ends in an empty slot the write returns a [FullError]. With one slot at each of two places
// that is so from load 0.5 on.
//
// # Where NE may be read in several ways
//
// This is the kindest reading of docs/nessie.md:
//
//   - A write or migration that fails takes its first swap back.
//   - A read that finds nothing checks that both slots are what they were.
//   - Empty slots have versions. A swap of an empty slot is tried against 0, as in Algorithms 1
//     and 2, and where the slot has been used before, once more against what it has: one
//     round trip more than in NE.
//   - A migration leaves alone an item that is not valid.
//   - Delete expects of s in the end what it has seen there, not 0.
//
// With [Config].Literal the first four are as NE has them to the letter, with faults 1, 2, 5, 6
// and 7: scripts in the tests show four of them.
//
// And three things on which NE says nothing. The hash covers the use of the item, and the flag is
// the hash: a get may be torn between any two words, and so could bring a new item with an old
// flag. The slots p and s of a key are never the same. The check at the end of a write makes up
// for the order of the first accesses, on which NE leans and which rma does not give where p and
// s are at different ranks.
//
// # What it promises
//
// Where each key has one writer, whose items anybody may migrate, and nobody relies on what
// Delete reports, the lab finds every history linearizable, ranks that die included. Nothing else
// is promised, and the lab finds histories that are not. docs/nessie.md has them in detail;
// of its faults these are in this package, the first two as scripts in its tests:
//
//   - A delete may take effect twice: it clears s, and then p, where another client has since
//     written the key. That write, acknowledged, is lost (3).
//   - A write that has lost may clear s of a newer value that has moved there (4).
//   - A client that dies, or whose engine fails, in the midst of a write hides its key: reads of
//     it end with a BusyError, until a client writes or deletes it. NE has the server clean up. No
//     rule for that is right (8), and there is none here.
//   - Delete reports whether it took out an item of the key. That may be a copy that was about
//     to be taken back, or a value that was never acknowledged; NE has it report nothing.
//
// The others (1, 2, 5, 6, 7) are not in the kindest reading.
//
// # Transactions
//
// With [Config].Transactions the protocol is the one of NE 5.1, which asks network cards to compare
// several words of one rank and to write them at one moment. Both slots of a key are at one rank
// and change together; transact.go says what is left of the rest. In the lab this one is
// linearizable, whoever writes what and whoever dies, and Delete reports what it should.
//
// No card and no engine has such transactions. This package emulates them, where the ranks are
// goroutines of one process (rma/local and rma/sim), in memory that the ranks share. A
// compare-and-swap that changes nothing goes to the rank of the slots in place of a transaction:
// the round trip, and the errors of lost ranks and links, are the ones of that operation. The words
// change when the transaction is posted or when its answer is taken, one or the other at random,
// and not at the moment of the operation at its target. So a rank that dies in between has
// changed all words or none, as with a card, but changes none after its death. The engine counts
// the bytes of one compare-and-swap, whatever the number of words: the round trips of transactions
// are meaningful, their bytes and simulated times are not.
//
// # Round trips
//
// A write of a new key takes 3 round trips where both its slots are empty, 4 or 5 where one is,
// and 12 or 15 where a key has to move; of a key that is there 5; a read 2 in the primary slot, 3
// or 4 in the secondary. TestTable1 compares that with NE Table 1. With transactions a new key
// takes 1, or 3 or 4 where a slot is taken, a key that is there 3, and a read 2.
package nessie
