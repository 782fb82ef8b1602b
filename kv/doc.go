// Package kv is a lossless map of byte strings over the memory of all ranks, read and written by
// one-sided operations alone. Every operation is linearizable, and a rank that dies stops nobody.
//
//	m, err := kv.New(ctx, job, kv.Config{}) // or kv.Local(kv.Config{}), for one process
//	...
//	v, err := m.Put(key, []byte("1"))
//	value, v, found, err := m.Get(key, nil)
//	v, done, err := m.CompareAndPut(key, []byte("2"), v)
//	sum, v, err := m.Add(counter, 1)
//	err = m.Batch([]kv.Call{{Kind: kv.Get, Key: key}, {Kind: kv.Delete, Key: other}})
//
// [Open] opens a map by name, which any number of processes of a host share as they come and go.
// [Typed] has keys and values of Go types, and [Typed.Compute] for changes that are atomic:
//
//	visits, err := kv.NewTyped[string, int](ctx, job, kv.Config{})
//	...
//	n, _, err := visits.Compute("page", func(n int, _ bool) (int, bool) { return n + 1, true })
//
// [Map.Add] adds to a counter, a value of 8 bytes (little-endian int64; sums wrap around), and
// returns the sum. A key that is not there counts as 0. A value of another length is not changed:
// the error is a [CounterError].
//
// [Map.Save] writes keys and values to an archive, and [Map.Load] puts them into a map with any
// number of ranks and slots. Versions begin anew.
//
// Batches may be shipped to the ranks that own the slots ([Config].Access, [rma.Access]); single
// calls are not.
//
// # Guarantees
//
//   - Each call takes effect at one moment between its call and its return.
//   - Nobody waits for another rank, but for one case: new keys that need the table to move wait
//     while processes that have stopped in earlier moves hold all memory for tables. One such
//     process holds two of four tables, or both in a map of more than 8,192 slots that takes its
//     memory at once ([rma.Reserves]). They wait until it goes on or has ended.
//   - A rank that dies leaves what it has put. A put in progress has taken effect or not. If its
//     memory is lost, its slots and items are, and calls that need them return the engine's error.
//   - After an error of the engine a write may or may not have been done. So adding again may
//     count twice: where that matters, get the counter and use CompareAndPut.
//   - A [Version] identifies a put. It comes again after 32,768 uses of the same item, of which at
//     least 64 are used in rotation while there is room.
//   - [Map.All] and [Map.Len] include the keys that are there all the while; others may be
//     included.
//   - A put of a new key that finds no room returns a [FullError], and nothing is lost. Keys that
//     are there still take other values, in maps of at least 64 KiB for each rank.
//   - A get that another write tears returns a wrong value with a probability of 2^-50, or 2^-54
//     for copies.
//
// # Limits
//
// Keys and values have up to [MaxSize] bytes, or as many as [Config] says. A map needs no sizes:
// slots and items grow while all calls go on, up to [Config].MaxBytes, by default a share of the
// memory that the hosts have left. A key takes a slot of 8 bytes, or 32 with [Config].Copies, and
// an item in the memory of the rank that puts it. MaxBytes is divided when the map is made:
//
//	slots   a quarter, or 4/7 with Copies: the present table and the next one
//	items   the rest, which is three items of 64 bytes for four slots; each rank has its share
//
// Memory is taken as it is needed, or at once where the engine cannot reserve addresses
// ([rma.Reserves]). None is given back before Close. If there is none left, a put returns a
// FullError that says so, and later puts try again. A process also takes 4 bytes for each 64 of
// its items. Slots, MaxSlots and Bytes set sizes one by one. Compare [Map.Len] with MaxSlots:
// [Map.Used] counts slots of removed keys too, until the table moves.
//
// # Paper
//
// Szepesi, Wong, Cassell, Brecht: Designing A Low-Latency Cuckoo Hash Table for Write-Intensive
// Workloads Using RDMA. The protocol is not the paper's, whose histories are not linearizable:
// eval/docs/nessie.md shows them. DESIGN.md describes the layout, the protocol and how a table
// moves, and proves that histories are linearizable.
package kv
