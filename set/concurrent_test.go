package set

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
)

// contention is several goroutines on each of several ranks that insert the same
// elements at the same time.
type contention struct {
	ranks, goroutines int
	elements          int
	inserted          []atomic.Int32 // how often each element was Inserted
}

// contentionElements is the number of elements: small enough that most goroutines contend.
func contentionElements() int {
	if slow {
		return 1000
	}
	return 6000
}

func newContention(ranks, goroutines int) *contention {
	n := contentionElements()
	return &contention{ranks: ranks, goroutines: goroutines, elements: n,
		inserted: make([]atomic.Int32, n)}
}

// insertFunc inserts the given elements on a rank.
type insertFunc func(rank, goroutine int, ids []int, results []Result) error

// run has every goroutine insert all elements in an order of its own: part of them
// one by one, part in batches with duplicates.
func (c *contention) run(insert insertFunc) error {
	var ready sync.WaitGroup
	ready.Add(c.ranks * c.goroutines)
	return onAll(c.ranks*c.goroutines, func(i int) error {
		ready.Done()
		ready.Wait() // so that they contend from the beginning
		rank, goroutine := i%c.ranks, i/c.ranks
		rng := rand.New(rand.NewPCG(uint64(rank), uint64(goroutine)))
		ids := c.order(rng, i)
		for len(ids) > 0 {
			n := min(len(ids), []int{1, 1, 7, 100}[rng.IntN(4)])
			batch := ids[:n:n]
			for range n / 4 { // duplicates
				batch = append(batch, batch[rng.IntN(n)])
			}
			results := make([]Result, len(batch))
			if err := insert(rank, goroutine, batch, results); err != nil {
				return err
			}
			if err := c.note(batch, results); err != nil {
				return err
			}
			ids = ids[n:]
		}
		return nil
	})
}

// order is all elements: half of the goroutines take them in the same order, so that
// they race for the same buckets, the others shuffle.
func (c *contention) order(rng *rand.Rand, i int) []int {
	ids := rng.Perm(c.elements)
	if i%2 == 0 {
		for i := range ids {
			ids[i] = i
		}
	}
	return ids
}

func (c *contention) note(ids []int, results []Result) error {
	for i, id := range ids {
		switch results[i] {
		case Inserted:
			c.inserted[id].Add(1)
		case Found:
		default:
			return fmt.Errorf("element %d: %v", id, results[i])
		}
	}
	return nil
}

// exactlyOnce reports an element that was not inserted exactly once.
func (c *contention) exactlyOnce() error {
	for id := range c.inserted {
		if n := c.inserted[id].Load(); n != 1 {
			return fmt.Errorf("element %d was inserted %d times", id, n)
		}
	}
	return nil
}

// wordOfID is the word called id; the words of adjacent ids have distant homes.
func wordOfID(id int) uint64 { return hashWord(uint64(id)) & MaxWord }

// elementOfID writes the element called id.
func elementOfID(dst []byte, id int) {
	binary.LittleEndian.PutUint32(dst[len(dst)-4:], uint32(id))
}

// insertWords inserts through the set of a rank the words with the given ids.
func insertWords(s *Set, word func(id int) uint64, ids []int, results []Result) (err error) {
	if len(ids) == 1 {
		results[0], err = s.FindOrPut(word(ids[0]))
		return err
	}
	words := make([]uint64, len(ids))
	for i, id := range ids {
		words[i] = word(id)
	}
	return s.FindOrPutBatch(words, results)
}

// insertElements inserts through the set of a rank, and checks that each element always gets
// the same reference.
func insertElements(e *Bytes, refsByID *sync.Map, ids []int, results []Result) error {
	size := e.oldest.Load().size
	buf := make([]byte, len(ids)*size)
	for i, id := range ids {
		elementOfID(buf[i*size:(i+1)*size], id)
	}
	refs := make([]Ref, len(ids))
	if err := e.FindOrPutPacked(buf, results, refs); err != nil {
		return err
	}
	for i, id := range ids {
		if first, _ := refsByID.LoadOrStore(id, refs[i]); first != refs[i] {
			return fmt.Errorf("element %d is called %v and %v", id, first, refs[i])
		}
	}
	return nil
}

// TestEachWordIsInsertedOnce has many goroutines of many ranks insert the same words.
func TestEachWordIsInsertedOnce(t *testing.T) {
	overContention(t, func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set) {
		buckets := uint64(c.elements) * 10 / 9
		sets, err := newSets(jobs, Config{Buckets: buckets, variant: home, Depth: 8})
		must(t, err)
		must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
			return insertWords(sets[rank], wordOfID, ids, results)
		}))
		must(t, c.exactlyOnce())
		must(t, checkRanks(jobs, checksOf(sets)))
		for _, s := range sets {
			n, err := s.Len(t.Context())
			must(t, err)
			if n != uint64(c.elements) {
				t.Fatal(unexpected("Len", n, c.elements))
			}
		}
	})
}

