package set

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Stats is what one rank has done with a set. Single operations over directly
// addressable memory that end in the first chunk and change nothing are not counted:
// a counter would cost as much as they do. Batches and queues count everything.
type Stats struct {
	Inserted     uint64
	Found        uint64
	NotFound     uint64
	Full         uint64
	LostSwaps    uint64 // compare-and-swaps that another insertion won
	ExtraChunks  uint64 // chunks examined beyond the first of each operation
	LongestProbe uint64 // buckets examined by the longest search counted; kernels count lines

	// Kernel searches the batches over memory that this rank can address; empty: there is none.
	Kernel string
	// InFlight is how many searches of a batch are in flight at most: in the kernel, and without
	// one on a queue.
	InFlight int
	// Prefetch is the instruction by which batches of words and of elements of up to 64 bytes ask
	// for lines to insert into, PREFETCHW or PREFETCHT0: it and InFlight depend on the processor.
	// Empty where Kernel is portable.
	Prefetch string

	// Access is how batches reach memory that this rank cannot address directly, and why.
	Access rma.AccessChoice
	// Served is how many operations this rank has run for others that shipped
	// them. The requesting rank counts the result of an operation. The rank that runs
	// it counts LostSwaps, ExtraChunks and LongestProbe.
	Served uint64

	// Queues counts requests to the engine; zero where memory is direct. Its
	// RoundTrips are waits: for compare-and-swaps and elements as well, but not for a
	// chunk that arrived while the one before it was examined.
	Queues rma.Stats
}

// searching fills in how batches are searched for.
func (t *table) searching(s *Stats) {
	s.Kernel = string(t.kernel)
	switch {
	case !t.batches.Any:
		s.Kernel, s.InFlight = "", t.cfg.Depth
	case t.arenas != nil && !t.short():
		s.InFlight = stageRing * stageBlock
	case t.kernel == kernelPortable:
		s.InFlight = blockWords
	case t.tuning.write:
		s.InFlight, s.Prefetch = t.tuning.flights, "PREFETCHW"
	default:
		s.InFlight, s.Prefetch = t.tuning.flights, "PREFETCHT0"
	}
}

// FullError says that something could not be inserted. What was stored stays.
type FullError struct {
	Used         float64 // the share of the buckets of the whole table that are occupied
	Buckets      uint64
	LongestProbe uint64 // buckets examined by this rank's longest search
	Enough       uint64 // a number of buckets that is enough for twice the content
	NoArena      bool   // buckets are free, but the arenas have no slot left
	MaxBytes     uint64 // the memory that the set may take
	EnoughBytes  uint64 // a MaxBytes that is enough for twice the content
	Memory       error  // why there was no memory for a larger table that MaxBytes allows, or nil

	strings bool // there is no Capacity that could be larger
}

func (e *FullError) Error() string {
	what, remedy := "full", fmt.Sprintf("%d buckets would hold twice as many, with MaxBytes of %d "+
		"(it is %d)", e.Enough, e.EnoughBytes, e.MaxBytes)
	if e.NoArena {
		what, remedy = "the arenas are full", "make the set with a larger Capacity; "+remedy
	}
	if e.NoArena && e.strings {
		remedy = fmt.Sprintf("a MaxBytes of %d would be enough for twice as many (it is %d)",
			e.EnoughBytes, e.MaxBytes)
	}
	if e.Memory != nil {
		remedy = fmt.Sprintf("MaxBytes is %d, but there is no memory left for it: %v; end "+
			"other programs or use more hosts", e.MaxBytes, e.Memory)
	}
	return fmt.Sprintf("set: %s at load factor %.2f of %d buckets (longest probe %d buckets); %s",
		what, e.Used, e.Buckets, e.LongestProbe, remedy)
}

// Unwrap is why there was no memory.
func (e *FullError) Unwrap() error { return e.Memory }

// recommendedLoad is the load factor of a table of the recommended size.
const recommendedLoad = 0.8

// fullError describes a set that is full: it lacks buckets or arena slots.
func (t *table) fullError(noArena bool) *FullError {
	n, err := t.tally.inserted(context.Background())
	if err != nil {
		n = t.buckets // the upper bound
	}
	// A table whose searches are too long at this load needs a lower load, even
	// where this one is low.
	enough := float64(t.buckets) * 2 / recommendedLoad
	if noArena {
		enough = max(float64(n)*2/recommendedLoad, float64(t.buckets+1))
	}
	larger := t.cfg
	larger.Buckets, larger.Capacity = min(uint64(enough), maxBuckets), 0
	larger.Capacity = max(t.cfg.Capacity, larger.capacityFor(larger.Buckets))
	full := &FullError{
		Used:         float64(n) / float64(t.buckets),
		Buckets:      t.buckets,
		LongestProbe: t.tally.longest.Load(),
		Enough:       larger.Buckets,
		NoArena:      noArena,
		MaxBytes:     cmp.Or(t.cfg.MaxBytes, t.cfg.Bytes()),
		EnoughBytes:  larger.Bytes() + larger.Buckets*8,
		strings:      t.isStrings(),
	}
	if full.strings && noArena {
		// Arenas have room for runs and for the longest string beside their share of MaxBytes, and
		// no more of it where MaxBytes is larger.
		room := uint64(t.job.Size()) * (maxStringWords + 2*runWords + lanes*laneWords) * 8
		full.EnoughBytes = max(full.EnoughBytes, 2*(full.MaxBytes+room))
	}
	switch {
	case noArena:
		full.Memory = t.arenas.whyNone()
	case !t.last:
		full.Memory = t.refused()
	}
	return full
}

