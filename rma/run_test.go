package rma_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// lazyQueue is a queue of memory whose operations are done late and in any order:
// when they are waited for, and now and then one when something is submitted.
type lazyQueue struct {
	rma.Queue
	rng     *rand.Rand
	posted  []rma.Handle
	flying  map[rma.Handle]bool
	waits   int
	failing error // what Submit returns
}

func (q *lazyQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	h := q.Queue.FetchAdd(w, rank, off, delta)
	q.posted = append(q.posted, h)
	return h
}

func (q *lazyQueue) Submit() error {
	for _, h := range q.posted {
		q.flying[h] = true
	}
	q.posted = nil
	for h := range q.flying {
		if q.rng.IntN(8) == 0 {
			delete(q.flying, h)
		}
	}
	return errors.Join(q.failing, q.Queue.Submit())
}

func (q *lazyQueue) Done(h rma.Handle) bool { return !q.flying[h] && q.Queue.Done(h) }

func (q *lazyQueue) Wait(ctx context.Context, h rma.Handle) error {
	q.waits++
	delete(q.flying, h)
	return q.Queue.Wait(ctx, h)
}

// chain adds 1 a number of times, one after the other.
type chain struct {
	w     rma.Window
	left  int
	h     rma.Handle
	begun bool
}

func (o *chain) Step(q rma.Queue) (rma.Handle, error) {
	if o.begun {
		if !q.Done(o.h) {
			return rma.NoHandle, errors.New("stepped before what it waits for was done")
		}
		if _, err := q.Value(o.h); err != nil {
			return rma.NoHandle, err
		}
		o.left--
	}
	o.begun = true
	if o.left == 0 {
		return rma.NoHandle, nil
	}
	o.h = q.FetchAdd(o.w, 0, 0, 1)
	return o.h, nil
}

// newLazyQueue returns a queue and a window of one word for it.
func newLazyQueue(t *testing.T, depth int) (*lazyQueue, rma.Window) {
	t.Helper()
	job := local.Single()
	t.Cleanup(func() { _ = job.Close() })
	w, err1 := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 1})
	q, err2 := job.NewQueue(depth)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return &lazyQueue{Queue: q, flying: map[rma.Handle]bool{},
		rng: rand.New(rand.NewPCG(1, uint64(depth)))}, w
}

// Operations that are done late and out of order all come to their end, and a queue
// on which nothing is done is waited for.
func TestRunAllOutOfOrder(t *testing.T) {
	for _, depth := range []int{1, 2, 5, 64} {
		for _, ops := range []int{0, 1, 7, 300} {
			q, w := newLazyQueue(t, depth)
			started, want := 0, uint64(0)
			running := make([]*chain, depth)
			err := rma.RunAll(t.Context(), q, depth, func(slot int) rma.Op {
				if last := running[slot]; last != nil && last.left != 0 {
					t.Errorf("slot %d is taken", slot)
				}
				if started == ops {
					running[slot] = nil
					return nil
				}
				started++
				running[slot] = &chain{w: w, left: started % 5} // some end at once
				want += uint64(started % 5)
				return running[slot]
			})
			if got := w.Words(0)[0]; err != nil || got != want || started != ops {
				t.Errorf("%d operations, %d in flight: added %d, %v, want %d; %d were started",
					ops, depth, got, err, want, started)
			}
			if ops > 1 && q.waits == 0 {
				t.Errorf("%d operations, %d in flight: it never waited", ops, depth)
			}
			if got := q.Stats().RoundTrips; got != want {
				t.Errorf("%d round trips, want %d", got, want)
			}
		}
	}
}

func TestRunReturnsErrorsOfTheQueue(t *testing.T) {
	failing := errors.New("no network")
	q, w := newLazyQueue(t, 4)
	q.failing = failing
	if err := rma.Run(t.Context(), q, &chain{w: w, left: 2}); !errors.Is(err, failing) {
		t.Errorf("Run: %v", err)
	}
	err := rma.RunAll(t.Context(), q, 3, func(int) rma.Op { return &chain{w: w, left: 2} })
	if !errors.Is(err, failing) {
		t.Errorf("RunAll: %v", err)
	}
}

