package explore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
)

// wantInterrupted checks what every rank of an interrupted search must get.
func wantInterrupted(t *testing.T, what any, out []outcome, err error, statesMin uint64) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: %v", what, err)
	}
	for rank, o := range out {
		if o.res.Complete || o.res.Reason != explore.Interrupted || o.res.States < statesMin ||
			o.res.States != out[0].res.States || o.res.NeedMem != 0 {
			t.Fatalf("%v: rank %d: %+v", what, rank, o.res)
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range settings(1, 2, 4) {
		only := s.ranks - 1 // the other ranks' contexts continue
		s.ctx = func(rank int) context.Context {
			if rank == only {
				return cancelled
			}
			return context.Background()
		}
		m := doubling(20)
		if only != 0 {
			// Rank 0 cannot finish before the other one has come and gone.
			m.next = func(s uint64, out []uint64) []uint64 { return append(out, s+1) }
		}
		out, err := searchModel(s, func(int) explore.Model { return m })
		wantInterrupted(t, s, out, err, 1)
	}
}

// Cancelled in mid-search, also while the table is about to grow.
func TestCancelledDuring(t *testing.T) {
	for _, after := range []uint64{1, 300, 860, 870, 880, 1300} {
		for _, s := range append(settings(1, 4), tightSettings(false, 1, 4)...) {
			if s.hidden && after > 300 {
				continue
			}
			m := doubling(30)
			if s.opts.Mem == tightMem {
				m = m.long(tightWords)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var expanded atomic.Uint64
			m.hook = func(uint64) error {
				if expanded.Add(1) == after {
					cancel()
				}
				return nil
			}
			s.ctx = func(rank int) context.Context {
				// Where memory is short it may be full before a rank reads the command.
				if rank == s.ranks/2 || s.opts.Mem == tightMem {
					return ctx
				}
				return context.Background()
			}
			out, err := searchModel(s, func(int) explore.Model { return m })
			wantInterrupted(t, s, out, err, after)
			cancel()
		}
	}
}

// A state that does not fit the packing ends the search on every rank alike, also
// while others want the table to grow.
func TestOverflow(t *testing.T) {
	for _, limit := range []uint64{2, 3, 100, 1700, 1750, 1800, 2500, 2600, 2700, 3900, 4000} {
		for _, s := range append(settings(1), tightSettings(false, 2, 4)...) {
			m := doubling(24)
			m.limit = limit
			if s.opts.Mem == tightMem {
				m = m.long(tightWords)
			}
			out, err := searchModel(s, func(int) explore.Model { return m })
			named := 0
			for rank, o := range out {
				var overflow *explore.OverflowError
				if !errors.As(o.err, &overflow) || o.res != nil {
					t.Fatalf("%v, limit %d: rank %d: %+v, %v", s, limit, rank, o.res, o.err)
				}
				if overflow.Place == "number" && overflow.Bits == m.bits {
					named++
				}
			}
			if err == nil || named == 0 {
				t.Fatalf("%v, limit %d: no rank knows the place: %v", s, limit, out)
			}
		}
	}
}

func TestOverflowMessage(t *testing.T) {
	for want, err := range map[string]error{
		"explore: place p has more tokens than 8 bits hold": &explore.OverflowError{
			Place: "p", Bits: 8},
		"explore: place p has more tokens than 1 bit holds": &explore.OverflowError{
			Place: "p", Bits: 1},
		"explore: a state does not fit the packing": &explore.OverflowError{},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// victim has the first rank but 0 that gets something to do end with fail. Rank 0 waits
// for that before it goes far, with work on offer. A single rank is the victim itself.
type victim struct {
	rank atomic.Int64 // -1 until known
	gone *event
	fail func() error
}

func newVictim(fail func() error) *victim {
	v := &victim{gone: newEvent(), fail: fail}
	v.rank.Store(-1)
	return v
}

// model is doubling(14) for one rank of so many.
func (v *victim) model(rank, ranks int) *graph {
	m := doubling(14)
	m.hook = func(s uint64) error {
		switch {
		case rank == 0 && ranks > 1:
			if s >= 1<<12 {
				<-v.gone.done
			}
		case s >= 1<<9 && v.rank.CompareAndSwap(-1, int64(rank)):
			v.gone.happen()
			return v.fail()
		}
		return nil
	}
	return m
}

// The error of the rank that failed comes first, whatever its number, and no rank
// takes the search for complete.
func TestModelFails(t *testing.T) {
	broken := errors.New("the model is broken")
	for _, s := range settings(1, 2, 4) {
		v := newVictim(func() error { return broken })
		out, err := searchModel(s, func(rank int) explore.Model { return v.model(rank, s.ranks) })
		if !errors.Is(err, broken) {
			t.Fatalf("%v: %v", s, err)
		}
		name := fmt.Sprintf("rank %d failed", v.rank.Load())
		for rank, o := range out {
			echo := rank != int(v.rank.Load())
			if o.err == nil || echo && !strings.Contains(o.err.Error(), name) {
				t.Fatalf("%v: rank %d: %+v, %v", s, rank, o.res, o.err)
			}
		}
	}
}

// More tokens than any packing holds: the message says so, and not only that another
// rank has one.
func TestTooManyTokens(t *testing.T) {
	n := &petri.Net{Name: "burst", Places: []petri.Place{{ID: "p", Name: "p"}},
		Transitions: []petri.Transition{{ID: "t", Name: "t",
			Out: []petri.Arc{{Place: 0, Weight: petri.MaxTokens}}}}}
	for _, s := range settings(1, 4) {
		out, err := search(s, net(n))
		if err == nil || strings.Contains(err.Error(), "another") ||
			!strings.Contains(err.Error(), "p") || strings.Contains(err.Error(), "rank") {
			t.Errorf("%v: %v", s, err)
		}
		for rank, o := range out {
			if o.err == nil {
				t.Errorf("%v: rank %d: %+v", s, rank, o.res)
			}
		}
	}
}

// A rank that dies takes states along: the others come to an end and say so. A panic would be
// the model's, and no death.
func TestRankLost(t *testing.T) {
	for _, s := range settings(2, 4) {
		v := newVictim(func() error { runtime.Goexit(); return nil })
		out, err := searchModel(s, func(rank int) explore.Model { return v.model(rank, s.ranks) })
		if err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
			t.Fatalf("%v: %v", s, err)
		}
		for rank, o := range out {
			if rank == int(v.rank.Load()) {
				continue
			}
			if o.err != nil || o.res.Complete || o.res.Reason != explore.RankLost ||
				o.res.States == 0 || !strings.Contains(o.res.Detail, "lost") ||
				!slices.Equal(o.res.Lost, []int{int(v.rank.Load())}) {
				t.Fatalf("%v: rank %d: %+v, %v", s, rank, o.res, o.err)
			}
		}
	}
}
