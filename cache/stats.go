package cache

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// MaxCandidates is the most buckets that a key may be in.
const MaxCandidates = MaxChoices * MaxGroupBuckets

// Stats is what one rank has done with a cache since New.
type Stats struct {
	Counts
	// Access is how batches reach memory that is not addressable, and why.
	Access ship.Choice
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

	// Candidates[i] is how many writes went to candidate i of their key. Those above the
	// candidates that a key has are 0.
	Candidates [MaxCandidates]uint64

	// Occupied is the number of buckets in this rank's memory that hold a key; only
	// AllStats fills it in.
	Occupied uint64

	// Served is how many operations other ranks have shipped to this one. They count here, where
	// they were carried out, and not there.
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
	atHits       = unsafe.Offsetof(Counts{}.Hits)
	atMisses     = unsafe.Offsetof(Counts{}.Misses)
	atInserted   = unsafe.Offsetof(Counts{}.Inserted)
	atDeletes    = unsafe.Offsetof(Counts{}.Deletes)
	atDeleted    = unsafe.Offsetof(Counts{}.Deleted)
	atTrouble    = unsafe.Offsetof(Counts{}.Mismatches)
	atCandidates = unsafe.Offsetof(Counts{}.Candidates)
	atOccupied   = unsafe.Offsetof(Counts{}.Occupied)
)

// each calls add with what the search adds to the counters.
func (s *search) each(add func(at uintptr, n uint64)) {
	switch {
	case s.kind == kindPut:
		add(atInserted+8*uintptr(s.result-Inserted), 1)
		add(atCandidates+8*uintptr(s.place.candidate), 1)
	case s.kind == kindGet && s.matched:
		add(atHits, 1)
	case s.kind == kindGet:
		add(atMisses, 1)
	default:
		add(atDeletes, 1)
		if s.matched {
			add(atDeleted, 1)
		}
	}
	if s.trouble == (trouble{}) {
		return
	}
	for i, n := range [...]uint64{s.mismatches, s.retries, s.marked, s.waits, s.broken} {
		add(atTrouble+8*uintptr(i), n)
	}
}

// wrote adds a put into a candidate of its key.
func (s *Counts) wrote(r Result, candidate int) {
	core.Words(s)[atInserted/8+uintptr(r-Inserted)]++
	s.Candidates[candidate]++
}

// count adds a search to the counters of a batch.
func (s *Counts) count(done *search) {
	words := core.Words(s)
	done.each(func(at uintptr, n uint64) { words[at/8] += n })
}

// tally is a rank's statistics, and a window in which all ranks read them.
type tally struct {
	*core.Counters[Counts]
	window rma.Window
	cells  *rma.Cells
}

// newTally makes the counters of a cache. Collective. The key of the window says what ranks must
// agree on.
func newTally(ctx context.Context, job rma.Job, c Config) (*tally, error) {
	key := fmt.Sprintf("cache: statistics (keys of %d bytes, values of %d, %d buckets "+
		"in groups of %d, %d choices, %v, addressing %d)", c.KeySize, c.ValueSize,
		c.Buckets, c.GroupBuckets, c.Choices, c.Mode, c.Addressing)
	w, err := job.NewWindow(ctx, rma.Spec{Name: "cache: statistics", Key: key,
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
