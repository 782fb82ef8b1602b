package explore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

func TestCommandPacking(t *testing.T) {
	for _, kind := range []command{commandRun, commandSave, commandStop} {
		for _, generation := range []uint64{0, 1, 255} {
			for _, number := range []uint64{0, 1, 1 << 44, 1<<54 - 1} {
				c := makeCommand(kind, generation, number)
				if c.kind() != kind || c.generation() != generation || c.number() != number {
					t.Errorf("%d, %d, %d became %d, %d, %d", kind, generation, number,
						c.kind(), c.generation(), c.number())
				}
			}
		}
	}
	if makeCommand(commandSave, 256+7, 9) != makeCommand(commandSave, 7, 9) {
		t.Error("generations do not wrap")
	}
	why, rank := stopped(stopLost.number(65535))
	if why != stopLost || rank != 65535 {
		t.Errorf("stopped by %d of rank %d", why, rank)
	}
}

// newTestControl is the control of a single rank.
func newTestControl(t *testing.T) *control {
	t.Helper()
	job := local.Single()
	c, err := newControl(t.Context(), job, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(c.close(), job.Close()) })
	return c
}

// store writes words of the only rank, given as cell and word in turn.
func store(t *testing.T, c *control, cells ...uint64) {
	t.Helper()
	for i := 0; i < len(cells); i += 2 {
		if err := c.set(t.Context(), int(cells[i]), cells[i+1]); err != nil {
			t.Error(err)
		}
	}
}

func TestAdvance(t *testing.T) {
	const endAt6 = 6 | levelEnd
	for _, c := range []struct {
		what  string
		level uint64 // that the rank believes in; the word says 6
		last  bool
		want  uint64
	}{
		{"the next level has states", 6, false, 7},
		{"there is no level after it", 6, true, endAt6},
		{"another rank came first", 5, false, 6},
		{"another rank came first, long ago", 4, true, 6},
	} {
		ctl := newTestControl(t)
		store(t, ctl, cellLevel, 6)
		if err := ctl.advance(t.Context(), c.level, c.last); err != nil {
			t.Fatal(err)
		}
		if got, _ := ctl.Load(t.Context(), 0, cellLevel); got != c.want {
			t.Errorf("%s: level %#x, want %#x", c.what, got, c.want)
		}
	}
}

