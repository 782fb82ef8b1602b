package explore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/statespace/explore"
)

// labelling finds the labels that are reached from each state, in the first of some words. The last
// word has the state itself, to be found by those before it.
type labelling struct {
	labels func(s uint64) uint64
	failed string
}

func (l *labelling) Open(words []uint64) bool { return words[0] != 7 }

func (l *labelling) Visit(at *explore.Visit) uint64 {
	width, n := len(at.Words), len(at.State)
	all := at.Words[0] | l.labels(at.State[0])
	for i := range len(at.Next) / n {
		words := at.NextWords[i*width:][:width]
		all |= words[0]
		if last := words[width-1]; last != 0 && last-1 != at.Next[i*n] {
			l.failed = "the words of a successor are of another state"
		}
	}
	changed := all &^ at.Words[0]
	at.Words[0], at.Words[width-1] = all, at.State[0]+1
	return changed
}

// afterSettings are the settings in which Options.After is called.
func afterSettings() []setting {
	return append(settings(1, 2, 3, 4), setting{ranks: 2, hosts: 2}, setting{ranks: 4, hosts: 2})
}

func TestStatesOfRandomGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	all := afterSettings()
	for i := range seeds.Often(130, 400) {
		next, labels := randomList(rng, 40, 4)
		if i%10 == 1 { // the successors of a block are more than a batch
			next, labels = randomList(rng, 200, 25)
		}
		initial := []uint64{0, rng.Uint64N(uint64(len(next)))}
		_, level := reached(next, labels, initial...)
		m := listed(next, labels, initial...)
		s := all[i%len(all)]
		if s.opts.Encoding == explore.EncodingFingerprint {
			continue
		}
		width, hand := 2+i%3, new(explore.Hand)
		s.opts.After = func(ctx context.Context, states *explore.States) error {
			if err := errors.Join(states.Deal(ctx, hand), states.Open(ctx, width)); err != nil {
				return err
			}
			v := &labelling{labels: func(s uint64) uint64 { return labels[s] }}
			for changed := uint64(1); changed != 0; {
				var words []uint64
				var err error
				if changed, words, err = states.Sweep(ctx, v); err != nil {
					return err
				}
				for k, s := range initial {
					want, _ := reached(next, labels, s)
					if got := words[k*width]; got&^want != 0 || changed == 0 && got != want {
						t.Errorf("graph %d: from %d are reached %b, want %b", i, s, got, want)
					}
				}
			}
			seen := uint64(0)
			_, _, err := states.Each(ctx, func(words []uint64) uint64 {
				s := words[width-1] - 1
				if want, _ := reached(next, labels, s); words[0] != want {
					t.Errorf("graph %d: from %d are reached %b, want %b", i, s, words[0], want)
				}
				seen++
				return 0
			})
			if seen > uint64(len(level)) || v.failed != "" || states.Initials() != len(initial) {
				t.Errorf("graph %d: %d states seen, %q", i, seen, v.failed)
			}
			return err
		}
		r := mustSearchModel(t, s, m)
		if r.Swept == nil || r.Swept.Reason != "" || r.Swept.Sweeps == 0 {
			t.Fatalf("graph %d, %v: %+v", i, s, r.Swept)
		}
	}
}

// forever is a visitor for whom nothing ends.
type forever struct{}

func (forever) Open([]uint64) bool          { return true }
func (forever) Visit(*explore.Visit) uint64 { return 1 }
func sweepForever(ctx context.Context, states *explore.States) error {
	err := states.Open(ctx, 1)
	for err == nil {
		_, _, err = states.Sweep(ctx, forever{})
	}
	return err
}

func TestAfterInterrupted(t *testing.T) {
	for _, ranks := range []int{1, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &labelled{graph: *doubling(12), labels: func(uint64) uint64 { return 1 }}
		expandedAgain(m, func() error { cancel(); return nil })
		s := setting{ranks: ranks, opts: explore.Options{After: sweepForever},
			ctx: func(int) context.Context { return ctx }}
		r := mustSearchModel(t, s, m)
		if !r.Complete || r.Swept.Reason != explore.Interrupted {
			t.Errorf("%v: %+v %+v", s, r.Swept, r)
		}
	}
}

// A model that fails on one rank, and one that has other successors than before, give every rank an
// error.
func TestAfterFails(t *testing.T) {
	broken := errors.New("broken")
	for says, fail := range map[string]func(m *labelled) error{
		"broken": func(*labelled) error { return broken },
		"was not found in the search": func(m *labelled) error {
			m.next = func(s uint64, out []uint64) []uint64 { return append(out, 1<<20) }
			return nil
		},
	} {
		m := &labelled{graph: *doubling(8), labels: func(uint64) uint64 { return 1 }}
		expandedAgain(m, func() error { return fail(m) })
		_, err := searchModel(setting{ranks: 1, opts: explore.Options{After: sweepForever}},
			func(int) explore.Model { return m })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
	_, err := searchModel(setting{ranks: 2, opts: explore.Options{After: sweepForever,
		Encoding: explore.EncodingFingerprint}},
		func(int) explore.Model { return chain(3).long(3) })
	if err == nil || !strings.Contains(err.Error(), "expands states again") {
		t.Errorf("%v", err)
	}
}

func TestAfterWithoutMemory(t *testing.T) {
	for _, s := range []setting{{ranks: 1}, {ranks: 3}} {
		s.opts = explore.Options{Mem: tightMem,
			After: func(ctx context.Context, states *explore.States) error {
				return states.Open(ctx, 1024)
			}}
		r := mustSearchModel(t, s, &labelled{graph: *doubling(10),
			labels: func(uint64) uint64 { return 1 }})
		if !r.Complete || r.Swept.Reason != explore.MemoryFull ||
			!strings.Contains(r.Swept.Detail, "try ") {
			t.Errorf("%v: %+v %+v", s, r.Swept, r)
		}
	}
}
