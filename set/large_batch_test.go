package set

import (
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
)

// largeItems is how many items a batch has that comes into a table of largeBuckets.
const (
	largeItems   = 1 << 13
	largeBuckets = 1 << 9
)

// largeCall is the one batch, and the statistics of a rank after it.
type largeCall struct {
	insert func(results []Result) error
	stats  func(rank int) Stats
	check  func() error
}

func largeWords(t *testing.T, jobs []rma.Job, cfg Config) largeCall {
	sets, err := newSets(jobs, cfg)
	must(t, err)
	words := make([]uint64, largeItems)
	for i := range words {
		words[i] = wordOfID(i)
	}
	return largeCall{stats: func(rank int) Stats { return sets[rank].Stats() },
		insert: func(r []Result) error { return sets[0].FindOrPutBatch(words, r) },
		check:  func() error { return checkRanks(jobs, checksOf(sets)) }}
}

func largeElements(t *testing.T, jobs []rma.Job, cfg Config) largeCall {
	sets, err := newElements(jobs, BytesConfig{Config: cfg, ElementBytes: 16,
		Capacity: 2 * largeItems})
	must(t, err)
	elements := make([]byte, 16*largeItems)
	for i := range largeItems {
		elementOfID(elements[16*i:][:16], i)
	}
	return largeCall{stats: func(rank int) Stats { return sets[rank].Stats() },
		insert: func(r []Result) error { return sets[0].FindOrPutPacked(elements, r, nil) },
		check:  func() error { return checkRanks(jobs, checksOf(sets)) }}
}

func largeStrings(t *testing.T, jobs []rma.Job, cfg Config) largeCall {
	sets, err := newStrings(jobs, BytesConfig{Config: cfg})
	must(t, err)
	all := make([][]byte, largeItems)
	for i := range all {
		all[i] = fmt.Appendf(nil, "string %d", i)
	}
	return largeCall{stats: func(rank int) Stats { return sets[rank].Stats() },
		insert: func(r []Result) error { return sets[0].FindOrPutBatch(all, r) },
		check:  func() error { return checkRanks(jobs, checksOf(sets)) }}
}

// A batch may have many times as many items as the table has buckets. The table grows while the
// batch goes on, so that the batch takes about as many requests as in a table that is large enough.
func TestLargeBatchIntoSmallTable(t *testing.T) {
	alone(t)
	for _, c := range []struct {
		engine engine
		access rma.Access
		most   uint64 // requests for each item
	}{
		{engineDirect, rma.Auto, 0}, {engineHidden, rma.Auto, 4},
		{engineHosts, rma.Shipped, 1}, {engineHosts, rma.OneSided, 3},
		{engineCarriers, rma.Shipped, 8}, // owners use queues, too
	} {
		t.Run(fmt.Sprint(c.engine, " ", c.access), func(t *testing.T) {
			for name, makes := range map[string]func(*testing.T, []rma.Job, Config) largeCall{
				"words": largeWords, "elements": largeElements, "strings": largeStrings} {
				t.Run(name, func(t *testing.T) {
					jobs := ranksOf(t, c.engine, 2)
					call := makes(t, jobs, Config{Buckets: largeBuckets, MaxBytes: 1 << 22,
						Access: c.access})
					callLarge(t, call, len(jobs), c.most)
				})
			}
		})
	}
}

func callLarge(t *testing.T, call largeCall, ranks int, most uint64) {
	t.Helper()
	results := make([]Result, largeItems)
	must(t, call.insert(results))
	if i := slices.IndexFunc(results, func(r Result) bool { return r != Inserted }); i >= 0 {
		t.Errorf("item %d is %v", i, results[i])
	}
	requests := uint64(0)
	for rank := range ranks {
		s := call.stats(rank)
		requests += s.Queues.Gets + s.Queues.Puts + s.Queues.CompareAndSwaps
		if s.LongestProbe > largeItems/4 {
			t.Errorf("rank %d has examined %d buckets for one item", rank, s.LongestProbe)
		}
	}
	if requests > most*largeItems {
		t.Errorf("%d items have taken %d requests, more than %d each", largeItems, requests, most)
	}
	must(t, call.check())
}

