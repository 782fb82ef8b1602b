// Package rmatest tests engines. An engine is correct if it passes [Test], which uses nothing but
// the contract of package rma.
//
// # How to test an engine
//
// Write a [Starter]: a function that runs fn on every rank of a new job, with all ranks as
// goroutines of the test process, and returns when all have returned. For an engine with such a
// function the whole test is
//
//	func TestConformance(t *testing.T) {
//		rmatest.Test(t, local.Run)
//	}
//
// For an engine where each process joins a job by itself, as rma/shm and rma/ucx do, [Together]
// joins all ranks in one process; the example shows that. The Starter
//
//   - gives each call a job of its own: names and addresses must not be used twice,
//   - closes the job of a rank also when fn has returned an error, in a way that lets the others
//     learn that the rank has failed,
//   - returns the error of a rank that failed by itself, not of one that failed because of
//     another: [OwnError] chooses it.
//
// Call Test once for each mode of the engine that takes another path, such as memory that is shared
// and memory that is not. An engine that cannot run some tests says so by a [Limit].
//
// # What is tested
//
// Test runs all cases with 1, 2 and 4 ranks:
//
//	windows      zeroed memory, sizes, several at once, use after one rank has closed its own
//	operations   lengths, visibility of puts, order within a queue, Done, reuse of handles
//	atomics      one winner, exact sums, CPU atomics where Window.CPUAtomicsCoherent holds
//	shipping     requests of all lengths, where windows are an rma.Server
//	collectives  barriers, different Specs, ranks that fail or leave, calls that are cancelled
//	machines     rma.Run, rma.RunAll, Stats
//	misuse       panics outside a segment and at wrong lengths
//	random       streams of operations compared with a model
//
// Properties that an engine may choose, such as whether Words returns memory, are taken from its
// answers. Which rank wins a race depends on the machine; the tests check what must hold in any
// case, and none waits for a time to pass. A test that hangs fails after two minutes.
//
// [Mixer] and [Asker] are a handler and its client, for further tests of shipping.
//
// The package does not kill processes: that ranks which are killed stop nobody, and that memory
// is reserved before use, needs tests of the engine's own.
package rmatest