func TestStatsAdd(t *testing.T) {
	one := rma.Stats{Gets: 1, Puts: 2, CompareAndSwaps: 3, FetchAdds: 4, Bytes: 5,
		RoundTrips: 6, Retries: 7}
	sum := one
	sum.Add(one)
	if want := (rma.Stats{Gets: 2, Puts: 4, CompareAndSwaps: 6, FetchAdds: 8, Bytes: 10,
		RoundTrips: 12, Retries: 14}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

// What is gathered, and a sum, is of all ranks, more than are read at once, also after a caller has
// given up.
func TestGather(t *testing.T) {
	const ranks = 150
	for _, hidden := range []bool{false, true} {
		err := local.RunWith(local.Options{Hidden: hidden}, ranks, func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "counters", Words: 3})
			if err != nil {
				return err
			}
			cells, err := rma.NewCells(job, w)
			if err != nil {
				return err
			}
			defer cells.Close()
			err = cells.Store(t.Context(), job.Rank(), 1, uint64(job.Rank()))
			again := cells.Store(t.Context(), job.Rank(), 2, uint64(2*job.Rank()))
			if err := errors.Join(err, again, job.Barrier(t.Context())); err != nil {
				return err
			}
			given, giveUp := context.WithCancel(t.Context())
			giveUp()
			if _, err := cells.Sum(given, 0); hidden && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("of a caller who has given up: %v", err)
			}
			sum, err := cells.Sum(t.Context(), 1)
			if want := uint64(ranks * (ranks - 1) / 2); sum != want {
				return fmt.Errorf("the sum is %d, want %d: %v", sum, want, err)
			}
			next := 0
			err = cells.Gather(t.Context(), 1, 2, func(rank int, words []uint64, err error) error {
				if r := uint64(rank); rank != next || !slices.Equal(words, []uint64{r, 2 * r}) {
					return fmt.Errorf("of rank %d, after %d: %v", rank, next, words)
				}
				next++
				return err
			})
			if err == nil && next != ranks {
				err = fmt.Errorf("%d ranks were gathered, of %d", next, ranks)
			}
			return err
		})
		if err != nil {
			t.Errorf("hidden %v: %v", hidden, err)
		}
	}
}

// Every rank adds to a counter of rank 0.
func ExampleCells() {
	ctx := context.Background()
	err := local.Run(4, func(job rma.Job) error {
		w, err := job.NewWindow(ctx, rma.Spec{Name: "counter", Words: 1})
		if err != nil {
			return err
		}
		defer w.Close()
		counter, err := rma.NewCells(job, w)
		if err != nil {
			return err
		}
		defer counter.Close()
		if _, err := counter.Add(ctx, 0, 0, uint64(job.Rank())); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		sum, err := counter.Load(ctx, 0, 0)
		if job.Rank() == 0 {
			fmt.Println(sum)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 6
	// <nil>
}

// A batch of as many operations in flight as tables have by default allocates nothing.
func TestRunAllAllocatesNothing(t *testing.T) {
	const depth = 64
	lazy, w := newLazyQueue(t, depth)
	var ops [depth]chain
	issued := 0
	next := func(slot int) rma.Op {
		if issued == 2*depth {
			return nil
		}
		issued++
		ops[slot] = chain{w: w, left: 2}
		return &ops[slot]
	}
	var err error
	allocations := testing.AllocsPerRun(20, func() {
		issued = 0
		err = errors.Join(err, rma.RunAll(context.Background(), lazy.Queue, depth, next))
	})
	if allocations > 0 || err != nil {
		t.Errorf("%v allocations, %v", allocations, err)
	}
}
