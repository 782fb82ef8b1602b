package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/randomwalk"
	"github.com/farhash/farhash/statespace/report"
)

// answer is what explore prints, by either engine. The fields are named as in --json. Counts that
// are not known are nil: null.
type answer struct {
	Model            string   `json:"model"`
	Places           int      `json:"places"`
	Transitions      int      `json:"transitions"`
	Engine           string   `json:"engine"`
	States           *big.Int `json:"states"`
	Arcs             *big.Int `json:"arcs"`
	Depth            *uint64  `json:"depth"` // null without levels
	Deadlocks        *big.Int `json:"deadlocks"`
	MaxTokensPlace   *uint64  `json:"maxTokensPlace"`
	MaxTokensMarking *uint64  `json:"maxTokensMarking"`
	Complete         bool     `json:"complete"`
	Seconds          float64  `json:"seconds,omitempty"`

	// Of the explicit engine.
	Ranks         int     `json:"ranks,omitempty"`
	BytesPerState float64 `json:"bytesPerState,omitempty"` // of 100,000 states and more
	Encoding      string  `json:"encoding,omitempty"`
	// Missed is the probability that a marking was missed, where fingerprints are kept.
	Missed *float64 `json:"missedProbability,omitempty"`
	Access string   `json:"access,omitempty"` // of rank 0, where ranks are on other hosts
	// Checked: the set was verified, as --check asks, and is consistent.
	Checked bool `json:"checked,omitempty"`

	// Of the symbolic engine.
	Strategy   string `json:"strategy,omitempty"`
	PlaceOrder string `json:"placeOrder,omitempty"`
	Nodes      int    `json:"nodes,omitempty"` // of the set of all markings
	Bytes      uint64 `json:"bytes,omitempty"`
	// NodesByRank is how many of the nodes each rank has, with --spread.
	NodesByRank []uint64 `json:"nodesByRank,omitempty"`

	// Only when not complete.
	Reason  string `json:"reason,omitempty"`
	NeedMem uint64 `json:"needMem,omitempty"` // bytes
	Lost    []int  `json:"lostRanks,omitempty"`
	Saved   string `json:"checkpoint,omitempty"` // to continue from after the loss
	// Only when asked for and found: the ids of the transitions, of the first of Traces.
	Trace *[]string `json:"trace,omitempty"`
	// TraceByWalk: a random walk has found the trace, and a shorter one may exist.
	TraceByWalk bool `json:"traceByWalk,omitempty"`
	// One for each property that a marking shows, or for a deadlock.
	Traces []netTrace `json:"traces,omitempty"`
	// TracesCut: a signal came, or memory was full, before all of them were found.
	TracesCut bool `json:"tracesCut,omitempty"`
	// LiveSeconds is the time for liveness after a complete search.
	LiveSeconds *float64 `json:"liveSeconds,omitempty"`
	// PathSeconds is the time for properties that look along paths, after a complete search.
	PathSeconds *float64 `json:"pathSeconds,omitempty"`
	// Unbounded says why there is no end of markings: no count is known then.
	Unbounded *growth `json:"unbounded,omitempty"`
	// NeverFire are the transitions that are known not to fire at all.
	NeverFire []string `json:"neverFire,omitempty"`
	// Coverage has the transitions, with --coverage, in the order of the net.
	Coverage []report.Action `json:"coverage,omitempty"`
	// What was asked for, in that order.
	Properties []propertyAnswer `json:"properties,omitempty"`

	bits   int
	last   bool // nothing else is printed, see known.claim
	sweeps int  // for liveness
	passes int  // sweeps for properties that look along paths
	full   bool // memory, while traces were found
	detail string
	traced string // the flag
	// untraced are markings to which no way is known.
	untraced []string
	covers   bool // the flag
	// printed has the names of the properties whose lines are printed already.
	printed map[string]bool
}

