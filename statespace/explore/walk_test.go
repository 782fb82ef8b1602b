package explore_test

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/statespace/explore"
)

// wanderers is a graph whose last rank walks.
type wanderers struct {
	*graph
	ranks int
	walk  func(w *walker) (explore.Walk, bool)
}

func (m wanderers) NewExpander() explore.Expander {
	return &wanderer{&walker{graph: m.graph}, m}
}

type wanderer struct {
	*walker
	model wanderers
}

func (w *wanderer) Walk(rank int, known []uint64, steps int) (explore.Walk, bool) {
	if rank != w.model.ranks-1 || len(known) != graphFindings || steps <= 0 {
		return explore.Walk{}, false
	}
	return w.model.walk(w.walker)
}

// endless is a graph that no search ends in.
func endless() *graph {
	m := doubling(60)
	m.goal = 1<<60 - 1
	return m
}

// A walk decides a search that does not end.
func TestWalkDecides(t *testing.T) {
	for _, s := range []setting{{ranks: 1}, {ranks: 3}, {ranks: 2, hidden: true},
		{ranks: 2, opts: explore.Options{Order: explore.AnyOrder}}} {
		if s.opts.Order == "" {
			s.opts.Trace = []int{findingGoal}
		}
		s.opts.Walk = 0.5
		calls := 0
		r := mustSearchModel(t, s, wanderers{endless(), s.ranks,
			func(w *walker) (explore.Walk, bool) {
				if calls++; calls < 3 {
					return explore.Walk{}, true
				}
				w.find(findingGoal, 1)
				return explore.Walk{Number: 7, Length: 60}, true
			}})
		want := map[int]explore.Walk{findingGoal: {Number: 7, Length: 60}}
		if r.Complete || r.Reason != explore.Decided || r.Findings[findingGoal] != 1 ||
			!reflect.DeepEqual(r.Walks, want) || r.Trace != nil || calls != 3 ||
			s.opts.Trace != nil && r.Traced != findingGoal {
			t.Errorf("%v: after %d calls %+v", s, calls, r)
		}
	}
}

// What the search has shown first is not a walk's, and without a share of the time nobody walks.
func TestWalkAfterSearch(t *testing.T) {
	for _, share := range []float64{0, 0.9} {
		m := doubling(10)
		m.goal = 1<<9 + 5
		r := mustSearchModel(t, setting{ranks: 1, opts: explore.Options{Walk: share,
			Trace: []int{findingGoal}}}, wanderers{m, 1, func(*walker) (explore.Walk, bool) {
			if share == 0 {
				t.Error("a walk")
			}
			return explore.Walk{}, false
		}})
		if len(r.Walks) != 0 || len(r.Trace) != 11 {
			t.Errorf("%v of the time: %+v", share, r)
		}
	}
}

func TestWalkFails(t *testing.T) {
	s := setting{ranks: 2, opts: explore.Options{Walk: 0.5}}
	_, err := searchModel(s, func(int) explore.Model {
		return wanderers{endless(), 2, func(*walker) (explore.Walk, bool) { panic("lost") }}
	})
	if err == nil || !strings.Contains(err.Error(), "the model panicked: lost") {
		t.Error(err)
	}
	for _, share := range []float64{-0.1, 0.91} {
		s.opts.Walk = share
		_, err := searchModel(s, func(int) explore.Model { return doubling(3) })
		if err == nil || !strings.Contains(err.Error(), "of the time for walks; use 0 to 0.9") {
			t.Errorf("%v: %v", share, err)
		}
	}
}

// unending is wanderers whose goal decides nothing.
type unending struct{ wanderers }

func (unending) Decided([]uint64) bool { return false }

// Progress has the walks that have shown findings. Rank 0 waits until it does, and rank 1 walks.
func TestWalksInProgress(t *testing.T) {
	var once sync.Once
	var got map[int]explore.Walk
	shown := make(chan struct{})
	opts := explore.Options{Walk: 0.9, Progress: func(shot explore.Snapshot) {
		if len(shot.Findings) > 0 && shot.Findings[findingGoal] > 0 {
			once.Do(func() { got = shot.Walks; close(shown) })
		}
	}}.WithProgressEvery(time.Millisecond)
	s := setting{ranks: 2, opts: opts}
	out, err := searchModel(s, func(rank int) explore.Model {
		m := doubling(10)
		m.goal = 1 << 60
		if rank == 0 {
			m.hook = func(uint64) error { <-shown; return nil }
		}
		return unending{wanderers{m, s.ranks, func(w *walker) (explore.Walk, bool) {
			w.find(findingGoal, 1)
			return explore.Walk{Number: 7, Length: 60}, true
		}}}
	})
	if err != nil || !out[0].res.Complete || got[findingGoal] != (explore.Walk{Number: 7,
		Length: 60}) {
		t.Errorf("%v, progress has %v", err, got)
	}
}
