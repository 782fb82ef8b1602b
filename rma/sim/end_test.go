package sim_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// mentions checks that an error contains texts.
func mentions(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %v, want it to contain %q", err, text)
		}
	}
}

// A run without end is ended, and its error lists what the ranks wait for.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		opts sim.Options
		want string
	}{
		{"time", sim.Options{MaxTimeNs: 1_000_000}, "past the limit of 1000000.000 ns"},
		{"steps", sim.Options{MaxSteps: 10_000}, "more than 10000 events and calls"},
	} {
		c.opts.Ranks, c.opts.Seed = 4, 42
		unwound := 0
		r, err := together(c.opts, 8, func(m *member) error {
			defer func() { unwound++ }()
			for m.Rank() == 2 { // a word that nobody writes
				if word, err := m.get(0, 5, 1); err != nil || word[0] != 0 {
					return err
				}
				m.Sleep(10_000)
			}
			for m.Rank() == 3 {
				m.Sleep(1)
			}
			return m.barrier()
		})
		mentions(t, err, "sim: seed 42: ", c.want, "rank 1 waits for the other ranks",
			`rank 2 is at work, of late on a get of 1 words at 5 of rank 0 in window "test"`,
			"2 of 4 ranks have come to collective call 2, missing are [2 3]")
		if unwound != 4 || r.TimeNs > 1_010_000 {
			t.Errorf("%s: %d of 4 ranks were unwound at %d ns", c.name, unwound, r.TimeNs)
		}
	}
}

// The error of a run is a rank's own before what others say of it, and the lowest rank's.
func TestFirstCause(t *testing.T) {
	own := errors.New("its own")
	gone, peer := &rma.RankError{Rank: 3}, &rma.PeerError{What: "x", Rank: 3}
	for _, c := range []struct {
		errs []error
		want error
	}{
		{[]error{nil, nil}, nil},
		{[]error{gone, nil, own}, own},
		{[]error{fmt.Errorf("a: %w", peer), own, errors.New("higher")}, own},
		{[]error{nil, peer, gone}, peer},
	} {
		opts := sim.Options{Ranks: len(c.errs), Seed: 7}
		_, err := sim.Run(opts, func(job rma.Job) error { return c.errs[job.Rank()] })
		if !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.errs, err, c.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "sim: seed 7: ") {
			t.Errorf("%v does not begin with the seed", err)
		}
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
		{"panic", "rank 2 panicked: its own\ngoroutine", func() error { panic(own) }},
		{"nil panic", "rank 2 panicked", func() error { panic(nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			failed := make([][]int, 3)
			_, err := sim.Run(sim.Options{Ranks: 3}, func(job rma.Job) error {
				if job.Rank() == 2 {
					return c.end()
				}
				err := job.Barrier(t.Context())
				failed[job.Rank()] = job.Failed()
				return err
			})
			mentions(t, err, c.want)
			for rank := range 2 {
				if !strings.Contains(fmt.Sprint(failed[rank]), "2") {
					t.Errorf("rank %d: Failed() = %v", rank, failed[rank])
				}
			}
		})
	}
}

// A rank that ends its goroutine, as t.FailNow does, ends the goroutine of Run when the others
// have been unwound.
func TestGoexit(t *testing.T) {
	returned, unwound := false, 0
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = sim.Run(sim.Options{Ranks: 3}, func(job rma.Job) error {
			defer func() { unwound++ }()
			if job.Rank() == 1 {
				job.(*sim.Job).Sleep(100)
				runtime.Goexit()
			}
			job.(*sim.Job).Sleep(1000)
			return nil
		})
		returned = true
	}()
	<-over
	if returned || unwound != 3 {
		t.Errorf("Run returned: %v, and %d of 3 ranks were unwound", returned, unwound)
	}
}

// A rank that has closed its job and then fails is known as failed.
func TestFailedAfterClose(t *testing.T) {
	_, err := sim.Run(sim.Options{Ranks: 2, MaxTimeNs: 1e9}, func(job rma.Job) error {
		if job.Rank() == 1 {
			return errors.Join(job.Close(), errors.New("its own"))
		}
		for len(job.Failed()) == 0 {
		}
		return nil
	})
	mentions(t, err, "its own")
}

func TestBadOptions(t *testing.T) {
	kill, cut, slow := sim.Kill{Rank: 2}, sim.Cut{A: 1, B: 1}, sim.Slow{Rank: 1}
	for want, opts := range map[string]sim.Options{
		"1 to 65536 ranks, not 0":      {},
		"not 65537":                    {Ranks: sim.MaxRanks + 1},
		"RanksPerHost":                 {Ranks: 1, RanksPerHost: -1},
		"View":                         {Ranks: 1, View: sim.ViewAll + 1},
		"TearNs":                       {Ranks: 1, TearNs: -1},
		"MaxTimeNs must be 0 to 86400": {Ranks: 1, MaxTimeNs: 1 << 62},
		"StallEvery":                   {Ranks: 1, StallEvery: -1},
		"Cost.LatencyNs":               {Ranks: 1, Cost: sim.Cost{LatencyNs: -1}},
		"Cost.MessagesPerSecond":       {Ranks: 1, Cost: sim.Cost{MessagesPerSecond: 1e-302}},
		"Cost.BytesPerNs":              {Ranks: 1, Cost: sim.Cost{LatencyNs: 1}},
		"is no Kill of 2 ranks":        {Ranks: 2, Faults: sim.Faults{Kills: []sim.Kill{kill}}},
		"is no Cut between two of 2":   {Ranks: 2, Faults: sim.Faults{Cuts: []sim.Cut{cut}}},
		"is no Slow of 2 ranks":        {Ranks: 2, Faults: sim.Faults{Slow: []sim.Slow{slow}}},
		"KillEvery -1 and MaxKills 0":  {Ranks: 2, Faults: sim.Faults{KillEvery: -1}},
		"Faults.RetryNs must be 0 to":  {Ranks: 2, Faults: sim.Faults{RetryNs: -5}},
	} {
		_, err := sim.Run(opts, func(rma.Job) error { return errors.New("was run") })
		mentions(t, err, "sim: ", want)
	}
}

// Random options are legal, and differ.
func TestRandomOptions(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		opts := sim.Random(4, seed)
		if _, err := sim.Run(opts, func(rma.Job) error { return nil }); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		opts.Seed = 0
		seen[fmt.Sprintf("%+v", opts)] = true
	}
	if len(seen) < 190 {
		t.Errorf("200 seeds have %d different options", len(seen))
	}
}

// A rank waits in virtual time, even for a word that it sees as memory.
func TestBackoffSleepsInVirtualTime(t *testing.T) {
	opts := sim.Options{Ranks: 2, View: sim.ViewOwn, MaxTimeNs: 1e9}
	mustTogether(t, opts, 1, func(m *member) error {
		if m.Rank() == 1 {
			m.Sleep(100_000)
			return m.put(0, 0, 1)
		}
		pace, pauses := backoff.Backoff{Job: m.Job}, 0
		pace.Reset() // still of the same job
		for m.w.Words(0)[0] == 0 {
			pace.Pause()
			pauses++
		}
		if now := m.NowNs(); pauses > 12 || now > 300_000 {
			t.Errorf("noticed after %d pauses at %d ns", pauses, now)
		}
		return nil
	})
}
