package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/statespace/explore"
)

// faulty is a graph that breaks its contract on some rank, or comes close to that.
type faulty struct {
	*graph
	begins func(state []uint64) []uint64
	makes  func() explore.Expander
	now    func() bool // whether to do what follows
	expand func(given, out []uint64) []uint64
	touch  func(state []uint64)
	sees   func(findings []uint64)
}

func (f *faulty) Initial(out []uint64) []uint64 {
	out = f.graph.Initial(out)
	if f.begins != nil {
		out = f.begins(out)
	}
	return out
}

func (f *faulty) NewExpander() explore.Expander {
	if f.makes != nil {
		return f.makes()
	}
	return &faultyWalker{walker{graph: f.graph}, f}
}

type faultyWalker struct {
	walker
	*faulty
}

func (w *faultyWalker) Expand(state, out []uint64) ([]uint64, error) {
	res, err := w.walker.Expand(state, out)
	if err == nil && w.now() {
		if w.touch != nil {
			w.touch(state)
		}
		if w.expand != nil {
			res = w.expand(out, res)
		}
		if w.sees != nil {
			w.sees(w.findings[:])
		}
	}
	return res, err
}

func (w *faultyWalker) Findings() []uint64 { return w.walker.Findings() }

func always() bool { return true }

// mustReport checks the errors of the ranks for a model that broke its contract on one of them.
func mustReport(t *testing.T, what any, out []outcome, err error, rank int, says string) {
	t.Helper()
	begin := fmt.Sprintf("explore: on rank %d the model ", rank)
	if err == nil || !strings.Contains(err.Error(), begin) || !strings.Contains(err.Error(), says) {
		t.Fatalf("%v: %v, want rank %d to get %q", what, err, rank, says)
	}
	name := fmt.Sprintf("rank %d", rank)
	for r, o := range out {
		if o.res != nil || o.err == nil || !strings.Contains(o.err.Error(), name) {
			t.Fatalf("%v: rank %d: %+v, %v", what, r, o.res, o.err)
		}
	}
}

// A model that breaks its contract in mid-search on one rank ends the search on all of them, and
// each gets an error that says which rank it was and what the model did.
func TestContractBroken(t *testing.T) {
	fresh := func(given, out []uint64) []uint64 { return slices.Clone(out[len(given):]) }
	var own []uint64
	for _, c := range []struct {
		says  string
		words int // 0: 1
		model faulty
	}{
		{says: "the model panicked: runtime error: index out of range", model: faulty{
			expand: func(_, out []uint64) []uint64 { _ = out[len(out):][0]; return out }}},
		{says: "less than it was given: ", model: faulty{
			expand: func(given, out []uint64) []uint64 {
				if len(given) == 0 {
					return out
				}
				return given[:len(given)-1]
			}}},
		{says: "returned from Expand less than it was given: 2 words of", model: faulty{
			expand: func(given, out []uint64) []uint64 {
				if len(given) < 10 {
					return out
				}
				return fresh(given, out)
			}}},
		{says: "changed in Expand what it was given: ", model: faulty{expand: fresh}},
		{says: "changed in Expand what it was given: ", model: faulty{
			expand: func(given, out []uint64) []uint64 {
				own = append(own[:0], out[len(given):]...)
				return own
			}}},
		{says: "changed in Expand what it was given: ", model: faulty{
			expand: func(given, out []uint64) []uint64 {
				if len(given) == 0 {
					return out
				}
				return append(given[:len(given)-1], out[len(given):]...)
			}}},
		{says: "a part of a state: it appended 3 words; a state has 2", words: 2, model: faulty{
			expand: func(_, out []uint64) []uint64 { return out[:len(out)-1] }}},
		{says: "bits beyond StateBits: 0x4000, and StateBits is 14", model: faulty{
			expand: func(_, out []uint64) []uint64 { return append(out, 1<<14) }}},
		{says: "has a finding that fell: finding 0 is 0 after ", model: faulty{
			sees: func(findings []uint64) { clear(findings) }}},
	} {
		for _, s := range settings(1, 2, 4) {
			short := s.opts.Encoding == explore.EncodingWord
			if s.hidden && s.ranks != 2 || c.words == 2 && short ||
				c.model.sees != nil && s.ranks > 1 { // the victim need not see any before
				continue
			}
			v := newVictim(func() error { return nil })
			out, err := searchModel(s, func(rank int) explore.Model {
				m := c.model
				if m.graph = v.model(rank, s.ranks); c.words > 1 {
					m.graph = m.graph.long(c.words)
				}
				m.now = func() bool { return v.rank.Load() == int64(rank) }
				return &m
			})
			mustReport(t, fmt.Sprintf("%v, %q", s, c.says), out, err, int(v.rank.Load()), c.says)
		}
	}
}

