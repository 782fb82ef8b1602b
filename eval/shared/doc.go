// Package shared measures stores that several processes of one host share: a map that is opened by
// name (kv.Open), beside LMDB, Redis, memcached, bbolt and SharedHashFile.
//
// Every process is started for the measurement, and opens the store by its path or socket. All do
// the same workload for the same time, on records that one of them has loaded: keys of 8 bytes and
// values of 100, drawn by Zipf's law. Workloads are A (50% gets, 50% puts), B (95% and 5%) and C
// (gets) of YCSB, and puts. Calls are made up before their time is taken, 1,024 at a time, and
// values are compared with keys after that. The rate of n processes is n divided by the mean time
// of a call. In a round the stores take turns in each case.
//
// Calls are made one at a time, or 64 together: as a batch of the map, as a transaction, or as a
// pipeline. A transaction of LMDB and bbolt writes if one of its calls does. SharedHashFile makes
// single calls only.
//
// What favours whom:
//
//   - LMDB and SharedHashFile are called by loops in C, so they are not charged for calls from Go
//     to C, of 30 to 50 ns each.
//   - LMDB and bbolt are ordered, and their transactions are atomic and durable. Without sync they
//     are not durable if the host fails, and a map is not either.
//   - A server is on a Unix socket, and takes CPU time of its own; its clients wait for an answer
//     in the poller of Go, which costs some microseconds.
//   - memcached takes no keys with spaces, so its keys are base64, of 11 bytes.
package shared
