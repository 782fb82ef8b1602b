//go:build verbs && ucx && cgo && linux

package verbs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/farhash/farhash/internal/ucxdevices"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/ucx"
)

// transports are those to test the engine over: as for the tests of rma/ucx, or what UCX has for
// InfiniBand and RoCE.
func transports() string { return cmp.Or(os.Getenv("FARHASH_TEST_TRANSPORTS"), "rc,ud,self") }

// engine is a side that has the engine do it.
func engine(ctx context.Context, q rma.Queue, w rma.Window, rank, off int) side {
	do := func(h rma.Handle) (uint64, error) {
		if err := q.Submit(); err != nil {
			return 0, err
		}
		if err := q.Wait(ctx, h); err != nil {
			return 0, err
		}
		return q.Value(h)
	}
	return side{ucx.Library() + " over " + transports(), func() error {
		_, err := do(q.FetchAdd(w, rank, off, 1))
		return err
	}, func(old, word uint64) (bool, error) {
		seen, err := do(q.CompareAndSwap(w, rank, off, old, word))
		return seen == old, err
	}}
}

// What the engine reports of its atomics is so: where it says that a processor's are
// coherent with them, none is lost in many more updates than the test when a job starts makes.
func TestEngineAtomics(t *testing.T) {
	onDevices(t, func(t *testing.T, d Device) {
		t.Setenv(ucxdevices.Variable, d.Name+":1")
		words := make(chan []uint64, 1) // of rank 1, which is in this process
		err := ucx.Loopback(t.Context(), transports(), func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "verbs", Words: 512})
			if err != nil {
				return err
			}
			if job.Rank() == 1 {
				words <- w.Words(1)
			} else if err := beside(t, d, job, w, <-words); err != nil {
				return err
			}
			return job.Barrier(t.Context())
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// beside changes a word of rank 1 from rank 0, by the engine, while its processor changes it too.
func beside(t *testing.T, d Device, job rma.Job, w rma.Window, words []uint64) error {
	q, err := job.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	adder, swapper := processors(&words[0])
	what := fmt.Sprintf("%s (%v), coherent: %v", d.Name, d.Atomics, w.CPUAtomicsCoherent())
	lost := tally(t, what, &words[0], max(*updates/100, 1),
		engine(t.Context(), q, w, 1, 0), adder, swapper)
	if w.CPUAtomicsCoherent() && lost > 0 {
		t.Errorf("the engine says that atomics are coherent, and %d updates are lost", lost)
	}
	return nil
}
