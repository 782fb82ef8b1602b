package rmatest

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// counting is a step machine that adds 1 to word 0 by fetch-and-add and to word 1
// by compare-and-swap. The first two requests are in flight together.
type counting struct {
	w       rma.Window
	rank    int
	buf     rma.Buf
	phase   int
	add     rma.Handle
	get     rma.Handle
	swap    rma.Handle
	failAt  int // phase in which it fails, 0 for none
	endless bool
	running *bool
}

func (o *counting) Step(q rma.Queue) (rma.Handle, error) {
	o.phase++
	if o.phase == o.failAt {
		return rma.NoHandle, errPlanned
	}
	switch o.phase {
	case 1:
		if *o.running {
			return rma.NoHandle, errors.New("a slot was given to two operations")
		}
		*o.running = true
		o.get = q.Get(o.buf, o.w, o.rank, 1)
		o.add = q.FetchAdd(o.w, o.rank, 0, 1)
		return o.add, nil
	case 2:
		if _, err := q.Value(o.add); err != nil {
			return rma.NoHandle, err
		}
		return o.get, nil
	case 3:
		if _, err := q.Value(o.get); err != nil {
			return rma.NoHandle, err
		}
	default:
		seen, err := q.Value(o.swap)
		if err != nil {
			return rma.NoHandle, err
		}
		if seen == o.buf[0] && !o.endless {
			*o.running = false
			return rma.NoHandle, nil
		}
		q.Stats().Retries++
		o.buf[0] = seen
	}
	o.swap = q.CompareAndSwap(o.w, o.rank, 1, o.buf[0], o.buf[0]+1)
	return o.swap, nil
}

// supply gives operations to RunAll, one buffer for each slot.
type supply struct {
	r       *rank
	q       rma.Queue
	bufs    []rma.Buf
	running []bool
	left    int
	ops     func(slot int) *counting
}

// newSupply prepares a queue of its own for depth operations.
func newSupply(r *rank, depth, ops int) (*supply, error) {
	q, err := r.job.NewQueue(2 * depth)
	if err != nil {
		return nil, err
	}
	c := &supply{r: r, q: q, running: make([]bool, depth), left: ops}
	for range depth {
		buf, err := q.Alloc(1)
		if err != nil {
			return nil, err
		}
		c.bufs = append(c.bufs, buf)
	}
	c.ops = func(slot int) *counting {
		return &counting{w: r.w, rank: r.size - 1, buf: c.bufs[slot], running: &c.running[slot]}
	}
	return c, nil
}

func (c *supply) next(slot int) rma.Op {
	if c.left == 0 {
		return nil
	}
	c.left--
	return c.ops(slot)
}

func runOne(r *rank) error {
	c, err := newSupply(r, 1, 0)
	if err != nil {
		return err
	}
	const ops = 100
	for range ops {
		if err := rma.Run(r.ctx, c.q, c.ops(0)); err != nil {
			return err
		}
	}
	// Three waits each, and one for every swap that was lost.
	if s := c.q.Stats(); s.RoundTrips != 3*ops+s.Retries {
		return fmt.Errorf("%d round trips of %d operations with %d retries",
			s.RoundTrips, ops, s.Retries)
	}
	if err := errors.Join(c.q.Close(), r.barrier()); err != nil {
		return err
	}
	return r.expect(r.w, r.size-1, 0, uint64(ops*r.size), uint64(ops*r.size))
}

