package set

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/guard"
)

// The assembly is compared with the portable loop in memory that ends where the table, the words
// and the answers do.

// guarded is buckets that a kernel searches, and words whose homes are among them.
type guarded struct {
	*table
	v   *span
	rng *rand.Rand
}

// tunings are of all processors, and of none.
var tunings = []tuning{{maxFlights, true}, {maxFlights, false}, {32, true}, {3, false}}

// eachGuarded has a test run for each kernel in assembly, on tables of a few and of many lines, and
// on parts of tables, from empty to full.
func eachGuarded(t *testing.T, fn func(t *testing.T, g guarded)) {
	for _, kernel := range vectorKernels() {
		for _, shape := range []Config{{Buckets: 8, Chunk: 8}, {Buckets: 24},
			{Buckets: 64, Chunk: 8, Chunks: 3}, {Buckets: 512, Chunk: 16, Chunks: 4},
			{Buckets: 2048, Chunk: 32, Chunks: 6}} {
			shape.variant.Kernel = string(kernel)
			for _, part := range []uint64{0, 8, 24} { // buckets in front of it, and behind it
				if 2*part >= shape.Buckets {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%d", kernel, shape.Buckets, part), func(t *testing.T) {
					g := guarded{table: newKernelSet(t, shape).oldest.Load(),
						rng: rand.New(rand.NewPCG(1, part))}
					for i, load := range []float64{0, 0.4, 0.8, 0.95, 1, 0.4, 0.8, 0.95, 1} {
						g.v = &span{flat: guard.Slice[uint64](t, int(shape.Buckets-2*part)),
							first: part, whole: part == 0, limit: g.limit, last: i < 5}
						g.fill(int(load * float64(len(g.v.flat))))
						if !g.v.last {
							g.closeSome()
						}
						g.tuning = tunings[i%len(tunings)]
						fn(t, g)
					}
				})
			}
		}
	}
}

// word draws a word.
func (g *guarded) word() uint64 {
	for {
		word := g.rng.Uint64N(8 * g.buckets)
		if g.home(hashWord(word))-g.v.first < uint64(len(g.v.flat)) {
			return word
		}
	}
}

// fill inserts words, until so many buckets are taken or there is no room for many of them.
func (g *guarded) fill(buckets int) {
	for tries := 100 * buckets; buckets > 0 && tries > 0; tries-- {
		if r, _, _ := g.search(g.v, g.word(), true); r == inserted {
			buckets--
		}
	}
}

// closeSome closes one of four buckets that are empty.
func (g *guarded) closeSome() {
	for i, bucket := range g.v.flat {
		if bucket == 0 && g.rng.IntN(4) == 0 {
			g.v.flat[i] = closed
		}
	}
}

// search is the portable loop for a word. Where the search ends together with the span, the loop
// leaves it unfinished, and kernels say that it has ended.
func (g *guarded) search(v *span, word uint64, insert bool) (r end, examined, lost uint64) {
	r, examined, lost = v.search(word|occupied, g.home(hashWord(word))-v.first, insert)
	if r == unfinished && examined == v.limit {
		r = v.exhausted(insert)
	}
	return r, examined, lost
}

// batchSizes are those of batches smaller than the ring of flights, larger, and of several calls.
var batchSizes = []int{1, 2, 3, 16, 63, 64, 65, 129, 500, kernelWords + 3}

// TestKernelsFind: a batch of lookups has the answers of the portable loop, and counts the same.
func TestKernelsFind(t *testing.T) {
	eachGuarded(t, func(t *testing.T, g guarded) {
		for _, n := range batchSizes {
			words, results := guard.Slice[uint64](t, n), guard.Slice[end](t, n)
			want, wanted := make([]end, n), counts{}
			for i := range words {
				words[i] = g.word()
				r, examined, lost := g.search(g.v, words[i], false)
				want[i] = r
				wanted.count(r, examined, lost, g.directChunk)
			}
			wanted.longest = (wanted.longest + lineBuckets - 1) / lineBuckets * lineBuckets
			got := g.runKernel(g.v, words, results, false)
			if !g.v.whole { // what was examined of searches that are unfinished
				got.extra, got.longest = wanted.extra, wanted.longest
			}
			if !slices.Equal(results, want) || got != wanted {
				t.Fatalf("%d words: %v, %+v; the portable loop says %v, %+v", n, results, got, want,
					wanted)
			}
		}
	})
}

