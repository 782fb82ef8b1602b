package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// maxFaults is how many faults a check reports.
const maxFaults = 10

// Check walks this rank's memory, or its part of a file that is mapped, whose checksums it
// verifies as well, and reports what is broken: a record that belongs to
// another rank, or where no search for its key comes, records out of order, signatures,
// displacements and borders that are wrong, records missing. Every rank checks its own
// memory; nobody waits.
func (x *Index) Check(ctx context.Context) error {
	t := x.t
	if t.closed.Load() {
		return errClosed
	}
	return t.guarded(func() error {
		var errs []error
		for _, number := range t.ownSegments() {
			err := t.check(ctx, number)
			if t.image != nil {
				err = errors.Join(t.image.verify(ctx, t, number), err)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// check checks a segment.
func (t *table) check(ctx context.Context, rank int) error {
	guide, err := t.guideOf(ctx, rank)
	if err != nil {
		return err
	}
	c := checker{t: t, rank: rank, guide: guide, lastEmpty: -1, previous: -1}
	for e, err := range t.entries(ctx, rank) {
		if err != nil {
			return err
		}
		c.entry(e)
	}
	if want := t.owned[rank]; c.records != want {
		c.faults = append(c.faults, fmt.Errorf("index: rank %d has %d records, and %d were given "+
			"to it", rank, c.records, want))
	}
	if c.more > 0 {
		c.faults = append(c.faults, fmt.Errorf("index: and %d more faults", c.more))
	}
	return errors.Join(c.faults...)
}

// CheckAll has every rank Check, and reports to every one whether all were clean. Collective.
func (x *Index) CheckAll(ctx context.Context) error {
	return rma.AllSucceeded(ctx, x.job, "index: check", x.Check(ctx))
}

// checker checks the entries of a rank.
type checker struct {
	t         *table
	rank      int
	guide     guide
	records   uint64
	lastEmpty int // the last slot without a record
	previous  int // the last slot with one
	home      uint64
	faults    []error
	more      int
}

func (c *checker) fault(e entry, format string, args ...any) {
	if len(c.faults) == maxFaults {
		c.more++
		return
	}
	where := fmt.Sprintf("index: rank %d, slot %d: ", c.rank, e.slot)
	c.faults = append(c.faults, fmt.Errorf(where+format, args...))
}

// entry checks an entry.
func (c *checker) entry(e entry) {
	t := c.t
	c.records++
	if e.fault != "" {
		c.fault(e, "%s", e.fault)
		return
	}
	hash := hashKey(e.record.Key)
	rank, rest := place(hash, t.ranks)
	if rank != c.rank {
		c.fault(e, "its key belongs to rank %d", rank)
		return
	}
	if !t.inline() && e.signature != signatureOf(hash) {
		c.fault(e, "its signature is %d and should be %d", e.signature, signatureOf(hash))
	}
	c.slot(e, homeOf(rest, t.homes))
}

func (c *checker) slot(e entry, home uint64) {
	if e.slot > c.previous+1 {
		c.lastEmpty = e.slot - 1
	}
	c.previous = e.slot
	switch {
	case int(home) > e.slot:
		c.fault(e, "its home %d lies behind", home)
	case int(home) <= c.lastEmpty:
		c.fault(e, "slot %d is empty, and searches that begin at its home %d end there",
			c.lastEmpty, home)
	}
	if home < c.home {
		c.fault(e, "its home %d lies before that of a record in front of it, %d", home, c.home)
	}
	c.home = max(c.home, home)
	if want := saturated(uint64(e.slot), home); !c.t.inline() && e.displacement != want {
		c.fault(e, "its displacement is %d and should be %d", e.displacement, want)
	}
	switch at, bound, _ := c.guide.between(int(home), c.t.slots); {
	case e.slot < at:
		c.fault(e, "it lies before the border of its home %d", home)
	case e.slot >= bound:
		c.fault(e, "it lies behind the border after its home %d", home)
	}
}
