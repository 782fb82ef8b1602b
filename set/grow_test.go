package set

import (
	"slices"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
)

// growing is a configuration that begins with few buckets and ends with enough for the elements of
// a contention.
func growing(c *contention, home variant.Set) Config {
	return Config{Buckets: 64, MaxBytes: uint64(c.elements) * 64, variant: home, Depth: 8}
}

// TestWordsWhileGrowing has many goroutines of many ranks insert the same words into a set that
// grows: each is inserted once.
func TestWordsWhileGrowing(t *testing.T) {
	overContention(t, func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set) {
		sets, err := newSets(jobs, growing(c, home))
		must(t, err)
		must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
			return insertWords(sets[rank], wordOfID, ids, results)
		}))
		must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
		want := make([]uint64, c.elements)
		for id := range want {
			want[id] = wordOfID(id)
		}
		var local []uint64
		for _, s := range sets {
			if gen := s.newest().gen; gen == 0 {
				t.Error("a rank has the first table")
			}
			local = append(local, localWords(t, s)...)
			results := make([]Result, len(want))
			must(t, s.ContainsBatch(want, results))
			if slices.Contains(results, NotFound) {
				t.Error("words are lost")
			}
		}
		slices.Sort(want)
		slices.Sort(local)
		if !slices.Equal(local, want) {
			t.Errorf("the set has %d words, not the %d that were inserted", len(local), len(want))
		}
		n, err := sets[0].Len(t.Context())
		must(t, err)
		if n != uint64(c.elements) {
			t.Error(unexpected("Len", n, c.elements))
		}
	})
}

// TestElementsWhileGrowing is the same for elements, whose references must be the same on all
// ranks.
func TestElementsWhileGrowing(t *testing.T) {
	overContention(t, func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set) {
		cfg := BytesConfig{ElementBytes: 12, Capacity: uint64(c.elements) + 1024,
			Config: growing(c, home)}
		cfg.MaxBytes += cfg.Capacity * 16
		sets, err := newElements(jobs, cfg)
		must(t, err)
		var refsByID sync.Map
		must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
			return insertElements(sets[rank], &refsByID, ids, results)
		}))
		must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
		stored := 0
		for _, e := range sets {
			for _, err := range e.Local(t.Context()) {
				must(t, err)
				stored++
			}
			for id := range c.elements {
				element := make([]byte, 12)
				elementOfID(element, id)
				there, err := e.Contains(element)
				if must(t, err); !there {
					t.Fatalf("element %d is lost", id)
				}
			}
		}
		if stored != c.elements {
			t.Error(unexpected("elements stored", stored, c.elements))
		}
		noSlotIsLost(t, sets)
	})
}

// A part of a table that is full does not make it move; the whole of it does.
func TestSamples(t *testing.T) {
	const lines = 16 * sampleBuckets / lineBuckets
	for _, e := range []engine{engineDirect, engineHidden} {
		sets, err := newSets(ranksOf(t, e, 1), Config{Buckets: lines * lineBuckets})
		must(t, err)
		table := sets[0].oldest.Load()
		fill := func(from, to uint64) { // 7 of the 8 buckets of some lines
			var words []uint64
			for line := from; line < to; line++ {
				words = append(words, wordsWithHomes(7, []uint64{line * (1 << 32 / lines)})...)
			}
			must(t, sets[0].FindOrPutBatch(words, make([]Result, len(words))))
		}
		fill(0, lines/2)
		for range 100 {
			if table.isFull() {
				t.Fatalf("%v: half a table is full", e)
			}
		}
		fill(lines/2, lines)
		for range 100 {
			if !table.isFull() {
				t.Fatalf("%v: a table of load 0.875 is not full", e)
			}
		}
	}
}

// Where a call has inserted a part of a table that counts, the next sample is not 16 calls away.
func TestSamplesAfterBatches(t *testing.T) {
	for _, c := range []struct {
		name     string
		inserted uint64
		wanted   bool
	}{{"single call", 1, false}, {"batch", movingBuckets / 4, true}} {
		m := movingWords(t, engineDirect)
		table := m.spaces[0].oldest.Load()
		long := counts{inserted: 1, longest: longSearch}
		if table.tend(&long, true, false); table.progress.state.Load() >= growthWanted {
			t.Error("an empty table is to move")
		}
		for key := range movingBuckets - 2 {
			_, err := m.insert(0, key)
			must(t, err)
		}
		long.inserted = c.inserted
		table.tend(&long, true, false)
		if moves := table.progress.state.Load() >= growthWanted; moves != c.wanted {
			t.Errorf("after a %s: a full table is to move is %v", c.name, !c.wanted)
		}
	}
}

// Of calls one in 16 is a reason for a sample, of batches that insert a 16th of a part each.
func TestSampleDue(t *testing.T) {
	for _, c := range []struct {
		inserted uint64
		due      int // of 64 calls
	}{{0, 4}, {1 << 11, 8}, {1 << 14, 64}, {1 << 18, 64}} {
		table, due := table{perRank: 1 << 18}, 0
		for range 64 {
			if table.sampleDue(&counts{inserted: c.inserted}) {
				due++
			}
		}
		if due != c.due {
			t.Errorf("%d insertions a call: %d of 64 calls have a sample, want %d", c.inserted,
				due, c.due)
		}
	}
}

// A call that finds a small table full has all ranks' memory taken for the next one.
func TestSmallTablesAreReadyAtOnce(t *testing.T) {
	for _, e := range []engine{engineDirect, engineHosts} {
		table := movingWords(t, e).spaces[0].oldest.Load()
		table.progress.raise(growthWanted)
		table.tend(&counts{inserted: 1, longest: longSearch}, true, true)
		if table.progress.state.Load() < growthMoving {
			t.Errorf("%v: the next table is not ready", e)
		}
	}
}
