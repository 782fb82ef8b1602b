package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// faultsMax is how many faults a check reports.
const faultsMax = 10

// Check walks this rank's memory and reports what is broken: a record that belongs to
// another rank, or where no search for its key comes, records out of order, signatures,
// displacements and borders that are wrong, records missing. Every rank checks its own
// memory; nobody waits.
func (x *Index) Check(ctx context.Context) error {
	t, rank := x.t, x.job.Rank()
	c := checker{t: t, rank: rank, lastEmpty: -1, previous: -1}
	if err := c.fetchBorders(ctx); err != nil {
		return err
	}
	for e, err := range t.entries(ctx, rank) {
		if err != nil {
			return err
		}
		c.entry(e)
	}
	if c.records != t.mine {
		c.faults = append(c.faults, fmt.Errorf("index: rank %d has %d records, and %d were given "+
			"to it", rank, c.records, t.mine))
	}
	if c.more > 0 {
		c.faults = append(c.faults, fmt.Errorf("index: and %d more faults", c.more))
	}
	return errors.Join(c.faults...)
}

// CheckAll has every rank Check, and tells every one whether all were clean. Collective.
func (x *Index) CheckAll(ctx context.Context) error {
	return rma.AllSucceeded(ctx, x.job, "index: check", x.Check(ctx))
}

// checker checks the entries of a rank.
type checker struct {
	t         *table
	rank      int
	borders   []byte
	records   uint64
	lastEmpty int // the last slot without a record
	previous  int // the last slot with one
	home      uint64
	faults    []error
	more      int
}

// fetchBorders gets this rank's borders.
func (c *checker) fetchBorders(ctx context.Context) error {
	t := c.t
	if t.borders == 0 {
		return nil
	}
	if t.closed.Load() {
		return errClosed
	}
	v, err := t.newView(c.rank)
	if err != nil {
		return err
	}
	defer v.close()
	for at, end := t.bordersAt, t.bordersAt+(t.borders+7)/8; at < end && err == nil; {
		var words []uint64
		n := min(viewWords, end-at)
		words, err = v.read(ctx, at, n)
		c.borders = append(c.borders, bytesOf(words)...)
		at += n
	}
	return err
}

func (c *checker) fault(e entry, format string, args ...any) {
	if len(c.faults) == faultsMax {
		c.more++
		return
	}
	where := fmt.Sprintf("index: rank %d, slot or bucket %d: ", c.rank, e.unit)
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
	if t.cfg.Layout == Cuckoo {
		c.bucket(e, hash)
		return
	}
	c.slot(e, homeOf(rest, t.homes))
}

// bucket checks that a search comes to an entry.
func (c *checker) bucket(e entry, hash uint64) {
	for i := range c.t.cfg.Choices {
		if int(bucketOf(hash, c.t.seeds[c.rank], i, c.t.homes)) == e.unit {
			return
		}
	}
	c.fault(e, "it is none of the buckets of its key")
}

func (c *checker) slot(e entry, home uint64) {
	if e.unit > c.previous+1 {
		c.lastEmpty = e.unit - 1
	}
	c.previous = e.unit
	switch {
	case int(home) > e.unit:
		c.fault(e, "its home %d lies behind", home)
	case int(home) <= c.lastEmpty:
		c.fault(e, "slot %d is empty, and searches that begin at its home %d end there",
			c.lastEmpty, home)
	}
	if c.t.cfg.Layout != Ordered {
		return
	}
	if home < c.home {
		c.fault(e, "its home %d lies before that of a record in front of it, %d", home, c.home)
	}
	c.home = max(c.home, home)
	if want := saturated(uint64(e.unit), home); !c.t.inline() && e.displacement != want {
		c.fault(e, "its displacement is %d and should be %d", e.displacement, want)
	}
	block := int(home) / borderHomes
	if e.unit < block*borderHomes+int(c.borders[block]) {
		c.fault(e, "it lies before the border of its home %d", home)
	}
	if d := c.borders[block+1]; d < displacementMost && e.unit >= (block+1)*borderHomes+int(d) {
		c.fault(e, "it lies behind the border after its home %d", home)
	}
}
