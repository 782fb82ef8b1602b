package explore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"

	"github.com/farhash/farhash/rma"
)

// Levels of one state each, as many as any known net has: all ranks but one have
// nothing to do and must not hold up the one that has.
func TestThinLevels(t *testing.T) {
	for _, s := range []setting{
		{ranks: 1, opts: explore.Options{Trace: []int{explore.Deadlock}}},
		{ranks: 4, opts: explore.Options{Order: explore.AnyOrder}},
		{ranks: 4, opts: explore.Options{Trace: []int{explore.Deadlock}}},
		{ranks: 4, hidden: true, opts: explore.Options{Encoding: explore.EncodingElement}},
	} {
		n := uint64(20_000)
		if s.hidden || testing.Short() {
			n = 2000
		}
		want := counts{States: n, Arcs: n - 1, Depth: n - 1, Deadlocks: 1,
			MaxTokensPlace: n - 1, MaxTokensMarking: 2*n - 2}
		if s.opts.Order == explore.AnyOrder {
			want.Depth = 0
		}
		r := mustCount(t, s, chain(n), want)
		if (r.Trace == nil) != (s.opts.Trace == nil) || r.Trace != nil && len(r.Trace) != int(n) {
			t.Fatalf("%v: trace of %d states", s, len(r.Trace))
		}
		for i, step := range r.Trace {
			if step.State[0] != uint64(i) {
				t.Fatalf("%v: step %d of the trace leads to %d", s, i, step.State)
			}
		}
	}
}

// One state with more successors than the first table has buckets.
func TestWideLevel(t *testing.T) {
	for _, s := range settings(1, 4) {
		n := uint64(70_000)
		if s.ranks == 1 || s.hidden || testing.Short() {
			n = 5000
		}
		mustCount(t, s, star(n), wantStar(n, s.opts.Order))
	}
}

// lengths are lengths of states, in words: the shortest and the longest but one under the detector
// of races, which makes each word dear.
func lengths(words ...int) []int {
	if memory.RaceEnabled {
		return []int{words[0], words[len(words)-2]}
	}
	return words
}

// States that end in zeros are found and traced as others are.
func TestPaddedStates(t *testing.T) {
	bits := 9
	if invariant.Enabled || testing.Short() {
		bits = 7
	}
	for _, words := range lengths(2, 3, 65, 512) {
		for _, hidden := range []bool{false, true} {
			g := doubling(bits).long(words)
			g.padded = true
			s := setting{ranks: 3, hidden: hidden, opts: explore.Options{Check: true}}
			r := mustCount(t, s, g, wantDoubling(bits, explore.BreadthFirst))
			if r.Encoding != explore.EncodingTree {
				t.Errorf("%d words: encoding %q", words, r.Encoding)
			}
			g = chain(300).long(words)
			g.padded = true
			s.opts.Trace = []int{explore.Deadlock}
			r = mustCount(t, s, g, counts{States: 300, Arcs: 299, Depth: 299, Deadlocks: 1,
				MaxTokensPlace: 299, MaxTokensMarking: 598})
			if len(r.Trace) != 300 || r.Trace[299].State[0] != 299 {
				t.Errorf("%d words: trace of %d states", words, len(r.Trace))
			}
		}
	}
}

func TestLongStates(t *testing.T) {
	bits := 11
	if invariant.Enabled || testing.Short() {
		bits = 8
	}
	for _, words := range lengths(2, 17, 64, 65, 512) {
		for _, hidden := range []bool{false, true} {
			s := setting{ranks: 3, hidden: hidden, opts: explore.Options{Check: true}}
			r := mustCount(t, s, doubling(bits).long(words),
				wantDoubling(bits, explore.BreadthFirst))
			want := explore.EncodingTree
			if words > 64 {
				want = explore.EncodingElement
			}
			if r.Encoding != want {
				t.Errorf("%d words: encoding %q", words, r.Encoding)
			}
		}
	}
}