// TestEachElementIsInsertedOnce is the same for elements, whose references must be the
// same on all ranks.
func TestEachElementIsInsertedOnce(t *testing.T) {
	sizes := []int{4, 16, 100}
	if slow {
		sizes = sizes[1:2]
	}
	for _, size := range sizes {
		overContention(t, func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set) {
			sets, err := newElements(jobs, BytesConfig{ElementBytes: size,
				Capacity: uint64(c.elements) + 1024, // more goroutines than two hold slots
				Config:   Config{Buckets: uint64(c.elements) * 10 / 9, variant: home, Depth: 8}})
			must(t, err)
			var refsByID sync.Map
			must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
				return insertElements(sets[rank], &refsByID, ids, results)
			}))
			must(t, c.exactlyOnce())
			must(t, checkRanks(jobs, checksOf(sets)))
			n, err := sets[0].Len(t.Context())
			must(t, err)
			if n != uint64(c.elements) {
				t.Fatal(unexpected("Len", n, c.elements))
			}
			noSlotIsLost(t, sets)
		})
	}
}

// noSlotIsLost: each slot that was handed out holds an element or is free, also where
// the element lost its bucket to an equal one.
func noSlotIsLost(t testing.TB, sets []*Bytes) {
	t.Helper()
	taken, err := sets[0].oldest.Load().arenas.counter.Sum(t.Context(), 0)
	must(t, err)
	used, err := sets[0].Len(t.Context())
	must(t, err)
	for _, e := range sets {
		drain(e.arenas)
		used += uint64(len(e.arenas.free) + len(e.arenas.freeRemote))
	}
	if used != taken {
		t.Fatalf("%d slots are handed out, %d hold an element or are free", taken, used)
	}
}

// overContention runs a test with several numbers of ranks on all engines.
func overContention(t *testing.T,
	test func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set)) {
	for e := range engines {
		for _, ranks := range []int{1, 3} {
			for _, home := range []variant.Set{lineHomes, wordHomes} {
				name := fmt.Sprintf("%v/ranks=%v/home=%v", e, ranks, home)
				t.Run(name, func(t *testing.T) {
					c := newContention(ranks, 4)
					if e == engineLate {
						c.elements = min(c.elements, 600)
						c.inserted = c.inserted[:c.elements]
					}
					test(t, ranksOf(t, e, ranks), c, home)
				})
			}
		}
	}
}

// TestTwoPathsOnOneTable has half of the goroutines go through memory and half through
// queues, on the same buckets and arenas.
func TestTwoPathsOnOneTable(t *testing.T) {
	jobs := ranksOf(t, engineDirect, 2)
	t.Run("words", func(t *testing.T) {
		c := newContention(2, 4)
		sets, err := newSets(jobs, Config{Buckets: uint64(c.elements) * 10 / 9})
		must(t, err)
		queued := make([]*Set, len(sets))
		for i, s := range sets {
			queued[i] = &Set{anySet{throughQueues(s.space)}}
		}
		must(t, c.run(func(rank, goroutine int, ids []int, results []Result) error {
			s := []*Set{sets[rank], queued[rank]}[goroutine%2]
			return insertWords(s, wordOfID, ids, results)
		}))
		must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)),
			checkRanks(jobs, checksOf(queued)))
		onlyThese(t, sets, queued)
	})
	t.Run("elements", func(t *testing.T) {
		c := newContention(2, 4)
		sets, err := newElements(jobs, BytesConfig{ElementBytes: 12,
			Capacity: uint64(c.elements) + 1024,
			Config:   Config{Buckets: uint64(c.elements) * 10 / 9}})
		must(t, err)
		queued := make([]*Bytes, len(sets))
		for i, e := range sets {
			queued[i] = &Bytes{anySet: anySet{throughQueues(e.space)}}
		}
		var names sync.Map
		must(t, c.run(func(rank, goroutine int, ids []int, results []Result) error {
			e := []*Bytes{sets[rank], queued[rank]}[goroutine%2]
			return insertElements(e, &names, ids, results)
		}))
		must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)),
			checkRanks(jobs, checksOf(queued)))
	})
}

// throughQueues is a view of a set that takes the one-sided path.
func throughQueues(sp *space) *space {
	view := &space{items: sp.items, cfg: sp.cfg, chunk: sp.chunk, kernel: sp.kernel}
	view.marks = sp.marks
	for _, m := range sp.tables {
		m.regions = core.Regions{}
		view.tables = append(view.tables, m)
	}
	view.oldest.Store(view.newTable(0))
	return view
}

// onlyThese makes sure that both views count and contain the same.
func onlyThese(t *testing.T, sets, queued []*Set) {
	t.Helper()
	if s := queued[0].Stats(); s.Queues.Gets == 0 {
		t.Fatalf("the queues did nothing: %+v", s)
	}
	if !slices.Equal(localWords(t, sets[1]), localWords(t, queued[1])) {
		t.Fatal("memory and queues show different tables")
	}
}

func localWords(t *testing.T, s *Set) (words []uint64) {
	t.Helper()
	for word, err := range s.Local(t.Context()) {
		must(t, err)
		words = append(words, word)
	}
	return words
}
