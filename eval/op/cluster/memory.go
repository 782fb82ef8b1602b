package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// segments are the memory of a window, each as the rank sees it that owns it.
type segments [][]uint64

func (s segments) Rank() int                { return 0 }
func (s segments) Size() int                { return len(s) }
func (s segments) Len() int                 { return len(s[0]) }
func (s segments) CPUAtomicsCoherent() bool { return true }
func (s segments) Words(rank int) []uint64  { return s[rank] }
func (s segments) Close() error             { return nil }

// inside is a job of one rank for a set whose buckets are in memory that is there.
type inside struct{ flat []uint64 }

func (j inside) Rank() int                     { return 0 }
func (j inside) Size() int                     { return 1 }
func (j inside) Barrier(context.Context) error { return nil }
func (j inside) Failed() []int                 { return nil }
func (j inside) Close() error                  { return nil }

func (j inside) NewQueue(int) (rma.Queue, error) {
	return nil, errors.New("memory that is at hand needs no queue")
}

func (j inside) NewWindow(_ context.Context, spec rma.Spec) (rma.Window, error) {
	if spec.Words == len(j.flat) {
		return segments{j.flat}, nil
	}
	return segments{make([]uint64, spec.Words)}, nil
}

// filler fills a set without its ranks: it is another set over the same buckets, as memory
// of one rank. What it inserts takes no virtual time, and the ranks find it there.
type filler struct {
	set     *set.Set
	flat    []uint64
	words   words
	filled  uint64 // words inserted
	batch   []uint64
	results []set.Result
}

// fillerBatch is how many words are inserted at a time.
const fillerBatch = 1 << 13

// newFiller makes a filler of an empty set that was made with cfg.
func newFiller(ctx context.Context, memory segments, cfg set.Config, w words) (*filler, error) {
	flat := core.Flat(memory)
	if uint64(len(flat)) != cfg.Buckets {
		return nil, fmt.Errorf("the buckets of %d ranks are not in a row", len(memory))
	}
	s, err := set.New(ctx, inside{flat}, cfg)
	return &filler{set: s, flat: flat, words: w, batch: make([]uint64, fillerBatch),
		results: make([]set.Result, fillerBatch)}, err
}

// fill inserts the next n words.
func (f *filler) fill(ctx context.Context, n uint64) error {
	for n > 0 {
		batch := f.batch[:min(n, fillerBatch)]
		for i := range batch {
			batch[i] = f.words.at(f.filled + uint64(i))
		}
		if err := f.set.FindOrPutBatch(batch, f.results[:len(batch)]); err != nil {
			return tooShort(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		f.filled += uint64(len(batch))
		n -= uint64(len(batch))
	}
	return nil
}

// tooShort says of a set that is full how that can be: it knows neither all of what is
// in it nor that its size is not to be chosen.
func tooShort(err error) error {
	if full := (*set.FullError)(nil); errors.As(err, &full) {
		return fmt.Errorf("a search found all of its %d buckets occupied, C*M; a larger M would "+
			"have it continue", full.LongestProbe)
	}
	return err
}

// occupied counts the buckets that are not empty.
func (f *filler) occupied() (n uint64) {
	for _, bucket := range f.flat {
		if bucket != 0 {
			n++
		}
	}
	return n
}

// words are the words of a run: distinct, and random for whom does not know the seed.
type words struct{ seed uint64 }

const wordMask = set.MaxWord

// at is word i, less than 2^63. Each step is a bijection of 63 bits.
func (w words) at(i uint64) uint64 {
	x := (i ^ w.seed) & wordMask
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93 & wordMask
	x = (x ^ x>>29) * 0xA0761D6478BD642F & wordMask
	return x ^ x>>32
}
