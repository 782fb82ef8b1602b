package set

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/variant"
)

// orderlyWords are sets of keys: words that have much in common, and random ones. Each
// gives its i-th word, and is called for them in order.
func orderlyWords() map[string]func(i uint64) uint64 {
	few := sparse()
	rng := rand.New(rand.NewPCG(63, 1))
	zipf := rand.NewZipf(rand.New(rand.NewPCG(63, 2)), 1.01, 1, 1<<40)
	words := map[string]func(i uint64) uint64{
		"random":           func(uint64) uint64 { return rng.Uint64() >> 1 },
		"Zipf":             func(uint64) uint64 { return zipf.Uint64() },
		"sequence":         func(i uint64) uint64 { return i },
		"from the end":     func(i uint64) uint64 { return MaxWord - i },
		"stride 1000":      func(i uint64) uint64 { return i * 1000 },
		"stride 65537":     func(i uint64) uint64 { return i * 65537 },
		"stride 3^20":      func(i uint64) uint64 { return i * 3486784401 },
		"stride of hash":   func(i uint64) uint64 { return i * hashFactor & MaxWord },
		"two counters":     func(i uint64) uint64 { return i>>9<<40 | i&511 },
		"three counters":   func(i uint64) uint64 { return i>>12<<50 | i>>6&63<<25 | i&63 },
		"few bits set":     sparse(),
		"few bits missing": func(i uint64) uint64 { return MaxWord - few(i) },
		"one bit in each byte": func(i uint64) uint64 {
			return 1<<(i%8) | 1<<(8+i/8%8) | 1<<(16+i/64%8) | 1<<(24+i/512%8) | 1<<(32+i/4096%8) |
				1<<(40+i/32768%8) | 1<<(48+i/262144%8)
		},
		"markings of philosophers": func(i uint64) uint64 { return packed(i, 3, 2) },
		"markings in bytes":        func(i uint64) uint64 { return packed(i, 4, 5) },
		"markings in high bits":    func(i uint64) uint64 { return packed(i, 3, 2) << 36 },
		"markings with complements": func(i uint64) uint64 {
			return packed(i, 4, 4) | (0x333333333-packed(i, 4, 4))<<2
		},
	}
	for k := 1; k <= 46; k += 3 {
		words[fmt.Sprintf("stride 2^%d", k)] = func(i uint64) uint64 { return i << k & MaxWord }
	}
	return words
}

// sparse counts through the words with few bits set, the next with as many bits.
func sparse() func(i uint64) uint64 {
	word := uint64(1<<4 - 1)
	return func(uint64) uint64 {
		low := word & -word
		ripple := word + low
		word = ripple | (word^ripple)/low>>2
		return word
	}
}

// packed packs the digits of i into fields of so many bits: the markings of places that
// hold fewer tokens than base.
func packed(i, base uint64, width int) uint64 {
	word := uint64(0)
	for at := 0; i > 0; i, at = i/base, at+width {
		word |= i % base << at
	}
	return word
}

// filler fills a set until it holds n things, with the words that come next.
type filler func(n int) (*table, error)

// spreadsLawfully fills a set for each home and each of orderlyWords, to the loads that
// there are laws for, and compares what a search from every home would examine.
func spreadsLawfully(t *testing.T, buckets int,
	newFiller func(Config, func(uint64) uint64) (filler, error)) {
	t.Helper()
	if slow {
		buckets = 1 << 12
	}
	for _, home := range []variant.Set{lineHomes, wordHomes} {
		l, worst := lawfuls[home](), 0.0
		for name, word := range orderlyWords() {
			fill, err := newFiller(Config{Buckets: uint64(buckets), variant: home}, word)
			must(t, err)
			for i, law := range laws {
				table, err := fill(int(law.load * float64(buckets)))
				must(t, err)
				deviation := l.deviation(table.flat, i)
				worst = max(worst, deviation)
				if deviation > 1 {
					t.Errorf("home %v, load %v, %s: displacements deviate %.2f times as far from "+
						"the law as chance does", home, law.load, name, deviation)
				}
			}
		}
		t.Logf("home %v: nothing deviates more than %.2f times as far as chance may", home, worst)
	}
}

