// Package farhash gives hash tables that live in the memory of many ranks and are
// reached by one-sided operations: no server stands between a program and its data.
//
// [Join] makes the calling process a rank. Tables are made on the job it returns,
// by every rank alike, and then used by each as if they were its own:
//
//	job, err := farhash.Join(ctx)
//	...
//	defer job.Close()
//	seen, err := set.New(ctx, job, set.Config{Buckets: 1 << 27})
//	...
//	result, err := seen.FindOrPut(state)
//
// Started alone, a program is a job of one rank. Started by `farhash run -n 4`,
// mpirun, srun or torchrun, its processes are the ranks of one job. [Run] starts
// ranks as goroutines instead.
//
// The tables are in packages of their own; there is package set so far. Package rma
// is the contract between tables and the engines that move the words.
package farhash