// What a model does with memory that is lent to it harms no search.
func TestContractKept(t *testing.T) {
	for what, m := range map[string]faulty{
		"changes its input":    {touch: func(state []uint64) { clear(state) }},
		"appends to its input": {touch: func(state []uint64) { _ = append(state, 7, 7, 7) }},
		"returns a copy": {expand: func(_, out []uint64) []uint64 {
			return slices.Clip(slices.Clone(out))
		}},
		"fills its memory": {expand: func(_, out []uint64) []uint64 {
			rest := out[len(out):cap(out)]
			for i := range rest {
				rest[i] = 7
			}
			return out
		}},
	} {
		for _, s := range settings(1, 3) {
			m := m
			m.graph, m.now = doubling(9), always
			if s.opts.Encoding != explore.EncodingWord {
				m.graph = m.graph.long(2)
			}
			if got := countsOf(mustSearchModel(t, s, &m)); got != wantDoubling(9, s.opts.Order) {
				t.Errorf("%s, %v: %+v", what, s, got)
			}
		}
	}
}

// A model that no search can work with is refused on all ranks, whichever of them has it.
func TestModelRefused(t *testing.T) {
	for _, c := range []struct {
		says string
		make func(m *faulty) explore.Model
	}{
		{"it is nil", func(*faulty) explore.Model { return nil }},
		{"StateWords is 0;", func(m *faulty) explore.Model { m.words = 0; return m }},
		{"StateWords is -1;", func(m *faulty) explore.Model { m.words = -1; return m }},
		{"StateWords is 513;", func(m *faulty) explore.Model { m.words = 513; return m }},
		{"StateBits is 0;", func(m *faulty) explore.Model { m.bits = 0; return m }},
		{"StateBits is 65; where StateWords is 1 it is 1 to 64", func(m *faulty) explore.Model {
			m.bits = 65
			return m
		}},
		{"up to 64 bits are one word", func(m *faulty) explore.Model { m.words = 2; return m }},
		{"0x21 has bits beyond the 5", func(m *faulty) explore.Model {
			m.begins = func([]uint64) []uint64 { return []uint64{0x21} }
			return m
		}},
		{"Initial appended 0 words; append at least one state of 1 word",
			func(m *faulty) explore.Model {
				m.begins = func([]uint64) []uint64 { return nil }
				return m
			}},
		{"the model panicked: runtime error: index", func(m *faulty) explore.Model {
			m.begins = func(out []uint64) []uint64 { out[len(out):][0]++; return out }
			return m
		}},
		{"NewExpander returned nil", func(m *faulty) explore.Model {
			m.makes = func() explore.Expander { return nil }
			return m
		}},
		{"the model panicked: nothing", func(m *faulty) explore.Model {
			m.makes = func() explore.Expander { panic("nothing") }
			return m
		}},
		{"the model panicked: runtime error", func(*faulty) explore.Model {
			return (*faulty)(nil)
		}},
	} {
		for _, ranks := range []int{1, 3} {
			for only := -1; only < ranks; only++ { // -1: all have it
				out, err := searchModel(setting{ranks: ranks}, func(rank int) explore.Model {
					m := &faulty{graph: doubling(5), now: always}
					if only < 0 || rank == only {
						return c.make(m)
					}
					return m
				})
				what := fmt.Sprintf("%q on rank %d of %d", c.says, only, ranks)
				if only >= 0 {
					mustReport(t, what, out, err, only, c.says)
				}
				for rank, o := range out {
					if only < 0 && (o.err == nil || !strings.Contains(o.err.Error(), c.says)) {
						t.Errorf("%s: rank %d: %v", what, rank, o.err)
					}
				}
			}
		}
	}
}

// A model that has other successors the second time gets no trace, and all ranks know why.
func TestTraceOfAnotherGraph(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for says, wrong := range map[string]func() []uint64{
			"make Expand of the model give the same successors": func() []uint64 { return nil },
			"the model panicked: lost":                          func() []uint64 { panic("lost") },
		} {
			m := chain(20)
			next := m.next
			var over atomic.Bool
			m.next = func(s uint64, out []uint64) []uint64 {
				if s == 19 {
					over.Store(true)
				}
				if over.Load() && s == 7 {
					return wrong()
				}
				return next(s, out)
			}
			s := setting{ranks: ranks, opts: explore.Options{Trace: []int{explore.Deadlock}}}
			out, err := searchModel(s, func(int) explore.Model { return m })
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%d ranks: %v, want %q", ranks, err, says)
			}
			for rank, o := range out {
				if o.err == nil || o.res != nil {
					t.Errorf("%d ranks, %q: rank %d: %+v, %v", ranks, says, rank, o.res, o.err)
				}
			}
		}
	}
}