// fillBatches calls insert with more and more words until it has inserted n. The words
// may come again.
func fillBatches(word func(uint64) uint64, insert func(words []uint64, results []Result) error) (
	fill func(n int) error) {
	drawn, inserted := uint64(0), 0
	return func(n int) error {
		for inserted < n {
			words := make([]uint64, min(1000, n-inserted))
			for i := range words {
				words[i] = word(drawn)
				drawn++
			}
			results := make([]Result, len(words))
			if err := insert(words, results); err != nil {
				return err
			}
			for _, r := range results {
				if r == Inserted {
					inserted++
				}
			}
		}
		return nil
	}
}

// TestWordsSpreadLawfully: however orderly words are, a set of them is like one of
// random words, neither more clustered nor more even.
func TestWordsSpreadLawfully(t *testing.T) {
	alone(t)
	job := ranksOf(t, engineDirect, 1)
	spreadsLawfully(t, 1<<17, func(cfg Config, word func(uint64) uint64) (filler, error) {
		sets, err := newSets(job, cfg)
		fill := fillBatches(word, sets[0].FindOrPutBatch)
		return func(n int) (*table, error) { return sets[0].oldest.Load(), fill(n) }, err
	})
}

// TestElementsSpreadLawfully does the same with elements, which have other hashes. The
// words lie in the middle of the elements.
func TestElementsSpreadLawfully(t *testing.T) {
	alone(t)
	job := ranksOf(t, engineDirect, 1)
	sizes := []int{12, 8, 16, 24, 100}
	if slow {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		newFiller := func(cfg Config, word func(uint64) uint64) (filler, error) {
			sets, err := newElements(job, BytesConfig{Config: cfg, ElementBytes: size})
			fill := fillBatches(word, func(words []uint64, results []Result) error {
				buf := make([]byte, size*len(words))
				for i, word := range words {
					binary.LittleEndian.PutUint64(buf[size*i+(size-8)/2:], word)
				}
				return sets[0].FindOrPutPacked(buf, results, nil)
			})
			return func(n int) (*table, error) { return sets[0].oldest.Load(), fill(n) }, err
		}
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			spreadsLawfully(t, 1<<14, newFiller)
		})
	}
}

// mean is the mean displacement.
func mean(tail []float64) (sum float64) {
	for _, share := range tail[1:] {
		sum += share
	}
	return sum
}

// TestLawRejectsPoorHashes: displacements distinguish a poor hash from a good one, whether it
// clusters the words or spreads them more evenly than chance would.
func TestLawRejectsPoorHashes(t *testing.T) {
	const buckets = 1 << 14
	l := lawfuls[wordHomes]()
	deviations := func(hash, word func(uint64) uint64) (worst float64) {
		var homes []uint64
		for i, law := range laws {
			for len(homes) < int(law.load*buckets) {
				home, _ := bits.Mul64(hash(word(uint64(len(homes)))), buckets)
				homes = append(homes, home)
			}
			worst = max(worst, l.deviation(park(homes, buckets), i))
		}
		return worst
	}
	multiply := func(word uint64) uint64 { return word * hashFactor }
	for _, poor := range []struct {
		name  string
		hash  func(uint64) uint64
		words string
	}{
		{"the word itself", func(word uint64) uint64 { return word << 1 }, "sequence"},
		{"the word turned over", bits.Reverse64, "sequence"},
		{"the word turned over", bits.Reverse64, "markings of philosophers"},
		{"one multiplication", multiply, "sequence"},
		{"one multiplication", multiply, "stride of hash"},
		{"one multiplication", multiply, "two counters"},
		{"one multiplication", multiply, "markings with complements"},
		{"no shift", func(word uint64) uint64 { return multiply(multiply(word)) }, "stride 65537"},
		{"one shift", func(word uint64) uint64 {
			word = multiply(word)
			return multiply(word ^ word>>32)
		}, "stride 2^31"},
		{"a late shift", func(word uint64) uint64 {
			word = multiply(multiply(word))
			return word ^ word>>32
		}, "stride 1000"},
		{"bits lost", func(word uint64) uint64 { return hashWord(word &^ 1) }, "sequence"},
		{"high bits lost", func(word uint64) uint64 { return hashWord(word << 16) },
			"three counters"},
	} {
		if got := deviations(hashWord, orderlyWords()[poor.words]); got > 1 {
			t.Errorf("of %s the hash deviates %.2f", poor.words, got)
		}
		got := deviations(poor.hash, orderlyWords()[poor.words])
		t.Logf("%s of %s deviates %.2f", poor.name, poor.words, got)
		if got < 1 {
			t.Errorf("%s of %s deviates no more than chance does: %.2f", poor.name, poor.words, got)
		}
	}
}
