package set

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
)

// scanWords is how many buckets a scan reads at a time.
const scanWords = 1024

// walker checks one rank's part of a table.
//
// Invariant: between the home of what a bucket holds and that bucket there is no
// empty bucket and nothing equal, and their distance is less than limit. What a marked piece holds
// is in a later table.
type walker struct {
	t          *table
	later      []*table
	unmoved    []int        // pieces of the rank that are not marked
	pathReader *core.Reader // reads the way from home to a bucket
	f          core.Faults
}

// check checks one rank's part of the tables.
func (sp *space) check(ctx context.Context, rank int) error {
	tables, err := sp.inUse(ctx)
	for i, t := range tables {
		err = errors.Join(err, t.check(ctx, rank, tables[i+1:]))
	}
	return err
}

// check checks one rank's part of the table, which the later ones follow.
func (t *table) check(ctx context.Context, rank int, later []*table) error {
	pathReader, err := newReader(t)
	if err != nil {
		return err
	}
	defer pathReader.Close()
	w := walker{t: t, later: later, pathReader: pathReader, f: core.Faults{Table: "set"}}
	if len(later) > 0 { // marks first: a piece may be marked at any time
		if w.unmoved, err = t.marks.unmoved(nil, rank, t.piecesPerRank(), t.gen); err != nil {
			return err
		}
	}
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

// errDamaged is the error of a control word that no process can have stored.
func errDamaged(what string, word uint64) error {
	return fmt.Errorf("set: the set is damaged: %s is %d; remove its file", what, word)
}

// checkControl makes sure that the control words of a Shared job are possible, as a crash of the
// host may have damaged them. They only rise, and each is read before the one that limits it. What
// arenas count is examined when it is used.
func (sp *space) checkControl() error {
	words := sp.marks.regions.Here(0)
	moved := uint64(0)
	for i := range words {
		if i != cellBegun && i != cellReady {
			moved = max(moved, atomic.LoadUint64(&words[i]))
		}
	}
	begun := atomic.LoadUint64(&words[cellBegun])
	ready, last := atomic.LoadUint64(&words[cellReady]), uint64(len(sp.tables)-1)
	switch {
	case moved > begun:
		return errDamaged(fmt.Sprintf("of %d tables that are in use, the one to move to", begun+1),
			moved)
	case begun > ready:
		return errDamaged(fmt.Sprintf("of %d tables that have memory, the last in use", ready+1),
			begun)
	case ready > last:
		return errDamaged(fmt.Sprintf("of %d tables, the last that has memory", last+1), ready)
	}
	return nil
}

// bucket checks one occupied bucket. The error is of reading, not of the table.
func (w *walker) bucket(ctx context.Context, at, bucket uint64) error {
	if bucket&occupied == 0 {
		w.f.Add("bucket %d holds %#x without the occupied bit", at, bucket)
		return nil
	}
	hash, err := w.t.hashOf(bucket)
	if err == nil && w.t.isStrings() {
		err = w.t.checkString(bucket)
	}
	if err != nil {
		w.f.Add("bucket %d: %w", at, err)
		return nil
	}
	if key := fingerprintKey(hash); w.t.arenas != nil && bucket&w.t.mask != key {
		w.f.Add("bucket %d: set: bucket %#x lacks the fingerprint of its element (%#x)", at, bucket,
			key)
		return nil
	}
	if out, err := w.t.arenas.handedOut(ctx, Ref(bucket&refMask)); err != nil {
		return err
	} else if !out {
		w.f.Add("bucket %d refers with %#x to a slot that others may take", at, bucket)
		return nil
	}
	home := w.t.home(hash)
	distance := w.t.distance(home, at)
	if distance >= w.t.limit {
		w.f.Add("bucket %d holds %#x, %d buckets from its home %d; a search ends after %d",
			at, bucket, distance, home, w.t.limit)
		return nil
	}
	if err := w.checkMoved(at, bucket); err != nil {
		return err
	}
	return w.checkPath(ctx, home, at, distance, bucket)
}

// checkString checks the string that a bucket refers to.
func (sp *space) checkString(bucket uint64) error {
	words, err := sp.elementOf(bucket)
	if err != nil {
		return err
	}
	if stored := appendString(nil, stringBytes(words)); !slices.Equal(stored, words) {
		return fmt.Errorf("set: bucket %#x refers to a string of %d bytes with head %#x that "+
			"has head %#x and zeros after its bytes", bucket, words[0]&lengthMask, words[0],
			stored[0])
	}
	return nil
}

// checkMoved checks that a later table has what a bucket of a marked piece holds.
func (w *walker) checkMoved(at, bucket uint64) error {
	piece := int(at % w.t.perRank / w.t.pieceLen())
	if len(w.later) == 0 || slices.Contains(w.unmoved, piece) {
		return nil
	}
	found, err := w.t.isIn(w.later, bucket)
	if err == nil && !found {
		w.f.Add("bucket %d holds %#x, which has moved, and no later table has it", at, bucket)
	}
	return err
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
			if other&occupied == 0 {
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
func (sp *space) same(a, b uint64) (bool, error) {
	if sp.arenas == nil || a&sp.mask != b&sp.mask {
		return a == b, nil
	}
	first, err := sp.elementOf(a)
	if err != nil {
		return false, err
	}
	second, err := sp.elementOf(b)
	return slices.Equal(first, second), err
}

// stored is an occupied bucket and its number.
type stored struct{ at, bucket uint64 }

// local iterates over what this rank's part of the tables holds.
func (sp *space) local(ctx context.Context) iter.Seq2[stored, error] {
	return sp.occupied(ctx, sp.job.Rank(), sp.job.Rank()+1)
}

// occupied iterates over the buckets of the ranks from rank to before end that hold something. If a
// table moves, it has the move end first, so that a word in two tables comes once. A damaged bucket
// is an error.
func (sp *space) occupied(ctx context.Context, rank, end int) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		more := true
		err := sp.fault.Guard(func() error {
			tables, err := sp.settle(ctx)
			if err != nil {
				return err
			}
			for i, t := range tables {
				for s, err := range t.occupied(ctx, rank, end) {
					again := false
					if err == nil && s.bucket&occupied == 0 {
						err = fmt.Errorf("set: bucket %d is damaged: it holds %#x without the "+
							"occupied bit; Check says what else is", s.at, s.bucket)
					}
					if err == nil {
						again, err = t.isIn(tables[:i], s.bucket)
					}
					if !again {
						more = yield(s, err)
					}
					if !more {
						return nil
					}
				}
			}
			return nil
		})
		if err != nil && more {
			yield(stored{}, err)
		}
	}
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
				empty := bucket == 0 || bucket == closed && !t.last
				if !empty && !yield(stored{at + uint64(i), bucket}, nil) {
					return
				}
			}
			at += uint64(len(buckets))
		}
		runtime.KeepAlive(t)
	}
}

// newReader reads runs of buckets.
func newReader(t *table) (*core.Reader, error) {
	if err := t.sessions.Open(); err != nil {
		return nil, err
	}
	return core.NewReader(t.job, t.window, t.regions, scanWords)
}

// hashOf is the hash of what a bucket holds.
func (sp *space) hashOf(bucket uint64) (uint64, error) {
	if sp.arenas == nil {
		return hashWord(bucket &^ occupied), nil
	}
	if ref := Ref(bucket & refMask); sp.isStrings() && sp.arenas.valid(ref) {
		head, err := sp.arenas.head(ref)
		return hashHead(head), err
	}
	words, err := sp.elementOf(bucket)
	if err != nil {
		return 0, err
	}
	return sp.hash(words), nil
}

// elementOf is the element that a bucket refers to.
func (sp *space) elementOf(bucket uint64) ([]uint64, error) {
	if err := sp.arenas.dangling(bucket); err != nil {
		return nil, err
	}
	return sp.elementAt(Ref(bucket & refMask))
}
