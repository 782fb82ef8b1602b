package rmatest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/farhash/farhash/rma"
)

// barrierSeparates: between two barriers every rank sees what all wrote before.
func barrierSeparates(r *rank) error {
	for round := range uint64(100) {
		if err := r.put(r.w, r.me, 0, round); err != nil {
			return err
		}
		if err := r.barrier(); err != nil {
			return err
		}
		for target := range r.size {
			if err := r.expect(r.w, target, 0, round); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		if err := r.barrier(); err != nil {
			return err
		}
	}
	return nil
}

// cells checks each method against what the queue sees.
func cells(r *rank) error {
	c, err := rma.NewCells(r.job, r.w)
	if err != nil {
		return err
	}
	defer c.Close()
	target := (r.me + 1) % r.size // nobody else writes there for now
	if err := c.Store(r.ctx, target, 1, 10); err != nil {
		return err
	}
	if before, err := c.Add(r.ctx, target, 1, 5); err != nil || before != 10 {
		return fmt.Errorf("an Add saw %d, %v, want 10", before, err)
	}
	if ok, err := c.CompareAndSwap(r.ctx, target, 1, 10, 1); err != nil || ok {
		return fmt.Errorf("a CompareAndSwap of the wrong word: %v, %v", ok, err)
	}
	if ok, err := c.CompareAndSwap(r.ctx, target, 1, 15, 16); err != nil || !ok {
		return fmt.Errorf("a CompareAndSwap of the right word: %v, %v", ok, err)
	}
	if word, err := c.Load(r.ctx, target, 1); err != nil || word != 16 {
		return fmt.Errorf("a Load saw %d, %v, want 16", word, err)
	}
	if err := r.expect(r.w, target, 0, 0, 16, 0); err != nil {
		return err
	}
	if err := r.put(r.w, target, 2, uint64(target+1)); err != nil {
		return err
	}
	if err := r.barrier(); err != nil {
		return err
	}
	want := uint64(r.size * (r.size + 1) / 2)
	if sum, err := c.Sum(r.ctx, 2); err != nil || sum != want {
		return fmt.Errorf("the Sum is %d, %v, want %d", sum, err, want)
	}
	return c.Close()
}

// cellsTogether uses the same cells in many goroutines.
func cellsTogether(r *rank) error {
	c, err := rma.NewCells(r.job, r.w)
	if err != nil {
		return err
	}
	const goroutines, rounds = 4, 100
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range rounds {
				if _, err := c.Add(r.ctx, 0, 0, 1); err != nil {
					errs[g] = err
				}
				for swapped := false; !swapped && errs[g] == nil; {
					old, err := c.Load(r.ctx, 0, 1)
					if err == nil {
						swapped, err = c.CompareAndSwap(r.ctx, 0, 1, old, old+2)
					}
					errs[g] = err
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, r.barrier())...); err != nil {
		return err
	}
	want := uint64(goroutines * rounds * r.size)
	return errors.Join(r.expect(r.w, 0, 0, want, 2*want), c.Close())
}

// cellsAfterCancel: an operation that was cut short does not spoil the next ones.
func cellsAfterCancel(r *rank) error {
	c, err := rma.NewCells(r.job, r.w)
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(r.ctx)
	cancel()
	for range 3 {
		if _, err := c.Load(ended, r.me, 0); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	if err := c.Store(r.ctx, r.me, 0, 4); err != nil {
		return err
	}
	return errors.Join(r.expect(r.w, r.me, 0, 4), c.Close())
}

func agreeOnTheSame(r *rank) error {
	for range 3 {
		err := rma.Agree(r.ctx, r.job, "test", nil, rma.Field{Name: "one", Value: 1},
			rma.Field{Name: "most", Value: ^uint64(0)})
		if err != nil {
			return err
		}
	}
	return rma.Agree(r.ctx, r.job, "nothing", nil)
}

func allSucceeded(r *rank) error { return rma.AllSucceeded(r.ctx, r.job, "test", nil) }

// badSpecs: what no rank can make is refused alike, and the job continues.
func badSpecs(r *rank) error {
	for _, words := range []int{0, -1, min(1<<50, math.MaxInt/8) + 1, min(1<<62, math.MaxInt)} {
		w, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "bad", Words: words})
		if err == nil || w != nil {
			return fmt.Errorf("a window of %d words: %v, %v", words, w, err)
		}
	}
	// More than there is anywhere, or than has 2^31 bytes where an int has 32 bits.
	if _, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "vast",
		Words: min(1<<46, math.MaxInt/8+1)}); err == nil {
		return errors.New("a window of 512 TiB was made")
	}
	w, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "good", Words: 3})
	if err != nil {
		return err
	}
	return r.expect(w, r.size-1, 0, 0, 0, 0)
}

// cancelledBarrier: rank 0 waits where nobody comes, until its context ends.
func cancelledBarrier(r *rank) error {
	if r.me != 0 {
		return r.await(0, 0, 1)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	go cancel()
	err := r.job.Barrier(ctx)
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a Barrier with a context that was cancelled: %v", err)
	}
	if again := r.barrier(); !errors.Is(again, context.Canceled) {
		return fmt.Errorf("a Barrier after one that failed: %v, want %v", again, err)
	}
	_, err = r.job.NewWindow(r.ctx, rma.Spec{Name: "late", Words: 1})
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a NewWindow after a Barrier that failed: %v", err)
	}
	return r.put(r.w, 0, 0, 1)
}

func afterClose(r *rank) error {
	if err := errors.Join(r.job.Close(), r.job.Close()); err != nil {
		return err
	}
	if err := r.barrier(); err == nil {
		return errors.New("a Barrier after Close succeeded")
	}
	if _, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "late", Words: 1}); err == nil {
		return errors.New("a NewWindow after Close succeeded")
	}
	_ = r.job.Failed() // does not crash
	return nil
}

// sameText checks that all texts are equal and contain each of some parts.
func sameText(texts []string, parts ...string) error {
	for rank, text := range texts {
		if text != texts[0] {
			return fmt.Errorf("rank 0 says %q, rank %d says %q", texts[0], rank, text)
		}
	}
	return containsAll(texts[0], parts...)
}

// outcome is a rank's error as text.
func outcome(err error) string { return fmt.Sprint(err) }

// others are the ranks of a job but one.
func others(ranks, but int) []int {
	var list []int
	for rank := range ranks {
		list = append(list, rank)
	}
	return slices.Delete(list, but, but+1)
}
