package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// exploreSymbolic explores a net as sets of markings, and has the rank that is first with the
// answer print it. What has kept all ranks from it, rank 0 prints.
func (f *exploreFlags) exploreSymbolic(ctx context.Context, net *petri.Net, mem uint64,
	properties []property.Property) error {
	for _, p := range properties {
		if !diagram.Supports(p) { // on each rank: none of them could wait for an answer
			return cli.Usage(fmt.Errorf("--engine symbolic: %w",
				&diagram.UnsupportedError{Property: p}))
		}
	}
	ranks := 1
	if f.ranksGiven {
		ranks = f.ranks
	}
	if f.spread {
		return f.exploreSpread(ctx, net, ranks, mem)
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
		if !f.endless() {
			g, err := packing.FindGrowth(ctx, net)
			if err == nil && g != nil && packing.Growing(net, g, properties) {
				a := newUnbounded(net, g, properties)
				a.Engine = engineSymbolic
				return f.unbounded(job, a, f.print)
			}
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
			return f.noAnswer(ctx)
		}
		show.close()
		return f.finishSymbolic(ctx, net, properties, nil, res, err, job.Rank() == 0)
	})
}

// noAnswer is the exit code of a rank that had no part in a search without an answer.
func (f *exploreFlags) noAnswer(ctx context.Context) error {
	if ctx.Err() != nil {
		return &cli.ExitError{Code: f.interruptCode(ctx)}
	}
	return &cli.ExitError{Code: cli.ExitIncomplete}
}

// memoryOfRank is what one of the ranks that search may take, of the memory of all ranks, or of
// what is left on this host.
func memoryOfRank(share diagram.Share, mem uint64) (uint64, error) {
	if mem > 0 {
		return mem / uint64(share.All), nil
	}
	mem, err := cli.Memory(0)
	return mem / uint64(share.Here), err
}

// finishSymbolic prints a result, or what has kept from it, which one rank alone prints. What is
// printed already is not in it.
func (f *exploreFlags) finishSymbolic(ctx context.Context, net *petri.Net,
	properties []property.Property, printed map[string]bool, res *diagram.Result, err error,
	says bool) error {
	a := answer{printed: printed, Model: net.Name, Places: len(net.Places),
		Transitions: len(net.Transitions), Engine: engineSymbolic}
	unsupported := (*diagram.UnsupportedError)(nil)
	if errors.As(err, &unsupported) {
		return cli.Usage(fmt.Errorf("--engine symbolic: %w", err))
	}
	code, err := f.incomplete(ctx, net, &a, err)
	if err != nil {
		return err
	}
	if res == nil && !says {
		return &cli.ExitError{Code: code}
	}
	a.takeSets(net, res, properties)
	switch {
	case a.full:
		code = cli.ExitIncomplete
	case a.TracesCut:
		code = f.interruptCode(ctx)
	}
	out, err := cli.Stdout()
	if err != nil {
		return err
	}
	err = errors.Join(a.print(out, f), f.writeTraces(net, a.Traces))
	if err != nil || code == 0 {
		return err
	}
	return &cli.ExitError{Code: code}
}

// incomplete has an answer say why it is not complete, and returns the exit code for that. An error
// that is no such reason it returns.
func (f *exploreFlags) incomplete(ctx context.Context, net *petri.Net, a *answer, err error) (
	code int, _ error) {
	full := (*symbolic.FullError)(nil)
	switch {
	case err != nil && ctx.Err() != nil, // another rank may have had memory left
		errors.Is(err, diagram.ErrInterrupted):
		a.Reason, code = string(explore.Interrupted), f.interruptCode(ctx)
		f.noteTime(ctx, a)
	case errors.As(err, &full):
		a.Reason, code = string(explore.MemoryFull), cli.ExitIncomplete
		a.detail = noteNodes(ctx, net, full)
	case err != nil:
		return 0, err
	}
	return code, nil
}

// noteNodes is the detail of memory that sets of markings have filled.
func noteNodes(ctx context.Context, net *petri.Net, full *symbolic.FullError) string {
	note := fmt.Sprintf("%s in use; give more by --mem, or take --engine explicit",
		plural.Of(int(full.Nodes), "node"))
	if g, err := packing.FindGrowth(ctx, net); err == nil && g != nil {
		return note + "; the net is unbounded: " + newGrowth(net, g).String()
	}
	if p, err := packing.New(net, packing.Options{}); err == nil {
		note += noteOpen(net, p)
	}
	return note
}

// takeSets takes the numbers of a symbolic result, or of none, which leaves the properties unknown.
func (a *answer) takeSets(net *petri.Net, res *diagram.Result,
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
		a.Properties = append(a.Properties, newPropertyAnswer(net, known))
	}
	a.takeTraces(net, res)
}

// takeTraces takes the firing sequences of a symbolic result.
func (a *answer) takeTraces(net *petri.Net, res *diagram.Result) {
	for _, found := range res.Traces {
		t := newNetTrace(net, found.Firings)
		t.goal, t.Shortest = deadlockGoal, len(found.Firings) == 0
		if found.Traced != diagram.Deadlock {
			known := &res.Answers[found.Traced]
			t.Property = known.Property.Name
			if known.Property.Kind != property.Live || known.Transition >= 0 {
				t.goal = shownGoal(known, net)
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
