package rmatest

import (
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/rma"
)

// outsideWindowPanics posts what is not in a segment of 8 words.
func outsideWindowPanics(r *rank) error {
	for _, c := range []struct{ rank, off, words int }{
		{-1, 0, 1}, {r.size, 0, 1}, {0, -1, 1}, {0, 8, 1}, {0, 7, 2}, {0, 0, 9},
		{0, math.MaxInt, 1}, {0, math.MinInt, 1}, {math.MaxInt, 0, 1}, {math.MinInt, 0, 1},
		{0, math.MaxInt - 1, 4},
	} {
		buf := make(rma.Buf, c.words)
		posts := map[string]func(q rma.Queue){
			"Get": func(q rma.Queue) { q.Get(buf, r.w, c.rank, c.off) },
			"Put": func(q rma.Queue) { q.Put(buf, r.w, c.rank, c.off) },
		}
		if c.words == 1 {
			posts["CompareAndSwap"] = func(q rma.Queue) {
				q.CompareAndSwap(r.w, c.rank, c.off, 0, 1)
			}
			posts["FetchAdd"] = func(q rma.Queue) { q.FetchAdd(r.w, c.rank, c.off, 1) }
		}
		for name, post := range posts {
			q, err := r.job.NewQueue(1)
			if err != nil {
				return err
			}
			if !panics(func() { post(q) }) {
				return fmt.Errorf("%s of %d words at %d of rank %d does not panic",
					name, c.words, c.off, c.rank)
			}
			if err := q.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// misusePanics breaks the rules of queues.
func misusePanics(r *rank) error {
	for _, depth := range []int{0, -1} {
		if q, err := r.job.NewQueue(depth); err == nil || q != nil {
			return fmt.Errorf("a queue of depth %d: %v, %v", depth, q, err)
		}
	}
	h := r.q.FetchAdd(r.w, r.me, 0, 1)
	if !panics(func() { _ = r.q.Wait(r.ctx, h) }) {
		return errors.New("waiting for what was not submitted does not panic")
	}
	if !panics(func() { _, _ = r.q.Value(h) }) {
		return errors.New("taking the value of what was not submitted does not panic")
	}
	if _, err := r.finish(h); err != nil {
		return err
	}
	if !panics(func() { _, _ = r.q.Value(h) }) {
		return errors.New("taking a value twice does not panic")
	}
	return r.expect(r.w, r.me, 0, 1)
}
