package explore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/explore"
)

// checkTraces makes sure that each trace is a shortest way in doubling to a state that shows its
// target.
func checkTraces(t *testing.T, s setting, traces []explore.Trace, want map[int]uint64) {
	t.Helper()
	if len(traces) != len(want) {
		t.Fatalf("%v: %d traces, want %d", s, len(traces), len(want))
	}
	for _, tr := range traces {
		last := tr.Steps[len(tr.Steps)-1].State[0]
		if last != want[tr.Target] || tr.Steps[0].State[0] != 0 || tr.Alone {
			t.Errorf("%v: target %d: %v, want %d", s, tr.Target, tr.Steps, want[tr.Target])
		}
		for i, step := range tr.Steps[1:] {
			if step.State[0] != tr.Steps[i].State[0]<<1&(1<<10-1)|uint64(step.Action) {
				t.Errorf("%v: target %d: step %d of %v", s, tr.Target, i, tr.Steps)
			}
		}
	}
}

// Each target has a trace of its own, and the one of a number leads to its largest value.
func TestTraceEach(t *testing.T) {
	g := doubling(10)
	g.goal = 6 // 110: two steps to 3, and one more
	trace := []int{explore.Deadlock, findingTwice, findingGoal, findingLargest}
	for _, s := range levelSettings() {
		s.opts.Trace, s.opts.TraceEach = trace, true
		r := mustSearchModel(t, s, undecided{g})
		checkTraces(t, s, r.Traces, map[int]uint64{findingTwice: 1<<10 - 1, findingGoal: 6,
			findingLargest: 1<<10 - 1})
		for i, steps := range []int{11, 4, 11} {
			if len(r.Traces[i].Steps) != steps {
				t.Errorf("%v: %v, want %d steps", s, r.Traces[i].Steps, steps)
			}
		}
		if !slices.EqualFunc(r.Trace, r.Traces[0].Steps, func(a, b explore.Step) bool {
			return slices.Equal(a.State, b.State)
		}) || r.Traced != findingTwice || r.TracesCut {
			t.Errorf("%v: %v, traced %d", s, r.Trace, r.Traced)
		}
	}
}

// A rank has so many states in a level that it looks whether another one has found a predecessor.
// It does not take what was found for the trace before.
func TestTraceAfterAnother(t *testing.T) {
	const wide = 1 << 13
	g := &graph{bits: 14, words: 1, goal: 2*wide - 1, next: func(s uint64, out []uint64) []uint64 {
		switch {
		case s == 0:
			for child := range uint64(wide - 1) {
				out = append(out, 1+child)
			}
		case s < wide:
			out = append(out, s+wide)
		}
		return out
	}}
	for ranks := 1; ranks <= 3; ranks++ {
		r := mustSearchModel(t, setting{ranks: ranks, opts: explore.Options{TraceEach: true,
			Trace: []int{findingGoal, findingLargest, findingTwice}}}, undecided{g})
		for _, tr := range r.Traces {
			if len(tr.Steps) != 3 || tr.Steps[2].State[0] != g.goal {
				t.Errorf("%d ranks: target %d: %v", ranks, tr.Target, tr.Steps)
			}
		}
		if len(r.Traces) != 3 {
			t.Errorf("%d ranks: %d traces", ranks, len(r.Traces))
		}
	}
}

// undecided is a graph that is searched to its end.
type undecided struct{ *graph }

func (undecided) Decided([]uint64) bool { return false }

// An initial state may show what is largest.
func TestTraceOfInitialPeak(t *testing.T) {
	g := chain(100)
	g.initial = []uint64{50, 99}
	r := mustSearchModel(t, setting{ranks: 2, opts: explore.Options{TraceEach: true,
		Trace: []int{findingLargest}}}, undecided{g})
	if len(r.Traces) != 1 || len(r.Traces[0].Steps) != 1 || r.Traces[0].Steps[0].State[0] != 99 {
		t.Errorf("%+v", r.Traces)
	}
}

// Without levels, or after a checkpoint, the state alone is known.
func TestTraceAlone(t *testing.T) {
	g := doubling(10)
	g.goal = 700
	for _, s := range settings(1, 2) {
		if s.opts.Order != explore.AnyOrder {
			continue
		}
		s.opts.Trace, s.opts.TraceEach = []int{findingTwice, findingGoal}, true
		r := mustSearchModel(t, s, undecided{g})
		if len(r.Traces) != 1 || !r.Traces[0].Alone || r.Traces[0].Target != findingGoal ||
			len(r.Traces[0].Steps) != 1 || r.Traces[0].Steps[0].State[0] != 700 || r.Trace != nil {
			t.Errorf("%v: %+v", s, r.Traces)
		}
	}
}

// After an interruption there are no more traces. A level that is expanded once more says that the
// search is over.
func TestTracesCut(t *testing.T) {
	g := doubling(10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	expanded := 0
	g.hook = func(uint64) error {
		if expanded++; expanded > 1<<10+1 { // the search, and an initial state before it
			cancel()
		}
		return nil
	}
	s := setting{ranks: 1, ctx: func(int) context.Context { return ctx }, opts: explore.Options{
		TraceEach: true, Trace: []int{findingTwice, findingLargest}}}
	r := mustSearchModel(t, s, undecided{g})
	if !r.Complete || !r.TracesCut || len(r.Traces) != 0 {
		t.Errorf("%+v", r)
	}
}

// The search ends at a limit, and says which.
func TestLimits(t *testing.T) {
	for _, s := range levelSettings() {
		s.opts.MaxDepth = 4
		r := mustSearchModel(t, s, doubling(10))
		if r.Complete || r.Reason != explore.LimitReached || r.Depth != 4 || r.States != 1<<5 ||
			r.Detail != "the states up to depth 4 were expanded, which is the limit" {
			t.Errorf("%v: %+v", s, r)
		}
		for depth, complete := range map[uint64]bool{9: false, 10: true, 11: true} {
			s.opts.MaxDepth = depth // the last level has no new successors
			if r := mustSearchModel(t, s, doubling(10)); r.Complete != complete {
				t.Errorf("%v: depth %d: %+v", s, depth, r)
			}
		}
	}
	for _, s := range settings(1, 2) {
		s.opts.MaxStates = 5000
		r := mustSearchModel(t, s, doubling(20))
		if r.Complete || r.Reason != explore.LimitReached || r.States < 5000 || r.States > 50_000 {
			t.Errorf("%v: %+v", s, r)
		}
		s.opts.MaxStates = 1 << 30
		if r := mustSearchModel(t, s, doubling(10)); !r.Complete {
			t.Errorf("%v: %+v", s, r)
		}
	}
}

// No levels, no limit of them.
func TestMaxDepthInAnyOrder(t *testing.T) {
	s := setting{ranks: 1, opts: explore.Options{MaxDepth: 3, Order: explore.AnyOrder}}
	_, err := searchModel(s, func(int) explore.Model { return doubling(4) })
	if err == nil {
		t.Error("MaxDepth in any order was not refused")
	}
}
