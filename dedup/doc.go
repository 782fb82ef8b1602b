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
// By default a filter stores a fingerprint of 126 bits of each distinct record (xxh3-128): two
// words of 63 bits in a set of words. The set grows while it is in use, up to
// [Config].MemoryBytes. A distinct record takes 16 bytes at a load factor of 0.4 to 0.8, which is
// 20 to 40 bytes, and half as much again while the set moves to a larger table. Where memory is
// full it is 27 bytes. With a guess of how many records there are ([Config].Records) one table is
// just large enough for them. When a new record has no room the answer is a [FullError], which
// says how much memory would do. Everything answered before is right.
//
// # Exactness
//
// A record is taken for another one if each of its two words is among the words of other records.
// With d distinct records the chance that this happens at all is at most d*d*d/(3*2^124): 2e-11 for
// a billion ([Filter.Chance]). This holds for records that nobody chose with the hash function in
// mind: xxh3 is not a cryptographic hash. With [Config].Exact the records themselves are the
// elements of a set of strings, which compares them, and no record is ever taken for another. A
// record takes its bytes, rounded up to 8, and 18 to 35 bytes. One of 64 KiB or more is a chain of
// strings.
//
// # Several ranks
//
// The ranks of a job share what was seen in a filter of [NewShared]. A fingerprint is an element of
// 16 bytes of a set over the memory of all ranks: of ranks that see equal records at the same time
// exactly one is told that its record is new. A distinct record takes 26 to 36 bytes, and the
// chance that any is taken for another one is at most d*d/2^127. Exact filters share a set of
// strings.
//
// # Limits
//
// A filter is used by one goroutine at a time.
package dedup
