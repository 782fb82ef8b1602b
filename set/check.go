package set

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
)

// Check walks this rank's part of the table and reports what is broken: a word
// that a search would not reach, a word that is stored twice. Nothing may insert
// meanwhile on any rank. Every rank checks its own part; nobody waits.
func (s *Set) Check(ctx context.Context) error {
	return s.checkPart(ctx, s.t.window.Rank())
}

// checkPart checks one rank's part of the table.
func (s *Set) checkPart(ctx context.Context, rank int) error {
	w := walker{t: s.t, f: core.Faults{Table: "set"}}
	w.hash = func(bucket uint64) (uint64, error) { return hashWord(bucket &^ occupied), nil }
	w.same = func(a, b uint64) (bool, error) { return a == b, nil }
	return w.walk(ctx, rank)
}

// Check walks this rank's part of the table and reports what is broken: a bucket
// whose reference or fingerprint is wrong, an element that a search would not
// reach, one that is stored twice. Nothing may insert meanwhile on any rank.
func (e *Elements) Check(ctx context.Context) error {
	return e.checkPart(ctx, e.t.window.Rank())
}

// checkPart checks one rank's part of the table.
func (e *Elements) checkPart(ctx context.Context, rank int) error {
	w := walker{t: e.t, f: core.Faults{Table: "set"}}
	w.hash = func(bucket uint64) (uint64, error) {
		words, err := e.elementOf(ctx, bucket)
		if err != nil {
			return 0, err
		}
		hash := hashElement(words)
		if key := fingerprintKey(hash); bucket&^refMask != key {
			return 0, fmt.Errorf("set: bucket %#x lacks the fingerprint of its element (%#x)",
				bucket, key)
		}
		return hash, nil
	}
	w.same = func(a, b uint64) (bool, error) {
		if a&^refMask != b&^refMask {
			return false, nil
		}
		first, err := e.elementOf(ctx, a)
		if err != nil {
			return false, err
		}
		second, err := e.elementOf(ctx, b)
		return string(bytesOf(first)) == string(bytesOf(second)), err
	}
	return w.walk(ctx, rank)
}

// walker checks one rank's part of a table.
//
// Invariant: between the home of what a bucket holds and that bucket there is no
// empty bucket and nothing equal, and their distance is less than limit.
type walker struct {
	t          *table
	hash       func(bucket uint64) (uint64, error)
	same       func(a, b uint64) (bool, error)
	pathReader *core.Reader // reads the way from home to a bucket
	f          core.Faults
}

func (w *walker) walk(ctx context.Context, rank int) error {
	var err error
	if w.pathReader, err = newReader(w.t); err != nil {
		return err
	}
	defer w.pathReader.Close()
	for run, err := range w.t.runs(ctx, rank) {
		if err != nil {
			return err
		}
		for i, bucket := range run.buckets {
			if bucket == 0 {
				continue
			}
			if err := w.bucket(ctx, run.first+uint64(i), bucket); err != nil {
				return err
			}
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
	hash, err := w.hash(bucket)
	if err != nil {
		w.f.Add("bucket %d: %w", at, err)
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
			same, err := w.same(other, bucket)
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

// CheckAll waits for all ranks, runs Check on every one, and reports on every rank whether all
// succeeded. Collective.
func (s *Set) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, s.job, "set", s.Check)
}

// CheckAll is Check on all ranks; see [Set.CheckAll].
func (e *Elements) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, e.job, "set", e.Check)
}
