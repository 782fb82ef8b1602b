package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// symbolicAnswer is what explore prints of sets of markings. The fields are named as in --json.
type symbolicAnswer struct {
	Model            string   `json:"model"`
	Places           int      `json:"places"`
	Transitions      int      `json:"transitions"`
	Engine           string   `json:"engine"`
	States           *big.Int `json:"states"` // these are null when not complete
	Arcs             *big.Int `json:"arcs"`   // null as well where counting takes too long
	Depth            *uint64  `json:"depth"`  // null: there are no levels
	Deadlocks        *big.Int `json:"deadlocks"`
	MaxTokensPlace   *uint64  `json:"maxTokensPlace"`
	MaxTokensMarking *uint64  `json:"maxTokensMarking"`
	Complete         bool     `json:"complete"`
	Strategy         string   `json:"strategy,omitempty"`
	PlaceOrder       string   `json:"placeOrder,omitempty"`
	Nodes            int      `json:"nodes,omitempty"` // of the set of all markings
	Bytes            uint64   `json:"bytes,omitempty"`
	Seconds          float64  `json:"seconds,omitempty"`
	// Reason: only when not complete.
	Reason     string           `json:"reason,omitempty"`
	Properties []propertyAnswer `json:"properties,omitempty"`
	// Only when asked for and found: the ids of the transitions, of the first of Traces.
	Trace  *[]string  `json:"trace,omitempty"`
	Traces []netTrace `json:"traces,omitempty"`
	// TracesCut: a signal came, or memory was full, before all of them were found.
	TracesCut bool `json:"tracesCut,omitempty"`

	full   bool // memory, while traces were found
	detail string
	traced string // the flag
	// printed has the names of the properties whose lines are printed already.
	printed map[string]bool
}

// exploreSymbolic explores a net as sets of markings, and has the rank that is first with the
// answer print it. What has kept all ranks from it, rank 0 prints.
func (f *exploreFlags) exploreSymbolic(ctx context.Context, caught func() os.Signal,
	net *petri.Net, mem uint64, properties []property.Property) error {
	for _, p := range properties {
		if p.Kind == property.Temporal { // on each rank: none of them could wait for an answer
			return usage(fmt.Errorf("--engine symbolic: %w",
				&diagram.UnsupportedError{Property: p}))
		}
	}
	ranks := 1
	if f.ranksGiven {
		ranks = f.ranks
	}
	show := &display{quiet: f.quiet, alone: true}
	return farhash.Run(ctx, ranks, func(job rma.Job) error {
		share, err := diagram.Divide(ctx, job)
		if err != nil {
			return err
		}
		mem, err := memoryOfRank(share, mem)
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			show.announceSets(mem, share.All)
		}
		res, err := diagram.ExploreTogether(ctx, job, net, share, diagram.Options{MaxBytes: mem,
			Progress: show.sets, Deadlock: f.trace == "deadlock", Witness: f.trace == "witness"},
			properties...)
		switch {
		case res == nil && err == nil: // another rank prints the answer
			return nil
		case errors.Is(err, diagram.ErrNoAnswer): // others say why
			return noAnswer(ctx, caught)
		}
		f := *f
		f.silent = res == nil && job.Rank() != 0
		show.close()
		return f.finishSymbolic(ctx, caught, net, properties, nil, res, err)
	})
}

// noAnswer is the exit code of a rank that had no part in a search without an answer.
func noAnswer(ctx context.Context, caught func() os.Signal) error {
	if ctx.Err() != nil {
		return &exitError{code: interruptCode(caught)}
	}
	return &exitError{code: exitIncomplete}
}

// memoryOfRank is what one of the ranks that search may take, of the memory of all ranks, or of
// what is left on this host.
func memoryOfRank(share diagram.Share, mem uint64) (uint64, error) {
	if mem > 0 {
		return mem / uint64(share.All), nil
	}
	mem, err := memoryFor(0)
	return mem / uint64(share.Here), err
}

// finishSymbolic prints a result, or what has kept from it. What is printed already is not in it.
func (f *exploreFlags) finishSymbolic(ctx context.Context, caught func() os.Signal,
	net *petri.Net, properties []property.Property, printed map[string]bool, res *diagram.Result,
	err error) error {
	a := symbolicAnswer{printed: printed, Model: net.Name, Places: len(net.Places),
		Transitions: len(net.Transitions), Engine: engineSymbolic}
	code := 0
	full, unsupported := (*symbolic.FullError)(nil), (*diagram.UnsupportedError)(nil)
	switch {
	case errors.As(err, &unsupported):
		return usage(fmt.Errorf("--engine symbolic: %w", err))
	case err != nil && ctx.Err() != nil, // another rank may have had memory left
		errors.Is(err, diagram.ErrInterrupted):
		a.Reason, code = string(explore.Interrupted), interruptCode(caught)
	case errors.As(err, &full):
		a.Reason, code = string(explore.MemoryFull), exitIncomplete
		a.detail = fmt.Sprintf(": %s in use; give more by --mem, or take --engine explicit",
			plural.Of(int(full.Nodes), "node"))
	case err != nil:
		return err
	}
	if f.silent {
		return &exitError{code: code}
	}
	a.take(net, res, properties)
	switch a.traced = f.trace; {
	case a.full:
		code = exitIncomplete
	case a.TracesCut:
		code = interruptCode(caught)
	}
	out, err := openStdout()
	if err != nil {
		return err
	}
	err = errors.Join(f.printAnswer(out, &a), f.writeTraces(net, a.Traces))
	if err != nil || code == 0 {
		return err
	}
	return &exitError{code: code}
}

