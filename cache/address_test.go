package cache

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// shaped is the addresses of a cache, without its memory.
func shaped(t *testing.T, cfg Config, ranks int) *Cache {
	t.Helper()
	cfg.KeySize, cfg.ValueSize = 8, 8
	must(t, cfg.complete(ranks))
	c := new(Cache)
	c.shape(cfg, ranks)
	return c
}

// cells is into how many parts the range of addresses is divided.
const cells = 64

// spreadOver fails if counts are not evenly distributed: chi-square, with 63
// degrees of freedom, is above 140 once in a million times.
func spreadOver(t *testing.T, what string, counts *[cells]int) {
	t.Helper()
	total := 0
	for _, n := range counts {
		total += n
	}
	mean, chi := float64(total)/cells, 0.0
	for _, n := range counts {
		chi += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	if chi > 140 {
		t.Errorf("%s: chi-square %.0f: %v", what, chi, counts)
	}
}

// TestAddresses: with any number of buckets every candidate is within the memory of a rank,
// and all of it is used, by each candidate and by the keys of each rank. Published code
// for the paper's addressing gives every key bucket 0 from 2^23 buckets on.
func TestAddresses(t *testing.T) {
	for _, buckets := range []uint64{1, 2, 3, 255, 256, 257, 65535, 65536, 65537, 1<<23 - 1,
		1 << 23, 1<<23 + 1, 1 << 24, 1<<24 + 1, 1<<32 - 1, 1<<32 + 1, 1<<39 + 12345, 1 << 40} {
		for _, ranks := range []int{1, 3, 4, 1000} {
			if buckets > MaxBuckets/uint64(ranks) {
				continue
			}
			for _, cfg := range []Config{{Addressing: Paper}, {}, {GroupBuckets: 1},
				{GroupBuckets: 3, Choices: 8}} {
				cfg.Buckets = buckets * uint64(ranks)
				c := shaped(t, cfg, ranks)
				if c.segment < 0 || c.segment > math.MaxInt-lineWords {
					continue // no window of an engine is as large
				}
				name := fmt.Sprintf("%d buckets, %d ranks, %+v", buckets, ranks, cfg)
				checkAddresses(t, name, c, buckets)
			}
		}
	}
}

func checkAddresses(t *testing.T, name string, c *Cache, buckets uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(buckets, uint64(c.ranks)))
	var ranks [cells]int
	groups, firsts := make([][cells]int, c.cfg.Choices), make([][cells]int, c.cfg.Choices)
	const keys = 6400
	for range keys {
		hash := rng.Uint64()
		rank := c.rankOf(hash)
		ranks[rank*cells/c.ranks]++
		for i := range c.cfg.Choices {
			group, first := c.group(hash, i)
			off := c.offset(group) + first*c.bucketWords
			if rank < 0 || rank >= c.ranks || off < 0 || group >= c.groups ||
				off+c.bucketWords > c.segment || first >= c.cfg.GroupBuckets {
				t.Fatalf("%s: choice %d is bucket %d of group %d of rank %d, word %d of %d", name,
					i, first, group, rank, off, c.segment)
			}
			groups[i][int(float64(group)/float64(c.groups)*cells)]++
			firsts[i][first*cells/c.cfg.GroupBuckets]++
		}
	}
	for i := range groups {
		if c.groups >= 1<<14 {
			spreadOver(t, fmt.Sprint(name, ", group of choice ", i), &groups[i])
		}
	}
	if c.groups >= 1<<14 && c.ranks == 1000 {
		spreadOver(t, name+", rank", &ranks)
	}
}

// TestDisjointBits: the keys of one rank have all groups as their first choice. Those of the
// paper do not, where the ranks and the buckets have a power of two in common.
func TestDisjointBits(t *testing.T) {
	used := func(cfg Config) int {
		c := shaped(t, cfg, 8)
		seen := map[uint64]bool{}
		for rng := rand.New(rand.NewPCG(1, 2)); len(seen) <= 1024; {
			before := len(seen)
			for range 20_000 {
				if hash := rng.Uint64(); c.rankOf(hash) == 5 {
					group, _ := c.group(hash, 0)
					seen[group] = true
				}
			}
			if len(seen) == before {
				return before
			}
		}
		return len(seen)
	}
	if n := used(Config{Buckets: 8 * 1024, GroupBuckets: 1}); n != 1024 {
		t.Errorf("a rank's keys have %d of 1024 groups", n)
	}
	if n := used(Config{Buckets: 8 * 1024, Addressing: Paper}); n != 1024/8 {
		t.Errorf("with the paper's addressing they have %d of 1024, want an eighth", n)
	}
}

// TestHashes: keys that differ little, and values, have different hashes, and each bit of
// a hash is set in half of them.
func TestHashes(t *testing.T) {
	for words := 1; words <= 40; words++ {
		seen := map[uint64]bool{}
		var ones [64]int
		key := make([]uint64, words)
		n := 0
		note := func(hash uint64) {
			seen[hash] = true
			n++
			for bit := range ones {
				ones[bit] += int(hash >> bit & 1)
			}
		}
		for i := range words {
			for bit := range 64 {
				key[i] = 1 << bit
				note(hashKey(key))
				note(sealOf(7, never, key))
			}
			for small := range 100 {
				key[i] = math.Float64bits(float64(small + 3))
				note(hashKey(key))
			}
			key[i] = 0
		}
		if len(seen) != n {
			t.Errorf("%d words: %d hashes of %d keys", words, len(seen), n)
		}
		for bit, count := range ones {
			if off := math.Abs(float64(count)/float64(n) - 0.5); off > 3/math.Sqrt(float64(n)) {
				t.Errorf("%d words: bit %d is set in %d of %d", words, bit, count, n)
			}
		}
	}
}

// TestSealIsNoMark: no content has a checksum that says empty or invalid.
func TestSealIsNoMark(t *testing.T) {
	// sum gives hash itself for no words, so that the hash can be chosen which folds to 0.
	if seal := sealOf(pi2, never, nil); seal <= invalid {
		t.Errorf("a checksum is %d", seal)
	}
}

func TestBadConfigs(t *testing.T) {
	job := local.Single()
	defer job.Close()
	vast := "missing"
	if math.MaxInt == math.MaxInt32 {
		vast = "words, not"
	}
	good := Config{KeySize: 8, ValueSize: 8, Buckets: 10}
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.KeySize = 0 }, "KeySize"},
		{func(c *Config) { c.KeySize = min(1<<60, math.MaxInt) }, "KeySize"},
		{func(c *Config) { c.ValueSize = MaxPairBytes }, "ValueSize"},
		{func(c *Config) { c.ValueSize = math.MaxInt }, "ValueSize"},
		{func(c *Config) { c.Buckets = 0 }, "Buckets"},
		{func(c *Config) { c.Buckets = MaxBuckets + 1 }, "Buckets"},
		{func(c *Config) { c.Mode = 3 }, "Mode"},
		{func(c *Config) { c.Addressing = 2 }, "Addressing"},
		{func(c *Config) { c.GroupBuckets = 9 }, "GroupBuckets"},
		{func(c *Config) { c.Choices = -1 }, "Choices"},
		{func(c *Config) { c.Addressing, c.Choices = Paper, 3 }, "Paper"},
		{func(c *Config) { c.Depth = -1 }, "Depth"},
		{func(c *Config) { c.Buckets = 1 << 40 }, vast},
	} {
		cfg := good
		c.change(&cfg)
		made, err := New(t.Context(), job, cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", cfg, err, c.want)
		}
		if made != nil {
			must(t, made.Close())
		}
	}
}
