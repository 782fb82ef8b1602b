package readsize

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"
)

// near fails unless two values differ by at most within.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// exactLaw is the law of searches for an absent key in a table of so many slots, so many of
// them occupied (LP 3.3, Eq. 7 to 9; Knuth 6.4). The paper works with logarithms, because
// M^N overflows; here each g is a ratio to the one before, which needs none.
func exactLaw(slots, occupied int) (*Law, error) {
	if slots < 2 || occupied < 0 || occupied > slots-2 {
		return nil, fmt.Errorf("readsize: a table of %d slots, %d of them occupied, is none "+
			"that searches end in; at least 2 slots must be empty", slots, occupied)
	}
	m, n := float64(slots), float64(occupied)
	load := n / m
	decay := load - 1 - math.Log(load)
	least := 0.0
	if occupied > 0 {
		least = tail * min(decay*decay, 1)
	}
	var all []float64
	g := math.Exp(n*math.Log1p(-1/m) + math.Log1p(-n/(m-1)))
	for k := 1; ; k++ {
		all = append(all, g)
		if k > occupied || g <= least {
			return fromRuns(all), nil
		}
		f := float64(k)
		g *= (n - f + 1) / (m - f - 1) *
			math.Exp((f-1)*math.Log1p(1/f)+(n-f)*math.Log1p(-1/(m-f)))
	}
}

// within is C_k, the probability that a search ends within k slots (LP 3.3, Eq. 6).
func within(l *Law, k int) float64 { return 1 - l.Unfinished(k) }

// mean is the mean number of slots of a search.
func mean(l *Law) (sum float64) {
	for _, u := range slices.Backward(l.unfinished) { // from the small end
		sum += u
	}
	return sum
}

// TestExactOfAllTables fills small tables in every way there is and counts.
func TestExactOfAllTables(t *testing.T) {
	for _, c := range [][2]int{{2, 0}, {3, 1}, {6, 3}, {6, 4}, {7, 5}, {9, 4}} {
		slots, occupied := c[0], c[1]
		ends := make([]float64, slots+1) // by the number of slots read
		ways := int(math.Pow(float64(slots), float64(occupied)))
		for way := range ways {
			full := make([]bool, slots)
			for range occupied {
				home := way % slots
				way /= slots
				for full[home] {
					home = (home + 1) % slots
				}
				full[home] = true
			}
			for home := range slots {
				k := 1
				for full[(home+k-1)%slots] {
					k++
				}
				ends[k] += 1 / float64(ways*slots)
			}
		}
		l, err := exactLaw(slots, occupied)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for k, p := range ends {
			sum += p
			near(t, fmt.Sprintf("C_%d of %v", k, c), within(l, k), sum, 1e-12)
		}
	}
}

// TestLimitIsExact in tables of LP's size, and nearly in small ones.
func TestLimitIsExact(t *testing.T) {
	for _, load := range []float64{.25, .5, .65, .8, .85, .9, .95} {
		for occupied, slack := range map[int]float64{120 << 20: 1e-6, 4096: .1} {
			l, err := exactLaw(int(math.Round(float64(occupied)/load)), occupied)
			if err != nil {
				t.Fatal(err)
			}
			limit, err := absent(float64(occupied) / math.Round(float64(occupied)/load))
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for k := range max(len(l.unfinished), len(limit.unfinished)) + 2 {
				worst = max(worst, math.Abs(within(l, k)-within(limit, k)))
			}
			near(t, fmt.Sprintf("load %v, %d records", load, occupied), worst, 0, slack)
			if occupied == 4096 && worst < 1e-6 {
				t.Errorf("load %v: a small table is like a large one", load)
			}
		}
	}
}

