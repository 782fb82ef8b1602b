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
	window Window
	words  [][]uint64 // by rank; nil when every access goes through the queue

	mu   sync.Mutex // guards the queue and its buffer
	q    Queue
	buf  Buf
	late Handle // an operation whose caller gave up and that is still in flight
}

// NewCells returns the cells of w, a window of job.
func NewCells(job Job, w Window) (*Cells, error) {
	c := &Cells{window: w, late: NoHandle}
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

// Sum adds up the word at off over all ranks, modulo 2^64. The words are read
// one after the other, rank 0 first.
func (c *Cells) Sum(ctx context.Context, off int) (uint64, error) {
	total := uint64(0)
	for rank := range c.window.Size() {
		word, err := c.Load(ctx, rank, off)
		if err != nil {
			return 0, err
		}
		total += word
	}
	return total, nil
}

// Close closes the queue. The window stays open.
func (c *Cells) Close() error {
	if c.q == nil {
		return nil
	}
	return c.q.Close()
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
