// Package farhash gives hash tables that live in the memory of many ranks and are
// reached by one-sided operations: no server stands between a program and its data.
//
// [Join] makes the calling process a rank. Tables are made on the job it returns,
// by every rank alike, and then used by each as if they were its own:
//
//	job, err := farhash.Join(ctx)
//	...
//	defer job.Close()
//	seen, err := set.New(ctx, job, set.Config{})
//	...
//	result, err := seen.FindOrPut(state)
//
// Started alone, a program is a job of one rank. Started by `farhash run -n 4`,
// mpirun, srun or torchrun, its processes are the ranks of one job. [Run] starts
// ranks as goroutines instead.
//
// The tables are in packages of their own:
//
//   - set: words or byte strings, insert-only, by find-or-put; loses nothing and grows.
//   - cache: keys and values of fixed size; forgets when it is full.
//   - index: built in bulk and then read-only; all records of a key by one lookup.
//   - kv: byte strings to byte strings, mutable and linearizable; loses nothing and grows.
//
// Package explore searches state spaces with a set. Package rma is the contract between tables and
// the engines that do their operations; its page explains the words that all packages use.
package farhash
