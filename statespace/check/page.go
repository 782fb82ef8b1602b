package check

import (
	"fmt"
	"strconv"
	"time"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/report"
)

// sampled has snapshots of a search kept for the charts of --html.
func sampled(samples *report.Samples, show func(explore.Snapshot)) func(explore.Snapshot) {
	return func(s explore.Snapshot) {
		if s.Elapsed > 0 {
			samples.Add(report.Sample{Elapsed: s.Elapsed, States: s.States, Waiting: s.Waiting})
		}
		if show != nil {
			show(s)
		}
	}
}

// page is the result for a model of this name as a page.
func (r *Result[S]) page(name string) *report.Page {
	p := &report.Page{Title: name}
	if !r.Complete && r.Reason != explore.Decided {
		note := "INCOMPLETE: " + string(r.Reason)
		if r.Detail != "" {
			note += ": " + r.Detail
		}
		p.Notes = append(p.Notes, note)
	}
	if r.Swept != nil && r.Swept.Reason != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("INCOMPLETE along paths: %s: %s", r.Swept.Reason,
			r.Swept.Detail))
	}
	if r.Encoding == explore.EncodingFingerprint {
		p.Notes = append(p.Notes, fmt.Sprintf("Fingerprints of states were kept: one was missed "+
			"with a probability of %.2g.", r.Missed))
	}
	if r.TracesCut {
		p.Notes = append(p.Notes, "Interrupted before all traces were found.")
	}
	for _, v := range r.Properties {
		p.Answers = append(p.Answers, report.Answer{Question: v.Kind.String() + " " + v.Name,
			Answer: v.Verdict.String()})
	}
	number := func(name string, n uint64) {
		p.Facts = append(p.Facts, report.Fact{Name: name, Value: strconv.FormatUint(n, 10)})
	}
	number("states", r.States)
	number("transitions", r.Arcs)
	if r.Order != explore.AnyOrder {
		number("depth", r.Depth)
	}
	number("deadlocks", r.Deadlocks)
	p.Facts = append(p.Facts, report.Fact{Name: "time", Value: fmt.Sprintf("%v with %s",
		r.Elapsed.Round(time.Millisecond), plural.Of(r.Ranks, "rank"))},
		report.Fact{Name: "states are stored as", Value: string(r.Encoding)})
	if r.Coverage != nil {
		p.Tables = append(p.Tables, r.coverage().Page())
	}
	for i := range r.Traces {
		p.Traces = append(p.Traces, r.Traces[i].page())
	}
	return p
}

// page is a trace as a page shows it.
func (t *Trace[S]) page() report.Trace {
	of := report.Trace{Goal: "Found: " + t.Name}
	switch {
	case !t.Violation:
	case t.Name == deadlockName:
		of.Goal = "Violated: a state has no next one"
	default:
		of.Goal = "Violated: " + t.Name
	}
	switch {
	case t.Alone:
		of.End = "The way there is not known; a search with --order bfs, from the beginning, " +
			"shows one."
	case t.Back >= 0:
		of.End = fmt.Sprintf("And so on for ever: this is the state after step %d.", t.Back)
	case t.ends:
		of.End = "And nothing can happen any more."
	}
	for i, step := range t.Path {
		s := report.Step{Action: step.Action, State: text(step.State)}
		if i > 0 {
			for _, c := range differences(t.Path[i-1].State, step.State) {
				s.Changes = append(s.Changes, report.Change{Name: c.Field, From: c.From, To: c.To})
			}
		}
		of.Steps = append(of.Steps, s)
	}
	return of
}
