// Package bench measures what the four tables do on this machine and engine, each beside what
// the machine allows: it is the command farhash bench. In calibrate.go is farhash calibrate.
//
// A case is an operation of a table, one at a time or in batches. Every rank does as many on
// random keys, all begin together, and the rate is the operations of all ranks divided by the
// time of the slowest. Runs take turns, and results are medians. Every answer is checked: a
// table that answers wrongly is an error.
//
// # The limit
//
// Where memory is addressable the limit of an operation is how many times a second the same ranks
// can touch as many random cache lines in memory of the same size, with every line prefetched in
// the way that is the fastest here (package limit): by a compare-and-swap where the operation
// inserts, else by a read. It is measured directly before and after each case, and a run's share of
// it is by the mean of the two: a busy machine allows less from one moment to the next. Nothing
// there searches, compares or copies, so no table can be much faster. Caches and maps hold only
// what is put into them here, which may be less than the memory of the limit and be more in the
// processor's caches.
//
// Where memory is reached by a queue the limit is how many gets of a cache line the engine does,
// 64 in flight.
package bench
