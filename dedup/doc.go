// Package dedup finds repeated records: lines of text, fields of them, or byte strings of any
// kind. It is the library of the command farhash dedup, and is usable without files.
//
//	f, err := dedup.New(dedup.Config{})
//	...
//	defer f.Close()
//	seen, err := f.Seen([]byte("a line")) // false the first time, true from then on
//
// [Filter.SeenBatch] takes many records at once and is several times faster. [Filter.Unique] adapts
// an iterator. [Filter.Copy] copies the first occurrences of a stream, in order.
//
// # Memory
//
// By default a filter stores a fingerprint of 126 bits of each distinct record (xxh3-128), in a
// table that grows up to [Config].MemoryBytes. A distinct record takes 16 bytes and a bucket of 8
// bytes at a load factor of up to 0.9; growth needs the old and the new buckets together for a
// while. When a new record has no room the answer is a [FullError], which says how much memory
// would do. Everything answered before is right.
//
// # Exactness
//
// Two different records with the same fingerprint are taken for the same. With d distinct records
// the chance that this happens at all is at most d*d/2^127: 6e-21 for a billion ([Filter.Chance]).
// This holds for records that nobody chose with the hash function in mind: xxh3 is not a
// cryptographic hash. With [Config].Exact the bytes are stored as well and compared, and no record
// is ever taken for another.
//
// # Limits
//
// A filter belongs to one process, and is used by one goroutine at a time.
package dedup
