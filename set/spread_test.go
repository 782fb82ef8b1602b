package set

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestOrderlyWordsSpread fills tables with words that have much in common. Their
// searches must not be longer than those of random words; strides of powers of two,
// which spread more evenly than chance does, are shorter.
func TestOrderlyWordsSpread(t *testing.T) {
	buckets := uint64(1 << 17)
	if slow {
		buckets = 1 << 14
	}
	rng := rand.New(rand.NewPCG(63, 1))
	random := meanProbe(t, buckets, func(uint64) uint64 { return rng.Uint64() >> 1 })
	few := sparse()
	patterns := map[string]func(i uint64) uint64{
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
		"philosophers": func(i uint64) uint64 { // three values in fields of two bits
			word := uint64(0)
			for at := 0; i > 0; i, at = i/3, at+2 {
				word |= i % 3 << at
			}
			return word
		},
		"philosophers in bytes": func(i uint64) uint64 { // two values in fields of five bits
			word := uint64(0)
			for at := 0; i > 0 && at < 60; i, at = i/4, at+5 {
				word |= i % 4 << at
			}
			return word
		},
	}
	for k := uint(1); k <= 44; k += 3 {
		patterns[fmt.Sprintf("stride 2^%d", k)] = func(i uint64) uint64 { return i << k & MaxWord }
	}
	for name, word := range patterns {
		mean := meanProbe(t, buckets, word)
		t.Logf("%-22s %.3f of random words", name, mean/random)
		if mean > 1.1*random {
			t.Errorf("%s: searches examine %.2f buckets, those of random words %.2f",
				name, mean, random)
		}
	}
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

// meanProbe fills a table to load 0.8 and returns the mean number of buckets that an
// insertion examined.
func meanProbe(t *testing.T, buckets uint64, word func(i uint64) uint64) float64 {
	t.Helper()
	sets, err := newSets(ranksOf(t, engineDirect, 1), Config{Buckets: buckets, Home: HomeWord})
	must(t, err)
	defer sets[0].Close()
	table := sets[0].t
	sum, n := uint64(0), buckets*8/10
	for i := range n {
		bits := word(i) | occupied
		r, examined, _ := table.findOrPut(bits, table.home(hashWord(bits&^occupied)))
		if r != Inserted {
			t.Fatalf("word %#x, number %d: %v", bits, i, r)
		}
		sum += examined
	}
	return float64(sum) / float64(n)
}
