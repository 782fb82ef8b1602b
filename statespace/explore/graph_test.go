package explore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
)

// graph is a model whose states are numbers. The first word of a state is its number,
// the others follow from it.
type graph struct {
	bits, words int
	next        func(s uint64, out []uint64) []uint64 // successors
	limit       uint64                                // the first number that overflows, if not 0
	hook        func(s uint64) error                  // called with each state that is expanded
	initial     []uint64                              // nil: 0
	goal        uint64                                // a state to find, if not 0
	padded      bool                                  // states have any number of words
}

// The findings of a graph: the largest number, twice that, and 1 if the goal was found.
const (
	findingLargest = iota
	findingTwice
	findingGoal
	graphFindings
)

func (g *graph) StateBits() int  { return g.bits }
func (g *graph) StateWords() int { return g.words }
func (g *graph) Findings() int   { return graphFindings }

func (g *graph) Padded() bool { return g.padded }

func (g *graph) Decided(findings []uint64) bool { return findings[findingGoal] != 0 }

func (g *graph) Initial(out []uint64) []uint64 {
	if g.initial == nil {
		return g.encode(0, out)
	}
	for _, s := range g.initial {
		out = g.encode(s, out)
	}
	return out
}

func (g *graph) NewExpander() explore.Expander {
	return &walker{graph: g}
}

// encode appends the words of a state.
func (g *graph) encode(s uint64, out []uint64) []uint64 {
	out = append(out, s)
	for i := 1; i < g.words; i++ {
		word := (s + 1) * 0x9e3779b97f4a7c15 * uint64(i)
		if g.padded && uint64(i) > s%uint64(g.words) {
			word = 0
		}
		out = append(out, word)
	}
	return out
}

// long is the graph with states of so many words.
func (g graph) long(words int) *graph {
	g.bits, g.words = 64*words, words
	return &g
}

// walker expands the states of a graph.
type walker struct {
	graph    *graph
	buf      []uint64
	findings [graphFindings]uint64
	found    int
}

func (w *walker) Findings() []uint64 { return w.findings[:] }
func (w *walker) Found() int         { return w.found }

// find raises a finding.
func (w *walker) find(i int, value uint64) {
	if w.findings[i] == 0 && value > 0 {
		w.found++
	}
	w.findings[i] = max(w.findings[i], value)
}

func (w *walker) Expand(state, out []uint64) ([]uint64, error) {
	s := state[0]
	for i, word := range w.graph.encode(s, w.buf[:0]) {
		if word != state[i] {
			return nil, fmt.Errorf("word %d of state %d is %#x, want %#x", i, s, state[i], word)
		}
	}
	if w.graph.hook != nil {
		if err := w.graph.hook(s); err != nil {
			return nil, err
		}
	}
	w.find(findingLargest, s)
	w.find(findingTwice, 2*s)
	if s != 0 && s == w.graph.goal {
		w.find(findingGoal, 1)
	}
	w.buf = w.graph.next(s, w.buf[:0])
	for _, succ := range w.buf {
		if w.graph.limit != 0 && succ >= w.graph.limit {
			return nil, &explore.OverflowError{Place: "number", Bits: w.graph.bits}
		}
		out = w.graph.encode(succ, out)
	}
	return out, nil
}

// chain is the path 0, 1, ..., n-1: one state on each level.
func chain(n uint64) *graph {
	return &graph{bits: 40, words: 1,
		next: func(s uint64, out []uint64) []uint64 {
			if s+1 < n {
				out = append(out, s+1)
			}
			return out
		}}
}

// star leads from 0 to each of 1 to n, and from there to n+1.
func star(n uint64) *graph {
	return &graph{bits: 40, words: 1,
		next: func(s uint64, out []uint64) []uint64 {
			switch s {
			case 0:
				for i := range n {
					out = append(out, i+1)
				}
			case n + 1:
			default:
				out = append(out, n+1)
			}
			return out
		}}
}

// wantStar is what a search of star(n) finds.
func wantStar(n uint64, order explore.Order) counts {
	c := counts{States: n + 2, Arcs: 2 * n, Depth: 2, Deadlocks: 1, MaxTokensPlace: n + 1,
		MaxTokensMarking: 2*n + 2}
	if order == explore.AnyOrder {
		c.Depth = 0
	}
	return c
}

// doubling is the graph of all words of so many bits, where a word leads to those
// that result from shifting in a bit: 2^bits states, twice as many arcs, bits levels
// after the first, no deadlock.
func doubling(bits int) *graph {
	mask := uint64(1)<<bits - 1
	return &graph{bits: bits, words: 1,
		next: func(s uint64, out []uint64) []uint64 {
			return append(out, s<<1&mask, s<<1&mask|1)
		}}
}

