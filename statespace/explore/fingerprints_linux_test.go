package explore_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/statespace/explore"
)

// In memory that processes share tasks of several words come whole, and so do traces.
func TestFingerprintsShared(t *testing.T) {
	dir, err := lab.Folder()
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	opts := explore.Options{Encoding: explore.EncodingFingerprint, Trace: []int{explore.Deadlock}}
	want := mustSearchModel(t, setting{ranks: 1, opts: opts}, tangle(n).long(3))
	for _, ranks := range []int{1, 2, 4} {
		for _, hidden := range []bool{false, true} {
			name := fmt.Sprintf("farhash-explore-test-%d-%d-%v", os.Getpid(), ranks, hidden)
			var all sync.WaitGroup
			for rank := range ranks {
				all.Go(func() {
					job, err := shm.Join(t.Context(), shm.Config{Rank: rank, Size: ranks,
						Job: name, Hidden: hidden, Dir: dir})
					if err != nil {
						t.Error(err)
						return
					}
					defer job.Close()
					r, err := explore.Run(t.Context(), job, tangle(n).long(3), opts)
					if err != nil || countsOf(r) != countsOf(want) ||
						len(r.Trace) != len(want.Trace) {
						t.Errorf("rank %d: %+v, %v, want %+v", rank, r, err, want)
					}
				})
			}
			all.Wait()
		}
	}
}
