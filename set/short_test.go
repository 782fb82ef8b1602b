package set

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/guard"
	"github.com/farhash/farhash/rma/local"
)

// shortSet is a set of elements of so many words, whose kernel works in memory that ends where the
// buckets, the slots, the elements and the answers do.
type shortSet struct {
	*table
	v     *span
	rng   *rand.Rand
	known map[string]Ref
}

// TestShortElements: batches of short elements, with equal ones in them, have the answers of the
// plain loop, on tables of a few and of many lines, from empty to full, for all lengths.
func TestShortElements(t *testing.T) {
	for _, kernel := range vectorKernels() {
		for i, shape := range []Config{{Buckets: 8, Chunk: 8}, {Buckets: 64, Chunk: 8, Chunks: 3},
			{Buckets: 512, Chunk: 16, Chunks: 4}, {Buckets: 4096}} {
			for width := 1; width <= shortWords; width++ {
				shape.variant = by(kernel)
				t.Run(fmt.Sprintf("%s/%d/%d", kernel, shape.Buckets, width), func(t *testing.T) {
					for part := range uint64(3) {
						shortElements(t, shape, width, 8*part, tunings[(i+width)%len(tunings)])
					}
				})
			}
		}
	}
}

// shortElements is for the buckets that leave a part in front of them and one behind them.
func shortElements(t *testing.T, shape Config, width int, part uint64, u tuning) {
	if 2*part >= shape.Buckets {
		return
	}
	job := local.Single()
	e, err := NewBytes(t.Context(), job, BytesConfig{Config: shape, ElementBytes: 8 * width,
		Capacity: shape.Buckets * 7 / 8})
	must(t, err)
	defer func() { must(t, e.Close(), job.Close()) }()
	s := shortSet{table: e.oldest.Load(), rng: rand.New(rand.NewPCG(uint64(width), part)),
		known: map[string]Ref{}}
	s.tuning = u
	s.v = &span{flat: guard.Slice[uint64](t, int(shape.Buckets-2*part)), first: part,
		whole: part == 0, limit: s.limit, last: true}
	s.arenas.regions.Segments.Words[0] = guard.Slice[uint64](t, int(s.arenas.slots)*width)
	answers := map[end]int{}
	for round := range 40 {
		if round == 30 { // the table moves
			s.v.last = false
			for i, bucket := range s.v.flat {
				if bucket == 0 {
					s.v.flat[i] = closed
				}
			}
		}
		s.batch(t, round%3 == 2, batchSizes[s.rng.IntN(len(batchSizes)-2)], answers)
		s.collide()
	}
	if answers[inserted] == 0 || answers[found] == 0 || answers[notFound] == 0 {
		t.Errorf("only %v", answers)
	}
}

// collide has one of the elements become another with its fingerprint, which is a rare thing.
func (s *shortSet) collide() {
	if len(s.known) < 4 || s.rng.IntN(8) > 0 {
		return
	}
	element := slices.Min(slices.Collect(maps.Keys(s.known)))
	s.arenas.words(s.known[element])[s.rng.IntN(s.width)] ^= 1 << 40
	delete(s.known, element)
}

// batch runs one and compares its answers.
func (s *shortSet) batch(t *testing.T, find bool, n int, answers map[end]int) {
	t.Helper()
	b := batch{t: s.table, items: guard.Slice[uint64](t, n*s.width),
		results: guard.Slice[end](t, n), refs: guard.Slice[Ref](t, n), insert: !find}
	for i := range n {
		for item := b.item(i); ; {
			clear(item)
			id := s.rng.Uint64N(3 * s.buckets)
			item[id%uint64(s.width)] = id + 1
			if s.home(hashElement(item))-s.v.first < uint64(len(s.v.flat)) {
				break
			}
		}
	}
	must(t, b.searchElements(s.v))
	want := counts{}
	for i, r := range b.results {
		answers[r]++
		want.count(r, 1, 0, s.directChunk)
		if element := core.BytesOf(b.item(i)); r == inserted {
			if _, there := s.known[string(element)]; there || find {
				t.Fatalf("element %d is inserted, and was there: %v", i, there)
			}
			s.known[string(element)] = b.refs[i]
		}
	}
	for i, r := range b.results {
		ref, there := s.known[string(core.BytesOf(b.item(i)))]
		switch {
		case r == inserted:
		case there && (r != found || b.refs[i] != ref):
			t.Fatalf("element %d of %d is %v as %d, and %d has it", i, n, r, b.refs[i], ref)
		case !there && r != s.plain(t, b.item(i), !find):
			t.Fatalf("element %d of %d is %v, and the plain loop says %v", i, n, r,
				s.plain(t, b.item(i), !find))
		}
	}
	got := b.counts
	got.lost, got.extra, got.longest, got.noSlot = 0, 0, 0, 0
	want.extra, want.longest = 0, 0
	if got != want {
		t.Fatalf("%+v; the answers are %+v", got, want)
	}
	if find && s.v.whole {
		s.compareCounts(t, &b)
	}
}