// wantDoubling is what a search of doubling(bits) finds.
func wantDoubling(bits int, order explore.Order) counts {
	c := counts{States: 1 << bits, Arcs: 2 << bits, MaxTokensPlace: 1<<bits - 1,
		MaxTokensMarking: 2<<bits - 2}
	if order != explore.AnyOrder {
		c.Depth = uint64(bits)
	}
	return c
}

// counts are the numbers that a search is for.
type counts struct {
	States, Arcs, Depth, Deadlocks   uint64
	MaxTokensPlace, MaxTokensMarking uint64
}

func countsOf(r *explore.Result) counts {
	return counts{r.States, r.Arcs, r.Depth, r.Deadlocks, r.Findings[0], r.Findings[1]}
}

// setting is how a model is explored.
type setting struct {
	ranks  int
	hidden bool // no direct memory
	hosts  int  // above 1: direct memory of the own host alone, and ranks answer requests
	ctx    func(rank int) context.Context
	opts   explore.Options
}

func (s setting) String() string {
	return fmt.Sprintf("%d ranks, order %q, encoding %q, hidden %v, hosts %d, %v", s.ranks,
		s.opts.Order, s.opts.Encoding, s.hidden, s.hosts, s.opts.Access)
}

// outcome is what a rank got.
type outcome struct {
	res *explore.Result
	err error
}

// explorer explores something on a rank.
type explorer func(ctx context.Context, job rma.Job, opts explore.Options) (*explore.Result, error)

// search explores with a setting, and returns what each rank got and the error of
// the job.
func search(s setting, fn explorer) ([]outcome, error) {
	out := make([]outcome, s.ranks)
	on := local.Options{Hidden: s.hidden, Hosts: s.hosts, Carries: s.hosts > 1}
	err := local.RunWith(on, s.ranks, func(job rma.Job) error {
		ctx := context.Background()
		if s.ctx != nil {
			ctx = s.ctx(job.Rank())
		}
		o := &out[job.Rank()]
		o.res, o.err = fn(ctx, job, s.opts)
		return o.err
	})
	return out, err
}

// searchModel is search with a model for each rank.
func searchModel(s setting, model func(rank int) explore.Model) ([]outcome, error) {
	return search(s, func(ctx context.Context, job rma.Job, opts explore.Options) (
		*explore.Result, error) {
		return explore.Run(ctx, job, model(job.Rank()), opts)
	})
}

// mustSearch explores without an error. The ranks must agree about the result, which
// it returns.
func mustSearch(t *testing.T, s setting, fn explorer) *explore.Result {
	t.Helper()
	out, err := search(s, fn)
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	first := out[0].res
	for rank, o := range out {
		if countsOf(o.res) != countsOf(first) || o.res.Complete != first.Complete ||
			o.res.Reason != first.Reason || o.res.NeedMem != first.NeedMem {
			t.Fatalf("%v: rank %d has %+v, rank 0 has %+v", s, rank, o.res, first)
		}
	}
	if first.Ranks != s.ranks {
		t.Errorf("%v: result for %d ranks", s, first.Ranks)
	}
	return first
}

// mustSearchModel is mustSearch with one model for all ranks.
func mustSearchModel(t *testing.T, s setting, m explore.Model) *explore.Result {
	t.Helper()
	return mustSearch(t, s, func(ctx context.Context, job rma.Job, opts explore.Options) (
		*explore.Result, error) {
		return explore.Run(ctx, job, m, opts)
	})
}

// mustCount explores a model to its end and compares the counts.
func mustCount(t *testing.T, s setting, m explore.Model, want counts) *explore.Result {
	t.Helper()
	r := mustSearchModel(t, s, m)
	if !r.Complete || r.Reason != "" || r.NeedMem != 0 {
		t.Fatalf("%v: not complete: %+v", s, r)
	}
	if got := countsOf(r); got != want {
		t.Fatalf("%v:\ngot  %+v\nwant %+v", s, got, want)
	}
	return r
}

var encodings = []explore.Encoding{explore.EncodingWord, explore.EncodingTree,
	explore.EncodingElement}

// settings are all ways to explore with one of the given numbers of ranks. One rank has nobody to
// race with: under the race detector, which takes ten times as long, it is left out where there is
// another number.
func settings(ranks ...int) []setting {
	var all []setting
	for _, n := range ranks {
		if n == 1 && len(ranks) > 1 && invariant.Enabled {
			continue
		}
		for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
			for _, enc := range encodings {
				for _, hidden := range []bool{false, true} {
					all = append(all, setting{ranks: n, hidden: hidden,
						opts: explore.Options{Order: order, Encoding: enc}})
				}
			}
		}
	}
	return all
}

// event happens once.
type event struct {
	once sync.Once
	done chan struct{}
}

func newEvent() *event { return &event{done: make(chan struct{})} }

func (e *event) happen() { e.once.Do(func() { close(e.done) }) }
