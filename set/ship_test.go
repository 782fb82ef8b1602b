package set

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// onShips runs a test for the engines that carry requests.
func onShips(t *testing.T, test func(t *testing.T, e engine)) {
	for e := engineHosts; e < allEngines; e++ {
		t.Run(e.String(), func(t *testing.T) { test(t, e) })
	}
}

// Goroutines of many ranks insert the same things at the same time. Some of these are shipped.
// Each is inserted once, and counted once.
func TestShippedContention(t *testing.T) {
	onShips(t, func(t *testing.T, e engine) {
		t.Run("words", func(t *testing.T) {
			c, jobs := newContention(4, 2), ranksOf(t, e, 4)
			sets, err := newSets(jobs, Config{Buckets: uint64(c.elements) * 10 / 9, Depth: 8,
				Access: rma.Shipped})
			must(t, err)
			must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
				return insertWords(sets[rank], wordOfID, ids, results)
			}))
			must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
			shippedAll(t, c, func(rank int) Stats { return sets[rank].Stats() })
		})
		t.Run("elements", func(t *testing.T) {
			c, jobs := newContention(4, 2), ranksOf(t, e, 4)
			sets, err := newElements(jobs, BytesConfig{ElementBytes: 20,
				Capacity: uint64(c.elements) + 2048, // batches and owners hold slots
				Config: Config{Buckets: uint64(c.elements) * 10 / 9, Depth: 8,
					Access: rma.Shipped}})
			must(t, err)
			var refsByID sync.Map
			must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
				return insertElements(sets[rank], &refsByID, ids, results)
			}))
			must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
			shippedAll(t, c, func(rank int) Stats { return sets[rank].Stats() })
			noSlotIsLost(t, sets)
		})
	})
}

// shippedAll makes sure that every element was counted once, and that much was shipped.
func shippedAll(t *testing.T, c *contention, stats func(rank int) Stats) {
	t.Helper()
	var sum Stats
	for rank := range c.ranks {
		s := stats(rank)
		sum.Inserted += s.Inserted
		sum.Served += s.Served
		sum.Queues.Add(s.Queues)
		if s.Access.Access != rma.Shipped || s.Served == 0 || s.Queues.Ships == 0 {
			t.Errorf("rank %d: %+v", rank, s)
		}
	}
	if sum.Inserted != uint64(c.elements) || sum.Served < sum.Queues.Ships {
		t.Errorf("%d elements: %+v", c.elements, sum)
	}
}

// Every kernel works on a part of a table, whose end searches leave, and on what lies around
// the end of the table.
func TestKernelsOnParts(t *testing.T) {
	for _, kernel := range kernels() {
		for _, buckets := range []uint64{32, 64, 2048} {
			const ranks = 4
			jobs := ranksOf(t, engineHosts, ranks)
			cfg := Config{Buckets: buckets, variant: by(kernel), Access: rma.Shipped}
			sets, err := newSets(jobs, cfg)
			must(t, err)
			rng := rand.New(rand.NewPCG(buckets, 3))
			stored := map[uint64]bool{}
			for full := false; !full; {
				words := distinctWords(rng, 1+rng.IntN(int(buckets)/4), 4*buckets)
				results := make([]Result, len(words))
				s := sets[rng.IntN(ranks)]
				must(t, s.ContainsBatch(words, results))
				for i, r := range results {
					if r != resultOf(stored[words[i]], nil) {
						t.Fatalf("%s: word %d is %v", kernel, words[i], r)
					}
				}
				var fullError *FullError
				if err := s.FindOrPutBatch(words, results); err != nil &&
					!errors.As(err, &fullError) {
					t.Fatal(err)
				}
				for i, r := range results {
					if (r == Found) != stored[words[i]] || r > Full {
						t.Fatalf("%s: word %d was found or put: %v", kernel, words[i], r)
					}
					stored[words[i]] = r != Full
					full = full || r == Full
				}
			}
			load, err := sets[0].Used(t.Context())
			must(t, err, checkRanks(jobs, checksOf(sets)))
			if load != 1 {
				t.Errorf("%s: full at load factor %v", kernel, load)
			}
		}
	}
}

// What does not fit is an error, whatever it is.
func TestBadRequests(t *testing.T) {
	onShips(t, func(t *testing.T, e engine) {
		jobs := ranksOf(t, e, 2)
		sets, err := newSets(jobs, Config{Buckets: 64})
		must(t, err)
		elements, err := newElements(jobs, BytesConfig{Config: Config{Buckets: 64},
			ElementBytes: 16})
		must(t, err)
		words := sets[0].oldest.Load()
		pairs := elements[0].oldest.Load()
		mine, theirs := uint64(0), uint64(0)
		for sets[0].oldest.Load().owner(hashWord(mine)) != 0 {
			mine++
		}
		for sets[0].oldest.Load().owner(hashWord(theirs)) != 1 {
			theirs++
		}
		room := make([]uint64, 4)
		for i, c := range []struct {
			o       *table
			kind    uint32
			n       int
			request []uint64
			answer  []uint64
		}{
			{words, kindFindOrPut, 2, []uint64{mine}, room},
			{words, kindFindOrPut, 1, []uint64{mine, mine}, room},
			{words, kindFindOrPut, min(math.MaxUint32, math.MaxInt), []uint64{mine}, room},
			{words, kindFindOrPut, 1, []uint64{mine}, nil},
			{words, kindMove + 1, 1, []uint64{mine}, room},
			{words, kindMove, 1, []uint64{0}, room}, // there is no table after it
			{words, kindFindOrPut, 1, []uint64{mine | occupied}, room},
			{words, kindFindOrPut, 1, []uint64{theirs}, room},
			{pairs, kindFind, 1, []uint64{1}, room},
			{pairs, kindFind, 1, []uint64{1, 2, 3}, room},
			{pairs, kindGet, 2, []uint64{1, 2}, room[:3]},
			{words, kindGet, 1, []uint64{1}, room},
		} {
			if _, err := c.o.answer(c.kind, c.n, c.request, c.answer); err == nil ||
				!strings.Contains(err.Error(), "the same program on every rank") {
				t.Errorf("bad request %d: %v", i, err)
			}
		}
		n, err := words.answer(kindFindOrPut, 1, []uint64{mine}, room)
		if err != nil || n != 1 || Result(room[0]) != Inserted {
			t.Errorf("a good request: %d words, %v, %v", n, room, err)
		}
	})
}