func runMany(r *rank) error {
	total := 0
	for _, depth := range []int{1, 3, 20} {
		for _, ops := range []int{0, 1, depth - 1, depth, depth + 1, 5*depth + 2} {
			c, err := newSupply(r, depth, ops)
			if err != nil {
				return err
			}
			if err := rma.RunAll(r.ctx, c.q, depth, c.next); err != nil {
				return fmt.Errorf("%d operations, %d in flight: %w", ops, depth, err)
			}
			s := c.q.Stats()
			if s.FetchAdds != uint64(ops) || s.RoundTrips != 3*uint64(ops)+s.Retries {
				return fmt.Errorf("%d operations, %d in flight: %+v", ops, depth, *s)
			}
			total += ops
			if err := c.q.Close(); err != nil {
				return err
			}
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	return r.expect(r.w, r.size-1, 0, uint64(total*r.size), uint64(total*r.size))
}

// runAllEndsWithError: the first error of an operation ends all of them.
func runAllEndsWithError(r *rank) error {
	for failAt := 1; failAt <= 4; failAt++ {
		c, err := newSupply(r, 3, 100)
		if err != nil {
			return err
		}
		good := c.ops
		c.ops = func(slot int) *counting {
			op := good(slot)
			if c.left == 50 {
				op.failAt = failAt
			}
			return op
		}
		if err := rma.RunAll(r.ctx, c.q, 3, c.next); err != errPlanned {
			return fmt.Errorf("failing in phase %d: %v, want %v", failAt, err, errPlanned)
		}
		if c.left < 40 {
			return fmt.Errorf("a RunAll continued after an error: %d operations left", c.left)
		}
		if err := c.q.Close(); err != nil { // what was in flight still takes its room
			return err
		}
		if c, err = newSupply(r, 1, 0); err != nil {
			return err
		}
		op := c.ops(0)
		op.failAt = failAt
		if err := rma.Run(r.ctx, c.q, op); err != errPlanned {
			return fmt.Errorf("a Run failing in phase %d: %v, want %v", failAt, err, errPlanned)
		}
		if err := c.q.Close(); err != nil {
			return err
		}
	}
	err := rma.RunAll(r.ctx, r.q, 0, func(int) rma.Op { return nil })
	if err == nil {
		return errors.New("a RunAll with no operation in flight succeeded")
	}
	return nil
}

// runEndsWithContext: operations that never end do so with their context.
func runEndsWithContext(r *rank) error {
	for _, depth := range []int{1, 3} {
		ctx, cancel := context.WithCancel(r.ctx)
		c, err := newSupply(r, depth, depth)
		if err != nil {
			cancel()
			return err
		}
		started := 0
		endless := func(slot int) rma.Op {
			op := c.ops(slot)
			op.endless = true
			if started++; started == depth {
				cancel()
			}
			return op
		}
		if err := rma.RunAll(ctx, c.q, depth, endless); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a RunAll with a context that has ended: %v", err)
		}
		op := c.ops(0)
		op.endless, op.running = true, new(bool)
		if op.buf, err = r.q.Alloc(1); err != nil { // a buffer belongs to its queue
			return err
		}
		if err := rma.Run(ctx, r.q, op); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a Run with a context that has ended: %v", err)
		}
		if err := c.q.Close(); err != nil {
			return err
		}
	}
	return nil
}

// stats: what was posted is counted.
func stats(r *rank) error {
	before := *r.q.Stats()
	if before != (rma.Stats{}) {
		return fmt.Errorf("a new queue has counted %+v", before)
	}
	buf, err := r.q.Alloc(16)
	if err != nil {
		return err
	}
	for _, h := range []rma.Handle{
		r.q.Get(buf[:5], r.w, 0, 0), r.q.Get(buf[5:6], r.w, 0, 0), r.q.Put(buf[:10], r.w, 0, 3),
		r.q.CompareAndSwap(r.w, 0, 0, 1, 2), r.q.CompareAndSwap(r.w, 0, 0, 0, 0),
		r.q.CompareAndSwap(r.w, 0, 0, 7, 2), r.q.FetchAdd(r.w, 0, 2, 0),
	} {
		if _, err := r.finish(h); err != nil {
			return err
		}
	}
	r.q.Stats().RoundTrips += 2
	want := rma.Stats{Gets: 2, Puts: 1, CompareAndSwaps: 3, FetchAdds: 1, RoundTrips: 2,
		Bytes: 8 * (5 + 1 + 10 + 3 + 1)}
	if got := *r.q.Stats(); got != want {
		return fmt.Errorf("counted %+v, want %+v", got, want)
	}
	return nil
}
