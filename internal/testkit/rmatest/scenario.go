package rmatest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
)

// containsAll checks that each of some parts occurs in a text.
func containsAll(text string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q does not name %q", text, part)
		}
	}
	return nil
}

// specMismatch has the last rank ask for another window than the others.
func specMismatch(t *testing.T, start Starter, ranks int) {
	if ranks < 2 {
		t.Skip("needs 2 ranks")
	}
	long := strings.Repeat("a long name ", 20)
	for _, c := range []struct {
		others, last rma.Spec
		parts        []string
	}{
		{rma.Spec{Name: "same", Words: 10}, rma.Spec{Name: "same", Words: 20},
			[]string{"10", "20", "same"}},
		{rma.Spec{Name: "left", Words: 10}, rma.Spec{Name: "right", Words: 10},
			[]string{`"left"`, `"right"`}},
		{rma.Spec{Name: "left", Words: 0}, rma.Spec{Name: "", Words: -1}, []string{"left", "-1"}},
		{rma.Spec{Name: long + "1", Words: 1}, rma.Spec{Name: long + "2", Words: 1},
			[]string{"a long name"}},
		{rma.Spec{Name: "same", Key: "left", Words: 1},
			rma.Spec{Name: "same", Key: "right", Words: 1}, []string{"key left", "key right"}},
	} {
		texts := make([]string, ranks)
		err := start(ranks, func(job rma.Job) error {
			ctx, cancel := patience.WithTimeout(t.Context(), maxWait)
			defer cancel()
			spec := c.others
			if job.Rank() == ranks-1 {
				spec = c.last
			}
			_, err := job.NewWindow(ctx, spec)
			texts[job.Rank()] = outcome(err)
			// The ranks are still in step.
			if _, err := job.NewWindow(ctx, rma.Spec{Name: "good", Words: 1}); err != nil {
				return err
			}
			return job.Barrier(ctx)
		})
		parts := append(c.parts, "rank 0", fmt.Sprint("rank ", ranks-1))
		if err := errors.Join(err, sameText(texts, parts...)); err != nil {
			t.Error(err)
		}
	}
}

func agreeOnDifferent(t *testing.T, start Starter, ranks int) {
	if ranks < 2 {
		t.Skip("needs 2 ranks")
	}
	texts := make([]string, ranks)
	err := start(ranks, func(job rma.Job) error {
		ctx, cancel := patience.WithTimeout(t.Context(), maxWait)
		defer cancel()
		value := uint64(1234)
		if job.Rank() == ranks-1 {
			value = 5678
		}
		err := rma.Agree(ctx, job, "thing", nil, rma.Field{Name: "width", Value: 1},
			rma.Field{Name: "height", Value: value}, rma.Field{Name: "depth", Value: value})
		texts[job.Rank()] = outcome(err)
		return job.Barrier(ctx)
	})
	err = errors.Join(err, sameText(texts, "thing: height", "rank 0 has 1234",
		fmt.Sprintf("rank %d has 5678", ranks-1)))
	if err != nil {
		t.Error(err)
	}
}

// errPlanned is the error of a rank that fails on purpose.
var errPlanned = errors.New("failed on purpose")

// oneFailed: a rank keeps its own error, and the others learn who has one.
func oneFailed(t *testing.T, start Starter, ranks int) {
	for culprit := range ranks {
		errs := make([]error, ranks)
		err := start(ranks, func(job rma.Job) error {
			ctx, cancel := patience.WithTimeout(t.Context(), maxWait)
			defer cancel()
			var mine error
			if job.Rank() == culprit {
				mine = errPlanned
			}
			errs[job.Rank()] = rma.AllSucceeded(ctx, job, "building", mine)
			return errs[job.Rank()]
		})
		if !errors.Is(err, errPlanned) || errs[culprit] != errPlanned {
			t.Errorf("rank %d failed; the job says %v and it says %v, want both: %v",
				culprit, err, errs[culprit], errPlanned)
		}
		for _, rank := range others(ranks, culprit) {
			var peer *rma.PeerError
			if !errors.As(errs[rank], &peer) || peer.Rank != culprit || peer.What != "building" {
				t.Errorf("rank %d says %v when rank %d failed", rank, errs[rank], culprit)
			}
		}
	}
}

