package explore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// A rank alone gets back what it has left, all of it.
func TestExchangeOwnSlots(t *testing.T) {
	job := local.Single()
	defer job.Close()
	x, err := newExchange(t.Context(), job, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	var b block
	for round := range 3 {
		for i := range slotsPerRank {
			slot, ok, err := x.wanted(t.Context())
			if err != nil || !ok {
				t.Fatalf("slot %d: %v, %v", i, ok, err)
			}
			b = block{uint64(round*slotsPerRank + i)}
			if err := x.offer(t.Context(), slot, b); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok, err := x.wanted(t.Context()); ok || err != nil {
			t.Fatalf("full slots want more: %v, %v", ok, err)
		}
		sum := uint64(0)
		for range slotsPerRank {
			if ok, err := x.claim(t.Context(), &b); !ok || err != nil || len(b) != 1 {
				t.Fatalf("claimed: %v, %d, %v", ok, b, err)
			}
			sum += b[0] - uint64(round*slotsPerRank)
		}
		if sum != slotsPerRank*(slotsPerRank-1)/2 {
			t.Fatalf("round %d: other tasks came back", round)
		}
		if ok, err := x.claim(t.Context(), &b); ok || err != nil {
			t.Fatalf("claimed from empty slots: %v, %v", ok, err)
		}
	}
}

// Ranks offer and claim at once: every task comes out exactly once.
func TestExchange(t *testing.T) {
	const ranks, blocks = 4, 150
	for _, hidden := range []bool{false, true} {
		var claims [ranks][]uint64 // by the rank that claimed
		var left atomic.Int64
		for rank := range ranks {
			for i := range blocks {
				left.Add(int64(len(offered(rank, i))))
			}
		}
		total := int(left.Load())
		err := local.RunWith(local.Options{Hidden: hidden}, ranks, func(job rma.Job) error {
			return trade(t.Context(), job, blocks, &claims[job.Rank()], &left)
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint64]bool{}
		for rank := range ranks {
			for _, task := range claims[rank] {
				if seen[task] {
					t.Fatalf("hidden %v: task %#x came twice", hidden, task)
				}
				seen[task] = true
			}
		}
		for rank := range ranks {
			for i := range blocks {
				for _, task := range offered(rank, i) {
					if !seen[task] {
						t.Fatalf("hidden %v: task %#x did not come", hidden, task)
					}
				}
			}
		}
		if len(seen) != total {
			t.Fatalf("hidden %v: %d tasks of %d", hidden, len(seen), total)
		}
	}
}

const (
	offeredWords   = 3 // of a task that is offered
	offeredAtOnce  = 2 // blocks
	offeredLongest = offeredAtOnce * blockTasks * offeredWords
)

// offered is what a rank offers the i-th time: of any length, no word twice.
func offered(rank, i int) block {
	b := make(block, 1+(i*37+rank*11)%offeredLongest)
	for j := range b {
		b[j] = uint64(rank+1)<<40 | uint64(i)<<20 | uint64(j)
	}
	return b
}

// trade offers all blocks of this rank and claims what it can until nothing is left.
func trade(ctx context.Context, job rma.Job, blocks int, claims *[]uint64,
	left *atomic.Int64) error {
	x, err := newExchange(ctx, job, offeredWords, offeredAtOnce)
	if err != nil {
		return err
	}
	defer x.close()
	var pace backoff.Backoff
	var b block
	for next := 0; left.Load() > 0; {
		if next < blocks {
			slot, ok, err := x.wanted(ctx)
			if err != nil {
				return err
			}
			if ok {
				b := offered(job.Rank(), next)
				k := len(b) / 2
				if err := x.offer(ctx, slot, b[:k], b[k:]); err != nil {
					return err
				}
				next++
				continue
			}
		}
		ok, err := x.claim(ctx, &b)
		if err != nil {
			return err
		}
		if !ok {
			pace.Pause()
			continue
		}
		pace.Reset()
		if len(b) < 1 || len(b) > offeredLongest {
			return fmt.Errorf("claimed a block of %d words", len(b))
		}
		*claims = append(*claims, b...)
		left.Add(-int64(len(b)))
	}
	return job.Barrier(ctx) // nobody closes what others still read
}

// What a worker offers it has no more: each of its tasks is in one place.
func TestOffer(t *testing.T) {
	const tasks = 21 * blockTasks
	err := local.Run(2, func(job rma.Job) error {
		x, err := newExchange(t.Context(), job, 1, 3)
		if err != nil {
			return err
		}
		defer x.close()
		if job.Rank() > 0 {
			return job.Barrier(t.Context())
		}
		w := &worker{search: &search{job: job, exchange: x}, lists: lists{pool: pool{taskWords: 1}}}
		w.now.pool = &w.pool
		for task := range uint64(tasks) {
			w.now.push([]uint64{task})
		}
		if err := w.offer(t.Context()); err != nil {
			return err
		}
		if n := len(w.now.blocks); n != 9 {
			t.Errorf("%d blocks of 21 are left, want 9", n)
		}
		seen := make([]int, tasks)
		count := func(b block) {
			for _, task := range b {
				seen[task]++
			}
		}
		for b := w.now.pop(); b != nil; b = w.now.pop() {
			count(b)
		}
		for range slotsPerRank {
			var b block
			if ok, err := x.claim(t.Context(), &b); err != nil || !ok {
				t.Errorf("a slot is empty: %v", err)
			}
			count(b)
		}
		for task, n := range seen {
			if n != 1 {
				t.Fatalf("task %d is in %d places", task, n)
			}
		}
		return job.Barrier(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
}
