package explore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/statespace/explore"
)

// marked is a model whose arcs have marks.
type marked struct {
	*labelled
	expanded *atomic.Int64 // for marks
}

func (m *marked) NewExpander() explore.Expander {
	return &marker{m.labelled.NewExpander(), m.expanded}
}

type marker struct {
	explore.Expander
	expanded *atomic.Int64
}

// markOf is different for most arcs.
func markOf(from, to uint64) uint64 { return from<<32 | to + 1 }

func (m *marker) ExpandMarked(state, out, marks []uint64) (_, _ []uint64, err error) {
	m.expanded.Add(1)
	begin := len(out)
	out, err = m.Expand(state, out)
	for ; begin < len(out); begin += len(state) {
		marks = append(marks, markOf(state[0], out[begin]))
	}
	return out, marks, err
}

// remembering finds the labels that are reached from each state, as labelling does, in sweeps of
// which the first one alone sees states.
type remembering struct {
	labelling
	next   func(s uint64) []uint64
	words  bool // it is not the first sweep
	visits int
}

func (r *remembering) Visit(at *explore.Visit) uint64 {
	r.visits++
	width := len(at.Words)
	if !r.words {
		at.Words[0], at.Words[width-1] = r.labels(at.State[0]), at.State[0]+1
		return 0
	}
	s, all := at.Words[width-1]-1, at.Words[0]
	next := r.next(s)
	if len(next)*width != len(at.NextWords) || len(next) != len(at.Marks) {
		r.failed = "there are other successors than before"
		return 0
	}
	for i, to := range next {
		words := at.NextWords[i*width:][:width]
		all |= words[0]
		if words[width-1] != to+1 {
			r.failed = "the words of a successor are of another state"
		}
		if at.Marks[i] != markOf(s, to) {
			r.failed = "the marks of an arc are of another one"
		}
	}
	changed := all &^ at.Words[0]
	at.Words[0] = all
	return changed
}

// Arcs are remembered as far as there is room, and then states are expanded again.
func TestArcsOfRandomGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	all := afterSettings()
	for i := range seeds.Often(100, 300) {
		next, labels := randomList(rng, 60, 3)
		if i%10 == 1 { // more than a batch
			next, labels = randomList(rng, 200, 25)
		}
		s := all[i%len(all)]
		if s.opts.Encoding == explore.EncodingFingerprint {
			continue
		}
		m := &marked{listed(next, labels, 0), new(atomic.Int64)}
		_, level := reached(next, labels, 0)
		room := []uint64{1 << 30, 1 << 30, 0, rng.Uint64N(2000)}[i/len(all)%4]
		width := 2 + i%2
		hand := new(explore.Hand)
		s.opts.After = func(ctx context.Context, states *explore.States) error {
			err := errors.Join(states.Deal(ctx, hand), states.Open(ctx, width))
			if err != nil {
				return err
			}
			states.RoomForArcs(room)
			if i%5 == 2 { // so arcs are remembered of the first states alone
				if _, _, err = states.Sweep(ctx, &sparse{}); err != nil {
					return err
				}
			}
			v := &remembering{next: func(s uint64) []uint64 { return next[s] }}
			v.labels = func(s uint64) uint64 { return labels[s] }
			if _, _, err = states.Sweep(ctx, v); err != nil {
				return err
			}
			v.words = true
			for sweeps, changed := 0, uint64(1); changed != 0; sweeps++ {
				if changed, _, err = states.SweepWords(ctx, v, sweeps > 0); err != nil {
					return err
				}
				if sweeps == 1 && s.ranks == 1 && room == 1<<30 && i%5 != 2 {
					t.Errorf("graph %d: a second sweep on one rank", i)
				}
			}
			_, _, err = states.Each(ctx, func(words []uint64) uint64 {
				s := words[width-1] - 1
				if want, _ := reached(next, labels, s); words[0] != want {
					t.Errorf("graph %d: from %d are reached %b, want %b", i, s, words[0], want)
				}
				return 0
			})
			if v.failed != "" {
				t.Errorf("graph %d, %v: %s", i, s, v.failed)
			}
			return err
		}
		mustSearchModel(t, s, m)
		n, once := int(m.expanded.Load()), len(level)
		if room == 1<<30 && i%5 != 2 && n != once || room == 0 && n == once && once > 9 {
			t.Errorf("graph %d, %v: %d expansions of %d states", i, s, n, once)
		}
	}
}

