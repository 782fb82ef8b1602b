package check_test

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/statespace/check"
)

// tree has the numbers below size as states, each the number of a node of a binary tree.
func tree(size uint32) check.Model[uint32] {
	return check.Model[uint32]{Name: "tree", Init: []uint32{0}, Deadlocks: true,
		Next: func(s uint32, emit func(string, uint32)) {
			for next := 2*s + 1; next <= 2*s+2 && next < size; next++ {
				emit("down", next)
			}
		}}
}

// Next is called twice for each of the first 65,536 states, the last one too.
func TestNextForgets(t *testing.T) {
	const states = 1 << 16
	sizes := []int{1, 2, 4}
	if invariant.Enabled {
		sizes = sizes[:1]
	}
	for _, ranks := range sizes {
		for _, at := range []uint32{1, 1000, states - 1} {
			var calls atomic.Int64
			m := tree(states)
			next := m.Next
			m.Next = func(s uint32, emit func(string, uint32)) {
				if next(s, emit); s == at && calls.Add(1) > 1 {
					emit("remembers", 0)
				}
			}
			r, err := runOn(ranks, m, check.Options{})
			if err == nil || !strings.Contains(err.Error(), "Next emitted other states") {
				t.Errorf("%d ranks, at %d: %+v, %v", ranks, at, r, err)
			}
		}
	}
}

// kept is a list that keeps the bytes that it is given.
type kept struct{ bytes []byte }

func (k *kept) AppendBinary(b []byte) ([]byte, error) { return append(b, k.bytes...), nil }
func (k *kept) UnmarshalBinary(b []byte) error        { k.bytes = b; return nil }

// A state that is changed in place is found wherever it is.
func TestChangedInPlace(t *testing.T) {
	const size = 300 // of a grid, with more states than Next is called twice for
	grid := func() check.Model[list] {
		return check.Model[list]{Name: "grid", Init: []list{{items: make([]uint16, 2)}},
			MaxBytes: 4, Deadlocks: true, Next: func(s list, emit func(string, list)) {
				for i, n := range s.items {
					if n < size {
						next := slices.Clone(s.items)
						next[i]++
						emit("step", list{next})
					}
				}
			}}
	}
	if r := check.Test(t, grid()); r.States != (size+1)*(size+1) {
		t.Errorf("%d states", r.States)
	}
	places := [][]uint16{{0, 1}, {size, size - 1}}
	if invariant.Enabled {
		places = places[1:]
	}
	for _, rare := range places {
		spoil := func(s list) {
			if slices.Equal(s.items, rare) {
				s.items[0] = 7
			}
		}
		next, holds, canonical := grid(), grid(), grid()
		next.Next = func(s list, emit func(string, list)) { grid().Next(s, emit); spoil(s) }
		holds.Properties = []check.Property[list]{
			check.Always("any", func(s list) bool { spoil(s); return true })}
		canonical.Next = func(s list, emit func(string, list)) {
			grid().Next(s, emit)
			if slices.Equal(s.items, rare) {
				emit("same", s)
			}
		}
		canonical.Canonical = func(s list) list {
			result := list{slices.Clone(s.items)}
			spoil(s)
			return result
		}
		for who, m := range map[string]check.Model[list]{"Next": next, "Holds": holds,
			"Canonical": canonical} {
			mustSay(t, who, m, "changed this state in place, to {items:[7")
		}
	}
	keeps := check.Model[kept]{Name: "kept", Init: []kept{{[]byte{0, 0}}}, MaxBytes: 2,
		Deadlocks: true, Next: func(s kept, emit func(string, kept)) {
			if s.bytes[0] < 20 {
				next := slices.Clone(s.bytes)
				next[0]++
				emit("up", kept{next})
			}
			s.bytes[1] = s.bytes[0] / 20
		}}
	mustSay(t, "a state with the bytes that it was given", keeps, "{bytes:[20 1]}")
}

// mustSay checks a model, which is wrong, on 1 and 3 ranks.
func mustSay[S any](t *testing.T, what string, m check.Model[S], says string) {
	t.Helper()
	for _, ranks := range []int{1, 3} {
		r, err := runOn(ranks, m, check.Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s, %d ranks: %+v, %v; want %q", what, ranks, r, err, says)
		}
	}
}

// Canonical of what it has returned is that, for initial states too.
func TestCanonicalTwice(t *testing.T) {
	type pair [2]uint16
	grid := func(wrong pair, init ...pair) check.Model[pair] {
		return check.Model[pair]{Name: "grid", Init: init, Deadlocks: true,
			Next: func(s pair, emit func(string, pair)) {
				for i := range s {
					if next := s; s[i] < 30 {
						next[i]++
						emit("step", next)
					}
				}
			},
			Canonical: func(s pair) pair {
				if cmp.Less(s[1], s[0]) || s == wrong {
					return pair{s[1], s[0]}
				}
				return s
			}}
	}
	if r := check.Test(t, grid(pair{}, pair{}, pair{3, 1})); r.States != 31*32/2 {
		t.Errorf("%d states", r.States)
	}
	const says = "Canonical had returned this state, and returned another one for it: ["
	mustSay(t, "a rare state", grid(pair{20, 21}, pair{}), says)
	mustSay(t, "an initial state", grid(pair{29, 30}, pair{30, 29}), says)
}

// A state that is packed otherwise each time is refused, though nothing changes it.
func TestPackedOtherwise(t *testing.T) {
	m := check.Model[shuffled]{Init: []shuffled{60}, MaxBytes: 2, Deadlocks: true,
		Next: func(shuffled, func(string, shuffled)) {}}
	_, err := runOn(1, m, check.Options{}) // more ranks have other initial states
	if err == nil || !strings.Contains(err.Error(), "appended something else; have them keep all "+
		"of it, in a fixed order\n  in state 60") {
		t.Errorf("error %v", err)
	}
	m.Init[0] = 0
	m.Next = func(s shuffled, emit func(string, shuffled)) {
		if s < 100 {
			emit("up", s+1)
		}
	}
	mustSay(t, "a next state", m, "have Next and AppendBinary depend on nothing else\n"+
		"  in state 50")
}

// shuffled is a state with more than one packing.
type shuffled uint8

var packings atomic.Int64

func (s *shuffled) AppendBinary(b []byte) ([]byte, error) {
	if *s > 50 {
		return append(b, byte(*s), byte(packings.Add(1))), nil
	}
	return append(b, byte(*s), 0), nil
}

func (s *shuffled) UnmarshalBinary(b []byte) error { *s = shuffled(b[0]); return nil }
