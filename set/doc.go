// Package set is an insert-only set in the memory of all ranks: the visited set of a model
// checker, and the core of deduplication. Its one operation is find-or-put. It reports whether
// something was in the set before, and inserts it if it was not.
//
//	s, err := set.New(ctx, job, set.Config{}) // every rank does so; or set.Local, for one process
//	...
//	r, err := s.FindOrPut(42) // set.Inserted on one rank, set.Found on all others
//
//	results := make([]set.Result, len(words))
//	err = s.FindOrPutBatch(words, results) // many at once, many times faster
//
// Four types have this operation:
//
//   - [Set] holds words of 63 bits.
//   - [Bytes] holds byte strings: of one length, 1 byte to 4 KiB, or of any length to 64 KiB, which
//     takes more memory and time. Each has a reference ([Ref]).
//   - [Typed] holds values of a Go type, in one of these two.
//   - [Pairs] find and insert elements of 16 bytes, one at a time: the nodes of a graph, which
//     name each other by reference.
//
// All are exact: no two elements are ever taken for the same.
//
//	s, err := set.NewBytes(ctx, job, set.BytesConfig{}) // of any length
//	...
//	r, err := s.FindOrPut([]byte("a line"))
//	err = s.FindOrPutBatch(lines, results) // lines is a [][]byte
//
// [Open] and [OpenBytes] open a set by name, which any number of processes of a host share as they
// come and go.
//
// A set needs no size. It grows while all calls go on, up to [Config].MaxBytes; without that,
// words and elements keep the Buckets that are given. Where a set shares memory with others, it
// asks [Config].MayGrow before it takes more. Garbage collection, saving and loading are
// collective: all ranks call them, and nothing else runs at the same time.
//
// Batches may be shipped to the ranks that own the data ([Config].Access, [rma.Access]). Single
// operations and strings that are too long for a request are not.
//
// # Guarantees
//
//   - Of all calls that insert the same element, by any goroutine of any rank, exactly one returns
//     Inserted. Each operation takes effect at one moment between its call and its return.
//   - A set that is full says so: the result is Full, with a [FullError], and nothing stored is
//     lost.
//   - A rank that is killed while it inserts leaves its element either in the set or not.
//     Everything acknowledged stays in the set, and no lock stays locked: there is none.
//   - After an error of the engine (a dead rank whose memory is gone) the element may or may not
//     have been inserted; another call finds out. Nothing that was in the set is answered NotFound
//     or Inserted afterwards: a call that needs memory that is lost returns the error.
//   - A call on a closed set returns an error that wraps rma.ErrClosed.
//
// # Limits
//
// There are at most 2^44 buckets and 2^36 elements. Nothing is deleted, except by Collect.
//
// A search examines 8192 buckets of a table at most, or as many as [Config] says. If no larger
// table fits then, the answer is Full. By default this does not happen before 0.9 of the buckets
// are occupied.
//
// A string takes its bytes, rounded up to 8, and 8 more, and a bucket. MaxBytes is divided as if
// each string took 32 bytes: with shorter or longer ones 0.6 of it or more is used before the
// answer is Full. The rank that removes strings by Collect uses part of their memory again.
//
// # Paper
//
// The set is the table of Oortwijn, van Dijk and van de Pol: A Distributed Hash Table for Shared
// Memory, PPAM 2015 ("OP" in the code). DESIGN.md describes its layout and protocol, how it grows,
// and why it is correct.
package set