// What is found out about a chain takes a visit of each state, and one more where the sweep has the
// other direction.
func TestArcsAreFollowed(t *testing.T) {
	const n = 3000
	back := star(n)
	back.next = func(s uint64, out []uint64) []uint64 {
		for i := range n {
			if to := uint64(i); s == 0 && to > 0 || to+1 == s && to > 0 {
				out = append(out, to)
			}
		}
		return out
	}
	for _, c := range []struct {
		graph      *graph
		goal, most uint64
	}{{chain(n), n - 1, n + 9}, {back, 1, 2*n + 9}} {
		m := &marked{&labelled{graph: *c.graph, labels: func(s uint64) uint64 {
			if s == c.goal {
				return 7
			}
			return 0
		}}, new(atomic.Int64)}
		after := func(ctx context.Context, states *explore.States) error {
			if err := states.Open(ctx, 2); err != nil {
				return err
			}
			v := &remembering{next: func(s uint64) []uint64 { return m.next(s, nil) }}
			v.labels = m.labels
			if _, _, err := states.Sweep(ctx, v); err != nil {
				return err
			}
			v.words, v.visits = true, 0
			_, words, err := states.SweepWords(ctx, v, false)
			if err != nil {
				return err
			}
			if words[0] != 7 || uint64(v.visits) > c.most || v.failed != "" {
				t.Errorf("%d visits of %d states, %q: %v", v.visits, n, v.failed, words)
			}
			missed := 0
			_, _, err = states.Each(ctx, func(words []uint64) uint64 {
				if words[0] != 7 {
					missed++
				}
				return 0
			})
			if missed > 0 {
				t.Errorf("%d states of %d do not know what they lead to", missed, n)
			}
			return err
		}
		mustSearchModel(t, setting{ranks: 1, opts: explore.Options{After: after}}, m)
	}
}

// Ranks tell each other what they have changed: a repeated sweep visits the states alone that lead
// there. A chain has a sweep for each pair of arcs between ranks, and few visits in all.
func TestChangesAreFollowed(t *testing.T) {
	const n = 200
	m := &marked{&labelled{graph: *chain(n), labels: func(s uint64) uint64 {
		if s == n-1 {
			return 7
		}
		return 0
	}}, new(atomic.Int64)}
	for _, s := range []setting{{ranks: 3}, {ranks: 3, hidden: true}, {ranks: 4, hosts: 2}} {
		hand, visits := new(explore.Hand), new(atomic.Int64)
		s.opts.After = func(ctx context.Context, states *explore.States) error {
			if err := errors.Join(states.Deal(ctx, hand), states.Open(ctx, 2)); err != nil {
				return err
			}
			v := &remembering{next: func(s uint64) []uint64 { return m.next(s, nil) }}
			v.labels = m.labels
			_, words, err := states.Sweep(ctx, v)
			v.words, v.visits = true, 0
			for again, changed := false, uint64(1); err == nil && changed != 0; again = true {
				changed, words, err = states.SweepWords(ctx, v, again)
			}
			if err == nil && (words[0] != 7 || v.failed != "") {
				t.Errorf("%v: %q, %v", s, v.failed, words)
			}
			visits.Add(int64(v.visits))
			return err
		}
		mustSearchModel(t, s, m)
		if visits.Load() > 3*n {
			t.Errorf("%v: %d visits of %d states", s, visits.Load(), n)
		}
	}
}

// A rank sees the words that others have given their states, once these are published.
func TestPublish(t *testing.T) {
	const n = 100
	m := &marked{&labelled{graph: *chain(n), labels: func(s uint64) uint64 { return s * s }},
		new(atomic.Int64)}
	for _, s := range []setting{{ranks: 3}, {ranks: 3, hidden: true}, {ranks: 4, hosts: 2}} {
		hand := new(explore.Hand)
		s.opts.After = func(ctx context.Context, states *explore.States) error {
			v := &remembering{next: func(s uint64) []uint64 { return m.next(s, nil) }}
			v.labels = m.labels
			err := errors.Join(states.Deal(ctx, hand), states.Open(ctx, 2))
			if err == nil {
				_, _, err = states.Sweep(ctx, v)
			}
			if v.words = true; err == nil {
				_, _, err = states.SweepWords(ctx, v, false)
			}
			if err == nil {
				_, _, err = states.Each(ctx, func(words []uint64) uint64 {
					words[0] = words[1]
					return 1
				})
			}
			if err == nil {
				err = states.Publish(ctx)
			}
			for i := uint64(0); err == nil && i < n; i++ {
				var at explore.Visit
				if at, err = states.Look(ctx, []uint64{i}); err == nil && at.Words[0] != i+1 {
					t.Errorf("%v: state %d has words %v", s, i, at.Words)
				}
			}
			return err
		}
		mustSearchModel(t, s, m)
	}
}

// sparse sees two of three states.
type sparse struct{ n int }

func (s *sparse) Open([]uint64) bool          { s.n++; return s.n%3 != 2 }
func (s *sparse) Visit(*explore.Visit) uint64 { return 0 }
