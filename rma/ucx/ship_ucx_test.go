//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// ranksWith has ranks serve a window by handlers of their own.
func ranksWith(t *testing.T, ranks int, hidden bool, fn func(job rma.Job, w *window) error) {
	t.Helper()
	err := together(t, ranks, 2, hidden, overrides{transports: transports, atomics: coherent},
		func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "served", Words: 64})
			if err != nil {
				return err
			}
			return fn(job, w.(*window))
		})
	if err != nil {
		t.Error(err)
	}
}

// Many queues ship to all ranks at once, and get the answers to what they have asked.
func TestShip(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		ranksWith(t, 3, hidden, func(job rma.Job, w *window) error {
			w.Serve(rmatest.Mixer(job.Rank()))
			return shipTogether(t, job, w, 4, 20)
		})
	}
}

// shipTogether has goroutines of all ranks ship to all in some rounds.
func shipTogether(t *testing.T, job rma.Job, w *window, goroutines, rounds int) error {
	if err := job.Barrier(t.Context()); err != nil {
		return err
	}
	var group sync.WaitGroup
	errs := make([]error, goroutines)
	for i := range errs {
		group.Go(func() { errs[i] = rmatest.ShipRounds(t.Context(), job, w, i, rounds) })
	}
	group.Wait()
	return errors.Join(append(errs, job.Barrier(t.Context()))...)
}

// refused is an error if a rank answers.
func refused(a *rmatest.Asker, rank int) error {
	if err := a.Ask(rank); !errors.Is(err, rma.ErrNotServed) {
		return fmt.Errorf("rank %d has no handler and answers: %v", rank, err)
	}
	return nil
}

// Requests are answered while their window has a handler, by it, and also while Close
// waits for others.
func TestServe(t *testing.T) {
	ranksWith(t, 3, false, func(job rma.Job, w *window) error {
		a, err := rmatest.NewAsker(t.Context(), job, w, 1)
		if err != nil {
			return err
		}
		other, err := job.NewWindow(t.Context(), rma.Spec{Name: "other", Words: 1})
		if err != nil {
			return err
		}
		step := func(is func(rank int) error) {
			for rank := range job.Size() {
				err = errors.Join(err, is(rank))
			}
			err = errors.Join(err, job.Barrier(t.Context()))
		}
		step(func(rank int) error { return refused(a, rank) })
		other.(*window).Serve(func(_ int, _, _ []uint64) int { panic("of another window") })
		w.Serve(rmatest.Mixer(job.Rank()))
		step(func(int) error { return nil })
		step(a.Ask)
		other.(*window).Serve(nil)
		w.Serve(nil)
		step(func(int) error { return nil })
		step(func(rank int) error { return refused(a, rank) })
		if job.Rank() == 1 {
			w.Serve(rmatest.Mixer(1))
			err = errors.Join(err, w.Close())
			if !panics(func() { w.Serve(rmatest.Mixer(1)) }) {
				t.Error("a closed window is served again")
			}
		}
		if job.Rank() == 2 {
			w.Serve(rmatest.Mixer(2))
		}
		err = errors.Join(err, job.Barrier(t.Context()))
		if job.Rank() == 0 { // the others close the job at the same time
			for range 100 {
				err = errors.Join(err, refused(a, 0), refused(a, 1), a.Ask(2))
			}
		}
		return errors.Join(err, a.Queue.Close())
	})
}

func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}

// Who ends to serve waits for the handler that is under way.
func TestServeWaits(t *testing.T) {
	for _, end := range []func(w *window){func(w *window) { w.Serve(nil) },
		func(w *window) { _ = w.Close() }} {
		ranksWith(t, 2, true, func(job rma.Job, w *window) error {
			if job.Rank() == 1 {
				a, err := rmatest.NewAsker(t.Context(), job, w, 1)
				if err != nil {
					return err
				}
				err = job.Barrier(t.Context())
				return errors.Join(err, a.Ask(0), job.Barrier(t.Context()), a.Queue.Close())
			}
			begun, proceed, ended := make(chan struct{}), make(chan struct{}), atomic.Bool{}
			w.Serve(func(from int, request, answer []uint64) int {
				close(begun)
				<-proceed
				defer ended.Store(true)
				return rmatest.Mixer(0)(from, request, answer)
			})
			err := job.Barrier(t.Context())
			<-begun
			time.AfterFunc(20*time.Millisecond, func() { close(proceed) })
			if end(w); !ended.Load() {
				err = errors.Join(err, errors.New("a handler outlives its window's service"))
			}
			return errors.Join(err, job.Barrier(t.Context()))
		})
	}
}

