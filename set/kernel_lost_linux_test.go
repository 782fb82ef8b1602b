package set

import (
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/guard"
	"github.com/farhash/farhash/internal/testkit/intrude"
	"github.com/farhash/farhash/rma/local"
)

// The assembly loses compare-and-swaps to the test: it has found an empty bucket, and before it
// swaps, something else is there.

// eachIntruded has a test run for each kernel and what wins the bucket of a word: another word, the
// same one, or nothing as the table moves.
func eachIntruded(t *testing.T, word uint64, fn func(k kernel, m *intrude.Memory, winner uint64)) {
	for _, kernel := range vectorKernels() {
		for _, winner := range []uint64{(word + 1) | occupied, word | occupied, closed} {
			fn(kernel, intrude.New(t, 3*lineBuckets), winner)
		}
	}
}

// intruder takes the first bucket of a line.
func intruder(line uint64, winner uint64) func(words []uint64) {
	return func(words []uint64) { words[line] = winner }
}

// TestKernelsLose: a batch of one word, whose bucket another word, the same one or a mover takes.
func TestKernelsLose(t *testing.T) {
	const word = 4711
	eachIntruded(t, word, func(k kernel, m *intrude.Memory, winner uint64) {
		g := guarded{table: newKernelSet(t, Config{Buckets: 3 * lineBuckets, variant: by(k)}).
			oldest.Load()}
		g.v = &span{flat: m.Words, whole: true, limit: g.limit}
		line := g.home(hashWord(word)) / lineBuckets * lineBuckets
		for _, u := range tunings[:2] {
			clear(m.Words)
			g.tuning = u
			words, results := guard.Copy(t, []uint64{word}), guard.Slice[end](t, 1)
			var got counts
			m.Before(t, intruder(line, winner), func() {
				got = g.runKernel(g.v, words, results, true)
			})
			want, copies, lost := inserted, 1, uint64(1)
			switch winner {
			case word | occupied:
				want = found
			case closed:
				want, copies, lost = beyond, 0, 0
			}
			there := 0
			for _, bucket := range m.Words {
				if bucket == word|occupied {
					there++
				}
			}
			if results[0] != want || there != copies || m.Words[line] != winner ||
				got.lost != lost || got.inserted == 1 != (want == inserted) {
				t.Errorf("%s, %#x wins: %v, want %v; %+v; the table has %x", k, winner, results[0],
					want, got, m.Words)
			}
		}
	})
}

// TestFirstLinesLose: a single word, whose bucket another word, the same one or a mover takes.
func TestFirstLinesLose(t *testing.T) {
	const word = 4711
	eachIntruded(t, word, func(k kernel, m *intrude.Memory, winner uint64) {
		s := newKernelSet(t, Config{Buckets: 3 * lineBuckets, variant: by(k)})
		line := s.oldest.Load().home(hashWord(word)) / lineBuckets * lineBuckets
		counters := guard.Slice[uint64](t, stripes*stripeWords)
		f := firstLine{base: &m.Words[0], lines: 3, counts: &counters[0],
			avx512: k == kernelAVX512}
		var got end
		m.Before(t, intruder(line, winner), func() { got = f.insert(word) })
		want := lostFirst
		if winner == closed {
			want = unfinished
		}
		after := make([]uint64, len(m.Words))
		after[line] = winner
		counted := slices.ContainsFunc(counters, func(n uint64) bool { return n != 0 })
		if got != want || !slices.Equal(m.Words, after) || counted {
			t.Errorf("%s, %#x wins: %v, want %v; counted: %v; the table has %x", k, winner, got,
				want, counted, m.Words)
		}
	})
}

// TestShortLose: a short element, whose bucket another element, an equal one or a mover takes.
func TestShortLose(t *testing.T) {
	for _, kernel := range vectorKernels() {
		for _, u := range tunings[:2] {
			shortLoses(t, kernel, u)
		}
	}
}

func shortLoses(t *testing.T, k kernel, u tuning) {
	job := local.Single()
	e, err := NewBytes(t.Context(), job, BytesConfig{ElementBytes: 16, Capacity: 8,
		Config: Config{Buckets: lineBuckets, Chunk: lineBuckets, variant: by(k)}})
	must(t, err)
	defer func() { must(t, e.Close(), job.Close()) }()
	m := intrude.New(t, lineBuckets)
	s := shortSet{table: e.oldest.Load()}
	s.tuning, s.v = u, &span{flat: m.Words, whole: true, limit: s.limit}
	put := func(element uint64) (end, Ref) {
		b := batch{t: s.table, items: []uint64{element, element}, results: make([]end, 1),
			refs: make([]Ref, 1), insert: true}
		must(t, b.searchElements(s.v))
		return b.results[0], b.refs[0]
	}
	winners := [3]uint64{2: closed}
	for i := range uint64(2) { // of elements 1 and 2
		put(i + 1)
		winners[i] = m.Words[0]
		clear(m.Words)
	}
	for i, winner := range winners {
		clear(m.Words)
		var got end
		var ref Ref
		m.Before(t, intruder(0, winner), func() { got, ref = put(2) })
		want, taken := []end{inserted, found, beyond}[i], []int{2, 1, 1}[i]
		buckets := 0
		for _, bucket := range m.Words {
			if bucket != 0 {
				buckets++
			}
		}
		if got != want || buckets != taken || m.Words[0] != winner {
			t.Errorf("%s, %#x wins: %v, want %v; the table has %x", k, winner, got, want, m.Words)
			continue
		}
		if want == beyond {
			continue
		}
		b := batch{t: s.table, items: []uint64{2, 2}, results: make([]end, 1),
			refs: make([]Ref, 1)}
		must(t, b.searchElements(s.v))
		if b.results[0] != found || b.refs[0] != ref {
			t.Errorf("%s, %#x wins: element 2 at %d is %v, at %d: %v", k, winner, ref, b.results[0],
				b.refs[0], core.BytesOf(m.Words))
		}
	}
}
