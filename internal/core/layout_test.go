package core

import (
	"math"
	"testing"
)

func TestSegment(t *testing.T) {
	for _, c := range []struct {
		n, words uint64
		want     int
	}{{0, 9, 0}, {3, 5, 15}, {math.MaxInt, 1, math.MaxInt}, {math.MaxInt, 2, math.MaxInt},
		{math.MaxInt + 1, 1, math.MaxInt}, {1 << 63, 2, math.MaxInt},
		{1 << 40, 1 << 40, math.MaxInt}} {
		if got := Segment(c.n, c.words); got != c.want {
			t.Errorf("%d times %d words: %d, want %d", c.n, c.words, got, c.want)
		}
	}
}
