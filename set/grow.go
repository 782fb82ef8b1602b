package set

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// growRun is how many buckets move at a time.
const growRun = 512

// mover moves buckets from one table into another.
type mover struct {
	// hash gives the hashes of what a run of buckets holds.
	hash func(ctx context.Context, buckets, hashes []uint64) error
	// access and tally are those of the set.
	access ship.Access
	tally  *tally
	// keep says whether a bucket is to be moved; nil moves all.
	keep func(ctx context.Context, bucket uint64) (bool, error)
	// moved is how many buckets this rank has moved.
	moved uint64
}

// rebuild makes a table of g and moves the buckets of old there; each rank moves its
// own. Collective.
func (m *mover) rebuild(ctx context.Context, job rma.Job, old *table, g geometry) (*table, error) {
	t, err := newTable(ctx, job, g)
	if err != nil {
		return nil, err
	}
	t.kernel, t.ops = old.kernel, old.ops
	if old.known != nil {
		t.remember(old.known, m.keep == nil)
	}
	err = m.move(ctx, old, t)
	err = rma.AllSucceeded(ctx, job, "set: moving to another table", err)
	if err == nil {
		err = t.open(ctx, m.access, m.tally, old)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// move puts this rank's buckets of old into t.
func (m *mover) move(ctx context.Context, old, t *table) error {
	run := make([]uint64, 0, growRun)
	hashes := make([]uint64, growRun)
	flush := func() error {
		if losesLast.On() && len(run) == 1 && m.moved >= 8*growRun {
			return nil
		}
		if err := m.hash(ctx, run, hashes[:len(run)]); err != nil {
			return err
		}
		m.moved += uint64(len(run))
		err := t.insertBuckets(run, hashes)
		run = run[:0]
		return err
	}
	for bucket, err := range old.local(ctx) {
		keep := err == nil
		if keep && m.keep != nil {
			keep, err = m.keep(ctx, bucket)
		}
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		if run = append(run, bucket); len(run) == growRun {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// insertBuckets inserts bucket words that are known to be different into a table that
// nobody searches yet.
func (t *table) insertBuckets(run, hashes []uint64) error {
	var c counts
	var remote []int
	for i, bits := range run {
		home, r := t.home(hashes[i]), unfinished
		if v := t.spanOf(home); v != nil {
			var examined, lost uint64
			r, examined, lost = v.search(bits, home-v.first, true)
			c.count(r, examined, lost, t.directChunk)
		}
		if r == unfinished {
			remote = append(remote, i)
		}
	}
	if len(remote) > 0 {
		s, err := newSession(t)
		if err != nil {
			return err
		}
		defer s.Close()
		queued, err := s.run(0, remote, func(p *probe, i int) {
			p.start(t, nil, hashes[i], run[i], ^uint64(0), true)
		}, func(*probe, int) {})
		if err != nil {
			return err
		}
		c.add(queued)
	}
	if c.full > 0 {
		return fmt.Errorf("set: %d buckets are too few for what the set holds", t.buckets)
	}
	return nil
}
