package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

// The heap gives events in the order of time, and of ties within a moment.
func TestEventsAreInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	compare := func(a, b event) int {
		switch {
		case a.before(&b):
			return -1
		case b.before(&a):
			return 1
		}
		return 0
	}
	for range 200 {
		var heap events
		var all []event
		for range rng.IntN(100) {
			e := event{at: instant(rng.IntN(10)), tie: rng.Uint64N(1 << 20), n: rng.Uint32()}
			all = append(all, e)
			heap.push(e)
			if rng.IntN(3) == 0 {
				least := slices.MinFunc(all, compare)
				if got := heap.pop(); compare(got, least) != 0 {
					t.Fatalf("popped %v, want %v", got, least)
				}
				all = slices.DeleteFunc(all, func(e event) bool { return compare(e, least) == 0 })
			}
		}
		slices.SortFunc(all, compare)
		for _, want := range all {
			if got := heap.pop(); compare(got, want) != 0 {
				t.Fatalf("popped %v, want %v", got, want)
			}
		}
		if len(heap) != 0 {
			t.Fatalf("%d events are left", len(heap))
		}
	}
}

// If nothing is in flight and ranks wait, the run ends with an error.
func TestDeadlock(t *testing.T) {
	_, err := Run(Options{Ranks: 12, Seed: 42}, func(job rma.Job) error {
		r := job.(*Job).r
		r.enter()
		return r.await(context.Background(), waiting{meeting: 7}) // where nobody is to come
	})
	want := "sim: seed 42: deadlock at 0.000 ns, nothing is in flight: rank 0 waits for the " +
		"other ranks in collective call 7; rank 1"
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "and 4 ranks more") {
		t.Errorf("%v, want %s", err, want)
	}
}

// The engine is only to be used by the rank whose turn it is.
func TestOutOfTurn(t *testing.T) {
	var first *Job
	_, err := Run(Options{Ranks: 2, Seed: 1}, func(job rma.Job) error {
		if first == nil {
			first = job.(*Job)
			first.Sleep(1000)
			return nil
		}
		first.Sleep(1)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "when it is not its turn") {
		t.Errorf("a rank in the place of another one: %v", err)
	}
}

// Operations are used again when nothing refers to them, and no memory is lost.
func TestOperationsAreRecycled(t *testing.T) {
	var c *cluster
	_, err := Run(Options{Ranks: 2, JitterNs: 1000}, func(job rma.Job) error {
		c = job.(*Job).r.c
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 8})
		if err != nil {
			return err
		}
		for range 100 {
			q, err := job.NewQueue(8)
			if err != nil {
				return err
			}
			for i := range 8 {
				q.FetchAdd(w, i%2, i%3, 1)
			}
			if err := q.Submit(); err != nil {
				return err
			}
			if err := q.Close(); err != nil { // they continue
				return err
			}
			job.(*Job).Sleep(20_000)
		}
		return nil
	})
	if err != nil || len(c.pool) != 16 {
		t.Errorf("%v; %d operations have been made for 16 in flight", err, len(c.pool))
	}
}

// What was posted on a queue and not submitted is dropped with it; what was submitted continues.
func TestClosedQueueSendsNothing(t *testing.T) {
	_, err := Run(Options{Ranks: 1, View: ViewOwn}, func(job rma.Job) error {
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 1})
		if err != nil {
			return err
		}
		q, err := job.NewQueue(2)
		if err != nil {
			return err
		}
		q.FetchAdd(w, 0, 0, 1)
		if err := q.Submit(); err != nil {
			return err
		}
		q.FetchAdd(w, 0, 0, 10)
		if err := q.Close(); err != nil {
			return err
		}
		job.(*Job).Sleep(20_000)
		if got := w.Words(0)[0]; got != 1 {
			t.Errorf("1 was submitted and 10 was not; added was %d", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
