package set

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// anySet is what Set and Elements have in common.
type anySet struct{ t *table }

// open makes an empty set, of words if ElementBytes is 0. refusal is an error with the
// configuration, or nil. Collective.
func (s *anySet) open(ctx context.Context, job rma.Job, cfg ElementsConfig, refusal error) error {
	g, err := newGeometry(ctx, job, cfg, refusal)
	if err != nil {
		return err
	}
	if s.t, err = newTable(ctx, items{job: job, size: cfg.ElementBytes, width: 1,
		mask: ^uint64(0)}, g); err != nil {
		return err
	}
	if s.t.tally, err = newTally(ctx, job); err == nil && cfg.ElementBytes > 0 {
		s.t.width, s.t.mask = (cfg.ElementBytes+7)/8, ^uint64(refMask)
		s.t.arenas, err = newArenas(ctx, job, cfg.capacity(), s.t.width)
	}
	if err == nil {
		err = s.t.open(ctx, nil)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// Buckets is the number of buckets of all ranks.
func (s *anySet) Buckets() uint64 { return s.t.buckets }

// Len is the number of words or elements in the set: approximate while others insert, exact
// when nobody does. Those whose insertion a dead rank did not live to count are missing from it;
// Check counts buckets instead.
func (s *anySet) Len(ctx context.Context) (uint64, error) { return s.t.tally.inserted(ctx) }

// LoadFactor is the share of buckets that are occupied.
func (s *anySet) LoadFactor(ctx context.Context) (float64, error) {
	n, err := s.Len(ctx)
	return float64(n) / float64(s.t.buckets), err
}

// Stats returns what this rank has done with the set so far.
func (s *anySet) Stats() Stats {
	t := s.t
	stats := t.tally.stats()
	stats.Access = t.batches.Access()
	if t.first.base != nil && stats.Inserted > 0 {
		stats.LongestProbe = max(stats.LongestProbe, lineBuckets)
	}
	stats.Kernel, stats.InFlight = t.searching()
	return stats
}

// Check walks this rank's part of the table and reports what is broken: a bucket whose reference
// or fingerprint is wrong, a word or element that a search would not reach, one that is stored
// twice. Nothing may insert meanwhile on any rank. Every rank checks its own part; nobody waits.
func (s *anySet) Check(ctx context.Context) error { return s.t.check(ctx, s.t.job.Rank()) }

// CheckAll waits for all ranks, runs Check on every one, and reports on every rank whether all
// succeeded. Collective.
func (s *anySet) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, s.t.job, "set", s.Check)
}

// Close gives this rank's memory back. The other ranks keep theirs.
func (s *anySet) Close() error {
	err := s.t.close()
	if s.t.arenas != nil {
		err = errors.Join(err, s.t.arenas.close())
	}
	if s.t.tally != nil {
		err = errors.Join(err, s.t.tally.close())
	}
	return err
}
