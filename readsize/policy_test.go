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
		c := Config{Machine: EDR(), SlotBytes: 1 + rng.IntN(3000)}
		most := 1 + rng.IntN(45)
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
		next := c.programme(l, most)
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
		sizes := c.Programme(l, most)
		if len(sizes) > 1 && sizes[len(sizes)-1] == sizes[len(sizes)-2] {
			t.Fatalf("law %d: the end of %v is said twice", i, sizes)
		}
		if cost := c.Cost(l, sizes...).Ns; cost > want[0]*1.001+c.LatencyNs*1e-3 {
			t.Fatalf("law %d: %v take %v ns, want %v", i, sizes, cost, want[0])
		}
	}
}

// TestMaxSlots binds all policies, and the share of absent keys only the programme.
func TestMaxSlots(t *testing.T) {
	c := edr(8)
	free, err := NewSizes(c, .9)
	if err != nil {
		t.Fatal(err)
	}
	c.AbsentShare = 1
	absent, err := NewSizes(c, .9)
	if err != nil {
		t.Fatal(err)
	}
	if absent.Uncapped != free.Uncapped || absent.Adaptive[0] >= free.Adaptive[0] ||
		absent.Ordered[0] >= free.Ordered[0] {
		t.Errorf("absent keys: %+v, present: %+v", absent, free)
	}
	c.MaxSlots = 11
	bound, err := NewSizes(c, .9)
	if err != nil {
		t.Fatal(err)
	}
	if bound.Uncapped != 11 || bound.Capped != 11 || !slices.Equal(bound.Adaptive, []int{11}) ||
		slices.Max(bound.Ordered) > 11 || bound.Cap != 23 {
		t.Errorf("%+v", bound)
	}
	for x := -80; x < 120; x++ {
		one, other := bound.Hinted(-x, 100), bound.HintedAdaptive(-x, 100)
		if one > 11 || other > 11 {
			t.Errorf("x=%d: %d and %d slots", x, one, other)
		}
	}
}

// hinted is the law of LP Eq. 10.
func hinted(l *Law, distance, length int) *Law {
	var u []float64
	for k := range distance + length + 1 {
		u = append(u, l.Unfinished(min(k, distance)))
	}
	return &Law{append(u, 0)}
}

