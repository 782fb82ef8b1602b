package check_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// An initial state may be the deadlock.
func TestInitialDeadlock(t *testing.T) {
	m := check.Model[uint8]{Name: "up", Init: []uint8{9},
		Next: func(s uint8, emit func(string, uint8)) {
			if s < 9 {
				emit("up", s+1)
			}
		}}
	for _, init := range [][]uint8{{9}, {0, 9}} {
		m.Init = init
		r, err := runOn(1, m, check.Options{})
		if err != nil || r.Shown != "deadlock" || len(r.Path) != 1 || r.Path[0].State != 9 {
			t.Errorf("%v: %+v, %v", init, r, err)
		}
	}
}

// A search that has found what is to be found continues for a deadlock, and for the rest.
func TestAllFound(t *testing.T) {
	m := tree(1000)
	m.Properties = []check.Property[uint32]{
		check.Sometimes("one", func(s uint32) bool { return s == 1 }),
		check.Sometimes("two", func(s uint32) bool { return s == 2 })}
	for _, last := range []uint32{2, 900, 1000} {
		m.Deadlocks = true
		m.Properties[1].Holds = func(s uint32) bool { return s == last }
		r, err := runOn(2, m, check.Options{})
		want := logic.True
		if last == 1000 {
			want = logic.False
		}
		if err != nil || r.Properties[0].Verdict != logic.True || r.Properties[1].Verdict != want ||
			r.Violated() {
			t.Errorf("%d: %+v, %v", last, r, err)
		}
		m.Deadlocks = false
		if r, err = runOn(2, m, check.Options{}); err != nil || r.Shown != "deadlock" {
			t.Errorf("%d: %+v, %v", last, r, err)
		}
	}
}

// In any order a violation is named, without a path.
func TestAnyOrder(t *testing.T) {
	m := tree(1000)
	m.Deadlocks = false
	anyOrder := check.Options{Order: explore.AnyOrder}
	for _, shown := range []string{"deadlock", "small"} {
		r, err := runOn(2, m, anyOrder)
		if err != nil || r.Shown != shown || r.Path != nil ||
			!strings.Contains(r.Report(), "VIOLATED: ") {
			t.Errorf("%s: %+v, %v", shown, r, err)
		}
		m.Deadlocks = true
		m.Properties = []check.Property[uint32]{
			check.Always("small", func(s uint32) bool { return s < 900 })}
	}
}

// Each state that is emitted has to fit, not the last one alone.
func TestFirstDoesNotFit(t *testing.T) {
	m := check.Model[counter]{Init: []counter{{}},
		Next: func(s counter, emit func(string, counter)) {
			emit("jump", counter{N: s.N + 8})
			emit("step", counter{N: 1})
		}}
	mustSay(t, "the first of two", m, "N is 8, which 3 bits do not hold; raise its tag\n"+
		"  in state {N:0 M:0}\n  at action jump")
}

// An error names no action that another state had emitted.
func TestActionOfError(t *testing.T) {
	m := tree(1000)
	next := m.Next
	m.Next = func(s uint32, emit func(string, uint32)) {
		if s == 500 {
			panic("lost")
		}
		next(s, emit)
	}
	_, err := runOn(1, m, check.Options{})
	if err == nil || !strings.Contains(err.Error(), "in state 500") ||
		strings.Contains(err.Error(), "at action") {
		t.Errorf("error %v", err)
	}
}

// After the first states others are still sampled.
func TestNextForgetsMuch(t *testing.T) {
	var calls [1 << 18]atomic.Int64
	m := tree(uint32(len(calls)))
	next := m.Next
	m.Next = func(s uint32, emit func(string, uint32)) {
		if next(s, emit); s >= 1<<17 && calls[s].Add(1) > 1 {
			emit("remembers", 0)
		}
	}
	r, err := runOn(1, m, check.Options{})
	if err == nil || !strings.Contains(err.Error(), "Next emitted other states") {
		t.Errorf("%+v, %v", r, err)
	}
}
