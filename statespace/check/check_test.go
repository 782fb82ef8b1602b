package check_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// mutex is a state of two processes that take turns by Peterson's algorithm.
type mutex struct {
	At   [2]uint8 `bits:"2"` // 0: outside, 1: flag is raised, 2: waits, 3: critical
	Flag [2]bool
	Turn uint8 `bits:"1"`
}

// peterson is the algorithm, or one whose processes do not give way.
func peterson(polite bool) check.Model[mutex] {
	return check.Model[mutex]{Name: "peterson", Init: []mutex{{}},
		Next: func(s mutex, emit func(string, mutex)) {
			for p := range s.At {
				next, other := s, 1-p
				next.At[p] = (s.At[p] + 1) % 4
				switch s.At[p] {
				case 0:
					next.Flag[p] = true
				case 1:
					if polite {
						next.Turn = uint8(other)
					}
				case 2:
					if s.Flag[other] && int(s.Turn) == other {
						continue
					}
				case 3:
					next.Flag[p] = false
				}
				emit(fmt.Sprintf("process %d leaves %d", p, s.At[p]), next)
			}
		},
		Properties: []check.Property[mutex]{
			check.Always("mutual exclusion", func(s mutex) bool { return s.At != [2]uint8{3, 3} }),
			check.Sometimes("one is critical", func(s mutex) bool { return s.At[1] == 3 }),
		}}
}

// runOn checks a model on some ranks.
func runOn[S any](ranks int, m check.Model[S], opts check.Options) (*check.Result[S], error) {
	var first *check.Result[S]
	err := local.Run(ranks, func(job rma.Job) error {
		r, err := check.Run(context.Background(), job, m, opts)
		if job.Rank() == 0 {
			first = r
		}
		return err
	})
	return first, err
}

func TestPeterson(t *testing.T) {
	r := check.Test(t, peterson(true))
	if !r.Complete || r.Violated() || r.States < 10 || r.Path != nil {
		t.Errorf("%+v", r)
	}
	for _, ranks := range []int{1, 2, 4} {
		r, err := runOn(ranks, peterson(false), check.Options{})
		if err != nil || r.Shown != "mutual exclusion" || len(r.Path) != 7 ||
			r.Path[6].State.At != [2]uint8{3, 3} || r.Properties[0].Verdict != logic.False {
			t.Fatalf("%d ranks: %+v, %v", ranks, r, err)
		}
		report := r.Report()
		for _, part := range []string{"VIOLATED: mutual exclusion, after 6 steps:",
			"At[1]: 2 -> 3", "process 0 leaves 0  At[0]: 0 -> 1, Flag[0]: false -> true",
			"always mutual exclusion: false"} {
			if !strings.Contains(report, part) {
				t.Errorf("no %q in %s", part, report)
			}
		}
	}
}

// A deadlock is a violation, unless it is allowed.
func TestDeadlock(t *testing.T) {
	m := check.Model[[3]int16]{Name: "down", Init: [][3]int16{{2, -3, 9}, {5, 5, 5}},
		Next: func(s [3]int16, emit func(string, [3]int16)) {
			if s[0] > 0 {
				emit("down", [3]int16{s[0] - 1, s[1], s[2]})
			}
		}}
	r, err := runOn(2, m, check.Options{})
	if err != nil || r.Shown != "deadlock" || len(r.Path) != 3 ||
		r.Path[2].State != [3]int16{0, -3, 9} || !r.Violated() {
		t.Errorf("%+v, %v", r, err)
	}
	m.Deadlocks = true
	if r := check.Test(t, m); r.States != 9 || r.Deadlocks != 2 {
		t.Errorf("%+v", r)
	}
}

// list is a state of no fixed size.
type list struct{ items []uint16 }

func (l *list) AppendBinary(b []byte) ([]byte, error) {
	for _, item := range l.items {
		b = binary.LittleEndian.AppendUint16(b, item)
	}
	return b, nil
}

func (l *list) UnmarshalBinary(b []byte) error {
	for ; len(b) >= 2; b = b[2:] {
		l.items = append(l.items, binary.LittleEndian.Uint16(b))
	}
	return nil
}

// permutations adds numbers to a list, each once.
func permutations(n int) check.Model[list] {
	return check.Model[list]{Name: "permutations", Init: []list{{}}, MaxBytes: 2 * n,
		Deadlocks: true,
		Next: func(s list, emit func(string, list)) {
			for i := range uint16(n) {
				if !slices.Contains(s.items, i) {
					emit("add", list{append(slices.Clone(s.items), i)})
				}
			}
		}}
}