// TestHinted against the sum of the model over the law of Eq. 10, and the programme over
// that law.
func TestHinted(t *testing.T) {
	for _, load := range []float64{.25, .65, .8, .9} {
		s, err := NewSizes(edr(8), load)
		if err != nil {
			t.Fatal(err)
		}
		for _, length := range []int{1, 7, 40, 1000} {
			for distance := 1; distance < 60; distance++ {
				law := hinted(s.absent, distance, length)
				want, least := s.Capped, math.Inf(1)
				for r := 1; r <= s.Cap && distance < s.absent.Quantile(complete); r++ {
					if ns := law.ModelReads(r) * s.config.ReadNs(r); ns < least {
						want, least = r, ns
					}
				}
				if got := s.Hinted(distance, length); got != want {
					t.Errorf("load %v, %d before %d: %d slots, want %d", load, distance, length,
						got, want)
				}
				if distance > s.Adaptive[0] {
					continue
				}
				first := s.HintedAdaptive(distance, length)
				got := s.config.Cost(law, first, max(distance+length+1-first, 1)).Ns
				best := s.config.Cost(law, s.config.Programme(law, NoLimit)...).Ns
				if got > best*1.002 {
					t.Errorf("load %v, %d before %d: %d slots first take %.1f ns, the programme "+
						"%.1f", load, distance, length, first, got, best)
				}
			}
		}
		for _, none := range [][2]int{{-10, 10}, {-3, 2}, {5, 0}, {5, -1}, {1 << 20, 10},
			{math.MinInt, 10}} {
			if got := s.Hinted(none[0], none[1]); got != s.Capped {
				t.Errorf("hint %v: %d", none, got)
			}
			if got := s.HintedAdaptive(none[0], none[1]); got != s.Adaptive[0] {
				t.Errorf("hint %v: %d, adaptive", none, got)
			}
		}
		if s.Hinted(-3, 10) != 8 || s.HintedAdaptive(-3, 10) != 8 || s.Hinted(0, 1000) != 1001 ||
			s.HintedAdaptive(0, 1000) != 1001 {
			t.Errorf("load %v: inside a cluster reads end somewhere", load)
		}
		if n := testing.AllocsPerRun(10, func() {
			s.Hinted(9, 12)
			s.HintedAdaptive(9, 12)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

func TestPlan(t *testing.T) {
	c := edr(8)
	plan, err := NewPlan(c)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan *Sizes)
	for range 4 {
		go func() { done <- plan.Sizes(.8) }()
	}
	first := <-done
	for range 3 {
		if <-done != first {
			t.Error("sizes are found twice")
		}
	}
	plan.Fill()
	for load, at := range map[float64]float64{math.Inf(-1): .01, -1: .01, 0: .01, .004: .01,
		.014: .01, .016: .02, .5: .5, .7961: .8, .99: .99, .999: .99, 7: .99, math.NaN(): .01} {
		s := plan.Sizes(load)
		want, err := NewSizes(c, at)
		if err != nil {
			t.Fatal(err)
		}
		same := s.Cap == want.Cap && s.Uncapped == want.Uncapped && s.Capped == want.Capped &&
			s.OrderedUncapped == want.OrderedUncapped && s.OrderedCapped == want.OrderedCapped &&
			slices.Equal(s.Adaptive, want.Adaptive) && slices.Equal(s.Ordered, want.Ordered)
		if s.Load != at || !same {
			t.Errorf("load %v: %+v, want %+v", load, s, want)
		}
		l, err := Absent(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := plan.Chunk(load), c.Chunk(l, NoLimit); got != want {
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
			l, err := Absent(load)
			if err != nil {
				t.Fatal(err)
			}
			cost := func(chunk int) float64 {
				return l.RoundTrips(chunk) * (m.LatencyNs + m.ByteNs*8*float64(chunk))
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
	c := edr(8)
	if free, bound := c.Chunk(l, NoLimit), c.Chunk(l, 64); free != 232 || bound != 64 {
		t.Errorf("chunks %d and %d", free, bound)
	}
	if c.MaxSlots = 30; c.Chunk(l, NoLimit) != 24 || c.Chunk(l, 1) != 8 {
		t.Errorf("chunks %d and %d", c.Chunk(l, NoLimit), c.Chunk(l, 1))
	}
}

// TestChunkOfLines: where homes are the starts of cache lines, as those of a set mostly
// are, the law is another, and the chunks are good all the same.
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
		"share of absent":  func(c *Config) { c.AbsentShare = 1.1 },
		"not NaN":          func(c *Config) { c.AbsentShare = math.NaN() },
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
	for _, k := range []Cuckoo{{0, 4}, {3, 0}, {-1, -1}} {
		if k.Check() == nil {
			t.Errorf("%+v", k)
		}
	}
	if err := (Cuckoo{2, 1}).Check(); err != nil {
		t.Error(err)
	}
	for slot, want := range map[int]int{1: 148, 8: 23, 1 << 20: 5, 1 << 30: 5} {
		if got := edr(slot).Cap(); got != want {
			t.Errorf("slots of %d bytes: cap %d, want %d", slot, got, want)
		}
	}
	huge := edr(8)
	huge.LinkBytesPerSecond = 1e300
	tiny := edr(8)
	tiny.LinkBytesPerSecond = 1
	if huge.Cap() != math.MaxInt32 || tiny.Cap() != 1 {
		t.Errorf("caps %d and %d", huge.Cap(), tiny.Cap())
	}
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		plan, err := NewPlan(edr(8))
		if err != nil {
			b.Fatal(err)
		}
		plan.Fill()
	}
}

func BenchmarkHinted(b *testing.B) {
	s, err := NewSizes(edr(8), .65)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Hinted(9, 12)
	}
}