// TestMeans compares with the means of Knuth 6.4 and of a queue with constant service.
func TestMeans(t *testing.T) {
	for _, a := range []float64{.01, .25, .5, .8, .9, .95, .99} {
		laws := lawsOf(t, a)
		absent := (1 + 1/((1-a)*(1-a))) / 2
		spilled := a * a / (2 * (1 - a))
		for what, c := range map[string]struct {
			law  *Law
			want float64
		}{
			"absent": {laws.Absent, absent}, "present": {laws.Present, absent + 1/(1-a)},
			"ordered, absent":  {laws.OrderedAbsent, 1 + a + spilled},
			"ordered, present": {laws.OrderedPresent, 2 + a + spilled},
		} {
			near(t, fmt.Sprintf("load %v, %s", a, what), mean(c.law)/c.want, 1, 1e-7)
		}
	}
}

// TestPresentIsConvolution of the run ahead with what the record itself begins.
func TestPresentIsConvolution(t *testing.T) {
	for _, load := range []float64{.1, .5, .9} {
		laws := lawsOf(t, load)
		b := borel(load)
		past := 1.0 // probability of more than k slots, the empty one among them
		for k := range 400 {
			for n := 1; n <= min(k, len(b)); n++ { // n of k slots are its own
				p := laws.Absent.Unfinished(k-n) - laws.Absent.Unfinished(k-n+1)
				past -= b[n-1] * p
			}
			// Slots after the k-th have not been seen: the empty slot is the next.
			near(t, fmt.Sprintf("load %v, U_%d", load, k+1), laws.Present.Unfinished(k+1), past,
				1e-9)
		}
		if laws.Present.Unfinished(1) != 1 || laws.Present.Unfinished(0) != 1 {
			t.Errorf("load %v: a key that is there is found in no slot", load)
		}
	}
}

// TestOrderedIsTransform inverts the generating function on the unit circle.
func TestOrderedIsTransform(t *testing.T) {
	const points = 1 << 10
	for _, a := range []float64{.1, .5, .8, .9} {
		laws := lawsOf(t, a)
		values := make([]complex128, points)
		for i := range values {
			z := cmplx.Exp(complex(0, 2*math.Pi*float64(i)/points))
			spills := complex(1, 0)
			if i > 0 {
				spills = complex(1-a, 0) * (z - 1) / (z - cmplx.Exp(complex(a, 0)*(z-1)))
			}
			values[i] = spills * cmplx.Exp(complex(a, 0)*(z-1)) // and the records of the home
		}
		past := 1.0
		for k := range 60 {
			near(t, fmt.Sprintf("load %v, U_%d", a, k), laws.OrderedAbsent.Unfinished(k), past,
				1e-12)
			near(t, fmt.Sprintf("load %v, present, U_%d", a, k+1),
				laws.OrderedPresent.Unfinished(k+1), past, 1e-12)
			sum := complex(0, 0)
			for i, v := range values {
				sum += v * cmplx.Exp(complex(0, -2*math.Pi*float64(i*k%points)/points))
			}
			past -= real(sum) / points
		}
	}
}

// TestLawsOfRealTables fills a table at random and searches it.
func TestLawsOfRealTables(t *testing.T) {
	const slots = 1 << 18
	for _, load := range []float64{.5, .8} {
		rng := rand.New(rand.NewPCG(1, 2))
		homes := make([]int, int(load*slots))
		for i := range homes {
			homes[i] = rng.IntN(slots)
		}
		slices.Sort(homes) // filled in this order the table is ordered, except at the wrap
		table := fillOrdered(slots, homes)
		empty := nextEmpty(table)
		counts := [4][200]float64{}
		count := func(law, read int) {
			for k := range min(read, 200) {
				counts[law][k]++
			}
		}
		for home := range slots {
			count(0, empty[home]-home+1)
			k := home
			for table[k%slots] >= 0 && table[k%slots] <= home {
				k++
			}
			count(2, k-home+1)
		}
		for _, home := range homes {
			count(1, empty[home]-home+1)
			k := home
			for table[k%slots] >= 0 && table[k%slots] <= home {
				k++
			}
			count(3, k-home+1)
		}
		laws := lawsOf(t, load)
		for i, l := range []*Law{laws.Absent, laws.Present, laws.OrderedAbsent,
			laws.OrderedPresent} {
			of := []float64{slots, float64(len(homes)), slots, float64(len(homes))}[i]
			for k := range 200 {
				near(t, fmt.Sprintf("load %v, law %d, U_%d", load, i, k), counts[i][k]/of,
					l.Unfinished(k), .01)
			}
		}
	}
}