func TestBinaryStates(t *testing.T) {
	if r := check.Test(t, permutations(6)); r.States != 1957 || r.Deadlocks != 720 {
		t.Errorf("%+v", r)
	}
}

// Symmetry leaves one state of several.
func TestCanonical(t *testing.T) {
	m := permutations(6)
	m.Canonical = func(s list) list {
		s.items = slices.Sorted(slices.Values(s.items))
		return s
	}
	if r := check.Test(t, m); r.States != 64 || r.Deadlocks != 1 {
		t.Errorf("%+v", r)
	}
	m.Deadlocks = false
	r, err := runOn(2, m, check.Options{})
	if err != nil || len(r.Path) != 7 {
		t.Errorf("%+v, %v", r, err)
	}
}

// counter counts to 9 in 3 bits.
type counter struct {
	N uint8 `bits:"3"`
	M int8  `bits:"3"`
}

// What a model must not do is an error with the state and the action.
func TestModelWrong(t *testing.T) {
	up := func(s counter, emit func(string, counter)) { emit("up", counter{N: s.N + 1}) }
	var calls atomic.Int64
	for says, m := range map[string]check.Model[counter]{
		"N is 8, which 3 bits do not hold; raise its tag\n  in state {N:7 M:0}\n  at action up": {
			Next: up},
		"M is -5, which 3 bits do not hold": {
			Next: func(s counter, emit func(string, counter)) {
				emit("down", counter{M: s.M - 1})
			}},
		"it panicked: lost": {Next: func(counter, func(string, counter)) { panic("lost") }},
		"Next emitted other states, or in another order": {
			Next: func(_ counter, emit func(string, counter)) {
				emit("random", counter{N: uint8(calls.Add(1) % 8)})
			}},
		"which 3 bits do not hold; raise its tag\n  in state {N:9 M:0}, an initial one": {
			Init: []counter{{N: 9}}, Next: up},
		"it panicked: no symmetry": {Next: up,
			Canonical: func(counter) counter { panic("no symmetry") }},
		"has no initial state": {Init: []counter{}, Next: up},
		"has no Next":          {},
		"needs another name": {Next: up,
			Properties: []check.Property[counter]{
				check.Always("", func(counter) bool { return true })}},
		"two properties": {Next: up, Properties: []check.Property[counter]{
			check.Always("x", func(counter) bool { return true }),
			check.Always("x", func(counter) bool { return true })}},
		"is not complete": {Next: up, Properties: []check.Property[counter]{{Name: "x"}}},
	} {
		if m.Init == nil {
			m.Init = []counter{{}}
		}
		m.Name = "m"
		for _, ranks := range []int{1, 3} {
			if r, err := runOn(ranks, m, check.Options{}); err == nil ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("%q, %d ranks: %+v, %v", says, ranks, r, err)
			}
		}
	}
}

// lossy is a state whose methods lose what they are to keep.
type lossy [2]uint16

func (l *lossy) AppendBinary(b []byte) ([]byte, error) {
	return append(b, byte(l[0]), byte(l[1])), nil
}

func (l *lossy) UnmarshalBinary(b []byte) error {
	if len(b) != 2 {
		return errors.New("not two bytes")
	}
	l[0] = uint16(b[0])
	return nil
}

func TestStatesWrong(t *testing.T) {
	next := func(s lossy, emit func(string, lossy)) { emit("up", lossy{s[0], s[1] + 1}) }
	for says, maxBytes := range map[string]int{"do not keep all of the state [0 1]": 2,
		"Model.MaxBytes is 0": 0, "appended 2 bytes, and Model.MaxBytes is 1": 1} {
		_, err := runOn(1, check.Model[lossy]{Init: []lossy{{}}, Next: next, MaxBytes: maxBytes},
			check.Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("MaxBytes %d: %v, want %q", maxBytes, err, says)
		}
	}
	type bare list // has no methods
	_, err := runOn(1, check.Model[bare]{Init: []bare{{}}, Deadlocks: true,
		Next: func(bare, func(string, bare)) {}}, check.Options{})
	if err == nil || !strings.Contains(err.Error(), ".items is a []uint16") {
		t.Errorf("error %v", err)
	}
	type empty = [min(1<<40, math.MaxInt)]struct{}
	r, err := runOn(1, check.Model[empty]{Init: []empty{{}}, Deadlocks: true,
		Next: func(empty, func(string, empty)) {}}, check.Options{})
	if err != nil || r.States != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	mustRefuse[string](t, "string is a string")
	mustRefuse[struct{ A struct{ B []int } }](t, ".A.B is a []int")
	mustRefuse[[2]*int](t, "[0] is a *int")
	mustRefuse[float64](t, "is a float64")
	mustRefuse[[5000]uint64](t, "[5000]uint64 has more than 32768 bits")
	mustRefuse[struct {
		A uint8 `bits:"9"`
	}](t, "and only 8 bits")
	mustRefuse[struct {
		A uint8 `bits:"x"`
	}](t, "give it a number")
	mustRefuse[struct {
		A [2]struct{ B uint8 } `bits:"3"`
	}](t, "A[0] has the tag bits:\"3\" and is a struct; give the tag to its fields")
}

