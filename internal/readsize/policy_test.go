package readsize

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomLaw is some law of at most so many slots, with places where searches cannot end.
func randomLaw(rng *rand.Rand, slots int) *Law {
	u := make([]float64, 2+rng.IntN(slots))
	for k := 1; k < len(u)-1; k++ {
		if rng.IntN(3) > 0 {
			u[k] = rng.ExpFloat64()
		}
	}
	u[0] = .1
	sumUp(u)
	for k := len(u) - 1; k >= 0; k-- {
		u[k] /= u[0]
	}
	return &Law{append(u, 0)}
}

// TestProgramme against the cost of the best of all lists, found slot by slot.
func TestProgramme(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 2000 {
		l := randomLaw(rng, 40)
		most := 1 + rng.IntN(45)
		c := Config{Machine: EDR(), SlotBytes: 1 + rng.IntN(3000), MaxSlots: most}
		switch rng.IntN(8) {
		case 0:
			c.ByteNs = 0
		case 1:
			c.LatencyNs = 0
		}
		n := len(l.unfinished)
		want := make([]float64, n+most+1)
		for k := n - 1; k >= 0; k-- {
			want[k] = math.Inf(1)
			for r := 1; r <= most; r++ {
				want[k] = min(want[k], l.unfinished[k]*c.ReadNs(r)+want[k+r])
			}
		}
		next := c.nextReads(l)
		got := 0.0
		for k := 0; k < n; k = next[k] {
			if next[k] <= k || next[k]-k > most {
				t.Fatalf("law %d: from %d to %d by at most %d", i, k, next[k], most)
			}
			got += l.unfinished[k] * c.ReadNs(next[k]-k)
		}
		if math.Abs(got-want[0]) > 1e-9*want[0] {
			t.Fatalf("law %d, %+v, most %d: %v ns, want %v", i, c, most, got, want[0])
		}
		sizes := c.programme(l)
		if len(sizes) > 1 && sizes[len(sizes)-1] == sizes[len(sizes)-2] {
			t.Fatalf("law %d: the end of %v is said twice", i, sizes)
		}
		if cost := c.Cost(l, sizes...).Ns; cost > want[0]*1.001+c.LatencyNs*1e-3 {
			t.Fatalf("law %d: %v take %v ns, want %v", i, sizes, cost, want[0])
		}
	}
}

// TestOrderedSizes: NewSizes gives an ordered table the read size at which a search for a key that
// is not there takes least time, once of all sizes and once of those for which the link has room.
func TestOrderedSizes(t *testing.T) {
	c := edr(8)
	l := lawsOf(t, .95).OrderedAbsent
	cheapest := func(most int) int {
		best := 1
		for r := 2; r <= most; r++ {
			if l.ModelReads(r)*c.ReadNs(r) < l.ModelReads(best)*c.ReadNs(best) {
				best = r
			}
		}
		return best
	}
	s, err := NewSizes(c, .95)
	if err != nil {
		t.Fatal(err)
	}
	if want := cheapest(l.quantile(complete)); s.OrderedUncapped != want || want <= s.Cap {
		t.Errorf("without the link: %d slots, want %d, more than %d", s.OrderedUncapped, want,
			s.Cap)
	}
	if want := cheapest(s.Cap); s.OrderedCapped != want {
		t.Errorf("with the link: %d slots, want %d", s.OrderedCapped, want)
	}
}

// TestMaxSlots binds all policies.
func TestMaxSlots(t *testing.T) {
	c := edr(8)
	c.MaxSlots = 11
	bound, err := NewSizes(c, .9)
	if err != nil {
		t.Fatal(err)
	}
	if bound.Uncapped != 11 || bound.Capped != 11 || !slices.Equal(bound.Adaptive, []int{11}) ||
		slices.Max(bound.Ordered) > 11 || bound.Cap != 23 {
		t.Errorf("%+v", bound)
	}
}