// errClosed is the answer of a set that has been closed.
var errClosed = fmt.Errorf("set: the set is %w", rma.ErrClosed)

// counts is what operations add to the statistics: nothing but uint64, as in core.Counters.
type counts struct {
	inserted, found, notFound, full, lost, extra, served uint64

	beyond  uint64 // searches that went on in another table
	longest uint64 // buckets examined by one search
	noSlot  uint64 // elements that no arena had a slot for
	queues  rma.Stats
}

// add adds another batch.
func (c *counts) add(o counts) {
	longest := max(c.longest, o.longest)
	sums := core.Words(c)
	for i, n := range core.Words(&o) {
		sums[i] += n
	}
	c.longest = longest
}

// count adds one operation.
func (c *counts) count(r end, examined, lost, chunk uint64) {
	switch r {
	case inserted:
		c.inserted++
	case found:
		c.found++
	case notFound:
		c.notFound++
	case full:
		c.full++
	case beyond:
		c.beyond++
	case unfinished:
		c.lost += lost
		return
	}
	c.lost += lost
	if examined > chunk {
		c.extra += (examined - 1) / chunk
	}
	c.longest = max(c.longest, examined)
}

const (
	stripes     = 16 // so that goroutines of one rank rarely share a counter
	stripeWords = 8  // a cache line each
)

// tally is a rank's statistics. The insertions are kept in a window, a word for each stripe, where
// every rank can add them up.
type tally struct {
	cells
	own    []uint64 // this rank's words, nil where they are reached by queue
	closed bool

	sums    *core.Counters[counts] // except inserted and longest
	longest atomic.Uint64
}

// newTally makes the counters of a set. Collective.
func newTally(ctx context.Context, job rma.Job) (*tally, error) {
	c, err := newCells(ctx, job, "counters", stripes*stripeWords)
	if err != nil {
		return nil, err
	}
	regions := core.NewRegions(c.window)
	return &tally{cells: c, own: regions.Here(job.Rank()),
		sums: core.NewCounters[counts]()}, nil
}

// count adds one operation.
func (ta *tally) count(r end, examined, lost, chunk uint64) {
	if r == inserted && ta.own != nil && examined <= chunk && lost == 0 {
		atomic.AddUint64(&ta.own[core.Stripe()*stripeWords], 1)
		ta.noteLongest(examined)
		return
	}
	var c counts
	c.count(r, examined, lost, chunk)
	ta.add(&c)
}

// add adds a batch.
func (ta *tally) add(c *counts) {
	i := core.Stripe()
	rest := *c
	if rest.inserted, rest.longest = 0, 0; rest != (counts{}) {
		ta.sums.Add(i, &rest)
	}
	ta.noteLongest(c.longest)
	switch {
	case c.inserted == 0:
	case ta.own != nil:
		atomic.AddUint64(&ta.own[i*stripeWords], c.inserted)
	default:
		// A counter that fails must not fail the operation: the table is what counts.
		_, _ = ta.Add(context.Background(), ta.window.Rank(), int(i)*stripeWords, c.inserted)
	}
}

// addServed adds operations that were run for other ranks, which count the results.
func (ta *tally) addServed(c *counts) {
	ta.add(&counts{lost: c.lost, extra: c.extra, longest: c.longest, queues: c.queues,
		served: c.inserted + c.found + c.notFound + c.full})
}

// noteLongest records the longest search.
func (ta *tally) noteLongest(examined uint64) {
	for {
		longest := ta.longest.Load()
		if examined <= longest || ta.longest.CompareAndSwap(longest, examined) {
			return
		}
	}
}

// inserted adds up the insertions of all ranks.
func (ta *tally) inserted(ctx context.Context) (uint64, error) {
	if ta.closed {
		return 0, errClosed
	}
	total := uint64(0)
	err := ta.Gather(ctx, 0, stripes*stripeWords, func(_ int, words []uint64, err error) error {
		for i := range stripes {
			total += words[i*stripeWords]
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

// stats is what this rank has done.
func (ta *tally) stats() Stats {
	if ta.closed {
		return Stats{}
	}
	n := ta.sums.Sum()
	s := Stats{Found: n.found, NotFound: n.notFound, Full: n.full, LostSwaps: n.lost,
		ExtraChunks: n.extra, LongestProbe: ta.longest.Load(), Served: n.served, Queues: n.queues}
	for i := range stripes {
		own, err := ta.Load(context.Background(), ta.window.Rank(), i*stripeWords)
		if err == nil {
			s.Inserted += own
		}
	}
	return s
}

// restart makes n the number of this rank's insertions. Nobody inserts then.
func (ta *tally) restart(ctx context.Context, n uint64) error {
	for i := range stripes {
		if err := ta.Store(ctx, ta.window.Rank(), i*stripeWords, n); err != nil {
			return err
		}
		n = 0
	}
	return nil
}

func (ta *tally) close() error {
	ta.closed, ta.own = true, nil
	return ta.Close()
}
