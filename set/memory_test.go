package set

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/farhash/farhash/rma"
)

// scarce is the memory of the tables of a set after the first: so many parts of ranks may have it.
type scarce struct {
	mu    sync.Mutex
	parts int
	taken map[[2]int]bool // by generation and rank
}

var errScarce = errors.New("scarce")

// rule has the tables of a space take their memory here.
func (m *scarce) rule(sp *space) {
	for gen := 1; gen < len(sp.tables); gen++ {
		sp.tables[gen].commit = func(rank, off, words int) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			part := [2]int{gen, rank}
			if !m.taken[part] && len(m.taken) == m.parts {
				return fmt.Errorf("part %v: %w", part, errScarce)
			}
			m.taken[part] = true
			return nil
		}
	}
}

// check makes sure that a space has begun no table without memory.
func (m *scarce) check(sp *space) error {
	for rank := range sp.job.Size() {
		for gen := 1; gen <= sp.newest().gen; gen++ {
			if !m.taken[[2]int{gen, rank}] {
				return fmt.Errorf("rank %d uses table %d, and rank %d's part has no memory",
					sp.job.Rank(), gen, rank)
			}
		}
	}
	return nil
}

// TestScarceMemory fills sets while their tables get no memory, or only parts of them do, on all
// ranks in turn. They say so, keep what they have, and go on when there is memory again.
func TestScarceMemory(t *testing.T) {
	for e := range allEngines {
		for _, ranks := range []int{1, 3} {
			for _, elements := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%d/%v", e, ranks, elements), func(t *testing.T) {
					scarceMemory(t, e, ranks, elements)
				})
			}
		}
	}
}

// batchCalls makes a set of words or of elements, and returns its spaces and its batch calls with
// the items of given numbers, by rank.
func batchCalls(t *testing.T, jobs []rma.Job, cfg Config, elements bool) (spaces []*space,
	insert, contains []func([]int, []Result) error) {
	if elements {
		sets, err := newElements(jobs, BytesConfig{Config: cfg, ElementBytes: 12})
		must(t, err)
		for _, s := range sets {
			of := func(ids []int) []byte {
				all := make([]byte, 12*len(ids))
				for i, id := range ids {
					elementOfID(all[i*12:(i+1)*12], id)
				}
				return all
			}
			spaces = append(spaces, s.space)
			insert = append(insert, func(ids []int, r []Result) error {
				return s.FindOrPutPacked(of(ids), r, nil)
			})
			contains = append(contains, func(ids []int, r []Result) error {
				return s.ContainsPacked(of(ids), r)
			})
		}
		return spaces, insert, contains
	}
	sets, err := newSets(jobs, cfg)
	must(t, err)
	for _, s := range sets {
		of := func(ids []int) (words []uint64) {
			for _, id := range ids {
				words = append(words, wordOfID(id))
			}
			return words
		}
		spaces = append(spaces, s.space)
		insert = append(insert, func(ids []int, r []Result) error {
			return s.FindOrPutBatch(of(ids), r)
		})
		contains = append(contains, func(ids []int, r []Result) error {
			return s.ContainsBatch(of(ids), r)
		})
	}
	return spaces, insert, contains
}

func scarceMemory(t *testing.T, e engine, ranks int, elements bool) {
	cfg := Config{Buckets: uint64(8 * ranks), MaxBytes: 1 << 16, Chunk: 8, Chunks: 2,
		Access: e.access()}
	mem, jobs := scarce{taken: map[[2]int]bool{}}, ranksOf(t, e, ranks)
	spaces, insert, contains := batchCalls(t, jobs, cfg, elements)
	for _, sp := range spaces {
		mem.rule(sp)
		defer sp.close()
	}
	stored, next := map[int]bool{}, 0
	for mem.parts = range 3*ranks + 1 {
		for full := false; !full; next += 5 {
			ids, results := []int{next, next + 1, next + 2, next + 3, next + 4}, make([]Result, 5)
			err := insert[next%ranks](ids, results)
			for i, r := range results {
				if r != Inserted && r != Full {
					t.Fatalf("item %d is %v: %v", ids[i], r, err)
				}
				stored[ids[i]] = r == Inserted
				full = full || r == Full
			}
			if !full {
				must(t, err)
			} else if f := (*FullError)(nil); !errors.As(err, &f) || !errors.Is(err, errScarce) {
				t.Fatalf("without memory the error is %v", err)
			}
		}
		for rank, sp := range spaces {
			must(t, mem.check(sp))
			for id, there := range stored {
				r := make([]Result, 1)
				must(t, contains[rank]([]int{id}, r))
				if (r[0] == Found) != there {
					t.Fatalf("item %d, stored: %v, is %v", id, there, r[0])
				}
			}
		}
	}
	if gen := spaces[0].newest().gen; gen == 0 {
		t.Error("the set has not grown")
	}
}

