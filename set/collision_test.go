package set

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
)

// wordWithHash is the inverse of hashWord. The word may have 64 bits.
func wordWithHash(hash uint64) uint64 {
	inverse := uint64(hashFactor) // of the factor; each turn doubles its good bits
	for range 5 {
		inverse *= 2 - hashFactor*inverse
	}
	hash *= inverse
	hash ^= hash >> 32
	hash *= inverse
	return hash ^ hash>>32
}

func TestWordWithHash(t *testing.T) {
	for _, hash := range []uint64{0, 1, 1 << 63, 0x0123456789ABCDEF, ^uint64(0)} {
		if got := hashWord(wordWithHash(hash)); got != hash {
			t.Fatalf("the word made for hash %#x has %#x", hash, got)
		}
	}
}

// wordsWithHomes gives n words whose hashes, and so their homes, are a few: all
// begin with one of the given high bits.
func wordsWithHomes(n int, high []uint64) []uint64 {
	var words []uint64
	for low := uint64(0); len(words) < n; low++ {
		if word := wordWithHash(high[low%uint64(len(high))]<<32 | low); word <= MaxWord {
			words = append(words, word)
		}
	}
	return words
}

// TestOneHash has all words begin their search in the same bucket, or in two or
// three buckets, one of them at the end of the table.
func TestOneHash(t *testing.T) {
	homes := [][]uint64{{1<<32 - 1}, {5, 6, 1 << 31}, {0}, {1 << 31, 1<<32 - 1}}
	if slow {
		homes = homes[:2]
	}
	for _, high := range homes {
		words := wordsWithHomes(250, high)
		overContention(t, func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set) {
			c.elements, c.inserted = len(words), c.inserted[:len(words)]
			// Only the portable loop counts buckets; the others count lines of them.
			cfg := Config{Buckets: 272, Depth: 8, Chunk: 16,
				variant: variant.Set{WordHomes: home.WordHomes, Kernel: string(kernelPortable)}}
			sets, err := newSets(jobs, cfg)
			must(t, err)
			must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
				word := func(id int) uint64 { return words[id] }
				return insertWords(sets[rank], word, ids, results)
			}))
			must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
			if len(high) == 1 && sets[0].Stats().LongestProbe != uint64(len(words)) {
				t.Fatal(unexpected("LongestProbe", sets[0].Stats().LongestProbe, len(words)))
			}
		})
	}
}

// TestReach fills all buckets that a search from one home examines: words with that home are
// Full then, while others find room.
func TestReach(t *testing.T) {
	words := wordsWithHomes(49, []uint64{1<<32 - 1})
	for e := range engines {
		sets, err := newSets(ranksOf(t, e, 2), Config{Buckets: 256, Chunk: 16, Chunks: 3})
		must(t, err)
		s := sets[1]
		for _, word := range words[:48] {
			r, err := s.FindOrPut(word)
			must(t, err)
			if r != Inserted {
				t.Fatalf("%v: %#x: %v", e, word, r)
			}
		}
		if got := roundTrips(s.Stats()); got != 16+2*16+3*16 {
			t.Fatalf("%v: %d round trips for 3 chunks filled one after the other", e, got)
		}
		r, err := s.FindOrPut(words[48])
		only := s.oldest.Load()
		if err := fullErrorFits([]Result{r}, err, only, only.limit); r != Full || err != nil {
			t.Fatalf("%v: beyond the reach: %v, %v", e, r, err)
		}
		there, err := s.Contains(words[48])
		if there || err != nil {
			t.Fatalf("%v: beyond the reach: %v, %v", e, there, err)
		}
		r, err = s.FindOrPut(wordsWithHomes(1, []uint64{1 << 31})[0])
		if r != Inserted || err != nil {
			t.Fatalf("%v: at another home: %v, %v", e, r, err)
		}
		if n, err := s.Len(t.Context()); n != 49 || err != nil {
			t.Fatalf("%v: Len is %d, %v", e, n, err)
		}
	}
}

