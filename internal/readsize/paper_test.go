package readsize

import (
	"fmt"
	"math"
	"testing"
)

// edr is LP's machine with slots of so many bytes.
func edr(slotBytes int) Config { return Config{Machine: EDR(), SlotBytes: slotBytes} }

// lawsOf are the laws of a load.
func lawsOf(t testing.TB, load float64) *Laws {
	t.Helper()
	laws, err := NewLaws(load)
	if err != nil {
		t.Fatal(err)
	}
	return laws
}

// TestLPTable1 is all of the table: requests as printed and, from the same law, with a
// digit more; read sizes; and those that the whole sum would give.
func TestLPTable1(t *testing.T) {
	c := edr(8)
	for _, row := range []struct {
		load                    float64
		fixed, uncapped, capped float64 // requests as printed
		exactFixed, exactCapped float64
		sizes                   [2]int
		whole                   int
	}{
		{.25, 1.00, 1.03, 1.03, 1.000, 1.033, [2]int{5, 5}, 8},
		{.50, 1.00, 1.03, 1.03, 1.000, 1.026, [2]int{13, 13}, 19},
		{.65, 1.01, 1.02, 1.04, 1.014, 1.041, [2]int{29, 23}, 36},
		{.80, 1.22, 1.02, 1.39, 1.222, 1.392, [2]int{96, 23}, 88},
		{.85, 1.53, 1.01, 1.85, 1.533, 1.851, [2]int{174, 23}, 134},
		{.90, 2.46, 1.08, 3.17, 2.460, 3.170, [2]int{201, 23}, 235},
		{.95, 7.41, 1.16, 10.05, 7.417, 10.095, [2]int{547, 23}, 570},
	} {
		laws := lawsOf(t, row.load)
		sizes := [2]int{c.best(laws.Absent, noLimit), c.best(laws.Absent, c.cap())}
		if sizes != row.sizes {
			t.Errorf("load %v: read sizes %v, want %v", row.load, sizes, row.sizes)
		}
		fixed, _ := laws.Present.Reads(32)
		uncapped, _ := laws.Present.Reads(sizes[0])
		capped, _ := laws.Present.Reads(sizes[1])
		for i, v := range [][3]float64{ // computed, wanted, within
			{fixed, row.exactFixed, .0005}, {capped, row.exactCapped, .0005},
			{fixed, row.fixed, .0075}, {uncapped, row.uncapped, .0055},
			{capped, row.capped, .005 * row.capped},
		} {
			if !(math.Abs(v[0]-v[1]) <= v[2]) {
				t.Errorf("load %v, %d: %.4f requests, want %v", row.load, i, v[0], v[1])
			}
		}
		if got := wholeBest(c, laws.Absent); got != row.whole {
			t.Errorf("load %v: the whole sum gives %d, want %d", row.load, got, row.whole)
		}
		if p := (Cuckoo{3, 4}).Parallel(c); p.Requests != 3 || p.Bytes != 12*8 {
			t.Errorf("cuckoo: %+v", p)
		}
	}
}

// wholeBest is R* without the truncation of the sum.
func wholeBest(c Config, l *Law) int {
	best, least := 0, math.Inf(1)
	for r := 1; r < 1000; r++ {
		reads, _ := l.Reads(r)
		if cost := reads * c.ReadNs(r); cost < least {
			best, least = r, cost
		}
	}
	return best
}

// TestLPTable3 and 4: read sizes by width of the slot at load 0.65, and requests to the
// table out of band.
func TestLPTable3And4(t *testing.T) {
	laws := lawsOf(t, .65)
	for slotBytes, want := range map[int][3]int{8: {23, 23, 32}, 32: {9, 9, 8}, 128: {6, 6, 2},
		5: {33, 29, 51}} {
		c := edr(slotBytes)
		if got := [3]int{c.cap(), c.best(laws.Absent, c.cap()), 256 / slotBytes}; got != want {
			t.Errorf("%d bytes: cap, capped and fixed are %v, want %v", slotBytes, got, want)
		}
	}
	for size, want := range map[int]string{51: "1.00", 29: "1.02"} {
		if reads, _ := laws.Present.Reads(size); fmt.Sprintf("%.2f", reads) != want {
			t.Errorf("reads of %d slots: %.4f, want %s", size, reads, want)
		}
	}
}