func TestEncodingChosen(t *testing.T) {
	for _, c := range []struct {
		bits    int
		given   explore.Encoding
		want    explore.Encoding
		problem string
	}{
		{63, "", explore.EncodingWord, ""},
		{64, "", explore.EncodingTree, ""},
		{2, explore.EncodingTree, explore.EncodingTree, ""},
		{63, explore.EncodingElement, explore.EncodingElement, ""},
		{64, explore.EncodingWord, "", "a state has 64 bits and a word holds 63"},
		{1, "bytes", "", `encoding "bytes" is unknown`},
	} {
		m := chain(3)
		m.bits = c.bits
		out, err := searchModel(setting{ranks: 2, opts: explore.Options{Encoding: c.given}},
			func(int) explore.Model { return m })
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%d bits as %q: %v", c.bits, c.given, err)
			}
			continue
		}
		if err != nil || out[1].res.Encoding != c.want {
			t.Errorf("%d bits as %q: %+v, %v", c.bits, c.given, out[1].res, err)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, c := range []struct {
		opts    explore.Options
		problem string
	}{
		{explore.Options{Order: "dfs"}, `order "dfs" is unknown`},
		{explore.Options{Order: explore.AnyOrder, Trace: []int{explore.Deadlock}},
			"a shortest trace needs order"},
		{explore.Options{Mem: 1}, "1 B of memory is too little; give at least 4.0 MiB"},
		{explore.Options{Mem: 1<<22 - 1}, "is too little"},
	} {
		out, err := searchModel(setting{ranks: 2, opts: c.opts},
			func(int) explore.Model { return chain(3) })
		if err == nil || !strings.Contains(err.Error(), c.problem) || out[1].err == nil {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
	// The least memory, and states too long for it.
	mustSearchModel(t, setting{ranks: 2, opts: explore.Options{Mem: 1 << 22}}, chain(3))
	_, err := searchModel(setting{ranks: 2, opts: explore.Options{Mem: 1 << 22}},
		func(int) explore.Model { return chain(3).long(512) })
	if err == nil || !strings.Contains(err.Error(), "too little for states of this length") {
		t.Errorf("long states: %v", err)
	}
}

// Progress is called on rank 0 only, first with the plan, never with more than the
// result, and not after the end.
func TestProgress(t *testing.T) {
	m := doubling(14)
	second := newEvent()
	m.hook = func(s uint64) error {
		if s == 1<<13 {
			<-second.done // or the search might be over before the first snapshot
		}
		return nil
	}
	var shots []explore.Snapshot
	over := false
	err := local.Run(3, func(job rma.Job) error {
		opts := explore.Options{Mem: 64 << 20}.WithProgressEvery(1)
		opts.Progress = func(s explore.Snapshot) {
			if job.Rank() != 0 || over {
				panic(fmt.Sprintf("called on rank %d, over: %v", job.Rank(), over))
			}
			if shots = append(shots, s); len(shots) == 3 {
				second.happen()
			}
		}
		res, err := explore.Run(t.Context(), job, m, opts)
		if err == nil && job.Rank() == 0 {
			over = true
			last := shots[len(shots)-1]
			if last.States > res.States || last.Arcs > res.Arcs || last.Level > res.Depth {
				t.Errorf("snapshot %+v, result %+v", last, res)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := shots[0].Plan
	if shots[0].Elapsed != 0 || plan.Mem != 64<<20 || plan.Encoding != explore.EncodingWord ||
		float64(plan.States)*plan.StateBytes > float64(plan.Mem) || plan.States < 1<<19 {
		t.Errorf("plan %+v", shots[0])
	}
	for i, s := range shots[1:] {
		if s.Plan != plan || s.Elapsed <= 0 || s.States < shots[i].States ||
			s.Bytes == 0 || len(s.Findings) != graphFindings || s.States > 0 && s.LoadFactor <= 0 {
			t.Fatalf("snapshot %d: %+v after %+v", i+1, s, shots[i])
		}
	}
}

// What the program takes beside a search is not for states.
func TestBeside(t *testing.T) {
	var plans [2]explore.Plan
	for i := range plans {
		opts := explore.Options{Mem: 256 << 20, Beside: uint64(i) * 104 << 20,
			Progress: func(s explore.Snapshot) { plans[i] = s.Plan }}
		mustSearchModel(t, setting{ranks: 1, opts: opts}, chain(3))
	}
	if plans[1].Mem != plans[0].Mem || plans[1].States != plans[0].States/2 {
		t.Errorf("%+v with half of the states' memory beside, without %+v", plans[1], plans[0])
	}
}
