package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

// Options say what a stream does. Every rank gives the same.
type Options struct {
	Seed   uint64
	Access rma.Access // of the tables that can ship
}

// How many items there are, and how many a batch has.
const (
	sharedItems = 100
	ownItems    = 300 // of each rank
	batchItems  = 40
)

// usable is how many calls after a loss a table may leave unanswered in a row: most
// are of one item, and at most half of the memory was lost.
const usable = 80

// Stream is a rank's random work on tables of every kind.
type Stream struct {
	job    rma.Job
	rng    *rand.Rand
	tables []*worked
	lost   []int // ranks, in rising order
}

// worked is a table with what became of the calls.
type worked struct {
	table
	name     string
	central  bool // it needs rank 0
	answered int  // calls
	failed   int  // calls since one was answered
}

// table is a table with what its rank knows of it.
type table interface {
	// step makes a call on n items. An error that is no rma.RankError says what is wrong.
	step(n int) error
	// check walks this rank's part, while nobody works.
	check(ctx context.Context) error
	// finish compares what all ranks know. Collective, and no rank is lost.
	finish(ctx context.Context) error
	close() error
}

// Open makes the tables. Collective.
func Open(ctx context.Context, job rma.Job, opts Options) (*Stream, error) {
	s := &Stream{job: job, rng: rand.New(rand.NewPCG(opts.Seed, uint64(job.Rank())))}
	k := items{job.Rank(), job.Size(), s.rng, new(uint64)}
	o := opener{ctx, job, opts.Access, k}
	for _, t := range []struct {
		name    string
		open    func() (table, error)
		central bool
	}{
		{"set", func() (table, error) { return o.set(false) }, false},
		{"set that grows", func() (table, error) { return o.set(true) }, false},
		{"set of elements", func() (table, error) { return o.elements(false) }, false},
		{"elements that grow", func() (table, error) { return o.elements(true) }, false},
		{"strings that grow", o.strings, false},
		{"cache without locks", func() (table, error) { return o.cache(cache.LockFree, 0) }, false},
		{"cache with fine locks", func() (table, error) { return o.cache(cache.Fine, 0) }, false},
		{"cache with coarse locks", func() (table, error) {
			return o.cache(cache.Coarse, 0)
		}, false},
		{"cache of pairs that expire", func() (table, error) {
			return o.cache(cache.LockFree, time.Hour)
		}, false},
		{"index", o.index, false},
		{"map", func() (table, error) { return o.mapOf(false) }, false},
		{"map that moves", func() (table, error) { return o.mapOf(true) }, true},
	} {
		opened, err := t.open()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", t.name, err), s.Close())
		}
		s.tables = append(s.tables, &worked{table: opened, name: t.name, central: t.central})
	}
	return s, nil
}

// opener is what tables are opened with.
type opener struct {
	ctx    context.Context
	job    rma.Job
	access rma.Access
	items
}

// Step makes a call on one of the tables. The error says what was wrong with the answer.
func (s *Stream) Step() error {
	t := s.tables[s.rng.IntN(len(s.tables))]
	n := 1
	if s.rng.IntN(3) == 0 {
		n = batchItems
	}
	err := t.step(n)
	var gone *rma.RankError
	var full *kv.FullError // what a loss has cost the map is not given back
	switch {
	case err == nil:
		t.answered++
		t.failed = 0
		return nil
	case errors.As(err, &gone):
		if at, there := slices.BinarySearch(s.lost, gone.Rank); !there {
			s.lost = slices.Insert(s.lost, at, gone.Rank)
		}
	case len(s.lost) == 0 || !errors.As(err, &full):
		return fmt.Errorf("%s: %w", t.name, err)
	}
	if t.failed++; t.failed > usable && (!t.central || s.lost[0] != 0) {
		return fmt.Errorf("%s: no call of %d was answered since a rank is lost: %w", t.name,
			t.failed, err)
	}
	return nil
}

// Lost are the ranks that calls have missed, in rising order.
func (s *Stream) Lost() []int { return s.lost }

// Calls is how many calls were answered.
func (s *Stream) Calls() int {
	calls := 0
	for _, t := range s.tables {
		calls += t.answered
	}
	return calls
}

// Inserted are the items of all ranks that this rank has inserted, by the answers, in all sets.
// No other rank may have inserted one of them.
func (s *Stream) Inserted() []uint64 {
	var all []uint64
	for i, t := range s.tables {
		if set, ok := t.table.(*setTable); ok {
			for item := range set.inserted {
				if isShared(item) {
					all = append(all, uint64(i)<<32|item)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// Check walks this rank's part of the tables, as far as memory is there. No rank may work
// during this.
func (s *Stream) Check(ctx context.Context) error {
	for _, t := range s.tables {
		var gone *rma.RankError
		if err := t.check(ctx); err != nil && !errors.As(err, &gone) {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// Finish compares what all ranks know, and walks all tables. Collective, where no rank is lost.
func (s *Stream) Finish(ctx context.Context) error {
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	for _, t := range s.tables {
		err := errors.Join(t.finish(ctx), t.check(ctx))
		if err = rma.AllSucceeded(ctx, s.job, t.name, err); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// Close closes the tables.
func (s *Stream) Close() error {
	var errs []error
	for _, t := range s.tables {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// items draws the items of a rank.
type items struct {
	rank, size int
	rng        *rand.Rand
	number     *uint64 // of the value put last
}

func isShared(item uint64) bool { return item <= sharedItems }

// draw returns n different items.
func (k *items) draw(n int) []uint64 {
	var drawn []uint64
	for len(drawn) < n {
		item := 1 + k.rng.Uint64N(sharedItems)
		if k.rng.IntN(2) == 0 {
			item = k.own(k.rng.Uint64N(ownItems))
		}
		if !slices.Contains(drawn, item) {
			drawn = append(drawn, item)
		}
	}
	return drawn
}

// own is item n of this rank's own.
func (k *items) own(n uint64) uint64 {
	return sharedItems + 1 + n*uint64(k.size) + uint64(k.rank)
}

// next is a number that no other value has.
func (k *items) next() uint64 {
	*k.number++
	return *k.number*uint64(k.size) + uint64(k.rank)
}

// valueOf is what is put for an item under a number.
func valueOf(item, number uint64, sizeBytes int) []byte {
	word := number<<20 | item
	value := make([]byte, 0, sizeBytes+8)
	for len(value) < sizeBytes {
		value = binary.LittleEndian.AppendUint64(value, word)
		word = word*0x9e3779b97f4a7c15 + 1
	}
	return value[:sizeBytes]
}

// keyOf is the key of an item.
func keyOf(item uint64, sizeBytes int) []byte { return valueOf(item, 0, sizeBytes) }

// numberOf is the number of a value, which must be one of the item.
func numberOf(item uint64, value []byte) (uint64, error) {
	number := binary.LittleEndian.Uint64(value) >> 20
	if !bytes.Equal(value, valueOf(item, number, len(value))) {
		return 0, fmt.Errorf("item %d has the value %x, which nobody has put for it", item, value)
	}
	return number, nil
}

// known is what a rank knows of the value of an item of its own: the number of the last one, 0 if
// there is none, and those that it has tried to put since.
type known struct {
	last  uint64
	maybe []uint64
}

// may reports whether the item may have the value of a number.
func (v *known) may(number uint64) bool {
	return v.last == number || slices.Contains(v.maybe, number)
}
