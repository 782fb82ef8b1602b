package diagram

import (
	"hash/fnv"
	"runtime"
	"testing"

	"github.com/farhash/farhash/rma"
)

// TestShares: as many ranks search as there are processors for, and their numbers have no gaps.
func TestShares(t *testing.T) {
	one, two, three := processors{1, 1, 1}, processors{1, 1, 2}, processors{2, 1, 3}
	bound := processors{1, 2, 1} // to another processor than one
	for _, c := range []struct {
		of   []processors
		want []Share
	}{
		{[]processors{two}, []Share{{0, 1, 1}}},
		{[]processors{two, two, two, two}, []Share{{0, 2, 2}, {1, 2, 2}, {-1, 2, 2}, {-1, 2, 2}}},
		{[]processors{two, two, two, three, three, three, three}, []Share{{0, 2, 5}, {1, 2, 5},
			{-1, 2, 5}, {2, 3, 5}, {3, 3, 5}, {4, 3, 5}, {-1, 3, 5}}},
		{[]processors{one, three, one, three},
			[]Share{{0, 1, 3}, {1, 2, 3}, {-1, 1, 3}, {2, 2, 3}}},
		{[]processors{one, bound, bound}, []Share{{0, 2, 2}, {1, 2, 2}, {-1, 2, 2}}},
	} {
		onRanks(t, len(c.of), func(job rma.Job) error {
			s, err := divideBy(t.Context(), job, c.of[job.Rank()])
			if want := c.want[job.Rank()]; err == nil && s != want {
				t.Errorf("%v: rank %d has %+v, want %+v", c.of, job.Rank(), s, want)
			}
			return err
		})
	}
	own := ownProcessors()
	if own[onCount] != uint64(runtime.GOMAXPROCS(0)) || own != ownProcessors() {
		t.Errorf("this process runs on %v", own)
	}
	if runtime.GOOS == "linux" && own[onNames] == fnv.New64a().Sum64() {
		t.Error("the names of the processors are not known")
	}
}
