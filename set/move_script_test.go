package set

import (
	"encoding/binary"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// everyStepOfMove has rank 0 move a table. At each step rank 1 finds all that is in the set, helps
// with none, some or all of the move, and inserts something more: over memory, through queues, and
// by requests that rank 0 answers while it moves.
func everyStepOfMove(t *testing.T) {
	mark.Need(t)
	for _, e := range []engine{engineDirect, engineHidden, engineHosts, engineCarriers} {
		closes := closesBucket
		if e == engineHidden || e == engineCarriers {
			closes = closesQueued
		}
		places := []*mark.Mark{closes, bucketsClosed, pieceCopied, allMoved}
		for _, place := range places {
			place.Claim(t)
		}
		for _, makes := range []func(*testing.T, engine) moving{movingWords, movingElements} {
			for _, place := range places {
				for visit := 1; visit <= 3; visit++ {
					for help := range uint64(5) {
						m := makes(t, e)
						m.run(t, place, visit, help)
					}
				}
			}
		}
	}
}

// moving is a set of two ranks whose keys have numbers.
type moving struct {
	spaces   []*space
	insert   func(rank, key int) (Result, error)
	contains func(rank, key int) (bool, error)
	check    func() error
}

const movingBuckets = 64

func movingWords(t *testing.T, e engine) moving {
	jobs := ranksOf(t, e, 2)
	sets, err := newSets(jobs, Config{Buckets: movingBuckets, MaxBytes: 64 * movingBuckets,
		Access: e.access()})
	must(t, err)
	return moving{spaces: []*space{sets[0].space, sets[1].space},
		insert: func(rank, key int) (Result, error) {
			if !e.ships() {
				return sets[rank].FindOrPut(wordOfID(key))
			}
			var r [1]Result
			err := sets[rank].FindOrPutBatch([]uint64{wordOfID(key)}, r[:])
			return r[0], err
		},
		contains: func(rank, key int) (bool, error) {
			if !e.ships() {
				return sets[rank].Contains(wordOfID(key))
			}
			var r [1]Result
			err := sets[rank].ContainsBatch([]uint64{wordOfID(key)}, r[:])
			return r[0] == Found, err
		},
		check: func() error { return checkRanks(jobs, checksOf(sets)) }}
}

func movingElements(t *testing.T, e engine) moving {
	jobs := ranksOf(t, e, 2)
	sets, err := newElements(jobs, BytesConfig{ElementBytes: 8, Capacity: 4 * movingBuckets,
		Config: Config{Buckets: movingBuckets, MaxBytes: 128 * movingBuckets,
			Access: e.access()}})
	must(t, err)
	element := func(key int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(key)) }
	return moving{spaces: []*space{sets[0].space, sets[1].space},
		insert: func(rank, key int) (Result, error) {
			if !e.ships() {
				return sets[rank].FindOrPut(element(key))
			}
			var r [1]Result
			err := sets[rank].FindOrPutPacked(element(key), r[:], nil)
			return r[0], err
		},
		contains: func(rank, key int) (bool, error) {
			if !e.ships() {
				return sets[rank].Contains(element(key))
			}
			var r [1]Result
			err := sets[rank].ContainsPacked(element(key), r[:])
			return r[0] == Found, err
		},
		check: func() error { return checkRanks(jobs, checksOf(sets)) }}
}

func (m *moving) run(t *testing.T, place *mark.Mark, visit int, help uint64) {
	t.Helper()
	keys := 0
	add := func(n int) {
		for range n {
			r, err := m.insert(keys%2, keys)
			if must(t, err); r != Inserted {
				t.Fatalf("key %d is %v", keys, r)
			}
			keys++
		}
	}
	all := func() {
		for key := range keys {
			for rank := range m.spaces {
				there, err := m.contains(rank, key)
				if must(t, err); !there {
					t.Fatalf("%v, visit %d, help %d: rank %d misses key %d", place, visit, help,
						rank, key)
				}
			}
			if r, err := m.insert(1, key); r != Found || err != nil {
				t.Fatalf("%v, visit %d, help %d: key %d is %v, %v", place, visit, help, key, r, err)
			}
		}
	}
	add(movingBuckets / 2)
	visits := 0
	place.Intercept(t, func() {
		if visits++; visits == visit {
			_, err := m.spaces[1].oldest.Load().help(help, true)
			must(t, err)
			all()
			add(8)
			all()
		}
	})
	for m.spaces[0].oldest.Load().gen == 0 {
		_, err := m.spaces[0].oldest.Load().help(1, true)
		must(t, err)
	}
	all()
	add(8)
	all()
	must(t, m.check())
}
