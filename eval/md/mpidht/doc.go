// Package mpidht is the table of Lübke, De Lucia, Petri, Schnor: MPI-DHT as Surrogate Model ("MD"),
// with its three protocols and its addresses, on any engine of rma. It is what package cache is
// compared with. Nothing of it is better than in the paper: waiting ranks retry at once, and a
// rank that dies with a lock stops the others.
//
// The rank of a key is its hash modulo the ranks. The candidates are the windows of n bytes of the
// hash, modulo the buckets of a rank, where n bytes can number these (MD 3.1). A write takes the
// first candidate that is free or has its key, else the last one. A read looks at the candidates
// until one has its key or is free.
//
//	segment   | lock of the rank, a line | bucket bucket bucket ...   Coarse has the lock
//	bucket    | lock | meta | key | value |                           Fine has the lock
//	meta      | checksum (32) | ... | invalid | occupied |            LockFree has the checksum
//	           63          32           1         0
//
// Coarse (MD 3.1) locks the segment of a rank as MPI_Win_lock does: shared for a read, exclusive
// for a write. Fine (MD 4.1) locks the bucket that it is about to get, and has one at a time.
// Both locks are a word. A reader adds 1, and takes it back if there was a writer before. A writer
// replaces 0 by 0x10000000, and subtracts it in the end. Whoever does not get the lock tries again
// at once. One thing differs: in the fine lock a rank waits for the answer to everything that it
// takes out, in the coarse one for none, as in osc/ucx of Open MPI 5, MD's library.
//
// LockFree (MD 4.2) has a checksum in each bucket. A read whose checksum is wrong gets the bucket a
// second time. If it is wrong again, the read marks the bucket as invalid and fails: MD Table 2
// counts these reads, and those that find a bucket of their key invalid.
package mpidht
