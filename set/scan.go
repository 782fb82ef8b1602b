package set

import (
	"context"
	"iter"

	"github.com/farhash/farhash/internal/core"
)

// scanWords is how many buckets a scan reads at a time.
const scanWords = 1024

// newReader reads runs of buckets.
func newReader(t *table) (*core.Reader, error) {
	if err := t.sessions.Open(); err != nil {
		return nil, err
	}
	return core.NewReader(t.job, t.window, &t.batches.Regions, scanWords)
}

// runs iterates over the buckets of a rank, scanWords or fewer at a time. They are the iterator's
// until it goes on.
func (t *table) runs(ctx context.Context, rank int) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		r, err := newReader(t)
		if err != nil {
			yield(run{}, err)
			return
		}
		defer r.Close()
		for off := 0; off < int(t.perRank); off += scanWords {
			buckets, err := r.Read(ctx, rank, off, min(scanWords, int(t.perRank)-off))
			if !yield(run{uint64(rank)*t.perRank + uint64(off), buckets}, err) || err != nil {
				return
			}
		}
	}
}

// run is buckets from number first of the table on.
type run struct {
	first   uint64
	buckets []uint64
}

// occupied iterates over the occupied buckets of the ranks from rank to before end.
func (t *table) occupied(ctx context.Context, rank, end int) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for ; rank < end; rank++ {
			for run, err := range t.runs(ctx, rank) {
				if err != nil {
					yield(0, err)
					return
				}
				for _, bucket := range run.buckets {
					if bucket != 0 && !yield(bucket, nil) {
						return
					}
				}
			}
		}
	}
}

// local iterates over the occupied buckets of this rank.
func (t *table) local(ctx context.Context) iter.Seq2[uint64, error] {
	return t.occupied(ctx, t.window.Rank(), t.window.Rank()+1)
}
