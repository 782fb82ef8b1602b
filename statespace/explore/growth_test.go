package explore_test

import (
	"testing"

	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/statespace/explore"
)

// tightMem is the least memory there is. With states of tightWords words the table
// begins with 1024 buckets, grows after some 820, 1640 and 3280 states, and is full after
// some 5000, for up to 4 ranks.
const (
	tightMem   = 4 << 20
	tightWords = 64
)

// tightSettings are searches with the least memory.
func tightSettings(hidden bool, ranks ...int) []setting {
	var all []setting
	for _, s := range settings(ranks...) {
		if s.opts.Encoding == explore.EncodingElement && s.hidden == hidden {
			s.opts.Mem = tightMem
			all = append(all, s)
		}
	}
	return all
}

// All ranks grow the table together, again and again.
func TestGrowth(t *testing.T) {
	const bits = 12
	rounds := seeds.Often(3, 6)
	for round := range rounds {
		for _, s := range append(tightSettings(false, 1, 2, 4), tightSettings(true, 4)...) {
			if s.opts.Check = round == 0; s.hidden && round != 0 {
				continue
			}
			r := mustCount(t, s, doubling(bits).long(tightWords),
				wantDoubling(bits, s.opts.Order))
			if buckets := float64(r.States) / r.LoadFactor; buckets < 4096 || buckets > 7000 {
				t.Fatalf("%v: %v buckets", s, buckets)
			}
		}
	}
}

// The tables of trees grow, the table of nodes more often.
func TestGrowthOfTrees(t *testing.T) {
	bits := 13
	if testing.Short() {
		bits = 12
	}
	for _, words := range []int{2, 5} {
		if words > 2 && testing.Short() {
			break
		}
		for _, s := range settings(1, 4) {
			if s.opts.Encoding != explore.EncodingTree {
				continue
			}
			s.opts.Check = true
			r := mustCount(t, s, doubling(bits).long(words), wantDoubling(bits, s.opts.Order))
			nodes := 8.0 // of a state, and a table and a slot each
			if words == 2 {
				nodes = 1
			}
			if float64(r.Bytes) < nodes*16*float64(r.States) {
				t.Errorf("%v, %d words: %v bytes", s, words, r.Bytes)
			}
		}
	}
}

// Words outgrow the table that searches begin with.
func TestGrowthOfWords(t *testing.T) {
	for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
		s := setting{ranks: 4, opts: explore.Options{Order: order, Check: true}}
		r := mustCount(t, s, doubling(17), wantDoubling(17, order))
		if r.LoadFactor > 0.87 || r.LoadFactor < 0.2 {
			t.Fatalf("%v: load factor %v", s, r.LoadFactor)
		}
	}
	s := setting{ranks: 2, hidden: true}
	mustCount(t, s, doubling(16), wantDoubling(16, s.opts.Order))
}

// The table grows until memory is short, and then not at all: the search continues until
// the table is full, and says what it needs. With that it comes through in the end. It may
// find some states less than with less memory, where the last table that has room is smaller.
func TestMemoryFull(t *testing.T) {
	all := tightSettings(false, 1, 3)
	for i := range all {
		if all[i].ranks == 3 && all[i].opts.Order == explore.BreadthFirst {
			all[i].opts.Trace = []int{explore.Deadlock}
		}
	}
	all = append(all, setting{ranks: 4, opts: explore.Options{Mem: 4 << 20}},
		setting{ranks: 3, opts: explore.Options{Mem: 4 << 20, Encoding: explore.EncodingTree}})
	for _, s := range all {
		bits, m := 18, doubling(18)
		if s.opts.Encoding == explore.EncodingElement {
			bits, m = 14, doubling(14).long(tightWords)
		} else if s.opts.Encoding == explore.EncodingTree {
			bits, m = 14, doubling(14).long(3)
		}
		last := uint64(0)
		for {
			r := mustSearchModel(t, s, m)
			if got := r.Bytes; got > s.opts.Mem {
				t.Fatalf("%v: %v bytes used, of %d", s, got, s.opts.Mem)
			}
			if r.Complete {
				if got := countsOf(r); got != wantDoubling(bits, s.opts.Order) {
					t.Errorf("%v: %+v", s, got)
				}
				break
			}
			if r.Reason != explore.MemoryFull || r.States < last*3/4 || r.States > 1<<bits ||
				r.NeedMem <= s.opts.Mem || r.Detail == "" {
				t.Fatalf("%v with %d bytes, %d states before: %+v", s, s.opts.Mem, last, r)
			}
			last, s.opts.Mem = r.States, r.NeedMem
		}
		if last == 0 {
			t.Errorf("%v: the least memory was enough", s)
		}
	}
}

// States that wait on one rank may take the memory that the others do not need for theirs, but no
// more.
func TestFrontierShare(t *testing.T) {
	const n = 20_000
	s := setting{ranks: 1, opts: explore.Options{Mem: 4 << 20}}
	mustCount(t, s, star(n), wantStar(n, s.opts.Order))
	s.ranks = 32
	mustCount(t, s, star(n), wantStar(n, s.opts.Order))
	r := mustSearchModel(t, s, star(20*n))
	if r.Complete || r.Reason != explore.MemoryFull || r.States == 0 || r.LoadFactor > 0.5 ||
		r.NeedMem <= s.opts.Mem {
		t.Errorf("%v: %+v", s, r)
	}
	s.opts.Mem *= 8
	mustCount(t, s, star(20*n), wantStar(20*n, s.opts.Order))
}
