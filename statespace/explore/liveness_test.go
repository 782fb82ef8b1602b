package explore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
)

// labelled is a graph whose states show findings of their own: a bit for each.
type labelled struct {
	graph
	labels func(s uint64) uint64
}

func (l *labelled) Findings() int         { return graphFindings }
func (l *labelled) Decided([]uint64) bool { return false }

func (l *labelled) NewExpander() explore.Expander {
	return &reader{walker: walker{graph: &l.graph}, labels: l.labels,
		shown: make([]uint64, graphFindings)}
}

// reader expands the states of a labelled graph.
type reader struct {
	walker
	labels func(s uint64) uint64
	shown  []uint64
	n      int
}

func (r *reader) Findings() []uint64 { return r.shown }
func (r *reader) Found() int         { return r.n }

func (r *reader) Expand(state, out []uint64) ([]uint64, error) {
	for i := range r.shown {
		if r.labels(state[0])>>i&1 != 0 && r.shown[i] == 0 {
			r.shown[i] = 1
			r.n++
		}
	}
	return r.walker.Expand(state, out)
}

// listed is a graph of lists of successors.
func listed(next [][]uint64, labels []uint64, initial ...uint64) *labelled {
	return &labelled{labels: func(s uint64) uint64 { return labels[s] },
		graph: graph{bits: 40, words: 1, initial: initial,
			next: func(s uint64, out []uint64) []uint64 { return append(out, next[s]...) }}}
}

// reached are the labels that are reached from a state, by the states, and how far they are.
func reached(next [][]uint64, labels []uint64, from ...uint64) (all uint64, level map[uint64]int) {
	level = map[uint64]int{}
	for _, s := range from {
		level[s] = 0
	}
	for at := from; len(at) > 0; at = at[1:] {
		all |= labels[at[0]]
		for _, s := range next[at[0]] {
			if _, old := level[s]; !old {
				level[s] = level[at[0]] + 1
				at = append(at, s)
			}
		}
	}
	return all, level
}

// liveSettings are the settings in which liveness is answered, with a trace.
func liveSettings() []setting {
	all := levelSettings()
	all = append(all, setting{ranks: 2, hosts: 2}, setting{ranks: 4, hosts: 2})
	for i := range all {
		all[i].opts.Live = []int{0, 2}
		all[i].opts.Trace = []int{explore.Stranded}
	}
	return all
}

// randomList is a random graph: sometimes with deadlocks, sometimes with a way back to the first
// state from everywhere, often with parts that are not left any more.
func randomList(rng *rand.Rand, most, degree int) (next [][]uint64, labels []uint64) {
	n := 1 + rng.IntN(most)
	deadlocks, back, parts := rng.IntN(4) == 0, rng.IntN(4) == 0, 1+rng.IntN(4)
	for s := range n {
		var to []uint64
		for range rng.IntN(degree) {
			t := rng.IntN(n)
			if s%parts != t%parts && s >= parts { // the first states lead to all parts
				continue
			}
			to = append(to, uint64(t))
		}
		if len(to) == 0 && !deadlocks {
			to = append(to, uint64(s))
		}
		if back && rng.IntN(2) == 0 {
			to = append(to, 0)
		}
		next = append(next, to)
		label := uint64(1)
		if rng.IntN(3) > 0 {
			label = rng.Uint64N(8)
		}
		labels = append(labels, label|rng.Uint64N(2)<<2)
	}
	return next, labels
}

// compareLive compares an answer with the obvious one, and says which case it was.
func compareLive(t *testing.T, out []outcome, next [][]uint64, labels, initial []uint64) string {
	t.Helper()
	const want = 0b101
	all, level := reached(next, labels, initial...)
	live, connected := true, true
	for s := range level {
		from, there := reached(next, labels, s)
		live = live && from&want == want
		connected = connected && len(there) == len(level)
	}
	res := out[0].res
	for rank, o := range out {
		if o.res.Live.Live != live || !o.res.Live.Known || len(o.res.Trace) != len(res.Trace) ||
			o.res.Live.Finding != res.Live.Finding || !o.res.Complete {
			t.Fatalf("rank %d: %+v %+v, want %v", rank, o.res.Live, o.res, live)
		}
	}
	if live {
		switch {
		case res.Trace != nil:
			t.Fatalf("a trace where all is live: %+v", res)
		case connected && len(initial) == 1 && res.Deadlocks == 0 && res.Live.SearchCount() > 0:
			t.Fatalf("all leads back to the initial state: %+v", res.Live)
		case connected:
			return "live, connected"
		case res.Live.SearchCount() > 1:
			return "live, several ends"
		}
		return "live, not connected"
	}
	last := res.Trace[len(res.Trace)-1].State[0]
	for i, step := range res.Trace[1:] {
		if !slices.Contains(next[res.Trace[i].State[0]], step.State[0]) {
			t.Fatalf("step %d of %+v leads nowhere", i, res.Trace)
		}
	}
	from, there := reached(next, labels, last)
	switch missing := uint64(1) << res.Live.Finding; {
	case missing&want == 0 || from&missing != 0:
		t.Fatalf("finding %d is reached from %d", res.Live.Finding, last)
	case len(res.Trace) != level[last]+1:
		t.Fatalf("%d states to %d, which is of level %d", len(res.Trace), last, level[last])
	case all&missing == 0:
		return "never"
	case len(next[last]) == 0:
		return "deadlock"
	case len(there) == 1:
		return "stranded in one state"
	}
	return "stranded"
}

func TestLivenessOfRandomGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	all := liveSettings()
	cases := map[string]int{}
	graphs := seeds.Often(300, 1200)
	for i := range graphs {
		next, labels := randomList(rng, 40, 4)
		if i%10 == 1 { // the successors of a block are more than a batch
			next, labels = randomList(rng, 200, 25)
		}
		initial := []uint64{0}
		if i%5 == 0 {
			initial = append(initial, rng.Uint64N(uint64(len(next))))
		}
		s := all[i%len(all)]
		m := listed(next, labels, initial...)
		out, err := searchModel(s, func(int) explore.Model { return m })
		if err != nil {
			t.Fatalf("graph %d, %v: %v", i, s, err)
		}
		cases[compareLive(t, out, next, labels, initial)]++
	}
	t.Log(cases)
	for _, what := range []string{"live, connected", "live, not connected", "live, several ends",
		"never", "deadlock", "stranded in one state", "stranded"} {
		if cases[what] < graphs/240 {
			t.Errorf("too few cases of %q: %v", what, cases)
		}
	}
}

// Many states on all ranks, and one that all must lead back to: that with the label.
func TestLivenessOfManyStates(t *testing.T) {
	for _, s := range liveSettings() {
		bits := 14
		if s.hidden || s.hosts > 1 || testing.Short() {
			bits = 10
		}
		m := &labelled{graph: *doubling(bits), labels: func(s uint64) uint64 {
			if s == 1<<(bits-1)+1 {
				return 5
			}
			return 0
		}}
		r := mustSearchModel(t, s, m)
		if !r.Live.Known || !r.Live.Live || r.Live.Sweeps < 1 || r.States != 1<<bits {
			t.Errorf("%v: %+v %+v", s, r.Live, r)
		}
		next := m.next
		m.next = func(s uint64, out []uint64) []uint64 {
			switch s {
			case 1<<(bits-1) + 5: // from where only itself is reached
				return append(out, s)
			default:
				return next(s, out)
			}
		}
		r = mustSearchModel(t, s, m)
		if !r.Live.Known || r.Live.Live || r.Live.Finding != 0 ||
			r.Trace[len(r.Trace)-1].State[0] != 1<<(bits-1)+5 || len(r.Trace) != bits+1 {
			t.Errorf("%v: %+v %+v", s, r.Live, r)
		}
	}
}

// What memory does not suffice for is unknown; the counts of the search are complete.
func TestLivenessWithoutMemory(t *testing.T) {
	for _, s := range []setting{{ranks: 1}, {ranks: 3}} {
		s.opts = explore.Options{Live: []int{0}, Mem: tightMem}
		r := mustSearchModel(t, s, &labelled{graph: *doubling(10),
			labels: func(uint64) uint64 { return 1 }})
		if !r.Complete || r.Live.Known || r.Live.Reason != explore.MemoryFull ||
			!strings.Contains(r.Live.Detail, "try ") {
			t.Errorf("%v: %+v %+v", s, r.Live, r)
		}
	}
}

// expandedAgain calls use when a state is expanded for the second time.
func expandedAgain(m *labelled, use func() error) {
	var times atomic.Int64
	m.hook = func(s uint64) error {
		if s == 3 && times.Add(1) == 2 {
			return use()
		}
		return nil
	}
}

func TestLivenessInterrupted(t *testing.T) {
	for _, ranks := range []int{1, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &labelled{graph: *doubling(12), labels: func(uint64) uint64 { return 1 }}
		expandedAgain(m, func() error { cancel(); return nil })
		s := setting{ranks: ranks, opts: explore.Options{Live: []int{0}},
			ctx: func(int) context.Context { return ctx }}
		r := mustSearchModel(t, s, m)
		if !r.Complete || r.Live.Known || r.Live.Reason != explore.Interrupted {
			t.Errorf("%v: %+v %+v", s, r.Live, r)
		}
	}
}

// A model that fails on one rank gives every rank an error.
func TestLivenessFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		m := &labelled{graph: *doubling(12), labels: func(uint64) uint64 { return 1 }}
		broken := errors.New("broken")
		expandedAgain(m, func() error {
			if panics {
				panic(broken)
			}
			return broken
		})
		out, err := searchModel(setting{ranks: 4, opts: explore.Options{Live: []int{0}}},
			func(int) explore.Model { return m })
		if err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("error %v", err)
		}
		peers := 0
		for _, o := range out {
			var peer *rma.PeerError
			if errors.As(o.err, &peer) {
				peers++
			}
		}
		if peers != 3 {
			t.Errorf("%d peers: %+v", peers, out)
		}
	}
}

func TestLivenessRefused(t *testing.T) {
	for says, opts := range map[string]explore.Options{
		"needs order":          {Live: []int{0}, Order: explore.AnyOrder},
		"expands states again": {Live: []int{0}, Encoding: explore.EncodingFingerprint},
		"finding 3 is to be":   {Live: []int{3}},
		"finding -1 is to be ": {Live: []int{explore.Deadlock}},
	} {
		_, err := searchModel(setting{ranks: 2, opts: opts},
			func(int) explore.Model { return chain(3).long(3) })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}