// fillOrdered puts records into the slots in the order of their homes; -1 is empty. Those
// that would wrap around are left out.
func fillOrdered(slots int, homes []int) []int {
	table := slices.Repeat([]int{-1}, slots)
	next := 0
	for _, home := range homes {
		next = max(next, home)
		if next < slots {
			table[next] = home
		}
		next++
	}
	return table
}

// nextEmpty is, for each slot, the first empty slot from there on, counted on around the end.
func nextEmpty(table []int) []int {
	n := len(table)
	next := make([]int, 2*n)
	for i, at := 2*n-1, 2*n; i >= 0; i-- {
		if table[i%n] < 0 {
			at = i
		}
		next[i] = at
	}
	return next[:n]
}

func TestLawEdges(t *testing.T) {
	laws := lawsOf(t, .8)
	for what, l := range map[string]*Law{"absent": laws.Absent, "present": laws.Present,
		"ordered, absent": laws.OrderedAbsent, "ordered, present": laws.OrderedPresent} {
		if l.Unfinished(-1) != 1 || l.Unfinished(0) != 1 || l.Unfinished(math.MaxInt) != 0 {
			t.Errorf("%s: %v, %v, %v", what, l.Unfinished(-1), l.Unfinished(0),
				l.Unfinished(math.MaxInt))
		}
		for k := range 3000 {
			if l.Unfinished(k+1) > l.Unfinished(k) {
				t.Errorf("%s: U rises at %d", what, k)
			}
		}
		q := l.quantile(.99)
		if within(l, q) < .99 || within(l, q-1) >= .99 {
			t.Errorf("%s: %d is no quantile", what, q)
		}
		for _, sizes := range [][]int{nil, {0}, {3, 0}, {-1}} {
			if reads, slots := l.Reads(sizes...); !math.IsNaN(reads) || !math.IsNaN(slots) {
				t.Errorf("%s: %v gives %v, %v", what, sizes, reads, slots)
			}
		}
		reads, slots := l.Reads(math.MaxInt)
		if reads != 1 || slots != math.MaxInt {
			t.Errorf("%s: a read of everything: %v, %v", what, reads, slots)
		}
	}
	if !math.IsNaN(laws.Absent.ModelReads(0)) || laws.Absent.ModelReads(math.MaxInt) != 1 {
		t.Error("ModelReads")
	}
	reads, slots := laws.Absent.Reads(2, 3, 4)
	u := laws.Absent.Unfinished
	want, wantSlots := u(0)+u(2), 2*u(0)+3*u(2)
	for k := 5; k < 3000; k += 4 {
		want, wantSlots = want+u(k), wantSlots+4*u(k)
	}
	near(t, "reads", reads, want, 1e-9)
	near(t, "slots", slots, wantSlots, 1e-9)
}

func TestLoads(t *testing.T) {
	for _, load := range []float64{0, 1, -.1, 1.5, .9901, math.NaN(), math.Inf(1)} {
		for i, f := range []func(float64) (*Law, error){absent, present, orderedAbsent,
			orderedPresent} {
			if l, err := f(load); err == nil || l != nil {
				t.Errorf("law %d of load %v: %v", i, load, err)
			}
		}
		if l, err := NewLaws(load); err == nil || l != nil {
			t.Errorf("laws of load %v: %v", load, err)
		}
	}
	for _, c := range [][2]int{{0, 0}, {1, 0}, {5, 4}, {5, 5}, {5, -1}, {-5, 2}} {
		if l, err := exactLaw(c[0], c[1]); err == nil || l != nil {
			t.Errorf("a table %v: %v", c, err)
		}
	}
	if l, err := absent(1e-300); err != nil || mean(l) != 1 {
		t.Errorf("an empty table: %v, %v", l, err)
	}
}
