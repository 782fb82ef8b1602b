// Package baseline has the tables that LP compares (see package lp): linear probing and cuckoo
// hashing, in the memory of all ranks, looked up by one-sided reads. They are for counting and
// timing what LP's policies read, and have what its figures need alone: records of one size, all
// of which every rank is given.
//
//	Fixed, Model, Uncapped   linear probing, by reads of so many slots (LP 3.1, 4.3)
//	Model with Clusters      near the largest clusters that were met, LP's Eq. 10 (3.4, 4.4)
//	Parallel, Sequential     cuckoo hashing, all buckets of a key at once or one by one (4.5)
//
// The high part of a key's hash names a rank, which has a table of its own, and the rest a place
// there:
//
//	rank   | bucket | bucket | ...   | heap |
//	inline | key value | for each slot
//	heap   | signature | for each slot, then the offset of the records, which are together
//
// Linear probing has buckets of one slot. Nothing wraps around: after the homes of a rank come as
// many slots as the last run needs. An empty slot has a key that no record has, or signature 0. A
// key may have several records, and a search for it ends at an empty slot. Records are in the
// order of their homes. Which slots are taken, and so what a search reads, does not depend on it.
package baseline
