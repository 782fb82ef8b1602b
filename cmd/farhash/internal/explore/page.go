package explore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/report"
)

// sampled has snapshots of a search kept for the charts of --html.
func (f *exploreFlags) sampled(samples *report.Samples, update func(explore.Snapshot)) func(
	explore.Snapshot) {
	if f.html == "" {
		return update
	}
	return func(s explore.Snapshot) {
		if s.Elapsed > 0 {
			samples.Add(report.Sample{Elapsed: s.Elapsed, States: s.States, Waiting: s.Waiting})
		}
		update(s)
	}
}

// writePage writes the page of --html.
func (f *exploreFlags) writePage(a *answer, samples report.Samples) error {
	if f.html == "" {
		return nil
	}
	if err := a.page(samples).Write(f.html); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// page is an answer as a page.
func (a *answer) page(samples report.Samples) *report.Page {
	p := &report.Page{Title: a.Model, Samples: samples}
	if !a.Complete && !a.decided() {
		note := "INCOMPLETE: " + a.Reason
		if a.detail != "" {
			note += ": " + a.detail
		}
		p.Notes = append(p.Notes, note)
	}
	if a.Missed != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("Fingerprints of markings were kept: one was missed "+
			"with a probability of %.2g.", *a.Missed))
	}
	if a.TracesCut {
		p.Notes = append(p.Notes, "Interrupted before all traces were found.")
	}
	if len(a.NeverFire) > 0 {
		p.Notes = append(p.Notes, neverFire(a.NeverFire))
	}
	fact := func(name string, value any) {
		p.Facts = append(p.Facts, report.Fact{Name: name, Value: fmt.Sprint(value)})
	}
	if a.States != nil {
		fact("markings", a.States)
		fact("arcs", a.Arcs)
		if a.Depth != nil {
			fact("depth", *a.Depth)
		}
		fact("deadlocks", a.Deadlocks)
		fact("most tokens in a place", *a.MaxTokensPlace)
		fact("most tokens in a marking", *a.MaxTokensMarking)
		fact("time", fmt.Sprintf("%.3f s, %s with %s", a.Seconds,
			cli.Rate(a.States.Uint64(), a.Seconds, "markings/s"), plural.Of(a.Ranks, "rank")))
	}
	fact("net", plural.Of(a.Places, "place")+", "+plural.Of(a.Transitions, "transition"))
	fact("a marking has", plural.Of(a.bits, "bit")+", stored as "+a.Encoding)
	for i := range a.Properties {
		known := &a.Properties[i]
		answer, note := known.text()
		p.Answers = append(p.Answers, report.Answer{Question: known.Name, Answer: answer,
			Note: note})
	}
	if len(a.Coverage) > 0 {
		p.Tables = append(p.Tables, a.coverage().Page())
	}
	for i := range a.Traces {
		p.Traces = append(p.Traces, a.Traces[i].page())
	}
	return p
}

// page is a trace as a page shows it.
func (t *netTrace) page() report.Trace {
	of := report.Trace{Goal: "A firing sequence to " + t.goal}
	switch {
	case t.Alone:
		of.Goal = "A marking: " + t.goal
		of.End = "The way there is not known; a search with --order bfs from the beginning shows " +
			"one."
		of.Steps = []report.Step{{State: t.end}}
		return of
	case t.path:
		text := t.goesOn()
		of.Goal, of.End = "A"+t.goal[1:], strings.ToUpper(text[:1])+text[1:]+"."
	case t.ByWalk:
		of.End = "A random walk has found this; a shorter sequence may exist."
	}
	marking := t.net.Initial()
	of.Steps = []report.Step{{State: t.begin}}
	for i, number := range t.numbers {
		before := append([]int64(nil), marking...)
		t.net.Transitions[number].Fire(marking)
		step := report.Step{Action: t.Firings[i], Changes: changed(t.net, before, marking)}
		_, step.State = tokens(t.net, marking)
		of.Steps = append(of.Steps, step)
	}
	return of
}

// changed are the places whose tokens differ between two markings.
func changed(net *petri.Net, before, after []int64) (all []report.Change) {
	for i := range before {
		if before[i] != after[i] {
			all = append(all, report.Change{Name: net.Places[i].ID,
				From: strconv.FormatInt(before[i], 10), To: strconv.FormatInt(after[i], 10)})
		}
	}
	return all
}
