package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// Options say how to check. The zero value is breadth first, in most of the memory that is
// available. Each field means what it means in explore.Options.
type Options struct {
	Order    explore.Order
	Encoding explore.Encoding
	Mem      uint64
	MemWhole bool
	Access   rma.Access

	Progress        func(explore.Snapshot)
	Checkpoint      string
	CheckpointEvery time.Duration
	Resume          string
	Warn            func(error)

	// Continue searches on after a violation, for others: each has a trace.
	Continue            bool
	MaxDepth, MaxStates uint64

	// Coverage asks for Result.Coverage: how often each action of Model.Actions was taken, or, if
	// it has none, each name.
	Coverage bool
}

// search is how package explore is to search for a model.
func (m *system[S]) search(o Options) explore.Options {
	return explore.Options{Order: o.Order, Encoding: o.Encoding, Mem: o.Mem, MemWhole: o.MemWhole,
		Access: o.Access, Progress: o.Progress, Checkpoint: o.Checkpoint,
		CheckpointEvery: o.CheckpointEvery, Resume: o.Resume, Warn: o.Warn,
		ModelID: m.identity(), Trace: m.targets(), TraceEach: true, MaxDepth: o.MaxDepth,
		MaxStates: o.MaxStates, Coverage: o.Coverage}
}

// Result is what a check has found. It is the same on every rank, except for times.
type Result[S any] struct {
	*explore.Result
	Properties []Answer
	// Shown is the property that Path shows: one that is violated, or "deadlock"; empty if there
	// is none.
	Shown string
	// Path is a shortest way to a state that shows it. Its first step is an initial state.
	Path []Step[S]
	// Back is the step of Path from which on it repeats for ever: its last step leads there again.
	// It is -1 where nothing repeats, as in a path that ends in a deadlock.
	Back int
	// Traces are the paths to all that was found, violations first.
	Traces []Trace[S]
	// Compared is how many states that Canonical joined with others one rank has compared with
	// these: the most that any rank has. What it has not compared is taken on trust.
	Compared uint64
	// Alike names a slice or map that is nil in some states and empty in others, which makes two
	// states of what prints alike; empty if none was seen.
	Alike string
	// Untaken are the actions of Model.Fair, StronglyFair and Actions that no state takes: names
	// that may be wrong, or what the model never does. It is known after a complete search. If a
	// path is shown that violates a property, it has the fair ones that neither the search until
	// then nor a path takes.
	Untaken []string

	canonical bool     // the model has Canonical
	pathEnds  bool     // Path is along a path that ends in a deadlock
	fair      []string // actions
	covers    bool     // Options.Coverage
}

// Answer is the answer to a property. The fields are named as in --json.
type Answer struct {
	Name    string        `json:"name"`
	Kind    Kind          `json:"-"`
	Verdict logic.Verdict `json:"answer"`
	// Missed is the probability that a state was missed, where the answer rests on all states
	// having been seen; 0 where it is certain.
	Missed float64 `json:"missedProbability,omitempty"`
}

// Step is a state of a path, and the action that led there.
type Step[S any] struct {
	Action string // empty for an initial state
	State  S
}

// Violated reports whether a property that holds always is False, or there is a deadlock that
// is not allowed.
func (r *Result[S]) Violated() bool { return r.Shown != "" }

// Unfound reports whether a state that is to be found is known not to be there.
func (r *Result[S]) Unfound() bool {
	return slices.ContainsFunc(r.Properties, func(a Answer) bool {
		return a.Kind == HoldsSometimes && a.Verdict == logic.False
	})
}

// Run checks a model on the ranks of job. Collective: every rank calls it with the same model.
// Where the order is breadth first and nothing is resumed, a shortest way to a violation is found.
func Run[S any](ctx context.Context, job rma.Job, m Model[S], opts Options) (*Result[S], error) {
	s, err := newSystem(&m)
	if err = rma.AllSucceeded(ctx, job, "check", err); err != nil {
		return nil, err
	}
	s.covers = opts.Coverage
	var paths pathAnswers
	search := s.search(opts)
	if search.After = s.afterwards(&paths); search.After != nil {
		search.Walk = walkShare
	}
	var model explore.Model = s
	if opts.Continue {
		model = continuing[S]{s}
	}
	res, err := explore.Run(ctx, job, model, search)
	if err != nil {
		return nil, err
	}
	r := &Result[S]{Result: res, Properties: s.answers(res), Back: -1,
		canonical: m.Canonical != nil, fair: slices.Concat(m.Fair, m.StronglyFair),
		covers: opts.Coverage}
	s.sortActions(res.Coverage)
	if s.Findings() > s.notes() {
		r.Compared = res.Findings[s.notes()+noteCompared]
		r.Alike = s.alikeName(res.Findings[s.notes()+noteAlike])
	}
	if !m.Deadlocks && res.Findings[findingDeadlock] != 0 {
		r.Shown = deadlockName
	}
	for _, a := range r.Properties {
		if r.Shown == "" && a.Kind == HoldsAlways && a.Verdict == logic.False {
			r.Shown = a.Name
		}
	}
	if err = s.takeTraces(r); err == nil {
		err = s.takeWalks(r)
	}
	if err == nil {
		err = s.takePaths(r, paths)
	}
	switch {
	case res.Complete:
		r.Untaken = s.untakenOf(slices.Concat(r.fair, m.Actions), res.Findings)
	case r.Back >= 0, r.pathEnds:
		r.Untaken = r.notShown(s.untakenOf(r.fair, res.Findings))
	}
	return r, err
}