// counted is a number of states, arcs or deadlocks.
func counted(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// noteUnbounded says, of a search that has ended at full memory or a limit, that the net is
// unbounded, or may be: then no memory is enough.
func noteUnbounded(net *petri.Net, res *explore.Result, p *packing.Packing,
	g *randomwalk.Growth) string {
	note := noteOpen(net, p)
	if note == "" || res.Reason != explore.MemoryFull && res.Reason != explore.LimitReached {
		return ""
	}
	if g != nil {
		return "; the net is unbounded: " + newGrowth(net, g).String()
	}
	most, _ := packing.Peaks(res)
	return fmt.Sprintf("%s, and a place has held %s", note, plural.Of(int(most), "token"))
}

// noteOpen names a place that nothing in the structure of the net bounds; "" if there is none.
func noteOpen(net *petri.Net, p *packing.Packing) string {
	open := p.Open()
	if open < 0 {
		return ""
	}
	return fmt.Sprintf("; the net may be unbounded: nothing in its structure bounds place %s",
		net.Places[open].ID)
}

func newAnswer(net *petri.Net, res *explore.Result, p *packing.Packing, traced string) (answer,
	error) {
	place, marking := packing.Peaks(res)
	a := answer{
		Model: net.Name, Places: len(net.Places), Transitions: len(net.Transitions),
		Engine: engineExplicit, States: counted(res.States), Arcs: counted(res.Arcs),
		Deadlocks: counted(res.Deadlocks), MaxTokensPlace: &place, MaxTokensMarking: &marking,
		Complete: res.Complete, Ranks: res.Ranks, Seconds: res.Elapsed.Seconds(),
		Checked: res.Checked, BytesPerState: res.StateBytes(), Encoding: string(res.Encoding),
		Reason: string(res.Reason), NeedMem: res.NeedMem,
		Lost: res.Lost, Saved: res.Saved,
		bits: p.StateBits(), detail: res.Detail, TracesCut: res.TracesCut,
		Coverage: report.ActionsOf(res.Coverage),
	}
	if res.Encoding == explore.EncodingFingerprint {
		a.Missed = &res.Missed
	}
	if res.Access != (rma.AccessChoice{}) {
		a.Access = res.Access.String()
	}
	if res.Live != nil {
		seconds := res.Live.Elapsed.Seconds()
		a.LiveSeconds, a.sweeps = &seconds, res.Live.Sweeps
	}
	if res.Swept != nil {
		seconds := res.Swept.Elapsed.Seconds()
		a.PathSeconds, a.passes = &seconds, res.Swept.Sweeps
	}
	if res.Order == explore.BreadthFirst {
		a.Depth = &res.Depth
	}
	for _, t := range p.Unfired(res) {
		a.NeverFire = append(a.NeverFire, net.Transitions[t].ID)
	}
	for _, known := range p.Answers(res) {
		a.Properties = append(a.Properties, newPropertyAnswer(net, known))
	}
	var err error
	a.Traces, a.untraced, err = newTraces(net, res, p, traced)
	if err != nil || len(a.Traces) == 0 {
		return a, err
	}
	if first := &a.Traces[0]; !first.Alone {
		a.Trace, a.TraceByWalk = &first.Firings, first.ByWalk
	}
	return a, nil
}

// decided reports whether the search ended because everything was answered.
func (a *answer) decided() bool { return a.Reason == string(explore.Decided) }

// print writes the answer in the form that the flags ask for, in one piece.
func (a *answer) print(w io.Writer, f *exploreFlags) error {
	if !f.known.completes(a) {
		return nil
	}
	a.traced, a.covers = f.trace, f.coverage
	f.sawFalse = f.sawFalse || slices.ContainsFunc(a.Properties, propertyAnswer.isFalse)
	var text bytes.Buffer
	switch {
	case f.json != "":
		for _, p := range a.unprinted() {
			if f.json != cli.JSONLines || !p.known() {
				continue
			}
			if err := json.NewEncoder(&text).Encode(p); err != nil {
				return fmt.Errorf("printing an answer: %w", err)
			}
		}
		if err := json.NewEncoder(&text).Encode(a); err != nil {
			return fmt.Errorf("printing the answer: %w", err)
		}
	case f.mcc:
		a.printMCC(&text)
	default:
		a.printText(&text)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

// techniques are the contest's names for how an engine explores markings.
func techniques(engine string) string {
	if engine == engineSymbolic {
		return "TECHNIQUES DECISION_DIAGRAMS PARALLEL_PROCESSING"
	}
	return "TECHNIQUES EXPLICIT PARALLEL_PROCESSING STATE_COMPRESSION"
}

// printMCC prints the lines of the StateSpace examination, or the lines of properties.
func (a *answer) printMCC(w io.Writer) {
	if len(a.Properties) > 0 {
		printFormulas(w, a.unprinted(), techniques(a.Engine))
		return
	}
	if !a.Complete && a.Unbounded == nil {
		fmt.Fprintln(w, "CANNOT_COMPUTE")
		return
	}
	values := [...]any{"+inf", "+inf", "+inf", "+inf"}
	if a.Complete {
		values = [...]any{a.States, big.NewInt(-1), *a.MaxTokensMarking, *a.MaxTokensPlace}
		if a.Arcs != nil { // else they are not known
			values[1] = a.Arcs
		}
	}
	for i, name := range []string{"STATES", "TRANSITIONS", "MAX_TOKEN_PER_MARKING",
		"MAX_TOKEN_IN_PLACE"} {
		fmt.Fprintf(w, "STATE_SPACE %s %v %s\n", name, values[i], techniques(a.Engine))
	}
}

// unprinted is the properties whose names are not in a set of those that are printed.
func unprinted(all []propertyAnswer, printed map[string]bool) []propertyAnswer {
	return slices.DeleteFunc(slices.Clone(all), func(p propertyAnswer) bool {
		return printed[p.Name]
	})
}

func (a *answer) unprinted() []propertyAnswer { return unprinted(a.Properties, a.printed) }

func (a *answer) printText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s\n", report.Printable(a.Model), plural.Of(a.Places, "place"),
		plural.Of(a.Transitions, "transition"))
	switch {
	case a.NodesByRank != nil:
		a.printSpread(w)
	case a.States != nil:
		a.printCounts(w)
	}
	if a.Missed != nil {
		fmt.Fprintf(w, "FINGERPRINTS of markings were kept: one was missed, and counts and what "+
			"rests on all markings are wrong, with a probability of %.2g\n", *a.Missed)
	}
	if len(a.NeverFire) > 0 {
		fmt.Fprintln(w, neverFire(a.NeverFire))
	}
	if a.covers {
		a.coverage().Write(w)
	}
	printProperties(w, a.Properties)
	a.printTrace(w)
	if a.Unbounded != nil {
		fmt.Fprintf(w, "UNBOUNDED: %v\n", a.Unbounded)
	} else if !a.Complete && !a.decided() {
		fmt.Fprintf(w, "INCOMPLETE: %s", a.Reason)
		if a.detail != "" {
			fmt.Fprintf(w, ": %s", a.detail)
		}
		fmt.Fprintln(w)
	}
}

// printCounts prints the table of counts, and how the engine came to them.
func (a *answer) printCounts(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	mark := ""
	switch {
	case a.decided():
		mark = "\tuntil all was answered"
	case !a.Complete:
		mark = "\tso far: INCOMPLETE"
	}
	symbolic := a.Engine == engineSymbolic
	fmt.Fprintf(t, "states\t%v%s\n", a.States, mark)
	if a.Arcs != nil {
		fmt.Fprintf(t, "arcs\t%v%s\n", a.Arcs, mark)
	} else {
		fmt.Fprint(t, "arcs\tnot counted: it would take too long\n")
	}
	switch {
	case a.Depth != nil:
		fmt.Fprintf(t, "depth\t%d%s\n", *a.Depth, mark)
	case symbolic:
		fmt.Fprint(t, "depth\tnot counted: sets of markings have no levels\n")
	}
	fmt.Fprintf(t, "deadlocks\t%v%s\n", a.Deadlocks, mark)
	fmt.Fprintf(t, "max tokens in a place\t%d%s\n", *a.MaxTokensPlace, mark)
	fmt.Fprintf(t, "max tokens in a marking\t%d%s\n", *a.MaxTokensMarking, mark)
	if symbolic {
		fmt.Fprintf(t, "seconds\t%.3f\tby %s, places ordered by %s\n", a.Seconds, a.Strategy,
			a.PlaceOrder)
		fmt.Fprintf(t, "engine\t%s\n", a.Engine)
		fmt.Fprintf(t, "nodes\t%d\tof the set; %s in all\n", a.Nodes, memory.Format(a.Bytes))
	} else {
		a.printSearch(t)
	}
	_ = t.Flush()
}

// printSearch prints what a search of one marking after the other took.
func (a *answer) printSearch(t io.Writer) {
	fmt.Fprintf(t, "seconds\t%.3f\t%s, %s with %s\n", a.Seconds,
		cli.Rate(a.States.Uint64(), a.Seconds, "states/s"), cli.Rate(a.Arcs.Uint64(), a.Seconds,
			"arcs/s"),
		plural.Of(a.Ranks, "rank"))
	fmt.Fprintf(t, "engine\t%s\n", a.Engine)
	if a.LiveSeconds != nil {
		fmt.Fprintf(t, "seconds for liveness\t%.3f\t%s\n", *a.LiveSeconds,
			plural.Of(a.sweeps, "sweep"))
	}
	if a.PathSeconds != nil {
		fmt.Fprintf(t, "seconds for paths\t%.3f\t%s\n", *a.PathSeconds,
			plural.Of(a.passes, "sweep"))
	}
	if stored := plural.Of(a.bits, "bit") + ", stored as " + a.Encoding; a.BytesPerState > 0 {
		fmt.Fprintf(t, "bytes per state\t%.1f\ta marking has %s\n", a.BytesPerState, stored)
	} else {
		fmt.Fprintf(t, "marking\t%s\n", stored)
	}
	if a.Access != "" {
		fmt.Fprintf(t, "access\t%s\n", a.Access)
	}
	if a.Checked {
		fmt.Fprintf(t, "check\tthe set of %s is consistent\n",
			plural.Of(int(a.States.Uint64()), "state"))
	}
}

// coverage is how often each transition fired, as a table.
func (a *answer) coverage() *report.Coverage {
	return &report.Coverage{Action: "transition", Arcs: "arcs", States: "states",
		Partial: !a.Complete, Lost: len(a.Lost) > 0, Actions: a.Coverage}
}

// neverFire is a warning of transitions.
func neverFire(ids []string) string {
	const shown = 10
	var names []string
	for _, id := range ids[:min(len(ids), shown)] {
		names = append(names, report.Printable(id))
	}
	text := fmt.Sprintf("WARNING: %s never fire: %s", plural.Of(len(ids), "transition"),
		strings.Join(names, ", "))
	if len(ids) == 1 {
		return "WARNING: a transition never fires: " + names[0]
	}
	if len(ids) > shown {
		text += ", and others (--json has all)"
	}
	return text
}

func (a *answer) printTrace(w io.Writer) {
	none := len(a.Traces) == 0
	lost := none && a.traced == "deadlock" && a.States != nil
	dead := a.Deadlocks != nil && a.Deadlocks.Sign() > 0
	switch {
	case lost && dead && !a.TracesCut && len(a.Lost) == 0:
		fmt.Fprintln(w, "a deadlock was found, and is not known any more")
	case lost && dead && len(a.Lost) > 0:
		fmt.Fprintln(w, "the firing sequence to the deadlock was lost with a rank")
	case lost && !a.Complete:
		fmt.Fprintln(w, "no deadlock was found so far")
	case none && (a.TracesCut || a.States == nil && a.traced != "witness"): // nothing is known
	default:
		printTraces(w, "shortest firing sequence", a.traced, a.Traces, a.untraced)
	}
	switch {
	case a.full:
		fmt.Fprintln(w, "MEMORY FULL before all traces were found; give more by --mem")
	case a.TracesCut:
		fmt.Fprintln(w, tracesCut)
	}
}
