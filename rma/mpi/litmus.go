//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// litmusWords are the words that each rank has for each other in the litmus test; so many
// that gets of them are joined.
const litmusWords = 16

// tryOut has every rank use its neighbour's memory in every way, so that a library that
// crashes, hangs or gives wrong answers is found at the start, with what to do about
// it. Collective.
func (j *member) tryOut(ctx context.Context) error {
	result := make(chan error, 1) // nobody waits for a library that hangs
	try := func() { result <- j.lib.guard(func() error { return j.litmus(ctx) }) }
	if mpiState.passive { // MPI is for this thread alone
		try()
	} else {
		go try()
	}
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		err = fmt.Errorf("one-sided operations do not end: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("rma/mpi: trying out %s: %w; %s", j.lib.text, err, j.lib.remedy())
	}
	return nil
}

func (j *member) litmus(ctx context.Context) error {
	w, err := j.NewWindow(ctx, rma.Spec{Name: "rma/mpi: litmus", Words: litmusWords})
	if err != nil {
		return err
	}
	defer w.Close()
	q, err := j.NewQueue(litmusWords)
	if err != nil {
		return err
	}
	defer q.Close()
	buf, err := q.Alloc(litmusWords)
	if err != nil {
		return err
	}
	// Neighbours as near and as far as there are.
	for _, distance := range []int{1, j.size / 2} {
		target := (j.rank + distance) % j.size
		if err := litmusOn(ctx, q, w, target, buf); err != nil {
			return fmt.Errorf("on the memory of rank %d: %w", target, err)
		}
		if err := j.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// litmusOn works on a segment that no other rank uses at the time.
func litmusOn(ctx context.Context, q rma.Queue, w rma.Window, target int, buf rma.Buf) error {
	for i := range buf {
		buf[i] = uint64(i) << 40
	}
	if _, err := remote.Result(ctx, q, q.Put(buf, w, target, 0)); err != nil {
		return err
	}
	for _, c := range []struct {
		what string
		h    rma.Handle
		saw  uint64
	}{
		{"compare-and-swap", q.CompareAndSwap(w, target, 1, 1<<40, 5), 1 << 40},
		{"compare-and-swap of another word", q.CompareAndSwap(w, target, 1, 7, 8), 5},
		{"fetch-and-add", q.FetchAdd(w, target, 1, 1), 5},
	} {
		saw, err := remote.Result(ctx, q, c.h)
		if err == nil && saw != c.saw {
			err = fmt.Errorf("a %s saw %d instead of %d", c.what, saw, c.saw)
		}
		if err != nil {
			return err
		}
	}
	clear(buf)
	var gets []rma.Handle
	for i := range buf { // in an order of their own, joined into one call
		i = (5*i + 3) % len(buf)
		gets = append(gets, q.Get(buf[i:i+1], w, target, i))
	}
	var errs []error
	for i, h := range gets {
		_, err := remote.Result(ctx, q, h)
		at, want := (5*i+3)%len(buf), uint64((5*i+3)%len(buf))<<40
		if at == 1 {
			want = 6
		}
		if err == nil && buf[at] != want {
			err = fmt.Errorf("a get of word %d brought %d instead of %d", at, buf[at], want)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