// pressedTable is a table whose rank 0 has moved its part, and rank 1 has not; the next table is
// full where rank 0 has it.
func pressedTable(t *testing.T, access rma.Access) (spaces []*space, check func() error) {
	jobs := ranksOf(t, engineHosts, 2)
	sets, err := newSets(jobs, Config{Buckets: 64, MaxBytes: 1 << 14, Access: access})
	must(t, err)
	first := sets[0].oldest.Load()
	first.progress.raise(growthWanted)
	first.tend(&counts{inserted: 1, longest: longSearch}, true, true)
	next := first.following.Load()
	if next == nil || next.last {
		t.Fatalf("rank 0 has not moved its part: %v", next)
	}
	var words []uint64 // with homes in the part of rank 0, most of its buckets
	for id := 0; uint64(len(words)) < next.perRank-next.perRank/16; id++ {
		if word := wordOfID(id); first.owner(hashWord(word)) == 0 {
			words = append(words, word)
		}
	}
	for _, word := range words {
		_, _, _ = next.spanAt(0).search(word|occupied, next.home(hashWord(word)), true)
	}
	return []*space{sets[0].space, sets[1].space},
		func() error { return checkRanks(jobs, checksOf(sets)) }
}

// Where the next table is full as well, the owners of what has not moved are asked to move it. A
// rank that answers a request moves it itself.
func TestOwnersAreAskedToMove(t *testing.T) {
	long := counts{inserted: 1 << 10, longest: longSearch}
	for _, c := range []struct {
		name   string
		access rma.Access
		served bool
		asks   bool
	}{{"batch", rma.Shipped, false, true}, {"one-sided batch", rma.OneSided, false, false},
		{"request", rma.Shipped, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			spaces, check := pressedTable(t, c.access)
			first := spaces[0].oldest.Load()
			short := counts{inserted: 1 << 10, longest: 1}
			if first.press(&short, c.served); spaces[0].oldest.Load() != first {
				t.Error("a table moves after short searches")
			}
			first.press(&long, c.served)
			if c.served { // the piece is moved, and the next call finds that all have been
				_, err := first.help(1, false)
				must(t, err)
			}
			if gen := spaces[0].oldest.Load().gen; gen != 1 {
				t.Errorf("searches begin at table %d", gen)
			}
			asked := spaces[1].oldest.Load().following.Load() != nil ||
				spaces[1].oldest.Load().gen > 0
			if asked != c.asks {
				t.Errorf("rank 1 has moved its part is %v", asked)
			}
			must(t, check())
		})
	}
}

// Searches that have left the memory of their rank, of a table that moves, do not go on among the
// buckets of another rank: all of the table moves, and they are made directly in the next one.
func TestLeftItemsLeaveTheTable(t *testing.T) {
	jobs := ranksOf(t, engineHosts, 2)
	sets, err := newSets(jobs, Config{Buckets: 64, MaxBytes: 1 << 14, Access: rma.Shipped})
	must(t, err)
	first := sets[0].oldest.Load()
	first.progress.raise(growthWanted)
	first.tend(&counts{inserted: 1, longest: longSearch}, true, true)
	const n = 20
	b := batch{t: first, items: make([]uint64, n), results: make([]end, n), insert: true}
	var all []int
	far := uint64(0)
	for i := range n {
		b.items[i] = wordOfID(i)
		all = append(all, i)
		far += uint64(first.owner(hashWord(b.items[i])))
	}
	must(t, b.Queued(all))
	if b.t.gen != 1 || b.inserted != n || b.queues.CompareAndSwaps-b.queues.Retries != far {
		t.Errorf("%d of %d words are inserted, into table %d, %d with home at rank 1: %+v",
			b.inserted, n, b.t.gen, far, b.queues)
	}
	must(t, checkRanks(jobs, checksOf(sets)))
}

// A table may be so full when it begins to move that few of its buckets are closed. Where searches
// pass all of it the rest moves at once.
func TestPassedTableMoves(t *testing.T) {
	for _, c := range []struct {
		longest uint64
		moves   bool
	}{{64, true}, {longSearch - 1, false}} {
		sets, err := newSets(ranksOf(t, engineHosts, 2), Config{Buckets: 64, MaxBytes: 1 << 14,
			Access: rma.Shipped})
		must(t, err)
		first := sets[0].oldest.Load()
		first.progress.raise(growthWanted)
		first.tend(&counts{inserted: 1, longest: longSearch}, true, true)
		first.press(&counts{inserted: 1, longest: c.longest}, false)
		if moved := sets[0].oldest.Load() != first; moved != c.moves {
			t.Errorf("after a search of %d buckets the table has moved is %v", c.longest, moved)
		}
	}
}

// Insertions into a small table are shipped in short requests, lookups in long ones.
func TestShippedAtOnce(t *testing.T) {
	sets, err := newSets(ranksOf(t, engineHosts, 2), Config{Buckets: 1 << 12})
	must(t, err)
	b := batch{t: sets[0].oldest.Load(), insert: true}
	if n := b.AtOnce(); n != 1<<10 {
		t.Errorf("%d insertions are shipped at once, not half of what a rank has buckets", n)
	}
	if b.insert = false; b.AtOnce() < 1<<20 {
		t.Errorf("%d lookups are shipped at once", b.AtOnce())
	}
}