// TestBetterThanLP is the table of doc.go, rounded as it is there.
func TestBetterThanLP(t *testing.T) {
	c := edr(8)
	for load, want := range map[float64][5]string{
		.5: {"1.00/256/1311", "1.03/107/1332", "1.03/107/1332", "1.00/184/1307", "1.00/64/1296"},
		.8: {"1.22/313/1602", "1.39/256/1816", "1.02/780/1372", "1.01/792/1372", "1.00/136/1303"},
		.9: {"2.46/630/3224", "3.17/583/4136", "1.08/1737/1533", "1.05/2065/1517",
			"1.00/249/1313"},
		.95: {"7.42/1899/9719", "10.09/1857/13171", "1.16/5084/1906", "1.14/5210/1885",
			"1.00/434/1331"},
	} {
		laws := lawsOf(t, load)
		s, err := NewSizes(c, load)
		if err != nil {
			t.Fatal(err)
		}
		for i, cost := range []Cost{c.Cost(laws.Present, 32), c.Cost(laws.Present, s.Capped),
			c.Cost(laws.Present, s.Uncapped), c.Cost(laws.Present, s.Adaptive...),
			c.Cost(laws.OrderedPresent, s.Ordered...)} {
			got := fmt.Sprintf("%.2f/%.0f/%.0f", cost.Requests, cost.Bytes, cost.Ns)
			if got != want[i] {
				t.Errorf("load %v, policy %d: %s, want %s", load, i, got, want[i])
			}
		}
	}
	if got := (Cuckoo{3, 4}).Parallel(c); math.Round(got.Ns) != 1321 {
		t.Errorf("parallel cuckoo: %+v", got)
	}
	absent, present := Cuckoo{3, 4}.Sequential(c, false), Cuckoo{3, 4}.Sequential(c, true)
	one := 1290 + .08*32
	if absent.Requests != 3 || absent.Bytes != 96 || math.Abs(absent.Ns-3*one) > 1e-9 ||
		present.Requests != 2 || present.Bytes != 64 || math.Abs(present.Ns-2*one) > 1e-9 {
		t.Errorf("sequential cuckoo: %+v, %+v", absent, present)
	}
}

// TestTargetOfOrdered: by the model at most 1.01 requests and 460 bytes at load 0.95, and
// at every load less ns than any other policy.
func TestTargetOfOrdered(t *testing.T) {
	c := edr(8)
	cuckoo := Cuckoo{3, 4}.Parallel(c)
	for _, load := range []float64{.25, .5, .65, .8, .85, .9, .95} {
		laws := lawsOf(t, load)
		s, err := NewSizes(c, load)
		if err != nil {
			t.Fatal(err)
		}
		ordered := c.Cost(laws.OrderedPresent, s.Ordered...)
		if ordered.Requests > 1.01 || ordered.Bytes > 460 {
			t.Errorf("load %v: %+v", load, ordered)
		}
		others := []Cost{c.Cost(laws.Present, 32), c.Cost(laws.Present, s.Capped),
			c.Cost(laws.Present, s.Uncapped), c.Cost(laws.Present, s.Adaptive...), cuckoo}
		for i, other := range others {
			// At load 0.95 the three reads of cuckoo, at once, cost 10 ns less.
			if ordered.Ns > other.Ns && !(load == .95 && i == len(others)-1) {
				t.Errorf("load %v: ordered takes %.0f ns, policy %d %.0f", load, ordered.Ns, i,
					other.Ns)
			}
		}
	}
}

// roundTripsBetween is the mean number of gets, of chunk words each, of the inserts that take a
// table from one load to another (OP Table 1, where these differ by 0.02).
func roundTripsBetween(t *testing.T, from, to float64, chunk int) float64 {
	// Simpson's rule; the integrand is smooth and intervals are short.
	const steps = 8
	sum := 0.0
	for i := range steps + 1 {
		weight := 2.0 + 2*float64(i%2)
		if i == 0 || i == steps {
			weight = 1
		}
		trips, _ := lawsOf(t, from+(to-from)*float64(i)/steps).Absent.Reads(chunk)
		sum += weight * trips
	}
	return sum / (3 * steps)
}

// TestOPTable1: round trips by chunk and load.
func TestOPTable1(t *testing.T) {
	chunks := []int{8, 16, 32, 64, 128}
	for load, want := range map[float64][5]string{
		.5: {"1.04", "1.00", "1.00", "1.00", "1.00"}, .7: {"1.34", "1.10", "1.02", "1.00", "1.00"},
		.8: {"2.05", "1.41", "1.13", "1.03", "1.00"}, .9: {"5.78", "3.21", "1.96", "1.37", "1.11"},
	} {
		for i, chunk := range chunks {
			trips := roundTripsBetween(t, load-.02, load, chunk)
			if got := fmt.Sprintf("%.2f", trips); got != want[i] {
				t.Errorf("load %v, C=%d: %s, want %s", load, chunk, got, want[i])
			}
		}
	}
	for chunk, want := range map[int]string{32: "1.048", 64: "1.006"} {
		trips := roundTripsBetween(t, .73, .75, chunk)
		if got := fmt.Sprintf("%.3f", trips); got != want {
			t.Errorf("C=%d: %s, want %s", chunk, got, want)
		}
	}
}
