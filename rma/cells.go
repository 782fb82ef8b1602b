package rma

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// Cells reads and writes single words of a window: counters, flags, levels.
// It goes through memory where that is allowed and through a queue where not.
// It is safe for concurrent use.
type Cells struct {
	job    Job
	window Window
	words  [][]uint64 // by rank; nil when every access goes through the queue

	mu   sync.Mutex // guards the queue and its buffer
	q    Queue
	buf  Buf
	late Handle // an operation whose caller gave up and that is still in flight

	sums    Queue // of Sum, made when it is first needed
	sumBuf  Buf
	summing []Handle // what it has in flight
}

// sumDepth is how many words a Sum reads at once.
const sumDepth = 64

// NewCells returns the cells of w, a window of job.
func NewCells(job Job, w Window) (*Cells, error) {
	c := &Cells{job: job, window: w, late: NoHandle}
	if c.words = allWords(w); c.words != nil {
		return c, nil
	}
	q, err := job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	c.q = q
	if c.buf, err = q.Alloc(1); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return c, nil
}

// allWords are the segments of all ranks, nil unless CPU atomics reach all of them.
func allWords(w Window) [][]uint64 {
	if !w.CPUAtomicsCoherent() {
		return nil
	}
	var all [][]uint64
	for rank := range w.Size() {
		words := w.Words(rank)
		if words == nil {
			return nil
		}
		all = append(all, words)
	}
	return all
}

// Load returns the word at (rank, off).
func (c *Cells) Load(ctx context.Context, rank, off int) (uint64, error) {
	if c.words != nil {
		return atomic.LoadUint64(&c.words[rank][off]), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settle(ctx); err != nil {
		return 0, err
	}
	if _, err := c.await(ctx, c.q.Get(c.buf, c.window, rank, off)); err != nil {
		return 0, err
	}
	return c.buf[0], nil
}

// Store writes the word at (rank, off).
func (c *Cells) Store(ctx context.Context, rank, off int, word uint64) error {
	if c.words != nil {
		atomic.StoreUint64(&c.words[rank][off], word)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settle(ctx); err != nil {
		return err
	}
	c.buf[0] = word
	_, err := c.await(ctx, c.q.Put(c.buf, c.window, rank, off))
	return err
}

// Add adds delta to the word at (rank, off) and returns what it was before.
func (c *Cells) Add(ctx context.Context, rank, off int, delta uint64) (uint64, error) {
	if c.words != nil {
		return atomic.AddUint64(&c.words[rank][off], delta) - delta, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settle(ctx); err != nil {
		return 0, err
	}
	return c.await(ctx, c.q.FetchAdd(c.window, rank, off, delta))
}

// CompareAndSwap stores newWord at (rank, off) if old is there, and reports
// whether it was.
func (c *Cells) CompareAndSwap(ctx context.Context, rank, off int,
	old, newWord uint64) (bool, error) {
	if c.words != nil {
		return atomic.CompareAndSwapUint64(&c.words[rank][off], old, newWord), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settle(ctx); err != nil {
		return false, err
	}
	seen, err := c.await(ctx, c.q.CompareAndSwap(c.window, rank, off, old, newWord))
	return err == nil && seen == old, err
}

// Sum adds up the word at off over all ranks, modulo 2^64. Where that takes messages it reads many
// words at once, in any order.
func (c *Cells) Sum(ctx context.Context, off int) (total uint64, err error) {
	if c.words != nil {
		for _, words := range c.words {
			total += atomic.LoadUint64(&words[off])
		}
		return total, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sums == nil {
		depth := min(sumDepth, c.window.Size())
		if c.sums, err = c.job.NewQueue(depth); err != nil {
			return 0, err
		}
		if c.sumBuf, err = c.sums.Alloc(depth); err != nil {
			return 0, err
		}
	}
	if err := c.summed(ctx); err != nil { // of a caller who gave up
		return 0, err
	}
	for first := 0; first < c.window.Size(); first += len(c.sumBuf) {
		n := min(len(c.sumBuf), c.window.Size()-first)
		for i := range n {
			c.summing = append(c.summing, c.sums.Get(c.sumBuf[i:i+1], c.window, first+i, off))
		}
		err := c.sums.Submit()
		if err == nil {
			err = c.summed(ctx)
		}
		if err != nil {
			return 0, err
		}
		for _, word := range c.sumBuf[:n] {
			total += word
		}
	}
	return total, nil
}

// summed waits for what Sum has in flight.
func (c *Cells) summed(ctx context.Context) (err error) {
	for n := len(c.summing); n > 0; n = len(c.summing) {
		h := c.summing[n-1]
		if err := c.sums.Wait(ctx, h); err != nil {
			return err
		}
		c.summing = c.summing[:n-1]
		if _, fault := c.sums.Value(h); err == nil {
			err = fault
		}
	}
	return err
}

// Close closes the queues. The window stays open.
func (c *Cells) Close() error {
	var errs []error
	for _, q := range []Queue{c.q, c.sums} {
		if q != nil {
			errs = append(errs, q.Close())
		}
	}
	return errors.Join(errs...)
}

// await submits the operation posted last and takes its result.
func (c *Cells) await(ctx context.Context, h Handle) (uint64, error) {
	if err := c.q.Submit(); err != nil {
		return 0, err
	}
	if err := c.q.Wait(ctx, h); err != nil {
		c.late = h
		return 0, err
	}
	return c.q.Value(h)
}

// settle waits for an operation whose caller gave up: the next one needs its place in the queue.
func (c *Cells) settle(ctx context.Context) error {
	if c.late == NoHandle {
		return nil
	}
	if err := c.q.Wait(ctx, c.late); err != nil {
		return err
	}
	_, _ = c.q.Value(c.late) // its result is not needed any more
	c.late = NoHandle
	return nil
}