func TestPlan(t *testing.T) {
	c := edr(8)
	plan, err := NewPlan(c)
	if err != nil {
		t.Fatal(err)
	}
	for load, at := range map[float64]float64{math.Inf(-1): .01, -1: .01, 0: .01, .004: .01,
		.014: .01, .016: .02, .5: .5, .7961: .8, .99: .99, .999: .99, 7: .99, math.NaN(): .01} {
		l, err := absent(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := plan.Chunk(load), c.chunk(l); got != want {
			t.Errorf("load %v: chunk %d, want %d", load, got, want)
		}
	}
}

// TestChunk is never more than 3 percent dearer than the best of all chunk sizes, also
// between the loads that the plan knows.
func TestChunk(t *testing.T) {
	slow := EDR()
	slow.LatencyNs, slow.ByteNs = 20000, .8
	fast := EDR()
	fast.LatencyNs, fast.ByteNs = 60, .1
	for _, m := range []Machine{EDR(), slow, fast} {
		c := Config{Machine: m, SlotBytes: 8}
		plan, err := NewPlan(c)
		if err != nil {
			t.Fatal(err)
		}
		for load := .005; load < .96; load += .0075 {
			l, err := absent(load)
			if err != nil {
				t.Fatal(err)
			}
			cost := func(chunk int) float64 {
				trips, _ := l.Reads(chunk)
				return trips * (m.LatencyNs + m.ByteNs*8*float64(chunk))
			}
			least := math.Inf(1)
			for chunk := 8; chunk <= 4096; chunk += 8 {
				least = min(least, cost(chunk))
			}
			chunk := plan.Chunk(load)
			if chunk%8 != 0 || chunk < 8 || cost(chunk) > 1.03*least {
				t.Errorf("load %.4f: C=%d costs %.0f ns, the best %.0f", load, chunk, cost(chunk),
					least)
			}
		}
	}
	l := lawsOf(t, .9).Absent
	for most, want := range map[int]int{0: 232, 64: 64, 30: 24, 1: 8} {
		c := edr(8)
		if c.MaxSlots = most; c.chunk(l) != want {
			t.Errorf("at most %d slots: chunk %d, want %d", most, c.chunk(l), want)
		}
	}
}

// TestChunkOfLines: where homes are the starts of cache lines, as in most sets,
// the law is another, and the chunks are good all the same.
func TestChunkOfLines(t *testing.T) {
	const buckets = 1 << 18
	c := edr(8)
	plan, err := NewPlan(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	occupied := make([]bool, buckets)
	words := 0
	for _, load := range []float64{.3, .5, .65, .8, .9} {
		for ; words < int(load*buckets); words++ {
			at := rng.IntN(buckets/8) * 8
			for occupied[at] {
				at = (at + 1) % buckets
			}
			occupied[at] = true
		}
		searches := map[int]int{} // by displacement
		for home := 0; home < buckets; home += 8 {
			k := 0
			for occupied[(home+k)%buckets] {
				k++
			}
			searches[k]++
		}
		cost := func(chunk int) float64 {
			trips := 0
			for k, n := range searches {
				trips += n * (k/chunk + 1)
			}
			return float64(trips) * c.ReadNs(chunk)
		}
		least := math.Inf(1)
		for chunk := 8; chunk <= 1024; chunk += 8 {
			least = min(least, cost(chunk))
		}
		if chunk := plan.Chunk(load); cost(chunk) > 1.03*least {
			t.Errorf("load %v: C=%d is %.3f times as dear as the best", load, chunk,
				cost(chunk)/least)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	for what, change := range map[string]func(c *Config){
		"slot has 1 to":    func(c *Config) { c.SlotBytes = 0 },
		"not -1":           func(c *Config) { c.SlotBytes = -1 },
		"1073741824 bytes": func(c *Config) { c.SlotBytes = 1<<30 + 1 },
		"most slots":       func(c *Config) { c.MaxSlots = -1 },
		"not NaN":          func(c *Config) { c.HeaderBytes = math.NaN() },
		"latency in ns":    func(c *Config) { c.LatencyNs = -1 },
		"ns of a byte":     func(c *Config) { c.ByteNs = math.Inf(1) },
		"bandwidth":        func(c *Config) { c.LinkBytesPerSecond = 0 },
		"rate of messages": func(c *Config) { c.MessagesPerSecond = 0 },
		"header":           func(c *Config) { c.HeaderBytes = -30 },
		"cost nothing":     func(c *Config) { c.LatencyNs, c.ByteNs = 0, 0 },
		"not 1e+308":       func(c *Config) { c.LatencyNs = 1e308 },
		"not 1e+16":        func(c *Config) { c.HeaderBytes = 1e16 },
		"not 1e-308":       func(c *Config) { c.MessagesPerSecond = 1e-308 },
	} {
		c := edr(8)
		change(&c)
		err := c.Check()
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v, want %q", c, err, what)
		}
		if _, again := NewPlan(c); again == nil || again.Error() != err.Error() {
			t.Errorf("a plan with %+v: %v", c, again)
		}
		if _, again := NewSizes(c, .5); again == nil || again.Error() != err.Error() {
			t.Errorf("sizes with %+v: %v", c, again)
		}
	}
	if err := edr(1).Check(); err != nil {
		t.Error(err)
	}
	if _, err := NewSizes(edr(8), 1); err == nil {
		t.Error("sizes of a full table")
	}
	for slot, want := range map[int]int{1: 148, 8: 23, 1 << 20: 5, 1 << 30: 5} {
		if got := edr(slot).cap(); got != want {
			t.Errorf("slots of %d bytes: cap %d, want %d", slot, got, want)
		}
	}
	huge := edr(8)
	huge.LinkBytesPerSecond = 1e300
	tiny := edr(8)
	tiny.LinkBytesPerSecond = 1
	if huge.cap() != math.MaxInt32 || tiny.cap() != 1 {
		t.Errorf("caps %d and %d", huge.cap(), tiny.cap())
	}
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		plan, err := NewPlan(edr(8))
		if err != nil {
			b.Fatal(err)
		}
		for load := range percents {
			plan.Chunk(float64(load+1) / 100)
		}
	}
}

// TestAbsentKeys: the programme for keys that are there is as good for keys that are not.
func TestAbsentKeys(t *testing.T) {
	for _, slotBytes := range []int{8, 16, 32} {
		c := edr(slotBytes)
		for _, load := range []float64{.25, .5, .65, .8, .9, .95, .99} {
			laws := lawsOf(t, load)
			got := c.Cost(laws.OrderedAbsent, c.programme(laws.OrderedPresent)...).Ns
			best := c.Cost(laws.OrderedAbsent, c.programme(laws.OrderedAbsent)...).Ns
			if got > 1.002*best {
				t.Errorf("%d bytes, load %v: %.1f ns, the best is %.1f", slotBytes, load, got, best)
			}
		}
	}
}
