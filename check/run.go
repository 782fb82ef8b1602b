package check

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Options say how to check. The zero value is breadth first, in most of the memory that is
// available. Each field means what it means in explore.Options.
type Options struct {
	Order    explore.Order
	Encoding explore.Encoding
	Mem      uint64
	MemWhole bool
	Access   ship.Access

	Progress        func(explore.Snapshot)
	Checkpoint      string
	CheckpointEvery time.Duration
	Resume          string
	Warn            func(error)
}

// search is how package explore is to search for a model.
func (m *system[S]) search(o Options) explore.Options {
	x := explore.Options{Order: o.Order, Encoding: o.Encoding, Mem: o.Mem, MemWhole: o.MemWhole,
		Access: o.Access, Progress: o.Progress, Checkpoint: o.Checkpoint,
		CheckpointEvery: o.CheckpointEvery, Resume: o.Resume, Warn: o.Warn,
		ModelID: m.identity()}
	if o.Order != explore.AnyOrder && o.Resume == "" {
		x.Trace = m.violations()
	}
	return x
}

// Answer is what is known about a property.
type Answer int

// The answers.
const (
	Unknown Answer = iota // the search ended too early
	True
	False
)

func (a Answer) String() string { return [...]string{"unknown", "true", "false"}[a] }

// Result is what a check has found. It is the same on every rank, except for times.
type Result[S any] struct {
	*explore.Result
	Properties []Verdict
	// Shown is the property that Path shows: one that is violated, or "deadlock"; empty if there
	// is none.
	Shown string
	// Path is a shortest way to a state that shows it. Its first step is an initial state.
	Path []Step[S]
	// Back is the step of Path from which on it repeats for ever: its last step leads there again.
	// It is -1 where nothing repeats, as in a path that ends in a deadlock.
	Back int

	pathEnds bool // Path is along a path that ends in a deadlock
}

// Verdict is the answer to a property.
type Verdict struct {
	Name   string
	Kind   Kind
	Answer Answer
	// Missed is the probability that a state was missed, where the answer rests on all states
	// having been seen; 0 where it is certain.
	Missed float64
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
	return slices.ContainsFunc(r.Properties, func(v Verdict) bool {
		return v.Kind == HoldsSometimes && v.Answer == False
	})
}

// Run checks a model on the ranks of job. Collective: every rank calls it with the same model.
// Where the order is breadth first and nothing is resumed, a shortest way to a violation is found.
func Run[S any](ctx context.Context, job rma.Job, m Model[S], opts Options) (*Result[S], error) {
	s, err := newSystem(&m)
	if err = rma.AllSucceeded(ctx, job, "check", err); err != nil {
		return nil, err
	}
	var paths pathAnswers
	search := s.search(opts)
	search.After = s.afterwards(&paths)
	res, err := explore.Run(ctx, job, s, search)
	if err != nil {
		return nil, err
	}
	r := &Result[S]{Result: res, Properties: s.verdicts(res), Back: -1}
	if !m.Deadlocks && res.Findings[findingDeadlock] != 0 {
		r.Shown = deadlockName
	}
	for _, v := range r.Properties {
		if r.Shown == "" && v.Kind == HoldsAlways && v.Answer == False {
			r.Shown = v.Name
		}
	}
	if res.Trace != nil {
		r.Shown = s.nameOf(res.Traced)
		r.Path, err = s.path(res.Trace)
	}
	if err == nil {
		err = s.takePaths(r, paths)
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
	for _, p := range m.Properties {
		id += fmt.Sprintf(", %d %q", p.Kind, p.Name)
	}
	return id
}

// violations are the findings that end a search.
func (m *system[S]) violations() []int {
	var all []int
	if !m.Deadlocks {
		all = append(all, findingDeadlock)
	}
	for i, p := range m.Properties {
		if p.Kind == HoldsAlways {
			all = append(all, findingProperties+i)
		}
	}
	return all
}

func (m *system[S]) nameOf(finding int) string {
	if finding == findingDeadlock {
		return deadlockName
	}
	return m.Properties[finding-findingProperties].Name
}

// verdicts are the answers that a search has found.
func (m *system[S]) verdicts(res *explore.Result) []Verdict {
	var all []Verdict
	for i, p := range m.Properties {
		v := Verdict{Name: p.Name, Kind: p.Kind}
		found, none := False, True
		if p.Kind == HoldsSometimes {
			found, none = True, False
		}
		switch {
		case p.Kind.alongPaths(): // see takePaths
		case res.Findings[findingProperties+i] != 0:
			v.Answer = found
		case res.Complete:
			v.Answer, v.Missed = none, res.Missed
		}
		all = append(all, v)
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
		fmt.Fprintf(&b, "INCOMPLETE: %s %s\n", r.Reason, r.Detail)
	}
	if r.Swept != nil && r.Swept.Reason != "" {
		fmt.Fprintf(&b, "INCOMPLETE along paths: %s: %s\n", r.Swept.Reason, r.Swept.Detail)
	}
	for _, v := range r.Properties {
		if v.Kind == HoldsSometimes && v.Answer == False {
			fmt.Fprintf(&b, "NOT FOUND: %s\n", v.Name)
		}
	}
	if r.Shown != "" {
		reportPath(&b, r.Shown, r.Path)
	}
	switch {
	case r.Back >= 0:
		fmt.Fprintf(&b, "  and so on for ever: this is the state after step %d\n", r.Back)
	case r.pathEnds:
		fmt.Fprintf(&b, "  and nothing can happen any more\n")
	}
	return b.String()
}

// reportAnswers writes a line for each property.
func reportAnswers(b *strings.Builder, properties []Verdict) {
	for _, v := range properties {
		fmt.Fprintf(b, "%v %s: %v", v.Kind, v.Name, v.Answer)
		if v.Missed > 0 {
			fmt.Fprintf(b, ", unless a state was missed (probability %.2g)", v.Missed)
		}
		fmt.Fprintln(b)
	}
}

// reportPath writes what is violated, and the path there, if it is known.
func reportPath[S any](b *strings.Builder, shown string, path []Step[S]) {
	if shown == deadlockName {
		fmt.Fprintf(b, "VIOLATED: a state has no next one")
	} else {
		fmt.Fprintf(b, "VIOLATED: %s", shown)
	}
	if path == nil {
		fmt.Fprintln(b)
		return
	}
	fmt.Fprintf(b, ", after %s:\n", plural.Of(len(path)-1, "step"))
	for i, step := range path {
		if i == 0 {
			fmt.Fprintf(b, "  begin  %s\n", text(step.State))
			continue
		}
		fmt.Fprintf(b, "  %s  %s\n", step.Action, changes(path[i-1].State, step.State))
	}
}

// changes says what differs between two states.
func changes(before, after any) string {
	var all []string
	compare("", reflect.ValueOf(before), reflect.ValueOf(after), &all)
	if len(all) == 0 {
		return "changes nothing"
	}
	return strings.Join(all, ", ")
}

// compare appends what differs in two values of a type.
func compare(name string, a, b reflect.Value, to *[]string) {
	switch {
	case a.Kind() == reflect.Struct && a.NumField() > 0:
		for i := range a.NumField() {
			compare(name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i), to)
		}
		return
	case a.Kind() == reflect.Array:
		for i := range a.Len() {
			compare(fmt.Sprintf("%s[%d]", name, i), a.Index(i), b.Index(i), to)
		}
		return
	}
	if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
		*to = append(*to, fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(name, "."), x, y))
	}
}