// TestOddAnswers: an answer that does not fit the request is an error.
func TestOddAnswers(t *testing.T) {
	for result := range uint64(256) {
		for _, insert := range []bool{false, true} {
			b := batch{t: new(table), results: make([]end, 1), insert: insert}
			_, again, err := b.Unpack(1, 0, []uint64{result})
			r := b.results[0]
			if again {
				r = unfinished
			}
			want := errors.Is(err, core.ErrDisorder)
			switch end(result) {
			case found, unfinished:
				want = err == nil
			case inserted, full:
				want = insert == (err == nil)
			case notFound:
				want = insert != (err == nil)
			}
			if !want || err == nil && r != end(result) {
				t.Errorf("answer %d, insert %v: %v, %v", result, insert, r, err)
			}
		}
	}
}

// What a rank has owned is reached one-sided when it has closed the set.
func TestOwnerHasClosed(t *testing.T) {
	onShips(t, func(t *testing.T, e engine) {
		sets, err := newSets(ranksOf(t, e, 2), Config{Buckets: 4096, Access: rma.Shipped})
		must(t, err)
		words, results := make([]uint64, 2000), make([]Result, 2000)
		for i := range words {
			words[i] = wordOfID(i)
		}
		must(t, sets[0].FindOrPutBatch(words[:1000], results[:1000]), sets[1].Close(),
			sets[0].FindOrPutBatch(words, results))
		for i, r := range results {
			if (r == Found) != (i < 1000) {
				t.Fatalf("word %d: %v", i, r)
			}
		}
		if err := sets[1].FindOrPutBatch(words, results); !errors.Is(err, errClosed) {
			t.Errorf("a closed set says %v", err)
		}
		must(t, sets[0].Close())
	})
}

// Access is checked, and the choice is reported.
func TestAccess(t *testing.T) {
	for _, c := range []struct {
		e      engine
		access rma.Access
		says   string // of the choice; "" is an error
	}{
		{engineDirect, rma.Shipped, "direct"}, {engineHidden, rma.Shipped, ""},
		{engineHosts, rma.OneSided, "one-sided, as asked"}, {engineHosts, rma.Auto, ""},
		{engineCarriers, rma.Shipped, "shipped, as asked"}, {engineCarriers, 7, ""},
	} {
		sets, err := newSets(ranksOf(t, c.e, 2), Config{Buckets: 64, Access: c.access})
		if c.access == rma.Auto {
			must(t, err)
			if costs := sets[0].Stats().Access.Costs; costs.RequestNs <= 0 {
				t.Errorf("measured %+v", costs)
			}
			must(t, onAll(2, func(rank int) error {
				return sets[rank].Collect(context.Background(), func(uint64) bool { return true })
			}))
			if sets[0].Stats().Access.Costs == (rma.AccessCosts{}) {
				t.Error("Collect forgets what was measured")
			}
			continue
		}
		if (err != nil) != (c.says == "") {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && !strings.HasPrefix(sets[0].Stats().Access.String(), c.says) {
			t.Errorf("%+v: %q", c, sets[0].Stats().Access)
		}
	}
}

// Histories of ranks that ship are linearizable.
func TestLabShipped(t *testing.T) {
	runs := uint64(25)
	if slow {
		runs = 8
	}
	for _, e := range lab.Carriers() {
		for seed := range runs {
			for _, table := range []*lab.Table{labWordsShipped, labElementsShipped,
				labGrowingShipped} {
				must(t, table.Live(e, 2+int(seed%3), 40, seed))
			}
		}
	}
}

var (
	labGrowingShipped = &lab.Table{Name: "shipped set of words that grows", Model: labModel,
		Open: whichGrows(openLabWords, rma.Shipped)}
	labWordsShipped = &lab.Table{Name: "set of words that are shipped", Model: labModel,
		Open: with(openLabWords, rma.Shipped)}
	labElementsShipped = &lab.Table{Name: "set of elements that are shipped", Model: labModel,
		Open: with(openLabElements, rma.Shipped)}
)

// BenchmarkAnswer is what answering requests costs the owner, for a word that is there.
func BenchmarkAnswer(b *testing.B) {
	const buckets, n, requests = 1 << 24, 4095, 512
	jobs, stop := startRanks(engineHosts, 2, 1)
	sets, err := newSets(jobs, Config{Buckets: buckets, Access: rma.Shipped})
	must(b, err)
	o := sets[0].oldest.Load()
	words, answer := make([]uint64, requests*n), make([]uint64, n)
	next := uint64(0)
	for i := range words {
		for next++; sets[0].oldest.Load().owner(hashWord(benchWord(next))) != 0; {
			next++
		}
		words[i] = benchWord(next)
	}
	ask := func(i int) {
		_, err := o.answer(kindFindOrPut, n, words[i*n:(i+1)*n], answer)
		must(b, err)
	}
	for i := range requests {
		ask(i)
	}
	i := 0
	for b.Loop() {
		ask(i % requests)
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/word")
	must(b, onAll(2, func(rank int) error { return sets[rank].Close() }), stop())
}
