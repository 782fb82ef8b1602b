package core

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every operation is made once, those that share a part of their hash one after the other, in the
// order in which they came, and nobody has a turn in the end.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(1, 5).Draw(t, "machines")
		turns := newTurns(machines)
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			hashes := rapid.SliceOfN(rapid.Uint64Range(0, 6), 0, 40).Draw(t, "hashes")
			running, done, issued := make([]int, machines), []int{}, 0
			for i := range running {
				running[i] = -1
			}
			for len(done) < len(hashes) {
				m := rapid.IntRange(0, machines-1).Draw(t, "machine")
				operation := -1
				if running[m] >= 0 {
					done = append(done, running[m])
					operation = turns.next(m)
				}
				for operation < 0 && issued < len(hashes) {
					if issued++; turns.take(m, issued-1, hashes[issued-1]) {
						operation = issued - 1
					}
				}
				running[m] = operation
				for other, c := range running {
					if other != m && c >= 0 && operation >= 0 && hashes[c] == hashes[operation] {
						t.Fatalf("operations %d and %d are made at once", c, operation)
					}
				}
			}
			for i, operation := range done {
				for _, later := range done[i+1:] {
					if hashes[later] == hashes[operation] && later < operation {
						t.Fatalf("operation %d is made before operation %d", operation, later)
					}
				}
			}
			if slices.Sort(done); len(slices.Compact(done)) != len(hashes) {
				t.Fatalf("%d operations are made of %d", len(done), len(hashes))
			}
		}
		if slices.Max(turns.holders) != 0 || slices.Max(turns.held) >= 0 {
			t.Fatal("a machine still has its turn")
		}
	})
}
