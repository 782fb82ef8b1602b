package check

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/statespace/report"
)

// Trace is a path to a state that shows what a property asks about.
type Trace[S any] struct {
	Name      string // of the property, or "deadlock"
	Violation bool   // of what is to hold; else Path ends in a state that was to be found
	Path      []Step[S]
	// Back is the step of Path from which on it repeats for ever; -1 where nothing repeats.
	Back int
	// Alone: Path is the last state alone. In any order, and after a checkpoint was resumed, the
	// way there is not known.
	Alone bool

	ends bool // in a deadlock, which is a violation of a property along paths
}

// targets are the findings to which there are to be paths: violations first.
func (m *system[S]) targets() []int {
	var all []int
	if !m.Deadlocks {
		all = append(all, findingDeadlock)
	}
	for i, p := range m.Properties {
		if p.Kind == HoldsAlways {
			all = append(all, findingProperties+i)
		}
	}
	for i, p := range m.Properties {
		if p.Kind == HoldsSometimes {
			all = append(all, findingProperties+i)
		}
	}
	return all
}

// continuing is a system whose search no violation ends.
type continuing[S any] struct{ *system[S] }

// Decided reports whether all that is asked of single states has been found.
func (m continuing[S]) Decided(findings []uint64) bool {
	for i := range m.Properties {
		if findings[findingProperties+i] == 0 {
			return false
		}
	}
	return len(m.Properties) > 0 && (m.Deadlocks || findings[findingDeadlock] != 0)
}

// takeTraces takes over the traces of a search, replayed on the model.
func (m *system[S]) takeTraces(r *Result[S]) error {
	for _, found := range r.Result.Traces {
		path, err := m.path(found.Steps)
		if err != nil {
			return err
		}
		t := Trace[S]{Name: m.nameOf(found.Target), Path: path, Back: -1, Alone: found.Alone}
		t.Violation = found.Target == findingDeadlock ||
			m.Properties[found.Target-findingProperties].Kind == HoldsAlways
		r.Traces = append(r.Traces, t)
		if t.Violation && !t.Alone && r.Path == nil {
			r.Shown, r.Path = t.Name, path
		}
	}
	return nil
}

// reportTraces writes what is violated, and the paths.
func (r *Result[S]) reportTraces(b *strings.Builder) {
	violated := 0
	for i := range r.Traces {
		if r.Traces[i].Violation {
			violated++
		}
		r.Traces[i].report(b)
	}
	if violated == 0 && r.Shown != "" {
		(&Trace[S]{Name: r.Shown, Violation: true}).report(b)
	}
	if r.TracesCut {
		fmt.Fprintln(b, "INTERRUPTED before all paths were found")
	}
}

// itfTraces are traces in the Informal Trace Format: the variables are the fields of states.
func itfTraces[S any](model string, traces []Trace[S]) (all []report.ITFTrace) {
	for i := range traces {
		t := &traces[i]
		about := t.page().Goal
		if t.Alone {
			about += ", the last state alone"
		}
		all = append(all, report.ITFTrace{Source: model, Property: t.Name, About: about,
			Loop: t.Back, Vars: report.Vars(reflect.TypeFor[S]()),
			States: func(yield func(report.ITFState) bool) {
				for _, step := range t.Path {
					values := report.Values(reflect.ValueOf(&step.State).Elem())
					if !yield(report.ITFState{Action: step.Action, Values: values}) {
						return
					}
				}
			}})
	}
	return all
}

// traces are the path of a simulation as a trace.
func (r *Simulated[S]) traces() []Trace[S] {
	if len(r.Path) == 0 {
		return nil
	}
	return []Trace[S]{{Name: r.Shown, Violation: true, Path: r.Path, Back: -1}}
}

// report writes the first and the last state in full, and what differs between.
func (t *Trace[S]) report(b *strings.Builder) {
	switch {
	case !t.Violation:
		fmt.Fprintf(b, "FOUND: %s", t.Name)
	case t.Name == deadlockName:
		fmt.Fprint(b, "VIOLATED: a state has no next one")
	default:
		fmt.Fprintf(b, "VIOLATED: %s", t.Name)
	}
	n := len(t.Path) - 1
	switch {
	case n < 0:
		fmt.Fprintln(b)
	case t.Alone:
		fmt.Fprintf(b, ", in this state; a search with --order bfs, from the beginning, shows a "+
			"way there:\n  %s\n", text(t.Path[n].State))
	default:
		fmt.Fprintf(b, ", after %s:\n  begin  %s\n", plural.Of(n, "step"), text(t.Path[0].State))
		for i := range n {
			fmt.Fprintf(b, "  %s  %s\n", t.Path[i+1].Action, changes(t.Path[i].State,
				t.Path[i+1].State))
		}
		if n > 0 {
			fmt.Fprintf(b, "  end  %s\n", text(t.Path[n].State))
		}
	}
	switch {
	case t.Back >= 0 && n >= 0:
		fmt.Fprintf(b, "  and so on for ever: this is the state after step %d\n", t.Back)
	case t.ends:
		fmt.Fprintf(b, "  and nothing can happen any more\n")
	}
}

// change is a part of a state that differs from the state before.
type change struct {
	Field string `json:"field,omitempty"` // empty: the whole state
	From  string `json:"from"`
	To    string `json:"to"`
}

// changes says what differs between two states.
func changes(before, after any) string {
	var all []string
	for _, c := range differences(before, after) {
		all = append(all, strings.TrimPrefix(fmt.Sprintf("%s: %s -> %s", c.Field, c.From, c.To),
			": "))
	}
	if len(all) == 0 {
		return "changes nothing"
	}
	return strings.Join(all, ", ")
}

// differences are the parts that differ between two states.
func differences(before, after any) (all []change) {
	compare("", reflect.ValueOf(before), reflect.ValueOf(after), &all)
	return all
}

// compare appends what differs in two values of a type.
func compare(name string, a, b reflect.Value, to *[]change) {
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
		*to = append(*to, change{strings.TrimPrefix(name, "."), x, y})
	}
}

// objectTrace is a trace as it is printed with --json.
type objectTrace struct {
	Name      string       `json:"name"`
	Violation bool         `json:"violation"`
	Path      []objectStep `json:"path"`
	Back      *int         `json:"back,omitempty"`  // the step of path that it repeats from
	Alone     bool         `json:"alone,omitempty"` // path is the last state alone
}

func objectTraces[S any](traces []Trace[S]) (all []objectTrace) {
	for i := range traces {
		t := &traces[i]
		o := objectTrace{Name: t.Name, Violation: t.Violation, Path: objectPath(t.Path),
			Alone: t.Alone}
		if t.Back >= 0 {
			o.Back = &t.Back
		}
		all = append(all, o)
	}
	return all
}
