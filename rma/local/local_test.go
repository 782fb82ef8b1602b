package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

func TestConformance(t *testing.T) {
	for _, options := range []Options{{}, {Hidden: true},
		{Carries: true, Hosts: 2}} {
		t.Run(fmt.Sprintf("%+v", options), func(t *testing.T) {
			t.Parallel()
			rmatest.Test(t, func(ranks int, fn func(job rma.Job) error) error {
				return RunWith(options, ranks, fn)
			})
		})
	}
}

func TestHiddenWindowsHaveNoWords(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		job := SingleWith(Options{Hidden: hidden})
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 3})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Words(0) == nil; got != hidden {
			t.Errorf("hidden=%v: Words is nil: %v", hidden, got)
		}
		if got := core.Flat(w) == nil; got != hidden {
			t.Errorf("hidden=%v: Flat is nil: %v", hidden, got)
		}
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A window that is made is known to those who have it alone, also one without memory.
func TestWindowsAreForgotten(t *testing.T) {
	err := Run(2, func(job rma.Job) error {
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 3})
		if err != nil {
			return err
		}
		_, full := job.NewWindow(t.Context(), rma.Spec{Name: "too large",
			Words: min(1<<46, math.MaxInt/8+1)})
		if full == nil {
			t.Error("there is 1 PiB")
		}
		// Both ranks have forgotten the windows, or have yet to, after a barrier.
		if err := errors.Join(job.Barrier(t.Context()), w.Close()); err != nil {
			return err
		}
		c := job.(*member).cluster
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.pending) > 0 {
			t.Errorf("%d windows are still being made", len(c.pending))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNumberOfRanks(t *testing.T) {
	for _, n := range []int{-1, 0, MaxRanks + 1} {
		err := Run(n, func(rma.Job) error { return errors.New("was run") })
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("not %d", n)) {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
	if job := Single(); job.Rank() != 0 || job.Size() != 1 {
		t.Errorf("Single is rank %d of %d", job.Rank(), job.Size())
	}
}

// The end of a rank is its own error, and the others do not wait for it.
func TestRankEnds(t *testing.T) {
	own := errors.New("its own")
	for _, c := range []struct {
		name, want string
		end        func() error
	}{
		{"error", "its own", func() error { return own }},
		{"panic", "rank 2 panicked: its own", func() error { panic(own) }},
		{"nil panic", "rank 2 panicked", func() error { panic(nil) }},
		{"Goexit", "rank 2 ended its goroutine", func() error { runtime.Goexit(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			failed := make([][]int, 3)
			err := Run(3, func(job rma.Job) error {
				if job.Rank() == 2 {
					return c.end()
				}
				err := job.Barrier(t.Context())
				var gone *rma.RankError
				if !errors.As(err, &gone) || gone.Rank != 2 || gone.Left {
					// The other one may have gone for the same reason.
					return fmt.Errorf("Barrier: %v", err)
				}
				failed[job.Rank()] = job.Failed()
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Run: %v, want %q", err, c.want)
			}
			for rank := range 2 {
				if got := fmt.Sprint(failed[rank]); got != "[2]" {
					t.Errorf("rank %d: Failed() = %v, want [2]", rank, got)
				}
			}
		})
	}
}

// A rank's own error counts for more than what others say of it.
func TestCauseBeforeConsequence(t *testing.T) {
	own := errors.New("its own")
	gone, peer := &rma.RankError{Rank: 3}, &rma.PeerError{What: "x", Rank: 3}
	for _, c := range []struct {
		errs []error
		want error
	}{
		{[]error{nil, nil}, nil},
		{[]error{gone, nil, own}, own},
		{[]error{fmt.Errorf("a: %w", peer), own, nil}, own},
		{[]error{nil, peer, gone}, peer},
	} {
		if got := firstCause(c.errs); got != c.want {
			t.Errorf("firstCause(%v) = %v, want %v", c.errs, got, c.want)
		}
	}
}

// A rank that has closed its job and then fails is known as failed.
func TestFailedAfterClose(t *testing.T) {
	err := Run(2, func(job rma.Job) error {
		if job.Rank() == 1 {
			return errors.Join(job.Close(), errors.New("its own"))
		}
		var pace backoff.Backoff
		for t.Context().Err() == nil && len(job.Failed()) == 0 {
			pace.Pause()
		}
		return nil
	})
	if err == nil || err.Error() != "its own" {
		t.Errorf("error %v", err)
	}
}

// The memory of a window goes when the last rank has closed it, whether it was
// made or not.
func TestWindowMemoryIsGivenBack(t *testing.T) {
	c := newCluster(Options{}, 2)
	jobs := []*member{c.join(0), c.join(1)}
	spec := rma.Spec{Name: "test", Words: 1}
	released := 0
	s0, s1 := c.share(0, spec), c.share(0, spec)
	if s0 != s1 {
		t.Fatal("two ranks have different memory")
	}
	s0.release = func() error { released++; return nil }
	for i := range 2 {
		if released != 0 {
			t.Errorf("given back when %d of 2 ranks had closed it", i)
		}
		if err := c.drop(0, s0); err != nil {
			t.Error(err)
		}
	}
	if released != 1 || len(c.pending) != 0 {
		t.Errorf("given back %d times; %d windows pending", released, len(c.pending))
	}
	// Rank 1 agrees on the window and then goes no further.
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = direct.AgreeOnSpec(ctx, jobs[1].group, spec)
		cancel()
	}()
	if _, err := jobs[0].NewWindow(ctx, spec); err == nil {
		t.Error("a window was made by one rank of two")
	}
	if len(c.pending) != 0 {
		t.Errorf("%d windows pending after one that failed", len(c.pending))
	}
}

func TestTooLargeWindow(t *testing.T) {
	texts, says := make([]string, 3), "window vast needs 1.5 PiB"
	if math.MaxInt == math.MaxInt32 {
		says = "has 1 to 89478485 words"
	}
	err := Run(3, func(job rma.Job) error {
		_, err := job.NewWindow(t.Context(), rma.Spec{Name: "vast",
			Words: min(1<<46, math.MaxInt/8+1)})
		texts[job.Rank()] = fmt.Sprint(err)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank, text := range texts {
		if text != texts[0] || !strings.Contains(text, says) {
			t.Errorf("rank %d says %q", rank, text)
		}
	}
}

// A job that is closed answers no request any more before it gives its first window back.
func TestCloseWhileAnswering(t *testing.T) {
	const windows = 16
	answering := make(chan struct{})
	err := RunWith(Options{Carries: true}, 2, func(job rma.Job) error {
		var all [windows]rma.Window
		for i := range all {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 8})
			if err != nil {
				return err
			}
			all[i] = w
		}
		all[0].(rma.Server).Serve(func(_ int, _, answer []uint64) int {
			close(answering)
			for i := range 1000 * windows {
				answer[0] = all[i%windows].Words(job.Rank())[0] // panics if it is closed
				runtime.Gosched()
			}
			return 1
		})
		if err := job.Barrier(t.Context()); err != nil {
			return err
		}
		if job.Rank() == 0 {
			<-answering
			return job.Close()
		}
		queue, err := job.NewQueue(1)
		if err != nil {
			return err
		}
		request, answer := make(rma.Buf, 1), make(rma.Buf, 1)
		h := queue.(rma.Carrier).Ship(request, answer, all[0], 0)
		if err = queue.Submit(); err == nil {
			_, err = queue.Value(h)
		}
		return errors.Join(err, queue.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHosts: of a job on several simulated hosts a rank addresses the ranks of its own host alone,
// which are neighbours.
func TestHosts(t *testing.T) {
	for hosts, want := range map[int]string{0: "1111", 1: "1111", 2: "1100", 4: "1000"} {
		err := RunWith(Options{Hosts: hosts}, 4, func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 2})
			if err != nil || job.Rank() > 0 {
				return err
			}
			got := ""
			for rank := range 4 {
				seen := "0"
				if w.Words(rank) != nil {
					seen = "1"
				}
				got += seen
			}
			if got != want {
				t.Errorf("%d hosts: rank 0 addresses %s, want %s", hosts, got, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestCarries: queues ship requests, and windows answer them, if the options say so.
func TestCarries(t *testing.T) {
	for _, carries := range []bool{false, true} {
		job := SingleWith(Options{Carries: carries})
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 2})
		if err != nil {
			t.Fatal(err)
		}
		q, err := job.NewQueue(1)
		if err != nil {
			t.Fatal(err)
		}
		_, ships := q.(rma.Carrier)
		if _, answers := w.(rma.Server); ships != carries || carries && !answers {
			t.Errorf("carries=%v: ships %v, answers %v", carries, ships, answers)
		}
		if err := errors.Join(q.Close(), job.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestReservedWindow: a reserved window may be larger than memory. What is committed can be used,
// at the place that was asked for.
func TestReservedWindow(t *testing.T) {
	job := Single()
	defer job.Close()
	const words, at = 2 * (math.MaxInt>>26 + 1), math.MaxInt>>26 + 1
	if !job.(*member).Reserves() || math.MaxInt == math.MaxInt32 {
		t.Skip("memory is not reserved here")
	}
	w, err := job.NewWindow(t.Context(), rma.Spec{Name: "vast", Words: words, Reserve: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.(rma.Committer).Commit(0, at, 8); err != nil {
		t.Fatal(err)
	}
	if all := w.Words(0); len(all) != words {
		t.Errorf("%d words", len(all))
	} else {
		all[at+7] = 1 // a SIGSEGV ends the test
	}
	if err := w.(rma.Committer).Commit(0, 0, words); err == nil {
		t.Error("two TiB were committed")
	}
}
