package baseline

import (
	"math"
	"testing"

	"github.com/farhash/farhash/internal/readsize"
)

func sizesOf(t *testing.T, load float64, maxSlots int) (c readsize.Config, l *readsize.Law,
	s *readsize.Sizes) {
	c = readsize.Config{Machine: readsize.EDR(), SlotBytes: 8, MaxSlots: maxSlots}
	s, err := readsize.NewSizes(c, load)
	if err != nil {
		t.Fatal(err)
	}
	laws, err := readsize.NewLaws(load)
	if err != nil {
		t.Fatal(err)
	}
	return c, laws.Absent, s
}

// modelReads is the sum of LP Eq. 5 over the law of Eq. 10.
func modelReads(l *readsize.Law, slots, distance, length int) float64 {
	unfinished := func(k int) float64 {
		if k > distance+length {
			return 0
		}
		return l.Unfinished(min(k, distance))
	}
	sum := 0.0
	for i := 1; ; i++ {
		after := unfinished(i * slots)
		sum += float64(i) * (unfinished((i-1)*slots) - after)
		if 1-after >= .99 {
			return sum
		}
	}
}

// TestHinted against the sum of the model over the law of Eq. 10.
func TestHinted(t *testing.T) {
	for _, load := range []float64{.25, .65, .8, .9} {
		c, l, s := sizesOf(t, load, 0)
		for _, length := range []int{1, 7, 40, 1000} {
			for distance := 1; distance < 60; distance++ {
				want, least := s.Capped, math.Inf(1)
				for r := 1; r <= s.Cap && l.Unfinished(distance) > .01; r++ {
					if ns := modelReads(l, r, distance, length) * c.ReadNs(r); ns < least {
						want, least = r, ns
					}
				}
				if got := Hinted(c, l, distance, length, s); got != want {
					t.Errorf("load %v, %d before %d: %d slots, want %d", load, distance, length,
						got, want)
				}
			}
		}
		for _, none := range [][2]int{{-10, 10}, {-3, 2}, {5, 0}, {5, -1}, {1 << 20, 10},
			{math.MinInt, 10}} {
			if got := Hinted(c, l, none[0], none[1], s); got != s.Capped {
				t.Errorf("hint %v: %d", none, got)
			}
		}
		if Hinted(c, l, -3, 10, s) != 8 || Hinted(c, l, 0, 1000, s) != 1001 {
			t.Errorf("load %v: inside a cluster reads end somewhere", load)
		}
		if n := testing.AllocsPerRun(10, func() { Hinted(c, l, 9, 12, s) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	c, l, s := sizesOf(t, .9, 11)
	for x := -80; x < 120; x++ {
		if slots := Hinted(c, l, -x, 100, s); slots > 11 {
			t.Errorf("x=%d: %d slots", x, slots)
		}
	}
}

// TestFigure13 is LP's cluster of 10 slots and all places around it where a search may begin.
func TestFigure13(t *testing.T) {
	const length = 10
	c, l65, s65 := sizesOf(t, .65, 0)
	_, l25, s25 := sizesOf(t, .25, 0)
	for x := -200; x <= 60; x++ {
		want65, want25 := 23, 5
		switch {
		case x >= 0 && x < length:
			want65, want25 = 11-x, 11-x
		case x >= -12 && x < 0:
			want65 = 11 - x
		case x >= -22 && x < 0:
			want65 = -x
		}
		if x >= -4 && x < 0 { // where the figure and its text see longer reads
			want25 = 11 - x
		}
		if got := Hinted(c, l65, -x, length, s65); got != want65 {
			t.Errorf("load 0.65, x=%d: %d slots, want %d", x, got, want65)
		}
		if got := Hinted(c, l25, -x, length, s25); got != want25 {
			t.Errorf("load 0.25, x=%d: %d slots, want %d", x, got, want25)
		}
	}
}