// equalFingerprints searches pairs of elements with the same fingerprint. Elements have a number,
// which is returned, and zeros.
func equalFingerprints(words int) (elements []uint64) {
	seen, element := map[uint64]uint64{}, make([]uint64, words)
	for i := uint64(0); i < 1<<17; i++ {
		element[0] = i
		key := fingerprintKey(hashElement(element))
		if other, ok := seen[key]; ok {
			elements = append(elements, other, i)
		}
		seen[key] = i
	}
	return elements
}

// fingerprintsAreEqual inserts pairs of elements that only a comparison of the
// whole element distinguishes, into tables so small that their searches meet both. Short and long
// elements have loops of their own.
func fingerprintsAreEqual(t *testing.T) {
	for _, words := range []int{1, shortWords + 1} {
		fingerprintsOf(t, words)
	}
}

func fingerprintsOf(t *testing.T, words int) {
	elements := equalFingerprints(words)
	if len(elements) < 64 {
		t.Fatalf("only %d elements with equal fingerprints", len(elements))
	}
	for pairs := range slices.Chunk(elements, 8) { // in a table of one line
		singlesOf(t, pairs, 8*words)
	}
	for e := range engines {
		for group := range slices.Chunk(elements, 16) {
			sets, err := newElements(ranksOf(t, e, 2), BytesConfig{ElementBytes: 8 * words,
				Config: Config{Buckets: 32}, Capacity: 32})
			must(t, err)
			buf := make([]byte, len(group)*8*words)
			for i, element := range group {
				binary.LittleEndian.PutUint64(buf[i*8*words:], element)
			}
			results := make([]Result, len(group))
			for _, want := range []Result{Inserted, Found} {
				must(t, sets[0].FindOrPutPacked(buf, results, nil))
				for i, r := range results {
					if r != want {
						t.Fatal(fmt.Errorf("%v: element %d: %v, not %v", e, group[i], r, want))
					}
				}
			}
			must(t, sets[0].Check(t.Context()), sets[1].Check(t.Context()))
		}
	}
}

// singlesOf inserts one of each pair with the same fingerprint, one at a time, and asks for both.
func singlesOf(t *testing.T, pairs []uint64, size int) {
	t.Helper()
	sets, err := newElements(ranksOf(t, engineDirect, 1), BytesConfig{ElementBytes: size,
		Config: Config{Buckets: uint64(len(pairs))}, Capacity: uint64(len(pairs))})
	must(t, err)
	element := make([]byte, size)
	for i, number := range pairs {
		binary.LittleEndian.PutUint64(element, number)
		if i%2 == 0 {
			r, err := sets[0].FindOrPut(element)
			must(t, err)
			if r != Inserted {
				t.Fatal(unexpected("the answer to an insertion", r, Inserted))
			}
		} else if found, err := sets[0].Contains(element); found || err != nil {
			t.Fatalf("an element with the fingerprint of another: Contains is %v, %v", found, err)
		}
	}
	must(t, sets[0].Check(t.Context()))
}

// TestFindInLine compares the search of a whole line with the search bucket by bucket.
func TestFindInLine(t *testing.T) {
	words := wordsWithHomes(12, []uint64{0})
	// It inserts in the order of the batch.
	cfg := Config{Buckets: 64, variant: by(kernelPortable)}
	sets, err := newSets(ranksOf(t, engineDirect, 1), cfg)
	must(t, err)
	table := sets[0].oldest.Load()
	must(t, sets[0].FindOrPutBatch(words[:11], make([]Result, 11)))
	for i, word := range words {
		_, want, _ := table.search(word|occupied, 0, false)
		if i >= lineBuckets {
			want = 0 // beyond the line, or not there
		}
		if got := table.findInLine(word|occupied, 0); got != want {
			t.Fatalf("word %d: findInLine examines %d buckets, a search %d", i, got, want)
		}
	}
	for home := table.buckets - lineBuckets + 1; home < table.buckets; home++ {
		if got := table.findInLine(words[0]|occupied, home); got != 0 {
			t.Fatalf("findInLine over the end examines %d buckets", got)
		}
	}
}
