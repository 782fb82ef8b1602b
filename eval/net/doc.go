// Package net measures what one host can do with the memory of another, which is how two-sided
// probing compares with one-sided probing (LP 7) where messages are dear.
//
// Clients are ranks that work on memory of owners, over the same network in turns:
//
//   - raw is gets by a loop in C around UCX, in the process of the rank but with a worker and
//     connections of its own, while the engine is idle: see package rawucx.
//   - engine is gets by a queue of the engine, which keeps an order, reports lost ranks and
//     shares its worker with other goroutines.
//   - one-sided is batches of find-or-put of a set whose gets and compare-and-swaps cross the
//     network, as many operations in flight as there are gets.
//   - shipped is the same on a set whose batches are shipped to the owners.
//   - redis is a Redis server beside each rank, so that as many processes answer as with
//     shipped. Clients divide the words among the servers by the hash of the set, and send each
//     its part of a batch as a pipeline of SADD of 8 bytes, all parts before any answer is read.
//
// Half of the words of a batch are new, the others were there before, chosen evenly among the words
// of this client. A measurement is so many operations as take about the time of a piece, after a
// few that are not counted; words are generated, and tables made, while no clock runs. A rate is
// the operations of all clients divided by the time of the slowest. Every answer is counted: so
// many words were new and so many there, or it is an error.
//
// One-sided compares with raw by messages: a word takes a get, of 64 bytes while the table is
// hardly full, and a new one a compare-and-swap as well, which costs more than a get. One at a
// time, find-or-put of a word that is there takes one get, and compares with that.
//
// Probing compares two-sided linear probing with one-sided cuckoo hashing by load (LP 7): lookups
// of keys that are there, in an index and in LP's own tables.
//
// Reads compares how long the reads of tables are with the best lengths by trial (LP 3.5).
//
// Scale and Loss simulate clusters: many ranks, and a slow network that loses messages.
//
// On one machine the hosts share its processors: with two cores and two ranks on each host
// client and server slow each other down, and so do Redis's.
package net

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are the experiments of this package.
func Experiments() []*experiment.Experiment {
	return []*experiment.Experiment{Hosts(), Probing(), Reads(), Scale(), Loss()}
}
