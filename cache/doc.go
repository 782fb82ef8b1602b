// Package cache is a lossy table of keys and values over the memory of all ranks. Simulations
// keep results in it that others may need: a value takes long to compute, and a value that is
// lost is computed again. Keys and values have fixed sizes.
//
//	c, err := cache.New(ctx, job, cache.Config{KeySize: 80, ValueSize: 104, Buckets: 1 << 20})
//	...
//	found, err := c.Get(key, value) // from any rank
//	if !found {
//		compute(key, value)
//		_, err = c.Put(key, value)
//	}
//
// [Typed] is the same for keys and values of Go types, and [Memoize] keeps the results of a
// function:
//
//	c, err := cache.NewTyped[Input, Result](ctx, job, cache.Config{Buckets: 1 << 20})
//	...
//	simulate := cache.Memoize(c, simulateSlowly)
//	result, err := simulate(input)
//
// What was put may vanish at any time: it is evicted when its candidates are taken, and a
// bucket that is found broken is marked invalid. With a [Config].TTL it vanishes when it is older.
// What is found is right.
//
// [Open] opens a cache by name, which any number of processes of a host share as they come and go.
//
// # Guarantees
//
//   - A value that is found was put as a whole under that very key. A mixture of several puts
//     is taken for a whole with a chance of 2^-64, in every mode: a put of a rank that has died
//     may arrive when its lock has been broken.
//   - It is not old: no put or Delete of the key that began after that put had returned had
//     itself returned before the get began. (Values follow the rules of a regular register that
//     may forget. When puts of a key overlap, gets may find first the one and then the other.)
//   - A rank that is alone gets what it has put last, or nothing if that was evicted.
//   - In [LockFree], puts that overlap may choose the same bucket, and one of them, or both,
//     vanish; a reader may mark a bucket invalid whose writer is slow. In [Fine] and [Coarse] a
//     pair vanishes only when it is evicted, deleted, or when a rank dies or a link is cut.
//   - Neither readers nor writers wait for others in LockFree. In Fine and Coarse they wait
//     while another holds the lock and is alive. No operation waits for a dead rank.
//   - An error of the engine (memory of a rank that is lost) leaves open what a put or Delete
//     has done. Other operations of the batch are done, whether they are shipped or not.
//
// # What a mode costs
//
// Over memory a lock is two atomic operations, some ten nanoseconds where no other operation has
// it, and modes differ by less than a put takes. Over a network each of these is a round
// trip, and operations wait for locks under contention. On a simulated cluster of 4 hosts, with
// batches of puts drawn from Zipf(0.99), all ranks together need 24 ns a put in LockFree,
// 200 in Fine and 1700 in Coarse (BenchmarkOnCluster).
//
// # How full a cache may be
//
// When the keys put are t times as many as the buckets, this share of them is still there, with
// the groups of [Groups], the default, and with single buckets:
//
//	t                          .5     .75    .9     1.0    1.5
//	3 groups of 4            .9996  .9887  .9587  .9216  .6658
//	2 groups of 8            .9997  .9897  .9600  .9229  .6660
//	6 groups of 1, and MD    .9978  .9765  .9385  .9000  .6624     dx/dt = 1 - x^6
//
// # Time to live
//
// With [Config].TTL a pair is found for so long after it was put. [Cache.PutTTL] and
// [Cache.PutBatchTTL] give pairs another TTL, or [Forever]; with Forever as the TTL of the cache
// only these expire. Put and Update of a key that is there begin its TTL anew. A put takes a pair
// that has expired before it evicts another one, and its result is Inserted, also where that is its
// own key. Nothing shows expired pairs: neither Len, Used nor All. [Stats] counts reads that found
// their key expired.
//
// The time is the one of the system, which hosts and saved files share: where clocks differ, or are
// set, pairs expire so much earlier or later. Each single call reads it, which takes some 40 to 80
// ns (BenchmarkGetTTL), and each batch once, when it begins. A bucket has 8 bytes more.
//
// # Keys of floating-point values
//
// [Rounding] makes keys of values rounded to significant digits (MD 5.4), so that inputs which
// are nearly alike share a result. A time step belongs into the key as any other value.
//
// # Places
//
// A pair stays in the bucket that a put has chosen until it expires, is evicted, deleted or
// cleared, so a key may be remembered by its place, which is shorter: [Cache.PutLocated] and
// [Cache.Locate] name it, [Cache.GetAt] reads what is there by then, key and value.
//
// # Access
//
// Batches may be shipped, with [Config].Access at [ship.Shipped], or at [ship.Auto] where that
// takes less time. All candidates of a key are in the memory of one rank. That rank gets some
// thousand operations in a message and does them by loops over its memory, while this rank does
// the rest of the batch. In Fine and Coarse a lock then takes some nanoseconds
// instead of two round trips. Single calls are not shipped.
//
// An operation counts in the [Stats] of the rank that has done it, and there among the operations
// Served as well; the sums over all ranks are right for the calls.
//
// # Layout
//
// The rest of this page is for readers of the code. The cache follows Lübke, De Lucia, Petri and
// Schnor: MPI-DHT as Surrogate Model, the extended version of their ICCS 2025 paper ("MD").
// Each rank has groups of buckets (80-byte keys and 104-byte values as in MD 5.2: groups of
// 4, buckets of 24 words):
//
//	rank r      | group 0 | group 1 | ... | lock |              Coarse alone has that lock
//	group       | lock | bucket 0 | bucket 1 | ... |            Fine alone has this one
//	bucket      | checksum | key, whole words | value, whole words |
//	with TTL    | checksum | expiry | key, whole words | value, whole words |
//
// The checksum is never 0 or 1: 0 is a bucket that is empty, 1 one that is invalid. Keys and
// values that do not fill their last word are padded with zeros. The expiry is the time at which a
// pair is gone, in nanoseconds since 1970, or 0 for never. It is next to the checksum so that a put
// finds it in the line that it reads of each bucket.
//
// libfarhash reads and writes this layout by itself: bind/c/fastpath.c has the hash, the checksum
// and the search of the first group in C, for single gets and puts in LockFree, over memory and
// over MPI. A call of Go from C takes 50 ns, so that such calls over memory take 1.5 to 3.8 times
// as long without it; 1.1 to 1.3 times where cache misses take most of the time (make bench-clib).
// Whoever changes the layout changes it too: TestFastPath of bind/c compares both.
//
// # Addressing
//
// [Groups]: the hash of a key gives a rank, and a few groups on it, each from a
// word of its own. The candidates are the buckets of these groups. In each group they begin at
// a bucket that the hash chooses, and go around in a circle. One get brings a group, and most
// keys are in their first.
//
// [Paper] is the addressing of MD 3.1: the rank is the hash modulo the ranks, and the candidates
// are the windows of n bytes of the 64-bit hash, modulo the buckets of a rank, where n bytes can
// number these. So it has 6 candidates for 2^16+1 to 2^24 buckets, and 4 at 2^40. Where ranks
// and buckets have a power of two in common, ranks and windows have bits in common, and
// about one candidate is lost; Groups has none of this.
//
// # Protocol
//
// An operation is a search (protocol.go). It takes these steps, the last four for each group:
//
//	address   the hash of the key gives its rank, its first group there and the first candidate
//	lock      Fine: the group, until it is left. Coarse: the memory of the rank, until the end
//	examine   the candidates of the group, in their order: this decides what comes then
//	apply     the effects: the pair is written, or a bucket marked invalid
//	unlock
//
// A get ends at its key. A put stores its pair in the bucket that has the key. If there is none, it
// takes the first candidate that is invalid, empty or expired, and else overwrites the last one. A
// get passes expired buckets; a put updates one that has its key, so that there is no second. A
// bucket that has been used never becomes empty again, so no key is after an empty bucket, and a
// search ends there. Put and Delete examine all candidates before they write: ranks that put a key
// at the same time may each have chosen another bucket. A put updates the first copy and makes
// further copies invalid: their old value would be found when the first is evicted. A put of the
// value that is there already writes nothing. A put that goes back to an earlier group reads it
// again, and begins anew if another operation has taken the bucket.
//
//   - [LockFree] (MD 4.2): buckets are written and read without locks. The checksum is over
//     key, value and expiry. A reader whose checksum fails reads again, Retries times, and then
//     marks the bucket invalid.
//   - [Fine] (MD 4.1): a group has a readers-writer lock of one word. With GroupBuckets 1 that is a
//     lock for each bucket. Puts of one batch that begin with the same group take turns
//     (internal/core).
//   - [Coarse] (MD 3.1): the memory of a rank has one such lock.
//
// Where the owner's memory is directly addressable, the steps are a loop (search.run in direct.go),
// for single operations and for batches; these prefetch what the loop is about to read (kernel.go).
// Else they are a step machine over a queue, of which a batch has many in flight (machine.go).
// Ranks of the same host address each other's memory; ranks of different hosts do not. A batch is
// divided accordingly (internal/core).
//
// The buckets of a group are examined by other code in two places alone, for speed: gets of batches
// in LockFree by assembly, in the first group of their key, which takes 20 ns in place of 40
// (takeFlights); and single calls from C, as described above.
//
// # Locks
//
// A lock is one word, with an epoch, an owner and the number of readers. Its steps are as follows;
// each is one access to the word, and what it finds decides about the next one (latch.next).
//
//	join      a reader adds 1. If there is no owner, it has the lock
//	back      else it takes its 1 back, and awaits the end of the owner
//	enter     a writer makes itself the owner, where there is none. Then it drains
//	await     read the word, after a pause, until there is no owner; then join or enter
//	drain     the owner reads the word until there are no readers; then it has the lock
//	leave     who has the lock takes out what it has put in
//
// Readers that come while an owner drains wait, so that readers cannot starve a writer.
//
// Others break the locks of dead ranks. A new epoch begins, in which no rank has the lock; a
// rank that leaves a lock of an epoch that is over changes nothing.
//
//	breaks    the owner is dead. Or its word has not changed for maxUnchanged reads, and the lock
//	          is in memory of a dead rank, which the owner may not reach any more
//	expel     the readers have not changed for maxUnchanged reads, and some rank is dead: readers
//	          have no names. The owner has the lock
//
// Where a link is cut, a step gets no answer, and its effect is unknown: the lock may have been
// taken, or not released. So its rank repairs the lock, as soon as it reaches it again. If
// the link stays cut, the operation returns the error, and the next calls of its rank repair the
// lock. Other ranks that had the lock lose it.
//
//	inspect   read whether the lock may be this rank's: it is the owner, or there are readers
//	revoke    then begin a new epoch
//
// Nothing wrong is read because of a lock that was broken too early, or because a put of a
// dead writer arrives late: buckets have their checksums in every mode.
//
// # What differs from the paper
//
//   - The checksum has 64 bits, not 32, and the other modes have it too.
//   - It includes the key by its hash: a reader compares the key itself first.
//   - A bucket is marked invalid by a compare-and-swap of its checksum, so that a later write
//     survives. The published code writes back the bucket that it has read, which
//     may by then have been replaced.
//   - Invalid buckets do not end a search, empty ones do; the paper has no deletion.
//   - A writer announces itself to readers, and so is not starved by them. Locks are broken
//     when their owner has died; MPI-DHT waits without end.
//   - A put searches on after the first copy of its key, for further ones.
//   - Window indices are right for any number of buckets. The published code maps every key to
//     bucket 0 from 2^23 buckets on.
package cache