// TestBegunByAnother has a rank take a part of the memory of a table, and another one all of it and
// come to the table: the first one knows then that it is in use.
func TestBegunByAnother(t *testing.T) {
	sets, err := newSets(ranksOf(t, engineDirect, 2), Config{Buckets: stepBuckets,
		MaxBytes: stepBuckets * 8 * 8})
	must(t, err)
	for _, s := range sets {
		defer s.Close()
	}
	first, second := sets[0].oldest.Load(), sets[1].oldest.Load()
	for first.tables[first.gen+1].buckets < 4*stepBuckets {
		first, err = first.next(true)
		must(t, err)
	}
	for second.gen < first.gen {
		second, err = second.next(true)
		must(t, err)
	}
	ready, err := first.prepare(1)
	if must(t, err); ready {
		t.Fatal("a part of a table is one step")
	}
	_, err = second.next(true)
	must(t, err)
	tables, err := sets[0].inUse(t.Context())
	if must(t, err); len(tables) != first.gen+2 {
		t.Errorf("%d tables are in use, and rank 0 knows %d", first.gen+2, len(tables))
	}
}

// shared is memory that a set asks for, as all its ranks do.
type shared struct {
	mu          sync.Mutex
	have, limit uint64
	less        int // times that memory was given back
}

func (m *shared) mayGrow(from, to uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if from != m.have {
		return true // another rank has told it
	}
	if to > m.limit && to > from {
		return false
	}
	if m.have = to; to < from {
		m.less++
	}
	return true
}

// TestMayGrow fills sets that may take more memory step by step. They take no more, say so, and
// give back what they do not need any more.
func TestMayGrow(t *testing.T) {
	for e := range allEngines {
		for _, elements := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/%v", e, elements), func(t *testing.T) {
				const ranks = 3
				mem := shared{limit: 1 << 10}
				spaces, insert, _ := batchCalls(t, ranksOf(t, e, ranks), Config{Buckets: 8 * ranks,
					MaxBytes: 1 << 16, MayGrow: mem.mayGrow, Access: e.access()}, elements)
				for _, sp := range spaces {
					defer sp.close()
				}
				for next := 0; mem.limit < 1<<15; mem.limit *= 2 {
					fillShared(t, &mem, spaces, insert, &next)
				}
				if sp := spaces[0]; mem.less == 0 || mem.have != sp.bytes(sp.newest().gen) {
					t.Errorf("%d bytes for %d buckets; given back: %d times", mem.have,
						sp.newest().buckets, mem.less)
				}
			})
		}
	}
}

// fillShared inserts until a set is full, and has all ranks know what has moved.
func fillShared(t *testing.T, mem *shared, spaces []*space, insert []func([]int, []Result) error,
	next *int) {
	t.Helper()
	for full := false; !full; *next++ {
		r := make([]Result, 1)
		err := insert[*next%len(spaces)]([]int{*next}, r)
		if full = r[0] == Full; !full {
			must(t, err)
		} else if f := (*FullError)(nil); !errors.As(err, &f) || f.Memory != ErrMayGrow {
			t.Fatalf("without a yes the error is %v", err)
		}
		if mem.have > mem.limit {
			t.Fatalf("%d bytes of %d", mem.have, mem.limit)
		}
	}
	for _, sp := range spaces {
		tables, err := sp.settle(t.Context())
		if must(t, err); len(tables) != 1 || sp.bytes(tables[0].gen) > mem.have {
			t.Fatalf("%d tables, of %d buckets, in %d bytes", len(tables), tables[0].buckets,
				mem.have)
		}
	}
}
