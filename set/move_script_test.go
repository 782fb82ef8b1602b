package set

import (
	"encoding/binary"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// everyStepOfMove has rank 0 move a table. At each step rank 1 finds all that is in the set, helps
// with none, some or all of the move, and inserts something more.
func everyStepOfMove(t *testing.T) {
	mark.Need(t)
	places := []*mark.Mark{closesBucket, bucketsClosed, pieceCopied}
	for _, place := range places {
		place.Claim(t)
	}
	for _, makes := range []func(*testing.T, []rma.Job) moving{movingWords, movingElements} {
		for _, place := range places {
			for visit := 1; visit <= 3; visit++ {
				for help := range uint64(5) {
					m := makes(t, ranksOf(t, engineDirect, 2))
					m.run(t, place, visit, help)
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

func movingWords(t *testing.T, jobs []rma.Job) moving {
	sets, err := newSets(jobs, Config{Buckets: movingBuckets, MaxBytes: 64 * movingBuckets})
	must(t, err)
	return moving{spaces: []*space{sets[0].space, sets[1].space},
		insert: func(rank, key int) (Result, error) {
			return sets[rank].FindOrPut(wordOfID(key))
		},
		contains: func(rank, key int) (bool, error) { return sets[rank].Contains(wordOfID(key)) },
		check:    func() error { return checkRanks(jobs, checksOf(sets)) }}
}

func movingElements(t *testing.T, jobs []rma.Job) moving {
	sets, err := newElements(jobs, ElementsConfig{ElementBytes: 8, Capacity: 4 * movingBuckets,
		Config: Config{Buckets: movingBuckets, MaxBytes: 128 * movingBuckets}})
	must(t, err)
	element := func(key int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(key)) }
	return moving{spaces: []*space{sets[0].space, sets[1].space},
		insert:   func(rank, key int) (Result, error) { return sets[rank].FindOrPut(element(key)) },
		contains: func(rank, key int) (bool, error) { return sets[rank].Contains(element(key)) },
		check:    func() error { return checkRanks(jobs, checksOf(sets)) }}
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
	visits, busy := 0, false
	place.Intercept(t, func() {
		if busy {
			return
		}
		if visits++; visits == visit {
			busy = true
			_, err := m.spaces[1].oldest.Load().help(help)
			must(t, err)
			all()
			add(8)
			all()
			busy = false
		}
	})
	for m.spaces[0].oldest.Load().gen == 0 {
		_, err := m.spaces[0].oldest.Load().help(1)
		must(t, err)
	}
	all()
	add(8)
	all()
	must(t, m.check())
}
