package set

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/farhash/farhash/internal/core"
)

// scanWords is how many buckets a scan reads at a time.
const scanWords = 1024

// walker checks one rank's part of a table.
//
// Invariant: between the home of what a bucket holds and that bucket there is no
// empty bucket and nothing equal, and their distance is less than limit.
type walker struct {
	t          *table
	pathReader *core.Reader // reads the way from home to a bucket
	f          core.Faults
}

// check checks one rank's part of the table.
func (t *table) check(ctx context.Context, rank int) error {
	pathReader, err := newReader(t)
	if err != nil {
		return err
	}
	defer pathReader.Close()
	w := walker{t: t, pathReader: pathReader, f: core.Faults{Table: "set"}}
	for s, err := range t.occupied(ctx, rank, rank+1) {
		if err != nil {
			return err
		}
		if err := w.bucket(ctx, s.at, s.bucket); err != nil {
			return err
		}
	}
	return w.f.Err()
}

// bucket checks one occupied bucket. The error is of reading, not of the table.
func (w *walker) bucket(ctx context.Context, at, bucket uint64) error {
	if bucket&occupied == 0 {
		w.f.Add("bucket %d holds %#x without the occupied bit", at, bucket)
		return nil
	}
	hash, err := w.t.hashOf(bucket)
	if err != nil {
		w.f.Add("bucket %d: %w", at, err)
		return nil
	}
	if key := fingerprintKey(hash); w.t.arenas != nil && bucket&w.t.mask != key {
		w.f.Add("bucket %d: set: bucket %#x lacks the fingerprint of its element (%#x)", at, bucket,
			key)
		return nil
	}
	home := w.t.home(hash)
	distance := w.t.distance(home, at)
	if distance >= w.t.limit {
		w.f.Add("bucket %d holds %#x, %d buckets from its home %d; a search ends after %d",
			at, bucket, distance, home, w.t.limit)
		return nil
	}
	return w.checkPath(ctx, home, at, distance, bucket)
}

// checkPath checks the buckets from home to just before at.
func (w *walker) checkPath(ctx context.Context, home, at, distance, bucket uint64) error {
	for step := uint64(0); step < distance; {
		from := (home + step) % w.t.buckets
		rank, off := w.t.place(from)
		n := min(distance-step, w.t.perRank-uint64(off), scanWords)
		run, err := w.pathReader.Read(ctx, rank, off, int(n))
		if err != nil {
			return err
		}
		for i, other := range run {
			if other == 0 {
				w.f.Add("bucket %d holds %#x, which searches from %d miss: bucket %d is empty",
					at, bucket, home, (from+uint64(i))%w.t.buckets)
				return nil
			}
			same, err := w.t.same(other, bucket)
			if err != nil {
				continue // the check of that bucket reports it
			}
			if same {
				w.f.Add("%#x is in bucket %d and in bucket %d", bucket,
					(from+uint64(i))%w.t.buckets, at)
			}
		}
		step += n
	}
	return nil
}

// same reports whether two buckets hold the same.
func (t *table) same(a, b uint64) (bool, error) {
	if t.arenas == nil || a&t.mask != b&t.mask {
		return a == b, nil
	}
	first, err := t.elementOf(a)
	if err != nil {
		return false, err
	}
	second, err := t.elementOf(b)
	return slices.Equal(first, second), err
}

// stored is an occupied bucket and its number.
type stored struct{ at, bucket uint64 }

// local iterates over the occupied buckets of this rank.
func (t *table) local(ctx context.Context) iter.Seq2[stored, error] {
	return t.occupied(ctx, t.window.Rank(), t.window.Rank()+1)
}

// occupied iterates over the occupied buckets of the ranks from rank to before end.
func (t *table) occupied(ctx context.Context, rank, end int) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		r, err := newReader(t)
		if err != nil {
			yield(stored{}, err)
			return
		}
		defer r.Close()
		last := uint64(end) * t.perRank
		for at := uint64(rank) * t.perRank; at < last; {
			owner, off := t.place(at)
			buckets, err := r.Read(ctx, owner, off, min(scanWords, int(t.perRank)-off))
			if err != nil {
				yield(stored{}, err)
				return
			}
			for i, bucket := range buckets {
				if bucket != 0 && !yield(stored{at + uint64(i), bucket}, nil) {
					return
				}
			}
			at += uint64(len(buckets))
		}
	}
}

// newReader reads runs of buckets.
func newReader(t *table) (*core.Reader, error) {
	if err := t.sessions.Open(); err != nil {
		return nil, err
	}
	return core.NewReader(t.job, t.window, &t.batches.Regions, scanWords)
}

// hashOf is the hash of what a bucket holds.
func (t *table) hashOf(bucket uint64) (uint64, error) {
	if t.arenas == nil {
		return hashWord(bucket &^ occupied), nil
	}
	words, err := t.elementOf(bucket)
	if err != nil {
		return 0, err
	}
	return hashElement(words), nil
}

// elementOf is the element that a bucket refers to.
func (t *table) elementOf(bucket uint64) ([]uint64, error) {
	ref := Ref(bucket & refMask)
	if !t.arenas.valid(ref) {
		return nil, fmt.Errorf("set: bucket %#x refers to slot %#x, which does not exist",
			bucket, uint64(ref))
	}
	return t.elementAt(ref)
}
