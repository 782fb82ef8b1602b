package cache

import (
	"context"
	"errors"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Stats is what one rank has done with a cache since New.
type Stats struct {
	Counts
	// Access is how batches reach memory that is not addressable, and why.
	Access rma.AccessChoice
}

// Counts is what is counted for Stats.
type Counts struct {
	Hits   uint64 // reads that found their key
	Misses uint64 // reads that did not

	Inserted uint64 // writes into an empty or invalid bucket
	Updated  uint64 // writes of a key that was there
	Evicted  uint64 // writes over another key

	Deletes uint64 // calls of Delete
	Deleted uint64 // those that found their key

	Mismatches uint64 // buckets read that failed their checksum (MD Table 2)
	Retries    uint64 // buckets read again for it
	Invalid    uint64 // buckets marked invalid, after mismatches and by Delete

	LockWaits   uint64 // reads of a lock that another operation had
	LocksBroken uint64 // locks of dead ranks taken from them

	Expired uint64 // reads that found their key expired; they count as Misses too

	// Candidates[i] is how many writes went to candidate i of their key. Those above the
	// candidates that a key has are 0.
	Candidates [64]uint64

	// Occupied is the number of buckets in this rank's memory that hold a key; only
	// AllStats fills it in.
	Occupied uint64

	// Served is how many operations other ranks have shipped to this one. They count here, where
	// they were done, and not there.
	Served uint64

	// Queues is what the engine was asked for; zero where memory is direct.
	Queues rma.Stats
}

// Reads is the number of reads.
func (s *Counts) Reads() uint64 { return s.Hits + s.Misses }

// Writes is the number of writes.
func (s *Counts) Writes() uint64 { return s.Inserted + s.Updated + s.Evicted }

// Add adds t to s.
func (s *Counts) Add(t Counts) {
	a, b := core.Words(s), core.Words(&t)
	for i := range a {
		a[i] += b[i]
	}
}

// Since is what was counted after t was. Occupied is no count, and stays.
func (s Counts) Since(t Counts) Counts {
	t.Occupied = 0
	a, b := core.Words(&s), core.Words(&t)
	for i := range a {
		a[i] -= b[i]
	}
	return s
}

// Where counters are in Stats, in bytes.
const (
	atHits        = unsafe.Offsetof(Counts{}.Hits)
	atMisses      = unsafe.Offsetof(Counts{}.Misses)
	atInserted    = unsafe.Offsetof(Counts{}.Inserted)
	atDeletes     = unsafe.Offsetof(Counts{}.Deletes)
	atDeleted     = unsafe.Offsetof(Counts{}.Deleted)
	atMismatches  = unsafe.Offsetof(Counts{}.Mismatches)
	atRetries     = unsafe.Offsetof(Counts{}.Retries)
	atInvalid     = unsafe.Offsetof(Counts{}.Invalid)
	atLockWaits   = unsafe.Offsetof(Counts{}.LockWaits)
	atLocksBroken = unsafe.Offsetof(Counts{}.LocksBroken)
	atExpired     = unsafe.Offsetof(Counts{}.Expired)
	atCandidates  = unsafe.Offsetof(Counts{}.Candidates)
)

// counters are the one or two to which an operation that has ended adds 1.
func (s *search) counters() (first, second uintptr) {
	switch {
	case s.kind == kindPut:
		return atInserted + 8*uintptr(s.result-Inserted), atCandidates + 8*uintptr(s.candidate)
	case s.kind == kindGet && s.matched:
		return atHits, none
	case s.kind == kindGet:
		return atMisses, none
	case s.matched:
		return atDeletes, atDeleted
	}
	return atDeletes, none
}

// none is no counter.
const none = ^uintptr(0)

// count adds an operation to the counters of its batch.
func (s *Counts) count(done *search) {
	first, second := done.counters()
	words := core.Words(s)
	if words[first/8]++; second != none {
		words[second/8]++
	}
}

// countAlone adds a single operation to the counters of the cache.
func (s *search) countAlone() {
	first, second := s.counters()
	if s.count(first); second != none {
		s.count(second)
	}
}

// count adds 1 to a counter of the cache. What is rare is counted so at once, in batches too.
func (s *search) count(at uintptr) { s.c.tally.Count(s.hash, at, 1) }

// countWaits counts what the latch of an operation has met.
func (s *search) countWaits(l *latch) {
	if l.waits > 0 || l.broken > 0 {
		s.c.tally.Count(s.hash, atLockWaits, l.waits)
		s.c.tally.Count(s.hash, atLocksBroken, l.broken)
		l.waits, l.broken = 0, 0
	}
}

// tally is a rank's statistics, and a window in which all ranks read them.
type tally struct {
	*core.Counters[Counts]
	window rma.Window
	cells  *rma.Cells
}

// newTally makes the counters of a cache. Collective.
func newTally(ctx context.Context, job rma.Job) (*tally, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "cache: statistics",
		Words: len(core.Words(new(Counts)))})
	if err != nil {
		return nil, err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &tally{core.NewCounters[Counts](), w, cells}, nil
}

// Stats returns what this rank has done with the cache so far.
func (c *Cache) Stats() Stats { return Stats{c.tally.Sum(), c.batches.Access()} }

// AllStats returns the statistics of every rank, with the buckets occupied in its memory,
// and their sum. Collective: every rank calls it.
func (c *Cache) AllStats(ctx context.Context) (ranks []Counts, total Counts, err error) {
	mine := c.tally.Sum()
	mine.Occupied, err = c.occupied(ctx, c.job.Rank())
	ta := c.tally
	for i, word := range core.Words(&mine) {
		if err == nil {
			err = ta.cells.Store(ctx, c.job.Rank(), i, word)
		}
	}
	if err := rma.AllSucceeded(ctx, c.job, "cache: statistics", err); err != nil {
		return nil, Counts{}, err
	}
	ranks = make([]Counts, c.job.Size())
	for rank := range ranks {
		words := core.Words(&ranks[rank])
		for i := range words {
			if err == nil {
				words[i], err = ta.cells.Load(ctx, rank, i)
			}
		}
		total.Add(ranks[rank])
	}
	// Nobody writes the next statistics before all have read these.
	if err := rma.AllSucceeded(ctx, c.job, "cache: statistics", err); err != nil {
		return nil, Counts{}, err
	}
	return ranks, total, nil
}

func (ta *tally) close() error { return errors.Join(ta.cells.Close(), ta.window.Close()) }
