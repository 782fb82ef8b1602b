// Package redis is a Redis server as a peer: a client that speaks RESP 2 itself, and a server that
// is started for a measurement. [Join] has all ranks of a job share one.
//
// A client library would be fair to the server, whose CPU time is what counts, but not to the rate
// and the latencies: an allocation and a lock or more for each command, which the ranks of a map do
// not have either. Beside github.com/redis/go-redis the rate is a third higher, at the same CPU
// time of the server for an operation.
package redis
