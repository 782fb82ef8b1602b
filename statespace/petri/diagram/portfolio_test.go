package diagram

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/petri"
)

// onRanks runs fn on so many ranks, which access each other's memory directly or not.
func onRanks(t *testing.T, ranks int, fn func(job rma.Job) error) {
	t.Helper()
	for _, hidden := range []bool{false, true} {
		must(t, local.RunWith(local.Options{Hidden: hidden}, ranks, fn))
	}
}

// TestTogether: of any number of ranks one returns the answer.
func TestTogether(t *testing.T) {
	net, err := petri.Family("philosophers", 8)
	must(t, err)
	for _, ranks := range []int{1, 2, 5, 40} {
		var answers atomic.Int32
		onRanks(t, ranks, func(job rma.Job) error {
			res, err := ExploreTogether(t.Context(), job, net, Share{Number: job.Rank()},
				Options{MaxBytes: 8 << 20})
			if res != nil {
				answers.Add(1)
				if res.States.Cmp(power(3, 8)) != 0 || res.Elapsed <= 0 {
					t.Errorf("%d ranks: %v states in %v", ranks, res.States, res.Elapsed)
				}
			}
			return err
		})
		if n := answers.Load(); n != 2 {
			t.Errorf("%d ranks: %d answers in two runs", ranks, n)
		}
	}
}

// TestTogetherFails: if no rank has an answer, each that has tried says why, and the others that
// there is none.
func TestTogetherFails(t *testing.T) {
	const most = 1<<32 - 1 // tokens
	net := &petri.Net{Places: []petri.Place{{ID: "a", Initial: most}, {ID: "b", Initial: most}}}
	net.Transitions = []petri.Transition{
		{ID: "s", Out: []petri.Arc{{Place: 0, Weight: 1}}},
		{ID: "t", Out: []petri.Arc{{Place: 1, Weight: 1}}}}
	onRanks(t, 7, func(job rma.Job) error {
		res, err := ExploreTogether(t.Context(), job, net, Share{Number: job.Rank()},
			Options{MaxBytes: 8 << 20})
		if tried := job.Rank() < 4; res != nil || err == nil ||
			tried == errors.Is(err, ErrNoAnswer) {
			t.Errorf("rank %d: %v, %v", job.Rank(), res, err)
		}
		return nil
	})
	ctx, end := context.WithCancel(t.Context())
	end()
	onRanks(t, 3, func(job rma.Job) error {
		res, err := ExploreTogether(ctx, job, net, Share{}, Options{})
		if res != nil || err == nil {
			t.Errorf("rank %d after the end: %v, %v", job.Rank(), res, err)
		}
		return nil
	})
}

// TestTogetherWaits: a rank that does not search waits for one that does.
func TestTogetherWaits(t *testing.T) {
	net, err := petri.Family("philosophers", 8)
	must(t, err)
	onRanks(t, 2, func(job rma.Job) error {
		res, err := ExploreTogether(t.Context(), job, net, Share{Number: -job.Rank()}, Options{})
		if (res != nil) != (job.Rank() == 0) {
			t.Errorf("rank %d: %v, %v", job.Rank(), res, err)
		}
		return err
	})
}

// TestPortfolio: the first rank has the answer, whoever failed before, and then the job is over.
func TestPortfolio(t *testing.T) {
	for winner := range 3 {
		onRanks(t, 3, func(job rma.Job) error {
			p, err := newPortfolio(t.Context(), job)
			if err != nil {
				return err
			}
			defer func() { must(t, p.close()) }()
			if job.Rank() == winner {
				first, err := p.claim()
				again, err2 := p.claim()
				if !first || again {
					t.Errorf("rank %d is the first: %v; and again: %v", winner, first, again)
				}
				return errors.Join(err, err2)
			}
			if job.Rank() == (winner+1)%3 {
				return p.outcome(t.Context(), errors.New("it has failed"))
			}
			ctx, end := context.WithCancelCause(t.Context())
			if err := p.watch(ctx, end); err != nil || context.Cause(ctx) != errBeaten {
				t.Errorf("the watch ends with %v, %v", err, context.Cause(ctx))
			}
			return p.outcome(t.Context(), errBeaten)
		})
	}
}

// A signal comes to the ranks of one host alone. Ranks of others that wait for an answer, or have
// failed, end as interrupted too.
func TestPortfolioInterrupted(t *testing.T) {
	failed := errors.New("it has failed")
	onRanks(t, 3, func(job rma.Job) error {
		p, err := newPortfolio(t.Context(), job)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		failure, want := errNoMore, ErrInterrupted
		switch job.Rank() {
		case 0:
			failure = failed
		case 1:
			stop()
			failure, want = context.Canceled, context.Canceled
		}
		if err := p.outcome(ctx, failure); !errors.Is(err, want) {
			t.Errorf("rank %d: %v, not %v", job.Rank(), err, want)
		}
		return errors.Join(job.Barrier(t.Context()), p.close())
	})
}

// TestPortfolioLost: the others do not wait for a rank that is lost.
func TestPortfolioLost(t *testing.T) {
	failed, lost := errors.New("it has failed"), errors.New("rank 1 is lost")
	err := local.Run(3, func(job rma.Job) error {
		p, err := newPortfolio(t.Context(), job)
		if err != nil {
			return err
		}
		if job.Rank() == 1 {
			return lost
		}
		if err := p.outcome(t.Context(), failed); err != failed {
			t.Errorf("rank %d: %v", job.Rank(), err)
		}
		return p.close()
	})
	if !errors.Is(err, lost) {
		t.Error(err)
	}
}

// TestNthOrder: the first order is the one that Choose takes, and no two are the same.
func TestNthOrder(t *testing.T) {
	net, err := petri.Family("dekker", 5)
	must(t, err)
	always, all := func() bool { return true }, [][]int(nil)
	for {
		o, ok := nth(net, len(all), always)
		if !ok {
			break
		}
		if slices.ContainsFunc(all, func(p []int) bool { return slices.Equal(p, o.Places) }) {
			t.Errorf("order %d, %s, was there before", len(all), o.Name)
		}
		all = append(all, o.Places)
	}
	two := &petri.Net{Places: []petri.Place{{ID: "a"}, {ID: "b"}}}
	if _, third := nth(two, 2, always); third {
		t.Error("two places have three orders")
	}
	if first := Choose(net).Places; len(all) < 4 || !slices.Equal(all[0], first) {
		t.Errorf("%d orders; the first is %v, not %v", len(all), all[0], first)
	}
}
