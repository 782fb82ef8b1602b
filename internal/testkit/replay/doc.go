// Package replay runs a test with many seeds, and says how to run it again with the
// one that failed:
//
//	func TestTable(t *testing.T) {
//		replay.Seeds(t, 1000, func(t *testing.T, seed uint64) {
//			_, err := sim.Run(sim.Random(3, seed), ...)
//			...
//		})
//	}
//
// A test binary that imports it has two flags:
//
//	go test -run '^TestTable$' -seed 42        // that seed alone
//	go test -run '^TestTable$' -seeds 1000000  // many more seeds than the test asks for
//
// Some tests try more cases when make nightly runs them: see [Often].
package replay
