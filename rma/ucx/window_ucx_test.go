//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// A window gets memory at an address that one before it had, and its words are read, not the words
// of the one before, which UCX may have kept registered.
func TestWindowsOnSameMemory(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		err := together(t, 2, 2, hidden, overrides{transports: transports, atomics: coherent},
			func(job rma.Job) error {
				q, err := job.NewQueue(1)
				if err != nil {
					return err
				}
				defer q.Close()
				for round := uint64(1); round <= 8 && err == nil; round++ {
					err = passOn(t, job, q, round)
				}
				return err
			})
		if err != nil {
			t.Errorf("hidden %v: %v", hidden, err)
		}
	}
}

// passOn has each rank read in a new window what the other one has written in its own segment.
func passOn(t *testing.T, job rma.Job, q rma.Queue, word uint64) error {
	w, err := job.NewWindow(t.Context(), rma.Spec{Name: "round", Words: 1})
	if err != nil {
		return err
	}
	defer w.Close()
	buf, err := q.Alloc(1)
	if err != nil {
		return err
	}
	buf[0] = word
	if _, err := remote.Result(t.Context(), q, q.Put(buf, w, job.Rank(), 0)); err != nil {
		return err
	}
	if err := job.Barrier(t.Context()); err != nil {
		return err
	}
	_, err = remote.Result(t.Context(), q, q.Get(buf, w, 1-job.Rank(), 0))
	if err == nil && buf[0] != word {
		err = fmt.Errorf("rank %d read %d in round %d", job.Rank(), buf[0], word)
	}
	return errors.Join(err, job.Barrier(t.Context()))
}
