//go:build linux

package torture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

// answer is what explore --json prints.
type answer struct {
	States, Arcs, Deadlocks, MaxTokensPlace, MaxTokensMarking uint64
	Depth                                                     *uint64
	Complete                                                  bool
	Trace                                                     *[]string
	Unbounded                                                 *growth
}

// growth is why a net is unbounded, as explore says.
type growth struct {
	Place        string
	After, Cycle []string
}

// answers compares what explore --json says with what is right, which is not known where the
// naive explorer has reached its limit. An exit code of 0 claims that it is right, other codes
// that it is not complete.
func (c *command) answers(m *model) error {
	want := m.want
	var a answer
	_, text, found := strings.Cut("\n"+c.out.String(), "\n{")
	// After the answer there may be warnings of UCX, which prints them to stdout.
	text, _, _ = strings.Cut(text, "\n[")
	err := json.Unmarshal([]byte("{"+text), &a)
	switch {
	case !found && (c.code() != 0 || c.Args[0] == "mpiexec.hydra" && len(c.sent) > 0):
		return nil // the launcher of MPICH calls an interrupt an end as any other
	case !found || err != nil:
		return c.wrong("it prints no answer: %v", err)
	case (a.Unbounded != nil) != (c.code() == 5) && len(c.sent) == 0:
		return c.wrong("its exit code does not agree with what it says of a bound")
	case a.Unbounded != nil:
		c.r.count(1, "growths replayed")
		if err := m.grows(a.Unbounded); err != nil {
			return c.wrong("%v", err)
		}
		return nil
	case a.Complete != (c.code() == 0) && len(c.sent) == 0:
		return c.wrong("its exit code and its answer do not agree")
	case !a.Complete && want.Complete && a.States > uint64(want.States):
		return c.wrong("there are %d states", want.States)
	case !a.Complete:
		return nil
	case !want.Complete && a.States < uint64(want.States):
		return c.wrong("there are %d states and more", want.States)
	case !want.Complete:
		return nil
	}
	c.r.count(1, "answers compared")
	got := naive.Result{States: int(a.States), Arcs: int(a.Arcs), Depth: want.Depth,
		Widest: want.Widest, Deadlocks: int(a.Deadlocks), DeadlockDepth: want.DeadlockDepth,
		MaxTokensPlace: int64(a.MaxTokensPlace), MaxTokensMarking: int64(a.MaxTokensMarking),
		Complete: true}
	if a.Depth != nil {
		got.Depth = int(*a.Depth)
	}
	switch traced := slices.Contains(c.Args, "--trace=deadlock"); {
	case got != want:
		return c.wrong("right is %+v", want)
	case (a.Depth == nil) != slices.Contains(c.Args, "--order=any"):
		return c.wrong("the depth is known level by level, and then alone")
	case traced && want.Deadlocks > 0 && a.Trace == nil:
		return c.wrong("there are deadlocks, and no trace")
	case a.Trace == nil:
		return nil
	}
	if err := m.replay(*a.Trace); err != nil {
		return c.wrong("%v", err)
	}
	c.r.count(1, "traces replayed")
	return nil
}

// replay fires a trace: it must be a shortest way to a deadlock.
func (m *model) replay(trace []string) error {
	if m.want.Deadlocks == 0 || len(trace) != m.want.DeadlockDepth {
		return fmt.Errorf("a trace of %d firings, right is %+v", len(trace), m.want)
	}
	marking := m.Initial()
	if err := m.fire(marking, trace); err != nil {
		return err
	}
	for i := range m.Transitions {
		if t := &m.Transitions[i]; t.Enabled(marking) {
			return fmt.Errorf("the trace ends in %v, where %q is enabled", marking, t.ID)
		}
	}
	return nil
}

// grows fires a growth: its cycle must take no tokens, and add some to its place.
func (m *model) grows(g *growth) error {
	if m.want.Complete {
		return fmt.Errorf("the net is bounded, and has %d markings", m.want.States)
	}
	marking := m.Initial()
	if err := m.fire(marking, g.After); err != nil {
		return err
	}
	before := slices.Clone(marking)
	if err := m.fire(marking, g.Cycle); err != nil {
		return err
	}
	for p := range marking {
		grown := marking[p] - before[p]
		if grown < 0 || grown == 0 && m.Places[p].ID == g.Place {
			return fmt.Errorf("the cycle adds %d tokens to place %q", grown, m.Places[p].ID)
		}
	}
	return nil
}

// fire fires transitions from a marking on.
func (m *model) fire(marking []int64, ids []string) error {
	byID := map[string]*petri.Transition{}
	for i := range m.Transitions {
		byID[m.Transitions[i].ID] = &m.Transitions[i]
	}
	for _, id := range ids {
		t := byID[id]
		if t == nil || !t.Enabled(marking) {
			return fmt.Errorf("transition %q of the trace is not enabled in %v", id, marking)
		}
		t.Fire(marking)
	}
	return nil
}