// A rank gets no more requests than it has room for: what else is shipped waits, and holds up
// neither other operations nor requests to others. (What is sent beyond is refused.)
func TestBackPressure(t *testing.T) {
	const depth = 40
	ranksWith(t, 3, true, func(job rma.Job, w *window) error {
		proceed := make(chan struct{})
		w.Serve(func(from int, request, answer []uint64) int {
			if job.Rank() == 0 {
				<-proceed
			}
			return rmatest.Mixer(job.Rank())(from, request, answer)
		})
		err := job.Barrier(t.Context())
		if err != nil || job.Rank() == 0 {
			for at := 1; err == nil && at < job.Size(); at++ {
				err = awaitWord(t.Context(), job, w, at)
			}
			close(proceed)
			return errors.Join(err, job.Barrier(t.Context()))
		}
		one, errOne := rmatest.NewAsker(t.Context(), job, w, depth)
		two, errTwo := rmatest.NewAsker(t.Context(), job, w, depth)
		if err := errors.Join(errOne, errTwo); err != nil {
			return err
		}
		var handles []rma.Handle
		for i := range depth - 1 {
			handles = append(handles, one.Post(i, 0), two.Post(i, 0))
		}
		err = errors.Join(two.Queue.Submit(), one.Ask(3-job.Rank()))
		_, addErr := remote.Result(t.Context(), one.Queue, one.Queue.FetchAdd(w, 0, job.Rank(), 1))
		err = errors.Join(err, addErr)
		for i, h := range handles {
			q := []rma.Queue{one.Queue, two.Queue}[i%2]
			words, failed := uint64(0), q.Wait(t.Context(), h)
			if failed == nil {
				words, failed = q.Value(h)
			}
			if failed != nil || words != 1 {
				err = errors.Join(err, fmt.Errorf("answer %d of %d words: %v", i, words, failed))
			}
		}
		return errors.Join(err, one.Queue.Close(), two.Queue.Close(), job.Barrier(t.Context()))
	})
}

// awaitWord waits until a word of this rank is not zero any more.
func awaitWord(ctx context.Context, job rma.Job, w rma.Window, at int) error {
	cells, err := rma.NewCells(job, w)
	pace := backoff.Backoff{Job: job}
	for err == nil {
		var word uint64
		if word, err = cells.Load(ctx, job.Rank(), at); word != 0 {
			break
		}
		pace.Pause()
	}
	return err
}

// Who waits for any of its operations does not wait for one that is held up.
func TestWaitAny(t *testing.T) {
	ranksWith(t, 3, true, func(job rma.Job, w *window) error {
		proceed := make(chan struct{})
		w.Serve(func(from int, request, answer []uint64) int {
			if job.Rank() == 1 {
				<-proceed
			}
			return rmatest.Mixer(job.Rank())(from, request, answer)
		})
		err := job.Barrier(t.Context())
		if err != nil || job.Rank() > 0 {
			if err == nil && job.Rank() == 1 {
				err = awaitWord(t.Context(), job, w, 1)
			}
			close(proceed)
			return errors.Join(err, job.Barrier(t.Context()))
		}
		a, err := rmatest.NewAsker(t.Context(), job, w, 3)
		if err != nil {
			return err
		}
		ctx, cancel := patience.WithTimeout(t.Context(), hangGuard/6)
		defer cancel()
		held, other := a.Post(0, 1), a.Post(1, 2)
		err = a.Queue.Submit()
		err = errors.Join(err, a.Queue.(rma.AnyWaiter).WaitAny(ctx, []rma.Handle{held, other}))
		if err == nil && (a.Queue.Done(held) || !a.Queue.Done(other)) {
			err = errors.New("WaitAny returned, and nothing was done")
		}
		_, addErr := remote.Result(t.Context(), a.Queue, a.Queue.FetchAdd(w, 1, 1, 1))
		err = errors.Join(err, addErr, a.Queue.Wait(t.Context(), held))
		return errors.Join(err, a.Queue.Close(), job.Barrier(t.Context()))
	})
}