// take takes the numbers of a result, or of none, which leaves the properties unknown.
func (a *symbolicAnswer) take(net *petri.Net, res *diagram.Result,
	properties []property.Property) {
	if res == nil {
		for _, p := range properties {
			a.Properties = append(a.Properties, propertyAnswer{Name: p.Name,
				Answer: json.RawMessage("null")})
		}
		return
	}
	a.States, a.Arcs, a.Deadlocks = res.States, res.Arcs, res.Deadlocks
	a.MaxTokensPlace, a.MaxTokensMarking = &res.MaxTokensPlace, &res.MaxTokensMarking
	a.Complete, a.Strategy, a.PlaceOrder = true, string(res.Strategy), res.Order
	a.Nodes, a.Bytes, a.Seconds = res.Nodes, res.Stats.Bytes, res.Elapsed.Seconds()
	for _, known := range res.Answers {
		p := propertyAnswer{Name: known.Property.Name}
		if known.Transition >= 0 {
			p.Transition = net.Transitions[known.Transition].ID
		}
		if known.Property.Kind == property.Bound {
			p.Answer = strconv.AppendInt(nil, known.Value, 10)
		} else {
			p.Answer = strconv.AppendBool(nil, known.True)
		}
		a.Properties = append(a.Properties, p)
	}
	a.takeTraces(net, res)
}

// takeTraces takes the firing sequences.
func (a *symbolicAnswer) takeTraces(net *petri.Net, res *diagram.Result) {
	for _, found := range res.Traces {
		t := newNetTrace(net, found.Firings)
		t.goal, t.Shortest = deadlockGoal, len(found.Firings) == 0
		if found.Traced != diagram.Deadlock {
			known := &res.Answers[found.Traced]
			t.Property = known.Property.Name
			switch {
			case known.Transition >= 0:
				t.goal = strandedGoal(net, known.Transition)
			case known.Property.Kind != property.Live:
				t.goal = shownGoal(&packing.Answer{Property: &known.Property, Exact: true,
					Value: known.Value}, net)
			}
		}
		a.Traces = append(a.Traces, t)
	}
	if len(a.Traces) > 0 {
		a.Trace = &a.Traces[0].Firings
	}
	full := (*symbolic.FullError)(nil)
	a.TracesCut, a.full = res.TracesCut != nil, errors.As(res.TracesCut, &full)
}

// symbolicTechniques are the contest's names for how sets of markings are explored.
const symbolicTechniques = "TECHNIQUES DECISION_DIAGRAMS PARALLEL_PROCESSING"

func (a *symbolicAnswer) printMCC(w io.Writer) {
	if len(a.Properties) > 0 {
		printFormulas(w, unprinted(a.Properties, a.printed), symbolicTechniques)
		return
	}
	if !a.Complete {
		fmt.Fprintln(w, "CANNOT_COMPUTE")
		return
	}
	arcs := big.NewInt(-1) // not known
	if a.Arcs != nil {
		arcs = a.Arcs
	}
	fmt.Fprintf(w, "STATE_SPACE STATES %v %s\n", a.States, symbolicTechniques)
	fmt.Fprintf(w, "STATE_SPACE TRANSITIONS %v %s\n", arcs, symbolicTechniques)
	fmt.Fprintf(w, "STATE_SPACE MAX_TOKEN_PER_MARKING %d %s\n", *a.MaxTokensMarking,
		symbolicTechniques)
	fmt.Fprintf(w, "STATE_SPACE MAX_TOKEN_IN_PLACE %d %s\n", *a.MaxTokensPlace, symbolicTechniques)
}

func (a *symbolicAnswer) unprinted() []propertyAnswer { return unprinted(a.Properties, a.printed) }

func (a *symbolicAnswer) printText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s\n", printable(a.Model), plural.Of(a.Places, "place"),
		plural.Of(a.Transitions, "transition"))
	if a.Complete {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "states\t%v\n", a.States)
		if a.Arcs != nil {
			fmt.Fprintf(t, "arcs\t%v\n", a.Arcs)
		} else {
			fmt.Fprint(t, "arcs\tnot counted: it would take too long\n")
		}
		fmt.Fprint(t, "depth\tnot counted: sets of markings have no levels\n")
		fmt.Fprintf(t, "deadlocks\t%v\n", a.Deadlocks)
		fmt.Fprintf(t, "max tokens in a place\t%d\n", *a.MaxTokensPlace)
		fmt.Fprintf(t, "max tokens in a marking\t%d\n", *a.MaxTokensMarking)
		fmt.Fprintf(t, "seconds\t%.3f\tby %s, places ordered by %s\n", a.Seconds, a.Strategy,
			a.PlaceOrder)
		fmt.Fprintf(t, "engine\t%s\n", a.Engine)
		fmt.Fprintf(t, "nodes\t%d\tof the set; %s in all\n", a.Nodes, memory.Format(a.Bytes))
		_ = t.Flush()
	}
	printProperties(w, a.Properties)
	switch {
	case a.TracesCut && len(a.Traces) == 0: // nothing is known of traces
	case a.Complete || a.traced == "witness":
		printTraces(w, "", a.traced, a.Traces, nil)
	}
	switch {
	case a.full:
		fmt.Fprintln(w, "MEMORY FULL before all traces were found; give more by --mem")
	case a.TracesCut:
		fmt.Fprintln(w, tracesCut)
	}
	if !a.Complete {
		fmt.Fprintf(w, "INCOMPLETE: %s%s\n", a.Reason, a.detail)
	}
}