// TestKernelsInsert: after a batch of insertions the portable loop finds each word, or that there
// is no room for it, as the batch has answered. What was there stays.
func TestKernelsInsert(t *testing.T) {
	eachGuarded(t, func(t *testing.T, g guarded) {
		for _, n := range batchSizes {
			before := span{flat: slices.Clone(g.v.flat), first: g.v.first, whole: g.v.whole,
				limit: g.limit, last: g.v.last}
			words := make([]uint64, n)
			for i := range words {
				words[i] = g.word()
			}
			slices.Sort(words)
			words = guard.Copy(t, slices.Compact(words))
			results := guard.Slice[end](t, len(words))
			got, want := g.runKernel(g.v, words, results, true), counts{}
			for i, word := range words {
				was, _, _ := g.search(&before, word, false)
				is, _, _ := g.search(g.v, word, true)
				answer := is
				if is == found && was != found {
					answer = inserted
				}
				if results[i] != answer {
					t.Fatalf("%d words: %#x is %v; the portable loop found %v, and then %v", n,
						word, results[i], was, is)
				}
				want.count(answer, 1, 0, g.directChunk)
			}
			taken := uint64(0)
			for i, bucket := range g.v.flat {
				if old := before.flat[i]; old != 0 && old != bucket {
					t.Fatalf("%d words: bucket %d had %#x and has %#x", n, i, old, bucket)
				} else if bucket != old {
					taken++
				}
			}
			got.extra, got.longest, want.longest = 0, 0, 0
			if got != want || taken != got.inserted {
				t.Fatalf("%d words: %+v, %d buckets are taken; the answers are %+v", n, got, taken,
					want)
			}
		}
	})
}

// TestFirstLines: the assembly for single words does in each line of a table, however full, what
// the portable loop does in one line.
func TestFirstLines(t *testing.T) {
	for _, kernel := range vectorKernels() {
		const lines = 5
		s := newKernelSet(t, Config{Buckets: lines * lineBuckets, variant: by(kernel)})
		rng, answers := rand.New(rand.NewPCG(1, 2)), map[end]int{}
		flat := guard.Slice[uint64](t, lines*lineBuckets)
		counters := guard.Slice[uint64](t, stripes*stripeWords)
		f := firstLine{base: &flat[0], lines: lines, counts: &counters[0],
			avx512: kernel == kernelAVX512}
		for range 5000 {
			word := rng.Uint64() >> 1
			home := s.oldest.Load().home(hashWord(word))
			line := flat[home:][:lineBuckets]
			clear(flat)
			clear(counters)
			for i := range rng.IntN(lineBuckets + 1) {
				if line[i] = rng.Uint64() | occupied; rng.IntN(16) == 0 {
					line[i] = word | occupied
				}
			}
			for i, bucket := range line {
				if bucket == 0 && rng.IntN(8) == 0 {
					line[i] = closed
				}
			}
			after := slices.Clone(flat)
			v := span{flat: after[home:][:lineBuckets], limit: lineBuckets}
			want, _, _ := v.search(word|occupied, 0, true)
			if want == beyond {
				want = unfinished
			}
			if rng.IntN(20) == 0 {
				word, want, after = word|occupied, unfinished, slices.Clone(flat)
			}
			got, counted := f.insert(word), uint64(0)
			for _, n := range counters {
				counted += n
			}
			if got != want || !slices.Equal(flat, after) || counted == 1 != (want == inserted) {
				t.Fatalf("%s: %#x is %v, not %v; %d are counted; the table has %x, not %x", kernel,
					word, got, want, counted, flat, after)
			}
			answers[got]++
		}
		if answers[inserted] == 0 || answers[found] == 0 || answers[unfinished] == 0 {
			t.Errorf("%s: only %v", kernel, answers)
		}
		var inserting sync.WaitGroup
		all := make(chan struct{})
		for word := range uint64(64) { // a stripe for each stack, wherever it is
			inserting.Go(func() {
				<-all
				f.insert(word)
			})
		}
		close(all)
		inserting.Wait()
	}
}
