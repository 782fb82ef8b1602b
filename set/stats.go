package set

import (
	"context"
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
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
	LongestProbe uint64 // buckets examined by the longest search counted

	// Access is how batches reach memory that this rank cannot address directly, and why.
	Access ship.Choice
	// Answered is how many operations this rank has carried out for others that shipped
	// them. The requesting rank counts the result of an operation. The rank that carries
	// it out counts LostSwaps, ExtraChunks and LongestProbe.
	Answered uint64

	// Queues counts requests to the engine; zero where memory is direct. Its
	// RoundTrips are waits: for compare-and-swaps and elements as well, but not for a
	// chunk that arrived while the one before it was examined.
	Queues rma.Stats
}

// Operations is the number of operations counted.
func (s Stats) Operations() uint64 { return s.Inserted + s.Found + s.NotFound + s.Full }

// RoundTrips is what OP Table 1 counts: chunks that an operation needed.
// Chunks requested in advance and compare-and-swaps are not among them.
func (s Stats) RoundTrips() uint64 { return s.Operations() + s.ExtraChunks }

// counts is what a batch adds to the statistics.
type counts struct {
	inserted, found, notFound, full uint64
	lost, extra, longest            uint64
	unfinished                      uint64 // searches that have left their span
	noArena                         bool   // an element found no slot
	rma                             rma.Stats
}

// add adds another batch.
func (c *counts) add(o counts) {
	c.inserted += o.inserted
	c.found += o.found
	c.notFound += o.notFound
	c.full += o.full
	c.lost += o.lost
	c.extra += o.extra
	c.unfinished += o.unfinished
	c.longest = max(c.longest, o.longest)
	c.noArena = c.noArena || o.noArena
	c.rma.Add(o.rma)
}

// count adds one operation.
func (c *counts) count(r Result, examined, lost, chunk uint64) {
	switch r {
	case Inserted:
		c.inserted++
	case Found:
		c.found++
	case NotFound:
		c.notFound++
	case Full:
		c.full++
	case unfinished:
		c.unfinished++
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
	stripes      = 16 // so that goroutines of one rank rarely share a counter
	stripeWords  = 8  // a cache line each
	tallyWords   = stripes * stripeWords
	cellInserted = 0 // the word of a stripe that counts insertions
)

// tally is a rank's statistics. The insertions are kept in a window, where every
// rank can add them up.
type tally struct {
	window rma.Window
	cells  *rma.Cells
	own    []uint64 // this rank's words, nil where they are reached by queue
	rank   int
	closed bool

	stripes [stripes]stripe
}

// stripe is one goroutine's share of the counters, more or less.
type stripe struct {
	found, notFound, full, lost, extra, longest atomic.Uint64
	gets, puts, swaps, adds, bytes, trips       atomic.Uint64
	retries, ships, answered                    atomic.Uint64
	_                                           [1]uint64
}

// newTally makes the counters of a set. Collective.
func newTally(ctx context.Context, job rma.Job) (*tally, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "set: counters", Words: tallyWords})
	if err != nil {
		return nil, err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	ta := &tally{window: w, cells: cells, rank: job.Rank()}
	if w.Caps().CPUAtomicsCoherent {
		ta.own = w.Words(job.Rank())
	}
	return ta, nil
}

// count adds one operation.
func (ta *tally) count(r Result, examined, lost, chunk uint64) {
	i := currentStripe()
	if r == Inserted && ta.own != nil && examined <= chunk && lost == 0 {
		atomic.AddUint64(&ta.own[i*stripeWords+cellInserted], 1)
		ta.stripes[i].noteLongest(examined)
		return
	}
	var c counts
	c.count(r, examined, lost, chunk)
	ta.addTo(i, c)
}

// currentStripe is the stripe of this goroutine, chosen by the address of its stack. That costs
// less than a shared counter, whose line is often in the cache of another core.
func currentStripe() int {
	var here byte
	return int(uintptr(unsafe.Pointer(&here)) >> stackBits % stripes)
}

// stackBits is the size of most stacks: 8 KiB.
const stackBits = 13

// add adds a batch.
func (ta *tally) add(c counts) { ta.addTo(currentStripe(), c) }

// answered adds operations that were carried out for other ranks, which count the results.
func (ta *tally) answered(c counts) {
	n := c.inserted + c.found + c.notFound + c.full
	ta.stripes[0].answered.Add(n)
	ta.addTo(0, counts{lost: c.lost, extra: c.extra, longest: c.longest, rma: c.rma})
}

func (ta *tally) addTo(i int, c counts) {
	st := &ta.stripes[i]
	for _, one := range []struct {
		to *atomic.Uint64
		by uint64
	}{
		{&st.found, c.found}, {&st.notFound, c.notFound}, {&st.full, c.full},
		{&st.lost, c.lost}, {&st.extra, c.extra},
		{&st.gets, c.rma.Gets}, {&st.puts, c.rma.Puts}, {&st.swaps, c.rma.CompareAndSwaps},
		{&st.adds, c.rma.FetchAdds}, {&st.bytes, c.rma.Bytes}, {&st.trips, c.rma.RoundTrips},
		{&st.retries, c.rma.Retries}, {&st.ships, c.rma.Ships},
	} {
		if one.by > 0 {
			one.to.Add(one.by)
		}
	}
	st.noteLongest(c.longest)
	ta.addInserted(i, c.inserted)
}

func (ta *tally) addInserted(i int, n uint64) {
	off := i*stripeWords + cellInserted
	switch {
	case n == 0:
	case ta.own != nil:
		atomic.AddUint64(&ta.own[off], n)
	default:
		// A counter that fails must not fail the operation: the table is what counts.
		_, _ = ta.cells.Add(context.Background(), ta.rank, off, n)
	}
}

// noteLongest records the longest search.
func (st *stripe) noteLongest(examined uint64) {
	for {
		longest := st.longest.Load()
		if examined <= longest || st.longest.CompareAndSwap(longest, examined) {
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
	for i := range stripes {
		n, err := ta.cells.Sum(ctx, i*stripeWords+cellInserted)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// stats adds up this rank's stripes.
func (ta *tally) stats() Stats {
	var s Stats
	if ta.closed {
		return s
	}
	for i := range ta.stripes {
		st := &ta.stripes[i]
		own, err := ta.cells.Load(context.Background(), ta.rank, i*stripeWords+cellInserted)
		if err == nil {
			s.Inserted += own
		}
		s.Found += st.found.Load()
		s.NotFound += st.notFound.Load()
		s.Full += st.full.Load()
		s.LostSwaps += st.lost.Load()
		s.ExtraChunks += st.extra.Load()
		s.LongestProbe = max(s.LongestProbe, st.longest.Load())
		s.Queues.Add(rma.Stats{Gets: st.gets.Load(), Puts: st.puts.Load(),
			CompareAndSwaps: st.swaps.Load(), FetchAdds: st.adds.Load(), Bytes: st.bytes.Load(),
			Ships: st.ships.Load(), RoundTrips: st.trips.Load(), Retries: st.retries.Load()})
		s.Answered += st.answered.Load()
	}
	return s
}

// restart makes n the number of this rank's insertions. Nobody inserts meanwhile.
func (ta *tally) restart(ctx context.Context, n uint64) error {
	for i := range stripes {
		if err := ta.cells.Store(ctx, ta.rank, i*stripeWords+cellInserted, n); err != nil {
			return err
		}
		n = 0
	}
	return nil
}

func (ta *tally) close() error {
	ta.closed, ta.own = true, nil
	return errors.Join(ta.cells.Close(), ta.window.Close())
}