// mustRefuse checks a type that is no state. A Model of each would take the compiler seconds.
func mustRefuse[S any](t *testing.T, says string) {
	t.Helper()
	if err := check.Refusal[S](); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%T: %v, want %q", *new(S), err, says)
	}
}

// wide has a field of each kind, some of them across words, with padding between.
type wide struct {
	A bool
	B int64
	C [3]uint16 `bits:"13"`
	D int32
	E struct {
		F uint8
		G int64 `bits:"50"`
		H uint8 `bits:"1"`
	}
	I [5]bool
	J uint64
	K int16 `bits:"5"`
	L [7]uint8
}

// Every field comes back, whatever the others are.
func TestFields(t *testing.T) {
	values := []wide{{}, {A: true, B: -1, C: [3]uint16{1<<13 - 1, 0, 5}, D: -7, J: 1 << 63, K: -16},
		{B: 1 << 62, C: [3]uint16{1, 2, 3}, I: [5]bool{true, false, true}, K: 15,
			L: [7]uint8{1, 2, 3, 4, 5, 6, 7}}}
	values[2].E.F, values[2].E.G, values[2].E.H = 255, -1<<49, 1
	values[1].E.G = 1<<49 - 1
	m := check.Model[wide]{Name: "wide", Init: values, Deadlocks: true,
		Next: func(s wide, emit func(string, wide)) {
			if !slices.Contains(values, s) {
				panic(fmt.Sprintf("%+v is none of them", s))
			}
			for _, next := range values {
				emit("any", next)
			}
		}}
	if r := check.Test(t, m); r.States != 3 {
		t.Errorf("%+v", r)
	}
}

// A checkpoint is not resumed with other properties, whose answers it does not have.
func TestOtherProperties(t *testing.T) {
	path := t.TempDir() + "/saved"
	m := check.Model[uint64]{Name: "tree", Init: []uint64{0}, Deadlocks: true,
		Next: func(s uint64, emit func(string, uint64)) {
			if s < 1<<12 {
				emit("left", 2*s+1)
				emit("right", 2*s+2)
			}
		},
		Properties: []check.Property[uint64]{
			check.Always("a", func(s uint64) bool { return s < 1<<40 })}}
	_, err := runOn(1, m, check.Options{Checkpoint: path, CheckpointEvery: 1})
	if err != nil {
		t.Fatal(err)
	}
	named, other, deadlocks := m, m, m
	named.Properties = []check.Property[uint64]{check.Always("b", m.Properties[0].Holds)}
	other.Properties = []check.Property[uint64]{check.Sometimes("a", m.Properties[0].Holds)}
	deadlocks.Deadlocks = false
	fair := m
	fair.StronglyFair = []string{"left"}
	for i, m := range []check.Model[uint64]{named, other, deadlocks, fair} {
		_, err = runOn(1, m, check.Options{Resume: path})
		if err == nil || !strings.Contains(err.Error(), "belongs to another model") {
			t.Errorf("model %d: %v", i, err)
		}
	}
	if r, err := runOn(1, m, check.Options{Resume: path}); err != nil || !r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
}

// A result that is not complete says what is not known.
func TestUnknown(t *testing.T) {
	m := check.Model[uint64]{Name: "endless", Init: []uint64{0},
		Next: func(s uint64, emit func(string, uint64)) {
			emit("left", 2*s+1)
			emit("right", 2*s+2)
		},
		Properties: []check.Property[uint64]{
			check.Always("no end", func(s uint64) bool { return s+1 != 0 }),
			check.Sometimes("three", func(s uint64) bool { return s == 3 })}}
	r, err := runOn(2, m, check.Options{Mem: 8 << 20})
	if err != nil || r.Reason != explore.MemoryFull || r.Properties[0].Verdict != logic.Unknown ||
		r.Properties[1].Verdict != logic.True || !strings.Contains(r.Report(), "INCOMPLETE") {
		t.Errorf("%+v, %v", r, err)
	}
}
