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

	many    Queue // of Gather, made when it is first needed
	manyBuf Buf
	gets    []Handle // what it has in flight
}

// gatherDepth is from how many ranks Gather reads at once.
const gatherDepth = 64

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

// Sum adds up the word at off over all ranks, modulo 2^64, as Gather reads it.
func (c *Cells) Sum(ctx context.Context, off int) (total uint64, err error) {
	if c.words != nil {
		for _, words := range c.words {
			total += atomic.LoadUint64(&words[off])
		}
		return total, nil
	}
	err = c.Gather(ctx, off, 1, func(_ int, words []uint64, err error) error {
		total += words[0]
		return err
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

// Gather calls use with n words at off of each rank, rank by rank, until it returns an error. Where
// that takes messages it reads from many ranks at once, in any order. err says that the words of a
// rank could not be read. The words are valid until use returns, and it must not use the cells.
func (c *Cells) Gather(ctx context.Context, off, n int,
	use func(rank int, words []uint64, err error) error) error {
	if c.words != nil {
		words := make([]uint64, n)
		for rank, all := range c.words {
			for i := range words {
				words[i] = atomic.LoadUint64(&all[off+i])
			}
			if err := use(rank, words, nil); err != nil {
				return err
			}
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	depth := min(gatherDepth, c.window.Size())
	if err := c.openGather(depth, n); err != nil {
		return err
	}
	faults := make([]error, depth)
	if err := c.gathered(ctx, faults); err != nil { // of a caller who gave up
		return err
	}
	for first := 0; first < c.window.Size(); first += depth {
		ranks := min(depth, c.window.Size()-first)
		for i := range ranks {
			c.gets = append(c.gets, c.many.Get(c.manyBuf[i*n:(i+1)*n], c.window, first+i, off))
		}
		err := c.many.Submit()
		if err == nil {
			err = c.gathered(ctx, faults)
		}
		for i := 0; i < ranks && err == nil; i++ {
			err = use(first+i, c.manyBuf[i*n:(i+1)*n], faults[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openGather has the queue for so many gets of n words each.
func (c *Cells) openGather(depth, n int) (err error) {
	if c.many == nil {
		if c.many, err = c.job.NewQueue(depth); err != nil {
			return err
		}
	}
	if len(c.manyBuf) < depth*n {
		c.manyBuf, err = c.many.Alloc(depth * n)
	}
	return err
}

// gathered waits for what Gather has in flight, and has the error of each.
func (c *Cells) gathered(ctx context.Context, faults []error) error {
	for n := len(c.gets); n > 0; n = len(c.gets) {
		h := c.gets[n-1]
		if err := c.many.Wait(ctx, h); err != nil {
			return err
		}
		c.gets = c.gets[:n-1]
		_, faults[n-1] = c.many.Value(h)
	}
	return nil
}

// Close closes the queues. The window stays open.
func (c *Cells) Close() error {
	var errs []error
	for _, q := range []Queue{c.q, c.many} {
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