// rankReturnsEarly: a rank that gives up makes collective calls of the others
// fail, not hang.
func rankReturnsEarly(t *testing.T, start Starter, ranks int) {
	calls := map[string]func(ctx context.Context, job rma.Job) error{
		"Barrier": func(ctx context.Context, job rma.Job) error { return job.Barrier(ctx) },
		"NewWindow": func(ctx context.Context, job rma.Job) error {
			_, err := job.NewWindow(ctx, rma.Spec{Name: "incomplete", Words: 1})
			return err
		},
		"Agree": func(ctx context.Context, job rma.Job) error {
			return rma.Agree(ctx, job, "incomplete", nil, rma.Field{Name: "one", Value: 1})
		},
		"AllSucceeded": func(ctx context.Context, job rma.Job) error {
			return rma.AllSucceeded(ctx, job, "incomplete", nil)
		},
	}
	for name, call := range calls {
		for culprit := range ranks {
			errs := make([]error, ranks)
			err := start(ranks, func(job rma.Job) error {
				if job.Rank() == culprit {
					return errPlanned
				}
				ctx, cancel := patience.WithTimeout(t.Context(), maxWait)
				defer cancel()
				errs[job.Rank()] = call(ctx, job)
				return errs[job.Rank()]
			})
			if !errors.Is(err, errPlanned) {
				t.Errorf("%s: the job says %v, want what rank %d says", name, err, culprit)
			}
			for _, rank := range others(ranks, culprit) {
				// Another one may have given up for the same reason before.
				var gone *rma.RankError
				if !errors.As(errs[rank], &gone) || gone.Rank == rank {
					t.Errorf("%s of rank %d when rank %d has gone: %v",
						name, rank, culprit, errs[rank])
				}
			}
		}
	}
}

// rankLeavesAfterBarrier: a rank that came to a barrier and went, in good order or
// not, has come.
func rankLeavesAfterBarrier(t *testing.T, start Starter, ranks int) {
	for round := range 20 {
		last := error(nil)
		if round%2 == 1 {
			last = errPlanned
		}
		err := start(ranks, func(job rma.Job) error {
			ctx, cancel := patience.WithTimeout(t.Context(), maxWait)
			defer cancel()
			if err := job.Barrier(ctx); err != nil {
				return fmt.Errorf("the barrier that all came to: %v", err)
			}
			if job.Rank() == ranks-1 {
				return last
			}
			err := job.Barrier(ctx)
			var gone *rma.RankError
			if !errors.As(err, &gone) {
				return fmt.Errorf("the barrier that rank %d did not come to: %v", ranks-1, err)
			}
			return nil
		})
		if err != last && (last == nil || !errors.Is(err, last)) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// closeEndsWaiting closes the job of rank 0 while two of its goroutines wait for
// ranks that stay and do not come.
func closeEndsWaiting(t *testing.T, start Starter, ranks int) {
	if ranks < 2 {
		t.Skip("needs 2 ranks")
	}
	closed := make(chan bool)
	err := start(ranks, func(job rma.Job) error {
		ctx, cancel := patience.WithTimeout(t.Context(), maxWait)
		defer cancel()
		if job.Rank() != 0 {
			select {
			case <-closed:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		wg.Go(func() { errs[0] = job.Barrier(ctx) })
		wg.Go(func() { _, errs[1] = job.NewWindow(ctx, rma.Spec{Name: "never", Words: 1}) })
		for range 10 {
			runtime.Gosched() // lets them begin to wait, most likely
		}
		err := job.Close()
		wg.Wait()
		close(closed)
		for _, waited := range errs {
			if waited == nil || ctx.Err() != nil {
				err = errors.Join(err, fmt.Errorf("closed while waiting: %v", errs))
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
