package replay

import (
	"slices"
	"testing"
)

func TestSeeds(t *testing.T) {
	var ran []uint64
	Seeds(t, 3, func(_ *testing.T, seed uint64) { ran = append(ran, seed) })
	first, last := bounds(3, *seedFlag, *seedsFlag)
	if ran[0] != first || ran[len(ran)-1] != last || !slices.IsSorted(ran) {
		t.Errorf("ran seeds %d, want %d to %d", ran, first, last)
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct{ n, seed, seeds, first, last uint64 }{
		{10, 0, 0, 1, 10}, {10, 42, 0, 42, 42}, {10, 0, 99, 1, 99}, {10, 42, 99, 42, 42},
	} {
		first, last := bounds(c.n, c.seed, c.seeds)
		if first != c.first || last != c.last {
			t.Errorf("%+v: seeds %d to %d", c, first, last)
		}
	}
}

func TestAdvice(t *testing.T) {
	want := "seed 7 fails; run it again by: go test -run '^TestA$/^b$' -seed 7"
	if got := advice("TestA/b", 7); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
