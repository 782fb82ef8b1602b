// Package cache is a lossy table of keys and values over the memory of all ranks. Simulations keep
// results in it that others may need: a value takes long to compute, and a value that is lost is
// computed again. Keys and values have fixed sizes.
//
//	c, err := cache.New(ctx, job, cache.Config{KeySize: 80, ValueSize: 104, Buckets: 1 << 20})
//	...
//	found, err := c.Get(key, value) // from any rank
//	if !found {
//		compute(key, value)
//		_, err = c.Put(key, value)
//	}
//
// [Local] makes a cache for one process. [Typed] is for keys and values of Go types, and [Memoize]
// keeps the results of a function:
//
//	c, err := cache.NewTyped[Input, Result](ctx, job, cache.Config{Buckets: 1 << 20})
//	...
//	simulate := cache.Memoize(c, simulateSlowly)
//	result, err := simulate(input)
//
// [Open] opens a cache by name, which any number of processes of a host share as they come and go.
//
// With [Config].TTL a pair is found for that time after it was put or updated. [Cache.PutTTL] and
// [Cache.PutBatchTTL] give pairs another TTL, or [Forever]. A put takes a pair that has expired
// before it evicts another one, and its result is Inserted, also if that has its own key. Len,
// Used and All leave expired pairs out. The time is that of the system: if hosts differ, pairs
// expire earlier or later by the difference.
//
// [Rounding] makes keys of values rounded to significant digits (MD 5.4), so that inputs which are
// nearly alike share a result. A time step belongs into the key as any other value.
//
// A pair stays in its bucket until it expires, is evicted, deleted or cleared. So a key may be
// remembered by its place, which is shorter: [Cache.PutLocated] and [Cache.Locate] name it, and
// [Cache.GetAt] reads the key and value that are there by then.
//
// Batches may be shipped to the ranks that own the data ([Config].Access, [rma.Access]); single
// calls are not. The rank that does an operation counts it in its [Stats], also as Served.
//
// # Guarantees
//
//   - A value that is found was put as a whole under that very key. A mixture of several puts is
//     taken for a whole with a chance of 2^-64, in every mode: a put of a rank that has died may
//     arrive when its lock has been broken.
//   - It is not old: no put or Delete of the key that began after that put had returned had itself
//     returned before the get began. (Values follow the rules of a regular register that may
//     forget. When puts of a key overlap, gets may find first the one and then the other.)
//   - A rank that is alone gets what it has put last, or nothing if that was evicted.
//   - In [LockFree], puts that overlap may choose the same bucket, and one of them, or both,
//     vanish; a reader may mark a bucket invalid whose writer is slow. In [Fine] and [Coarse] a
//     pair vanishes only when it is evicted, deleted, or when a rank dies or a link is cut.
//   - In LockFree nobody waits for others. In Fine and Coarse readers and writers wait while
//     another holds the lock and is alive. No operation waits for a dead rank.
//   - An error of the engine (memory of a rank that is lost) leaves open whether a put or Delete
//     has taken effect. Other operations of the batch are done.
//
// # Limits
//
// A key and its value have 128 KiB together at most, and a cache 2^40 buckets. A put whose
// candidates are all taken evicts a pair. When the distinct keys put are t times as many as the
// buckets, this share of them is still there:
//
//	t                          .5     .75    .9     1.0    1.5
//	3 groups of 4            .9996  .9887  .9587  .9216  .6658
//	2 groups of 8            .9997  .9897  .9600  .9229  .6660
//	6 groups of 1, and MD    .9978  .9765  .9385  .9000  .6624     dx/dt = 1 - x^6
//
// # Paper
//
// Lübke, De Lucia, Petri, Schnor: MPI-DHT as Surrogate Model, the extended version of their ICCS
// 2025 paper ("MD" in the code). DESIGN.md describes layout, protocol and locks, what each mode
// costs, and where the cache differs from the paper.
package cache