// identity differs between models that ask for different things: a checkpoint has the findings of
// its own properties.
func (m *system[S]) identity() string {
	id := fmt.Sprintf("%s of %T, deadlocks %v", m.Name, m.Init[0], m.Deadlocks)
	if len(m.Fair) > 0 {
		id += fmt.Sprintf(", fair %q", m.Fair)
	}
	if len(m.StronglyFair) > 0 {
		id += fmt.Sprintf(", strongly fair %q", m.StronglyFair)
	}
	if len(m.Actions) > 0 {
		id += fmt.Sprintf(", actions %q", m.Actions)
	}
	for _, p := range m.Properties {
		id += fmt.Sprintf(", %d %q", p.Kind, p.Name)
	}
	return id
}

func (m *system[S]) nameOf(finding int) string {
	if finding == findingDeadlock {
		return deadlockName
	}
	return m.Properties[finding-findingProperties].Name
}

// answers are what a search has found about the properties.
func (m *system[S]) answers(res *explore.Result) []Answer {
	all := make([]Answer, len(m.Properties))
	for i, p := range m.Properties {
		all[i] = Answer{Name: p.Name, Kind: p.Kind}
		sometimes := p.Kind == HoldsSometimes // a state decides it, and refutes the others
		switch {
		case p.Kind.alongPaths(): // see takePaths
		case res.Findings[findingProperties+i] != 0:
			all[i].Verdict = logic.VerdictOf(sometimes)
		case res.Complete:
			all[i].Verdict, all[i].Missed = logic.VerdictOf(!sometimes), res.Missed
		}
	}
	return all
}

// path replays a trace on the model.
func (m *system[S]) path(trace []explore.Step) ([]Step[S], error) {
	e := m.NewExpander().(*expander[S])
	var path []Step[S]
	for i, step := range trace {
		var at Step[S]
		if i > 0 {
			action, err := e.replay(trace[i-1].State, step)
			if err != nil {
				return nil, err
			}
			at.Action = action
		}
		if err := m.packing.Decode(step.State, &at.State); err != nil {
			return nil, err
		}
		path = append(path, at)
	}
	return path, nil
}

// replay is the action of a step from a state.
func (e *expander[S]) replay(from []uint64, step explore.Step) (action string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = e.wrong(fmt.Sprintf("it panicked: %v", p))
		}
	}()
	if err := e.packing.Decode(from, &e.Value); err != nil {
		return "", err
	}
	number := 0
	e.Next(e.Value, func(name string, next S) {
		packed, failure := e.pack(next)
		if number == step.Action && failure == nil && slices.Equal(packed, step.State) {
			action, step.Action = name, -1
		}
		number++
	})
	if step.Action >= 0 {
		return "", e.wrong("Next does not emit any more the state that it had emitted here")
	}
	return action, nil
}

// Report is a text about the result: counts, answers, and the path.
func (r *Result[S]) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d states, %d transitions, depth %d, %d deadlocks\n", r.States, r.Arcs,
		r.Depth, r.Deadlocks)
	seconds := r.Elapsed.Seconds()
	fmt.Fprintf(&b, "%v, %.0f states/s with %s", r.Elapsed.Round(time.Millisecond),
		float64(r.States)/max(seconds, 1e-9), plural.Of(r.Ranks, "rank"))
	if bytes := r.StateBytes(); bytes > 0 {
		fmt.Fprintf(&b, ", %.1f bytes per state", bytes)
	}
	fmt.Fprintln(&b)
	if r.Encoding == explore.EncodingFingerprint {
		fmt.Fprintf(&b, "FINGERPRINTS of states were kept: one was missed with a probability of "+
			"%.2g\n", r.Missed)
	}
	reportAnswers(&b, r.Properties)
	if !r.Complete && r.Reason != explore.Decided {
		fmt.Fprintln(&b, strings.TrimSuffix(fmt.Sprintf("INCOMPLETE: %s: %s", r.Reason, r.Detail),
			": "))
	}
	if r.Swept != nil && r.Swept.Reason != "" {
		fmt.Fprintf(&b, "INCOMPLETE along paths: %s: %s\n", r.Swept.Reason, r.Swept.Detail)
	}
	for _, a := range r.Properties {
		if a.Kind == HoldsSometimes && a.Verdict == logic.False {
			fmt.Fprintf(&b, "NOT FOUND: %s\n", a.Name)
		}
	}
	fmt.Fprintln(&b, r.basis())
	b.WriteString(r.warnings())
	r.reportCoverage(&b)
	r.reportTraces(&b)
	return b.String()
}

// basis says what the answers rest on.
func (r *Result[S]) basis() string {
	text := "based on "
	switch {
	case r.Complete:
		text += "all reachable states, "
	case r.Reason == explore.Decided:
		text += "the states up to an answer, "
	default:
		text += "a part of the states, "
	}
	if r.Encoding == explore.EncodingFingerprint {
		text += "stored as fingerprints"
	} else {
		text += "stored whole"
	}
	if r.canonical {
		text += fmt.Sprintf("; on Canonical, compared on %s at least",
			plural.Of(int(r.Compared), "state"))
	}
	return text
}

// reportAnswers writes a line for each property.
func reportAnswers(b *strings.Builder, properties []Answer) {
	for _, a := range properties {
		fmt.Fprintf(b, "%v %s: %v", a.Kind, a.Name, a.Verdict)
		if a.Missed > 0 {
			fmt.Fprintf(b, ", unless a state was missed (probability %.2g)", a.Missed)
		}
		fmt.Fprintln(b)
	}
}
