package cache

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// Clear empties the cache. Collective, and nothing else may work on the cache meanwhile. The
// statistics go on.
func (c *Cache) Clear(ctx context.Context) error {
	if err := c.job.Barrier(ctx); err != nil { // calls that came before have ended on all ranks
		return err
	}
	return rma.AllSucceeded(ctx, c.job, "cache: clearing", c.clearOwn(ctx))
}

// clearPiece is how many words are cleared at a time where there are no locks between groups.
const clearPiece = 1 << 12

// clearOwn empties the buckets of this rank. Locks stay as they are.
func (c *Cache) clearOwn(ctx context.Context) error {
	end := int(c.groups) * c.groupWords
	step, piece := c.groupWords, c.groupWords-c.lockWords
	if c.lockWords == 0 {
		step, piece = clearPiece, clearPiece
	}
	if own := c.batches.Here(c.job.Rank()); own != nil {
		zeros := make([]uint64, piece)
		for off := c.lockWords; off < end; off += step {
			memory.StoreWords(own[off:], zeros[:min(piece, end-off)])
		}
		return nil
	}
	q, err := c.job.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	zeros, err := q.Alloc(piece)
	if err != nil {
		return err
	}
	for off := c.lockWords; off < end; off += step {
		put := q.Put(zeros[:min(piece, end-off)], c.window, c.job.Rank(), off)
		if err := errors.Join(q.Submit(), q.Wait(ctx, put)); err != nil {
			return err
		}
		if _, err := q.Value(put); err != nil {
			return err
		}
	}
	return nil
}

// usedSample is how many groups of each rank Used examines.
const usedSample = 1 << 12

// Used is the part of all buckets that hold a key, 0 to 1, as each rank has them when it calls. It
// examines a sample of its own buckets, or all of them where there are few: the answer is off by
// some thousandths. Collective.
func (c *Cache) Used(ctx context.Context) (float64, error) {
	n, of, err := c.sample(ctx)
	const at = int(atOccupied / 8)
	if err == nil {
		err = c.tally.cells.Store(ctx, c.job.Rank(), at, n)
	}
	if err := rma.AllSucceeded(ctx, c.job, "cache: counting buckets", err); err != nil {
		return 0, err
	}
	total, err := c.tally.cells.Sum(ctx, at)
	// Nobody writes the next count before all have read this one.
	if err := rma.AllSucceeded(ctx, c.job, "cache: counting buckets", err); err != nil {
		return 0, err
	}
	return float64(total) / float64(of) / float64(c.ranks), nil
}

// sample counts the buckets in use of some groups of this rank, and all buckets of these.
func (c *Cache) sample(ctx context.Context) (used, of uint64, err error) {
	r, err := c.newReader()
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	step := max(1, c.groups/usedSample)
	for group := uint64(0); group < c.groups; group += step {
		words, err := c.readGroup(ctx, r, c.job.Rank(), group)
		if err != nil {
			return 0, 0, err
		}
		for i := range c.cfg.GroupBuckets {
			of++
			if words[i*c.bucketWords] > invalid {
				used++
			}
		}
	}
	return used, of, nil
}
