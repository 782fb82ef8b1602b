package cache

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma/local"
)

// law is the share of keys that are still there after so many different ones were put, for
// each of loads (keys put, over buckets). A key has choices groups of some buckets. y[k] is
// the share of groups with k buckets taken; a group is tried when those before it are full.
// With groups of 1 bucket this is dx/dt = 1 - x^choices.
func law(choices, buckets int, loads []float64) (hits []float64) {
	y := make([]float64, buckets+1)
	y[0] = 1
	const dt = 1e-5
	for step := 0; len(hits) < len(loads); step++ {
		taken := 0.0
		for k := range y {
			taken += float64(k) * y[k] / float64(buckets)
		}
		if t := float64(step) * dt; t >= loads[len(hits)]-dt/2 {
			hits = append(hits, taken/t)
		}
		tries, full := 0.0, 1.0 // groups that a put comes to
		for range choices {
			tries += full
			full *= y[buckets]
		}
		for k := buckets; k >= 0; k-- {
			into, out := 0.0, y[k]
			if k > 0 {
				into = y[k-1]
			}
			if k == buckets {
				out = 0
			}
			y[k] += (into - out) * tries * float64(buckets) * dt
		}
	}
	return hits
}

// TestLawItself: for 6 candidates the law assumes independent indices.
func TestLawItself(t *testing.T) {
	loads := []float64{.5, .75, .9, 1, 1.5}
	for i, hit := range law(6, 1, loads) {
		want := []float64{.9978, .9765, .9385, .9000, .6624}[i]
		if math.Abs(hit-want) > 1e-4 {
			t.Errorf("load %v: %.4f, want %.4f", loads[i], hit, want)
		}
	}
}

// TestHitRates puts different keys and asks for them again. It logs a table, for make figures.
func TestHitRates(t *testing.T) {
	if memory.RaceEnabled {
		t.Skip("one goroutine works, on many keys: there is nothing to race")
	}
	loads := []float64{.5, .75, .9, 1, 1.5}
	row := func(candidates, is, cells string) {
		cells = strings.ReplaceAll(strings.Trim(cells, "[]"), " ", "  ")
		t.Logf("  %s  %s  %s", candidates, is, cells)
	}
	t.Log("hit rates")
	row("candidates", "is", fmt.Sprint(loads))
	for _, c := range []struct {
		name             string
		ranks            int
		perRank          uint64
		addressing       Addressing
		choices, buckets int
	}{
		{"paper", 1, 1 << 17, Paper, 6, 1},
		{"paper, 3 ranks", 3, 70_003, Paper, 6, 1}, // 2^16 would make it 7 choices
		{"spread, 4 ranks", 4, 1 << 15, Groups, 6, 1},
		{"spread, 3 ranks", 3, 50_003, Groups, 6, 1},
		{"groups of 4", 4, 1 << 15, Groups, 3, 4},
		{"groups of 8", 2, 1 << 16, Groups, 2, 8},
		{"groups of 3", 3, 45_000, Groups, 2, 3},
	} {
		want := law(c.choices, c.buckets, loads)
		cfg := Config{KeySize: 8, ValueSize: 8, Buckets: c.perRank * uint64(c.ranks),
			Addressing: c.addressing}
		if c.addressing == Groups {
			cfg.GroupBuckets, cfg.Choices = c.buckets, c.choices
		}
		got := hitRates(t, c.ranks, cfg, loads)
		for i, load := range loads {
			if math.Abs(got[i]-want[i]) > 0.002 {
				t.Errorf("%s, load %v: hit rate %.4f, the law says %.4f", c.name, load, got[i],
					want[i])
			}
		}
		row(c.name, "counted", fmt.Sprintf("%.4f", got))
		row(c.name, "law", fmt.Sprintf("%.4f", want))
	}
}

// hitRates fills a cache from one rank.
func hitRates(t *testing.T, ranks int, cfg Config, loads []float64) (hits []float64) {
	t.Helper()
	must(t, withCache(engine{Run: local.Run}, ranks, cfg, func(c *Cache) error {
		if c.job.Rank() != 0 {
			return c.job.Barrier(t.Context())
		}
		put := 0
		for _, load := range loads {
			n := int(load*float64(c.cfg.Buckets)) - put
			err := c.PutBatch(numbers(put, n), make([]byte, 8*n), make([]Result, n))
			if err != nil {
				return err
			}
			put += n
			found := make([]bool, put)
			if err := c.GetBatch(numbers(0, put), make([]byte, 8*put), found); err != nil {
				return err
			}
			there := 0
			for _, f := range found {
				if f {
					there++
				}
			}
			hits = append(hits, float64(there)/float64(put))
		}
		s := c.Stats()
		if kept := hits[len(hits)-1] * float64(put); float64(s.Inserted) != math.Round(kept) {
			return fmt.Errorf("%d inserted and %d evicted, but %v keys are there", s.Inserted,
				s.Evicted, kept)
		}
		return c.job.Barrier(t.Context())
	}))
	return hits
}

// numbers are keys of 8 bytes.
func numbers(from, n int) []byte {
	keys := make([]byte, 0, 8*n)
	for i := range n {
		keys = binary.LittleEndian.AppendUint64(keys, uint64(from+i))
	}
	return keys
}

// TestHitRatesOfOneHash counts the buckets that a put examines at a quarter load. MD takes rank and
// indices from the same bits: where ranks and buckets are powers of two, some candidates are lost,
// and a put examines more buckets than 1/(1-load).
func TestHitRatesOfOneHash(t *testing.T) {
	const ranks, perRank, load = 8, 1 << 14, .25
	examined := map[Addressing]float64{}
	for _, addressing := range []Addressing{Paper, Groups} {
		cfg := Config{KeySize: 8, ValueSize: 8, Buckets: ranks * perRank, Addressing: addressing}
		if addressing == Groups {
			cfg.GroupBuckets, cfg.Choices = 1, 7
		}
		examined[addressing] = examinedAt(t, ranks, cfg, load)
	}
	if got, want := examined[Groups], 1/(1-load); math.Abs(got-want) > .03 {
		t.Errorf("a put examines %.2f buckets, the law says %.2f", got, want)
	}
	if examined[Paper] < examined[Groups]+.5 {
		t.Errorf("no candidates are lost: %v", examined)
	}
	t.Log("") // between tables
	t.Logf("buckets of a put at load %v, %d ranks of %d", load, ranks, perRank)
	t.Log("  paper  spread")
	t.Logf("  %.2f  %.2f", examined[Paper], examined[Groups])
}

// examinedAt is how many buckets puts of new keys examine around a load.
func examinedAt(t *testing.T, ranks int, cfg Config, load float64) (mean float64) {
	t.Helper()
	must(t, withCache(engine{Run: local.Run}, ranks, cfg, func(c *Cache) error {
		if c.job.Rank() != 0 {
			return c.job.Barrier(t.Context())
		}
		const width = .02
		put, before := 0, Counts{}
		for _, until := range []float64{load - width/2, load + width/2} {
			before = c.Stats().Counts
			n := int(until*float64(c.cfg.Buckets)) - put
			err := c.PutBatch(numbers(put, n), make([]byte, 8*n), make([]Result, n))
			if err != nil {
				return err
			}
			put += n
		}
		counts := c.Stats().Counts.Since(before)
		for i, writes := range counts.Candidates {
			mean += float64(i+1) * float64(writes) / float64(counts.Writes())
		}
		return c.job.Barrier(t.Context())
	}))
	return mean
}
