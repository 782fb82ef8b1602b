package check_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/statespace/check"
)

// forgetful is a state whose methods keep n, a list without its order, and a set, in an order that
// is drawn. Each type of states takes the compiler seconds, so it is one for all tests here.
type forgetful struct {
	n      uint16
	hidden bool
	cached string
	items  []byte
	set    map[byte]bool // nil if there are items
}

func (f *forgetful) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint16(b, f.n)
	for key := range f.set {
		b = append(b, key)
	}
	return append(b, slices.Sorted(slices.Values(f.items))...), nil
}

func (f *forgetful) UnmarshalBinary(b []byte) error {
	*f = forgetful{n: binary.LittleEndian.Uint16(b)}
	if f.n != aSet {
		f.items = slices.Clone(b[2:])
		return nil
	}
	f.set = map[byte]bool{}
	for _, key := range b[2:] {
		f.set[key] = true
	}
	return nil
}

const aSet = 1000 // n of a state that is a set

// counting counts to 100 and has hidden set in the states that are hidden.
func counting(hidden func(n uint16) bool) check.Model[forgetful] {
	at := func(n uint16) forgetful {
		return forgetful{n: n, hidden: hidden(n), cached: fmt.Sprint(n)}
	}
	return check.Model[forgetful]{Name: "counting", Init: []forgetful{at(0)}, MaxBytes: 2,
		Deadlocks: true, Next: func(s forgetful, emit func(string, forgetful)) {
			if s.n < 100 {
				emit("up", at(s.n+1))
			}
		}}
}

// A field that AppendBinary leaves out is noticed if a property or Next depends on it.
func TestCodecForgets(t *testing.T) {
	is := func(s forgetful) bool { return s.hidden }
	isNot := func(s forgetful) bool { return !s.hidden }
	same := func(s forgetful) forgetful { return s }
	for _, at := range []uint16{0, 1, 100} {
		hidden := func(n uint16) bool { return n == at }
		m := counting(hidden)
		m.Properties = []check.Property[forgetful]{check.Sometimes("hidden", is)}
		mustSay(t, "Holds", m, `"hidden" is not the same`)
		m.Canonical = same
		mustSay(t, "Holds, Canonical", m, `"hidden" is not the same`)
		m = counting(hidden)
		m.Properties = []check.Property[forgetful]{check.LeadsTo("then",
			func(forgetful) bool { return true }, isNot)}
		mustSay(t, "Then", m, `"then" is not the same`)
		for _, lost := range []bool{true, false} { // the one with hidden leads to more, or to less
			m = counting(hidden)
			next := m.Next
			m.Next = func(s forgetful, emit func(string, forgetful)) {
				if next(s, emit); s.hidden == lost {
					emit("back", forgetful{n: 200})
				}
			}
			mustSay(t, "Next", m, "Next emits other states after it")
		}
	}
	for _, canonical := range []func(forgetful) forgetful{nil, same} {
		m := counting(func(n uint16) bool { return n%2 == 1 }) // on which nothing depends
		m.Canonical = canonical
		if r := check.Test(t, m); r.States != 101 {
			t.Errorf("%d states", r.States)
		}
	}
}

// Canonical may lose as well what AppendBinary leaves out: then what Next emits is compared.
func TestCodecLosesBeforeCanonical(t *testing.T) {
	m := counting(func(n uint16) bool { return n == 50 })
	m.Properties = []check.Property[forgetful]{check.Sometimes("hidden",
		func(s forgetful) bool { return s.hidden })}
	m.Canonical = func(s forgetful) forgetful { return forgetful{n: s.n} }
	mustSay(t, "Canonical loses it", m, `"hidden" is not the same`)
}

// A codec may bring a state into another form that leads to the same.
func TestCodecSorts(t *testing.T) {
	m := check.Model[forgetful]{Name: "bag", Init: []forgetful{{}}, MaxBytes: 5, Deadlocks: true,
		Next: func(s forgetful, emit func(string, forgetful)) {
			for item := byte(0); item < 3 && len(s.items) < 3; item++ {
				emit("put", forgetful{items: append([]byte{item}, s.items...)})
			}
		},
		Properties: []check.Property[forgetful]{
			check.Always("short", func(s forgetful) bool { return len(s.items) <= 3 })}}
	if r := check.Test(t, m); r.States != 1+3+6+10 {
		t.Errorf("%d states", r.States)
	}
}

// A packing in an order that is drawn is called that, and no change in place. Every search draws
// anew, and one in four would take it for such a change if it drew twice.
func TestPackedInAnyOrder(t *testing.T) {
	set := forgetful{n: aSet, set: map[byte]bool{1: true, 2: true}}
	m := check.Model[forgetful]{Init: []forgetful{set}, MaxBytes: 4, Deadlocks: true,
		Next: func(forgetful, func(string, forgetful)) {}}
	for range 60 {
		_, err := runOn(1, m, check.Options{Mem: 16 << 20})
		if err != nil && !strings.Contains(err.Error(), "AppendBinary, after UnmarshalBinary of "+
			"what it had appended for this state, appended something else") {
			t.Fatal(err)
		}
	}
}

// Names of actions are as steady as states: fairness and traces rest on them.
func TestNamesForgotten(t *testing.T) {
	m := tree(1 << 10)
	next := m.Next
	var calls atomic.Int64
	m.Next = func(s uint32, emit func(string, uint32)) {
		next(s, func(_ string, s uint32) { emit(fmt.Sprint("down ", calls.Add(1)), s) })
	}
	mustSay(t, "names", m, "Next gave actions other names when it was called again")
	m = tree(1 << 10)
	m.Next = func(s uint32, emit func(string, uint32)) { // in the order of the states, not of names
		next(s, func(_ string, at uint32) { emit([]string{"left", "right"}[at%2], at) })
	}
	if r := check.Test(t, m); r.States != 1<<10 {
		t.Errorf("%d states", r.States)
	}
}
