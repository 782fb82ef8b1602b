package core

import (
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
)

// segments is a window that shows some segments.
type segments struct {
	rma.Window // nothing else is asked for
	words      [][]uint64
	torn       bool // CPU atomics do not do
}

func (s segments) Size() int                { return len(s.words) }
func (s segments) Len() int                 { return 4 }
func (s segments) Words(rank int) []uint64  { return s.words[rank] }
func (s segments) CPUAtomicsCoherent() bool { return !s.torn }

// Regions are as few as they can be, and one of all ranks is flat.
func TestRegions(t *testing.T) {
	memory := make([]uint64, 64)
	at := func(i int) []uint64 { return memory[4*i : 4*i+4] }
	for _, c := range []struct {
		w    segments
		want string // first rank, ranks and words of each region
		flat bool
	}{
		{segments{words: [][]uint64{at(0), at(1), at(2)}}, "[0 3 12]", true},
		{segments{words: [][]uint64{at(0), at(1), at(2)}, torn: true}, "", false},
		{segments{words: [][]uint64{nil, nil}}, "", false},
		{segments{words: [][]uint64{at(0)}}, "[0 1 4]", true},
		{segments{words: [][]uint64{at(0), nil}}, "[0 1 4]", false},
		{segments{words: [][]uint64{at(0), memory[4:9]}}, "[0 1 4]", false}, // too long
		{segments{words: [][]uint64{at(0), at(1), nil, at(2), at(3)}}, "[0 2 8][3 2 8]", false},
		{segments{words: [][]uint64{at(1), at(0), at(5)}}, "[0 1 4][1 1 4][2 1 4]", false},
		{segments{words: [][]uint64{nil, at(7), at(8), at(10)}}, "[1 2 8][3 1 4]", false},
	} {
		got := ""
		for _, s := range regions(c.w) {
			got += fmt.Sprint([]int{s.First, s.Ranks, len(s.Words)})
			if &s.Words[0] != &c.w.words[s.First][0] {
				t.Errorf("%s begins at another word", c.want)
			}
		}
		if flat := Flat(c.w); got != c.want || (flat != nil) != c.flat {
			t.Errorf("the regions are %q, not %q; flat: %v", got, c.want, flat != nil)
		}
	}
}
