package check

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/logic"
)

// simulated walks on some ranks, which must agree.
func simulated[S any](t *testing.T, ctx context.Context, ranks int, m Model[S],
	opts Simulation) (*Simulated[S], error) {
	t.Helper()
	all := make([]*Simulated[S], ranks)
	err := local.Run(ranks, func(job rma.Job) (err error) {
		all[job.Rank()], err = Simulate(ctx, job, m, opts)
		if r := all[job.Rank()]; r != nil {
			r.Elapsed = 0
		}
		return err
	})
	for _, r := range all[1:] {
		if err == nil && !reflect.DeepEqual(r, all[0]) {
			t.Errorf("%d ranks: %+v and %+v", ranks, all[0], r)
		}
	}
	return all[0], err
}

// counters is a model of two counters below n, of which one may be reset.
func counters(n uint16) Model[[2]uint16] {
	return Model[[2]uint16]{Name: "counters", Init: [][2]uint16{{}, {1, 0}}, Deadlocks: true,
		Next: func(s [2]uint16, emit func(string, [2]uint16)) {
			if s[0]+1 < n {
				emit("first", [2]uint16{s[0] + 1, s[1]})
			}
			if s[1]+1 < n {
				emit("second", [2]uint16{s[0], s[1] + 1})
			}
			emit("reset", [2]uint16{0, s[1]})
		}}
}

// A violation is the same for every number of ranks, and its path is one of the model.
func TestSimulateViolation(t *testing.T) {
	m := counters(1000)
	m.Properties = []Property[[2]uint16]{
		Always("small", func(s [2]uint16) bool { return s[1] < 30 || s[0] == 0 }),
		Sometimes("three", func(s [2]uint16) bool { return s == [2]uint16{3, 3} })}
	var first *Simulated[[2]uint16]
	for _, ranks := range []int{1, 2, 5} {
		r, err := simulated(t, t.Context(), ranks, m, Simulation{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
		if !r.Violated() || r.Shown != "small" || r.Properties[0].Verdict != logic.False ||
			r.Walk != first.Walk || !reflect.DeepEqual(r.Path, first.Path) {
			t.Errorf("%d ranks: %+v, want %+v", ranks, r, first)
		}
	}
	if other, err := simulated(t, t.Context(), 1, m, Simulation{Seed: 6}); err != nil ||
		reflect.DeepEqual(other.Path, first.Path) {
		t.Errorf("another seed: %+v, %v", other, err)
	}
	seen := map[[2]uint16]bool{}
	for i, step := range first.Path {
		ok := i == 0 && step.Action == "" && step.State[0] <= 1 && step.State[1] == 0
		if i > 0 {
			m.Next(first.Path[i-1].State, func(action string, next [2]uint16) {
				ok = ok || action == step.Action && next == step.State
			})
		}
		if !ok || seen[step.State] {
			t.Errorf("step %d of %v", i, first.Path)
		}
		seen[step.State] = true
	}
	if end := first.Path[len(first.Path)-1].State; m.Properties[0].Holds(end) {
		t.Errorf("the path ends at %v", end)
	}
	if text := first.Report(); !strings.Contains(text, "VIOLATED: small, after ") ||
		!strings.Contains(text, "perhaps not on a shortest path") {
		t.Error(text)
	}
}

// Walks end when all is found, after so many as are asked for, at deadlocks, and when interrupted.
func TestSimulateEnds(t *testing.T) {
	m := counters(10)
	m.Properties = []Property[[2]uint16]{
		Sometimes("both", func(s [2]uint16) bool { return s == [2]uint16{4, 9} })}
	r, err := simulated(t, t.Context(), 2, m, Simulation{Walks: 10_000})
	if err != nil || r.Properties[0].Verdict != logic.True || r.Violated() || r.Interrupted {
		t.Errorf("%+v, %v", r, err)
	}
	m.Properties[0].Holds = func(s [2]uint16) bool { return false }
	r, err = simulated(t, t.Context(), 3, m, Simulation{Walks: 7, Depth: 20})
	if err != nil || r.Walks != 7 || r.Steps != 140 || r.Properties[0].Verdict != logic.Unknown ||
		!strings.Contains(r.Report(), "7 random walks of up to 20 steps, 140 steps, seed 0\n") ||
		!strings.Contains(r.Report(), "nothing was violated on these walks") {
		t.Errorf("%+v, %v", r, err)
	}
	down := Model[uint8]{Name: "down", Init: []uint8{3}, Next: func(s uint8,
		emit func(string, uint8)) {
		if s > 0 {
			emit("down", s-1)
		}
	}}
	d, err := simulated(t, t.Context(), 2, down, Simulation{})
	if err != nil || d.Shown != deadlockName || len(d.Path) != 4 || d.Walk != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	down.Deadlocks = true
	down.Properties = []Property[uint8]{Always("below", func(s uint8) bool {
		if calls++; calls == 100 {
			cancel()
		}
		return s < 9
	})}
	if d, err = simulated(t, ctx, 1, down, Simulation{}); err != nil || !d.Interrupted ||
		d.Violated() {
		t.Errorf("%+v, %v", d, err)
	}
}

// A model that panics, or is none, is an error on every rank.
func TestSimulateFails(t *testing.T) {
	m := counters(10)
	m.Properties = []Property[[2]uint16]{Always("small", func(s [2]uint16) bool {
		if s[0] == 5 {
			panic("five")
		}
		return true
	})}
	for what, want := range map[string]string{"panic": "panicked: five", "depth": "is at least 1",
		"none": "has no Next"} {
		m, opts := m, Simulation{}
		switch what {
		case "depth":
			opts.Depth = -1
		case "none":
			m.Next = nil
		}
		if _, err := simulated(t, t.Context(), 2, m, opts); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The flags of walks and of searches exclude each other, and JSON has what is known.
func TestSimulateFlags(t *testing.T) {
	models := []program{counters(4)}
	for args, says := range map[string]string{"--simulate --mem 2GiB": "--mem is for a search",
		"--simulate --depth 0": "--depth must be at least 1", "--seed 3": "it needs --simulate"} {
		if _, _, err := parse(models, strings.Fields(args)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
	f, _, err := parse(models, strings.Fields("--simulate --walks 9 --depth 7"))
	f.simulation.Progress = nil
	if want := (Simulation{Depth: 7, Walks: 9, Seed: 1}); err != nil || !f.simulate ||
		!reflect.DeepEqual(f.simulation, want) {
		t.Errorf("%+v, %v", f, err)
	}
	text, err := json.Marshal(newSimulatedObject("m", &Simulated[uint8]{Walks: 3, Walk: 2,
		Shown: "a", Properties: []Answer{{Name: "a", Verdict: logic.False}}, Elapsed: time.Second}))
	if err != nil || !strings.Contains(string(text), `"walks":3,`) ||
		!strings.Contains(string(text), `"properties":[{"name":"a","answer":false}],"shown":"a",`+
			`"walk":2`) {
		t.Errorf("%s, %v", text, err)
	}
}