// plain is the answer of the plain loop.
func (s *shortSet) plain(t *testing.T, element []uint64, insert bool) end {
	b := batch{t: s.table, items: element, results: make([]end, 1), insert: insert}
	hash := hashElement(element)
	search := s.search()
	must(t, b.searchOne(search, 0, element, fingerprintKey(hash), s.home(hash)-s.v.first, 0))
	search.held.release()
	return b.results[0]
}

func (s *shortSet) search() *elementSearch {
	return &elementSearch{v: s.v, held: heldSlots{arenas: s.arenas, directOnly: !s.v.whole}}
}

// compareCounts: a batch of finds counts what the plain loop counts, the longest search in lines.
func (s *shortSet) compareCounts(t *testing.T, b *batch) {
	t.Helper()
	plain := batch{t: s.table, items: b.items, results: make([]end, len(b.results))}
	for i := range plain.results {
		hash := hashElement(b.item(i))
		must(t, plain.searchOne(s.search(), i, b.item(i), fingerprintKey(hash), s.home(hash), 0))
	}
	lines := (plain.longest + lineBuckets - 1) / lineBuckets
	if b.extra != plain.extra || (b.longest+lineBuckets-1)/lineBuckets != lines {
		t.Fatalf("%d chunks, %d buckets; the plain loop counts %d and %d", b.extra, b.longest,
			plain.extra, plain.longest)
	}
}

// TestShortLoseToOthers: goroutines insert different elements with the same home, so that
// compare-and-swaps are lost to others. The test continues until some have been lost.
func TestShortLoseToOthers(t *testing.T) {
	if len(vectorKernels()) == 0 {
		t.Skip("no kernel in assembly runs here")
	}
	const workers, each, maxRounds, buckets = 4, 40, 2000, 1024
	job := local.Single()
	defer job.Close()
	lost := uint64(0)
	for round := 0; round < maxRounds && lost < 50; round++ {
		e, err := NewBytes(t.Context(), job, BytesConfig{ElementBytes: 8,
			Config: Config{Buckets: buckets}, Capacity: 2 * workers * each})
		must(t, err)
		elements, table := []uint64(nil), e.oldest.Load()
		for word := uint64(1); len(elements) < workers*each; word++ {
			if table.home(hashElement([]uint64{word})) == 0 {
				elements = append(elements, word)
			}
		}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for part := range slices.Chunk(elements, each) {
			wg.Go(func() {
				<-start
				results := make([]Result, each)
				if err := e.FindOrPutPacked(core.BytesOf(part), results, nil); err != nil {
					t.Error(err)
				}
				for i, r := range results {
					if r != Inserted {
						t.Errorf("element %#x of nobody else is %v", part[i], r)
					}
				}
			})
		}
		close(start)
		wg.Wait()
		must(t, e.Check(t.Context()))
		results := make([]Result, len(elements))
		must(t, e.ContainsPacked(core.BytesOf(elements), results))
		if i := slices.IndexFunc(results, func(r Result) bool { return r != Found }); i >= 0 {
			t.Errorf("element %#x is %v", elements[i], results[i])
		}
		stats := e.Stats()
		if lost += stats.LostSwaps; stats.Inserted != uint64(len(elements)) {
			t.Errorf("%d insertions counted of %d", stats.Inserted, len(elements))
		}
		must(t, e.Close())
		if t.Failed() {
			return
		}
	}
	if lost == 0 {
		t.Skipf("nothing was lost in %d rounds: only one core?", maxRounds)
	}
}
