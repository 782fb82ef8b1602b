package explore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
)

// A search ends when the model has its answer, and knows a shortest way there.
func TestDecided(t *testing.T) {
	const bits, goal = 16, 1<<9 + 5 // at level 10: the goal has 10 bits
	for _, s := range slices.Concat(settings(1, 2, 4), hostSettings()) {
		m := doubling(bits)
		m.goal = goal
		breadth := s.opts.Order == explore.BreadthFirst
		if breadth {
			s.opts.Trace = []int{explore.Deadlock, findingGoal}
		}
		if s.opts.Encoding == explore.EncodingElement {
			m = m.long(2)
			m.goal = goal
		}
		r := mustSearchModel(t, s, m)
		// In any order the goal may be in the last batch.
		decided := !r.Complete && r.Reason == explore.Decided ||
			!breadth && r.Complete && r.States == 1<<bits
		if !decided || r.Findings[findingGoal] != 1 || breadth && r.States >= 1<<14 {
			t.Fatalf("%v: %+v", s, r)
		}
		if !breadth {
			continue
		}
		if len(r.Trace) != 11 || r.Traced != findingGoal || r.Trace[0].State[0] != 0 ||
			r.Trace[0].Action != -1 || r.Trace[10].State[0] != goal {
			t.Fatalf("%v: trace to %d: %v", s, r.Traced, r.Trace)
		}
		for i, step := range r.Trace[1:] {
			if step.State[0] != r.Trace[i].State[0]<<1&(1<<bits-1)|uint64(step.Action) {
				t.Fatalf("%v: step %d of %v", s, i+1, r.Trace)
			}
		}
	}
}

// hostSettings are searches whose ranks are on two hosts.
func hostSettings() []setting {
	return []setting{{ranks: 4, hosts: 2, opts: explore.Options{Order: explore.BreadthFirst}}}
}

// A search whose last state decides is complete.
func TestDecidedLast(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
			m := chain(50)
			m.goal = 49
			s := setting{ranks: ranks, opts: explore.Options{Order: order}}
			if r := mustSearchModel(t, s, m); !r.Complete || r.Reason != "" || r.States != 50 {
				t.Errorf("%v: %+v", s, r)
			}
			m = chain(50)
			m.goal = 48
			if r := mustSearchModel(t, s, m); r.Complete && r.Reason != "" {
				t.Errorf("%v: %+v", s, r)
			}
		}
	}
}

// What the model finds too late, or never, does not end the search.
func TestUndecided(t *testing.T) {
	for _, s := range settings(1, 3) {
		m := doubling(8)
		m.goal = 1 << 8 // one beyond the largest
		if s.opts.Encoding == explore.EncodingElement {
			m = m.long(2)
			m.goal = 1 << 8
		}
		if s.opts.Order == explore.BreadthFirst {
			s.opts.Trace = []int{findingGoal}
		}
		r := mustCount(t, s, m, wantDoubling(8, s.opts.Order))
		if r.Trace != nil || r.Findings[findingGoal] != 0 {
			t.Errorf("%v: %+v", s, r)
		}
	}
}

// A model may begin in several states, some of them twice, and more than a batch has room for.
func TestInitialStates(t *testing.T) {
	bits := 14
	if invariant.Enabled || testing.Short() {
		bits = 12
	}
	for _, n := range []uint64{2, 300, 2000} {
		for _, s := range settings(1, 3) {
			m := doubling(bits)
			for i := range n {
				m.initial = append(m.initial, i*7%n, n-1-i)
			}
			if s.opts.Encoding == explore.EncodingElement {
				initial := m.initial
				m = m.long(2)
				m.initial = initial
			}
			want := wantDoubling(bits, s.opts.Order)
			if s.opts.Order == explore.BreadthFirst {
				s.opts.Trace = []int{findingLargest}
				want.Depth = deepest(m.initial, bits)
			}
			r := mustCount(t, s, m, want)
			if s.opts.Trace != nil && (len(r.Trace) != 1 || r.Trace[0].State[0] == 0) &&
				len(r.Trace) != 2 {
				t.Fatalf("%d, %v: %v", n, s, r.Trace)
			}
		}
	}
}

// deepest is the last level of the graph of words of so many bits, from some words on.
func deepest(initial []uint64, bits int) uint64 {
	seen := make([]bool, 1<<bits)
	level, depth := slices.Clone(initial), uint64(0)
	for _, s := range level {
		seen[s] = true
	}
	for ; ; depth++ {
		var next []uint64
		for _, s := range level {
			for bit := range uint64(2) {
				if to := s<<1&(1<<bits-1) | bit; !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		if len(next) == 0 {
			return depth
		}
		level = next
	}
}

// meetings are the barriers that two ranks have come to, and how often they had no work.
type meetings struct {
	mu       sync.Mutex
	news     sync.Cond
	barriers [2]int
	idle     [2]int
}

func (m *meetings) count(n *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*n++
	m.news.Broadcast()
}

// waits returns when rank 0 waits in a barrier for rank 1. It reports false if rank 0 has no work
// instead.
func (m *meetings) waits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for idle := m.idle[0]; m.barriers[0] <= m.barriers[1]; m.news.Wait() {
		if m.idle[0] > idle {
			return false
		}
	}
	return true
}

// meeting is a job that counts them.
type meeting struct {
	rma.Job
	*meetings
}

func (m meeting) Barrier(ctx context.Context) error {
	m.count(&m.barriers[m.Rank()])
	return m.Job.Barrier(ctx)
}

func (m meeting) Failed() []int { // a rank without work asks
	m.count(&m.idle[m.Rank()])
	return m.Job.Failed()
}

// failAtCheckpoint has rank 1 of two fail when rank 0 has begun a checkpoint.
func failAtCheckpoint(m *graph, path string) error {
	stop, both := errors.New("stopped"), &meetings{}
	both.news.L = &both.mu
	_, err := search(setting{ranks: 2, opts: explore.Options{Checkpoint: path, CheckpointEvery: 1}},
		func(ctx context.Context, job rma.Job, opts explore.Options) (*explore.Result, error) {
			m := *m
			m.hook = func(s uint64) error {
				if job.Rank() == 0 || s < 2048 || !both.waits() {
					return nil
				}
				return stop
			}
			return explore.Run(ctx, meeting{job, both}, &m, opts)
		})
	return err
}

// Findings survive in a checkpoint, which has what a rank that failed had at hand.
func TestFindingsOfCheckpoint(t *testing.T) {
	path := t.TempDir() + "/saved"
	full := mustSearchModel(t, setting{ranks: 1}, doubling(12))
	if err := failAtCheckpoint(doubling(12), path); err == nil {
		t.Fatal("the search was not stopped")
	}
	r := mustSearchModel(t, setting{ranks: 3, opts: explore.Options{Resume: path}}, doubling(12))
	if !r.Complete || !slices.Equal(r.Findings, full.Findings) || countsOf(r) != countsOf(full) {
		t.Errorf("%+v, want %+v", r, full)
	}
	_, err := searchModel(setting{ranks: 2, opts: explore.Options{Resume: path}},
		func(int) explore.Model { return blind{doubling(12)} })
	if err == nil || !strings.Contains(err.Error(), "has 3 findings, and the model 0") {
		t.Errorf("a model without findings: %v", err)
	}
}

// blind is a graph that notes nothing.
type blind struct{ *graph }

func (blind) Findings() int                   { return 0 }
func (b blind) NewExpander() explore.Expander { return blindWalker{&walker{graph: b.graph}} }

type blindWalker struct{ *walker }

func (blindWalker) Findings() []uint64 { return nil }
func (blindWalker) Found() int         { return 0 }