func TestOver(t *testing.T) {
	err := local.Run(3, func(job rma.Job) error {
		ctx := t.Context()
		c, err := newControl(ctx, job, 1, 2)
		if err != nil {
			return err
		}
		r := uint64(job.Rank())
		// Ranks create what others expand: only the sums are equal, and only at even levels.
		store(t, c, cellCreated, 10*r, cellDone, 10*(2-r), cellCreated+1, 5, cellDone+1, r,
			uint64(c.finding(0)), 100*(2-r), uint64(c.finding(1)), r)
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		open, err := c.open(ctx)
		states, statesErr := c.states(ctx)
		counts, whole, countsErr := c.counts(ctx, nobody)
		all, findingsErr := c.merged(ctx, nobody)
		if open != [2]uint64{0, 12} || states != 45 || counts.states() != 45 || !whole ||
			!slices.Equal(all, []uint64{200, 2}) {
			t.Errorf("rank %d: %d open, %d states, counters %d, findings %d", r, open, states,
				counts, all)
		}
		return errors.Join(err, statesErr, countsErr, findingsErr, job.Barrier(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// Commands do not compete: the first one stands, and one for another generation is
// not given.
func TestAsk(t *testing.T) {
	c := newTestControl(t)
	expect := func(what string, want command) {
		t.Helper()
		if got, err := c.command(t.Context()); got != want || err != nil {
			t.Fatalf("%s: command %#x, %v, want %#x", what, got, err, want)
		}
	}
	ask := func(generation uint64, kind command, number uint64) {
		t.Helper()
		if err := c.ask(t.Context(), generation, kind, number); err != nil {
			t.Fatal(err)
		}
	}
	ask(1, commandSave, 100)
	expect("not yet", makeCommand(commandRun, 0, 0))
	ask(0, commandSave, 100)
	ask(0, commandStop, 3)
	ask(0, commandSave, 200)
	expect("first", makeCommand(commandSave, 0, 100))
	store(t, c, cellCommand, uint64(makeCommand(commandRun, 1, 0)))
	ask(0, commandSave, 100)
	expect("late", makeCommand(commandRun, 1, 0))
	ask(1, commandStop, 3)
	ask(1, commandSave, 300)
	expect("stopped", makeCommand(commandStop, 1, 3))
}

// brokenSet is a set whose check fails.
type brokenSet struct{ visited }

var errBroken = errors.New("a bucket is broken")

func (brokenSet) check(context.Context) error { return errBroken }

// What the check finds on one rank is an error on all of them.
func TestCheckFails(t *testing.T) {
	for _, check := range []bool{false, true} {
		var errs [3]error
		_ = local.Run(3, func(job rma.Job) error {
			opts := Options{Order: BreadthFirst, Check: check}
			s, err := newSearch(t.Context(), job, single{}, opts)
			if err != nil {
				return err
			}
			defer s.close()
			if job.Rank() == 1 {
				s.visited = brokenSet{s.visited}
			}
			_, errs[job.Rank()] = s.run(t.Context())
			return nil
		})
		for rank, err := range errs {
			if (err != nil) != check || rank == 1 && check && !errors.Is(err, errBroken) {
				t.Errorf("check %v: rank %d: %v", check, rank, err)
			}
		}
	}
}

// single is a model with a single state and no transition.
type single struct{}

func (single) StateBits() int                { return 1 }
func (single) StateWords() int               { return 1 }
func (single) Initial(out []uint64) []uint64 { return append(out, 1) }
func (single) Findings() int                 { return 0 }
func (single) Decided([]uint64) bool         { return false }
func (single) NewExpander() Expander         { return oneState{} }

// oneState expands it.
type oneState struct{}

func (oneState) Findings() []uint64 { return nil }
func (oneState) Found() int         { return 0 }

func (oneState) Expand(_, out []uint64) ([]uint64, error) { return out, nil }

// A rank that has saved 256 times and one that never has are not mistaken.
func TestGenerationsWrap(t *testing.T) {
	err := local.Run(2, func(job rma.Job) error {
		s, err := newSearch(t.Context(), job, single{}, Options{Order: BreadthFirst})
		if err != nil {
			return err
		}
		defer s.close()
		ctx := t.Context()
		for want := uint64(1); want <= generations+3; want++ {
			if err := s.control.ask(ctx, s.worker.generation, commandSave, 0); err != nil {
				return err
			}
			if err := s.worker.obey(ctx, ctx); err != nil {
				return err
			}
			if s.worker.generation != want {
				t.Errorf("rank %d: generation %d, want %d", job.Rank(), s.worker.generation, want)
				return errors.New("stop")
			}
		}
		return job.Barrier(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// Lost ranks are named with their hosts where there are several.
func TestWere(t *testing.T) {
	hosts := []string{"a", "a", "b", "b", "c"}
	for _, c := range []struct {
		ranks []int
		hosts []string
		want  string
	}{
		{[]int{1}, nil, "rank 1 was"}, {[]int{1, 3}, nil, "ranks 1 and 3 were"},
		{[]int{0, 1, 4}, nil, "ranks 0, 1 and 4 were"},
		{[]int{2}, hosts, "rank 2 on b was"}, {[]int{2, 3}, hosts, "ranks 2 and 3 on b were"},
		{[]int{1, 2, 3, 4}, hosts, "ranks 1 on a, 2, 3 on b and 4 on c were"},
	} {
		if got := ranksWere(c.ranks, c.hosts); got != c.want {
			t.Errorf("%v on %v: %q, want %q", c.ranks, c.hosts, got, c.want)
		}
	}
}
