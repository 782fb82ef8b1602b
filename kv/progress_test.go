package kv

import "testing"

// A part that is finished when its table has been dropped is not counted again.
func TestProgressAfterDrop(t *testing.T) {
	var p progress
	if left := p.begin(1, 3, 0, 1); left != 3 {
		t.Fatalf("%d parts are left, want 3", left)
	}
	first, _ := p.claim(1)
	second, ok := p.claim(1)
	if p.finish(1, first); !ok || p.begin(1, 3, 0, 1) != 2 {
		t.Errorf("parts %d and %d were claimed, and after the first %d are left", first, second,
			p.begin(1, 3, 0, 1))
	}
	p.drop(1)
	p.finish(1, second)
	if left := p.begin(1, 3, 0, 1); left != 0 {
		t.Errorf("%d parts are left of a table that was dropped", left)
	}
	if _, ok := p.claim(1); ok {
		t.Error("a part of a table that was dropped was claimed")
	}
}

// A part has moved when all its lanes have, and not if one has failed.
func TestPartMovesWithAllLanes(t *testing.T) {
	for _, fails := range []bool{false, true} {
		m := &Map{}
		m.moves.begin(1, 2, 0, 1)
		w := division{m: m, from: &table{gen: 1}, left: map[int]int{1: 2}}
		for lane, want := range []int{2, 1} {
			if fails {
				want = 2
			}
			w.ended(&mover{part: 1, tooLate: fails && lane == 0})
			if left := m.moves.begin(1, 2, 0, 1); left != want || w.tooLate != fails {
				t.Errorf("one fails: %v. After %d lanes %d parts are left, want %d", fails, lane+1,
					left, want)
			}
		}
	}
}
