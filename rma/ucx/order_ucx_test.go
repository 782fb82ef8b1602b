//go:build ucx && cgo

package ucx

import (
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// Operations on the same words take effect in the order in which they were posted, also where the
// processor does some of them and UCX the others.
func TestInOrder(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		err := together(t, 4, 2, hidden, overrides{transports: transports, atomics: incoherent},
			func(job rma.Job) error {
				w, err := job.NewWindow(t.Context(), rma.Spec{Name: "order",
					Words: 4 * orderedWords})
				if err != nil {
					return err
				}
				for rank := range job.Size() {
					if err := inOrder(t, job, w, rank); err != nil {
						return fmt.Errorf("on rank %d: %w", rank, err)
					}
				}
				return job.Barrier(t.Context())
			})
		if err != nil {
			t.Errorf("hidden %v: %v", hidden, err)
		}
	}
}

// orderedWords is how many words of each rank every rank has for itself.
const orderedWords = 100

// inOrder puts, adds to, swaps and gets each word, then all of them, and submits that at once.
func inOrder(t *testing.T, job rma.Job, w rma.Window, rank int) error {
	q, err := job.NewQueue(4*orderedWords + 2)
	if err != nil {
		return err
	}
	buf, err := q.Alloc(3 * orderedWords)
	if err != nil {
		return err
	}
	puts, gets, all := buf[:orderedWords], buf[orderedWords:2*orderedWords], buf[2*orderedWords:]
	expected := map[rma.Handle]uint64{}
	for i := range puts {
		off := job.Rank()*orderedWords + i
		puts[i] = rmatest.Mixed(job.Rank(), rank, i, 0)
		expected[q.Put(puts[i:i+1], w, rank, off)] = 0
		expected[q.FetchAdd(w, rank, off, 5)] = puts[i]
		expected[q.CompareAndSwap(w, rank, off, puts[i]+5, uint64(i))] = puts[i] + 5
		expected[q.Get(gets[i:i+1], w, rank, off)] = 0
	}
	first, last := job.Rank()*orderedWords, (job.Rank()+1)*orderedWords-1
	expected[q.FetchAdd(w, rank, last, 3)] = orderedWords - 1
	expected[q.Get(all, w, rank, first)] = 0
	for h, want := range expected {
		if seen, err := remote.Result(t.Context(), q, h); err != nil || seen != want {
			return fmt.Errorf("operation %d saw %#x, want %#x: %v", h, seen, want, err)
		}
	}
	for i, got := range gets {
		if got != uint64(i) {
			return fmt.Errorf("word %d is %#x, want %#x", i, got, i)
		}
	}
	if all[0] != 0 || all[orderedWords-1] != orderedWords+2 {
		return fmt.Errorf("all words are %v", all)
	}
	return q.Close()
}
