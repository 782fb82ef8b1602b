package replay

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run tests with many seeds with this one alone; 0: all")
	seedsFlag = flag.Uint64("seeds", 0, "how many seeds such tests try; 0: as many as they ask for")
)

// Seeds runs test with the seeds 1 to n, each as a test of its own, until one fails.
func Seeds(t *testing.T, n uint64, test func(t *testing.T, seed uint64)) {
	t.Helper()
	first, last := bounds(n, *seedFlag, *seedsFlag)
	for seed := first; seed <= last; seed++ {
		if !t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { test(t, seed) }) {
			t.Fatal(advice(t.Name(), seed))
		}
	}
}

// bounds are the first and the last seed of a test that asks for n.
func bounds(n, seed, seeds uint64) (first, last uint64) {
	if seed != 0 {
		return seed, seed
	}
	if seeds != 0 {
		n = seeds
	}
	return 1, n
}

// advice says how to run a test again with one seed.
func advice(name string, seed uint64) string {
	return fmt.Sprintf("seed %d fails; run it again by: go test -run '^%s$' -seed %d", seed,
		strings.ReplaceAll(name, "/", "$/^"), seed)
}
