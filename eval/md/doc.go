// Package md has the experiments of Lübke, De Lucia, Petri, Schnor: MPI-DHT as Surrogate Model
// ("MD"), on package cache.
//
// For each law of keys and size of batches [Cache] makes an empty cache in each mode, and the
// ranks write, then read the same keys, then mix 95% reads and 5% writes (MD 5.2). What a
// workload needs is generated into memory and what was read is verified while no clock runs. A
// rate is the operations of all ranks divided by the time of the slowest. The modes are measured
// in turn.
//
// Keys are drawn from a numbered supply. A value is a stamp of its writer and bytes that derive
// from key and stamp: every value that is read is compared with its key. A wrong one ends the
// experiment with an error.
//
// The protocols of MD, with its addresses, are in mpidht/; [Cache] measures them as well if asked.
//
// baseline/ has the same workloads in C under MPI: plain loops of MPI_Get and MPI_Put with the
// three protocols of MD (mpidht.c), and the library of this project called from C (dropin.c,
// library.c). They print records of the same name, so that farhash-eval show has all of them
// in one table; scripts/bench-mpi runs them in turns.
//
// With --redis the same ranks are clients of a Redis server, which takes the part of DAOS (MD 3).
//
// [Simulate] does the same workloads in virtual time by the protocols of MD and by the cache, on up
// to 640 simulated ranks (MD 5.3). [Poet] predicts from their times how long POET takes (MD 5.4).
package md

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are the experiments of this package.
func Experiments() []*experiment.Experiment {
	return []*experiment.Experiment{Cache(), Simulate(), Poet()}
}
