package index

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// TestGuide compares what a guide says of homes, some with very many records, with where
// these lie.
func TestGuide(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for round := range 200 {
		homes := 1 + rng.IntN(3000)
		starts, ends := make([]int, homes), make([]int, homes)
		g := tracker{homes: homes/borderHomes + 2}
		free := 0
		for home := range homes {
			g.home(uint64(home), uint64(free))
			starts[home] = max(free, home)
			switch {
			case rng.IntN(1000) < round%20:
				free = starts[home] + rng.IntN(900)
			case rng.IntN(3) == 0:
				free = starts[home] + rng.IntN(4)
			}
			ends[home] = max(free, starts[home])
			if rng.IntN(20) == 0 { // a home that parts share
				g.home(uint64(home), uint64(ends[home]))
			}
		}
		g.finish(uint64(homes), uint64(free))
		is := guide{g.borders, make([]byte, len(g.marks)*markBytes)}
		for i, m := range g.marks {
			m.put(is.marks[i*markBytes:])
		}
		for home := range homes {
			at, bound, _ := is.between(home, homes+1_000_000)
			if ends[home] > starts[home] && (at > starts[home] || bound < ends[home]) {
				t.Fatalf("home %d: [%d, %d), and records lie in [%d, %d)", home, at, bound,
					starts[home], ends[home])
			}
			if n := ends[home] - starts[home]; n >= runMarked && bound-at != n {
				t.Fatalf("home %d has %d records, and %d slots are searched", home, n, bound-at)
			}
			if bound-at >= 3*borderHomes+runMarked*borderHomes {
				t.Fatalf("home %d: [%d, %d) is far too much", home, at, bound)
			}
		}
	}
}

// TestHomeOfTwoParts has a home whose records lie in two parts of the store, behind a home with
// a border: its mark comes before the records of both parts.
func TestHomeOfTwoParts(t *testing.T) {
	cfg := Config{KeySize: 8, Load: 0.5}
	for _, count := range []struct{ before, first, second int }{
		{40, 40, 40}, {0, 40, 40}, {70, 40, 0}, {0, 70, 70}, {40, 0, 70}, {300, 1, 1},
	} {
		n := count.before + count.first + count.second
		const homes = 1600
		const shared = 609 // parts 389 and 390 share it, and it is behind a border
		var all []Record
		add := func(hash uint64, records int) {
			key := binary.LittleEndian.AppendUint64(nil, unmix(hash))
			for range records {
				all = append(all, Record{Key: key})
			}
		}
		const second = 390 << (64 - partitionBits) // the first hash there
		if homeOf(second-1, homes) != shared || homeOf(second, homes) != shared {
			t.Fatal("parts have other borders")
		}
		before, _ := bits.Div64(shared-1, 0, homes)
		add(before+1, count.before)
		add(second-1, count.first)
		add(second, count.second)
		for i := range uint64(homes/2 - n) {
			add(mix(i), 1)
		}
		m := modelOf(all)
		x := built(t, cfg, all)
		if x.t.Homes != homes {
			t.Fatalf("%d homes", x.t.Homes)
		}
		must(t, x.checked())
		r, err := x.NewReader(Lookups{OneSided: true})
		must(t, err)
		keys := m.keys(rand.New(rand.NewPCG(1, 2)))
		must(t, m.verify(r, keys), r.Close())
		at, bound, _ := r.guides[0].between(shared, x.t.Slots)
		if here := count.first + count.second; here >= runMarked && bound-at != here {
			t.Errorf("%+v: slots [%d, %d) are searched for %d records", count, at, bound, here)
		}
	}
}

// unmix gives the word that mix makes a hash of.
func unmix(hash uint64) uint64 {
	inverse := uint64(1)
	for range 6 { // each step doubles the bits that are right
		inverse *= 2 - golden*inverse
	}
	hash *= inverse
	hash ^= hash >> 32
	return hash * inverse
}

// zipf are records of 8 bytes whose keys are drawn by a law of Zipf, of n; keys are those of
// some, evenly drawn among the keys that there are.
func zipf(n, lookups int, exponent float64) (all iter.Seq2[Record, error], keys []byte) {
	sums, total := make([]float64, n), 0.0
	for i := range sums {
		total += math.Pow(float64(i+1), -exponent)
		sums[i] = total
	}
	rng := rand.New(rand.NewPCG(1, 2))
	numbers, there := make([]int, n), make([]bool, n)
	for i := range numbers {
		numbers[i] = sort.SearchFloat64s(sums, rng.Float64()*total)
		there[numbers[i]] = true
	}
	for len(keys) < 4*lookups {
		if i := rng.IntN(n); there[i] {
			keys = binary.LittleEndian.AppendUint32(keys, keyNumber(i, 1))
		}
	}
	return func(yield func(Record, error) bool) {
		var r [8]byte
		for i, number := range numbers {
			binary.LittleEndian.PutUint32(r[:], keyNumber(number, 1))
			binary.LittleEndian.PutUint32(r[4:], uint32(i))
			if !yield(Record{r[:4], r[4:]}, nil) {
				return
			}
		}
	}, keys
}

// TestSkew counts lookups in tables of skewed keys, where runs are long: borders and marks say
// where they are, so that a search needs hardly more than one request.
func TestSkew(t *testing.T) {
	skipSlow(t)
	for _, c := range []struct{ exponent, requests, bytes float64 }{
		{0.5, 1.06, 180}, {0.75, 1.12, 200}, {0.9, 1.12, 220},
	} {
		all, keys := zipf(1<<18, 20000, c.exponent)
		job := local.Single()
		defer job.Close()
		cfg := Config{KeySize: 4, ValueSize: 4, Load: 0.8}
		x, err := Build(context.Background(), job, cfg, all)
		must(t, err)
		r, err := x.NewReader(Lookups{OneSided: true, Costs: lpCosts()})
		must(t, err)
		matches := 0
		must(t, r.LookupBatch(keys, func(int, Value) { matches++ }))
		s := r.Stats()
		if uint64(matches) != s.Matches || matches < len(keys)/4 {
			t.Errorf("%d values, and counted are %+v", matches, s)
		}
		requests, _, bytes := s.PerLookup()
		must(t, errors.Join(r.Close(), x.Check(context.Background()), x.Close()))
		t.Logf("exponent %v: %.3f requests, %.0f bytes", c.exponent, requests, bytes)
		if requests > c.requests || bytes > c.bytes {
			t.Errorf("exponent %v: %.3f requests and %.0f bytes", c.exponent, requests, bytes)
		}
	}
}
