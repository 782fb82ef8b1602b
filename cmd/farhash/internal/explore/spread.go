package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/symbolic"
	"github.com/farhash/farhash/statespace/symbolic/model"
)

// spreadUsage is the usage of --spread.
const spreadUsage = "hold one diagram in the memory of all ranks, for %s that are too large for " +
	"one host: many times slower, and counts no more than states"

// checkSpread refuses what --spread does not do.
func (f *exploreFlags) checkSpread(engine string) error {
	switch {
	case !f.spread:
		return nil
	case engine != engineSymbolic:
		return errors.New("--spread needs --engine symbolic")
	case f.trace != "", f.mcc, f.asked.formulas(), len(f.asked.bounds) > 0,
		len(f.asked.examinations) > 0:
		return errors.New("--spread counts states, and knows neither properties nor --trace and " +
			"--mcc")
	}
	return nil
}

// exploreSpread explores a net as one set of markings in the memory of all ranks, and has rank 0
// print the answer.
func (f *exploreFlags) exploreSpread(ctx context.Context, net *petri.Net, ranks int,
	mem uint64) error {
	return farhash.Run(ctx, ranks, func(job rma.Job) error {
		g, err := packing.FindGrowth(ctx, net)
		if err == nil && g != nil && packing.Growing(net, g, nil) {
			a := newUnbounded(net, g, nil)
			a.Engine = engineSymbolic
			return f.unbounded(job, a, f.print)
		}
		announceSpread(job, f.quiet, mem, "markings")
		res, err := diagram.ExploreSpread(ctx, job, net, mem)
		a := answer{Model: net.Name, Places: len(net.Places), Transitions: len(net.Transitions),
			Engine: engineSymbolic, Ranks: job.Size()}
		code, err := f.incomplete(ctx, net, &a, err)
		if err != nil {
			return err
		}
		if res != nil {
			a.States, a.Complete, a.Strategy = res.States, true, string(symbolic.Saturation)
			a.PlaceOrder, a.Seconds, a.NodesByRank = res.Order, res.Elapsed.Seconds(), res.Nodes
			a.Nodes = nodesOf(res.Nodes)
		}
		if job.Rank() == 0 {
			err = f.print(a)
		}
		if err != nil || code == 0 {
			return err
		}
		return &cli.ExitError{Code: code}
	})
}

// announceSpread prints the plan of a diagram in the memory of all ranks.
func announceSpread(job rma.Job, quiet bool, mem uint64, what string) {
	if quiet || job.Rank() > 0 {
		return
	}
	room := "80 % of the available memory"
	if mem > 0 {
		room = "up to " + memory.Format(mem)
	}
	fmt.Fprintf(os.Stderr, "plan: %s for sets of %s, in the memory of %s together\n", room, what,
		plural.Of(job.Size(), "rank"))
}

// nodesOf is the nodes of all ranks.
func nodesOf(byRank []uint64) (nodes int) {
	for _, n := range byRank {
		nodes += int(n)
	}
	return nodes
}

// runSpread explores a model as one set of states in the memory of all ranks, and has rank 0 print
// the answer.
func (f *modelFileFlags) runSpread(ctx context.Context, m *model.Model, a *modelAnswer,
	mem uint64) error {
	return farhash.Run(ctx, f.ranks, func(job rma.Job) error {
		announceSpread(job, f.quiet, mem, "states")
		res, err := model.ExploreSpread(ctx, job, m, mem)
		a := *a
		code, err := a.incomplete(ctx, err)
		if err != nil {
			return err
		}
		if res != nil {
			a.States, a.Complete, a.Strategy = res.States, true, symbolic.Saturation
			a.Seconds, a.ReachSeconds = res.Elapsed.Seconds(), res.Reaching.Seconds()
			a.Nodes, a.NodesByRank = nodesOf(res.Nodes), res.Nodes
		}
		if job.Rank() == 0 {
			var out *os.File
			if out, err = cli.Stdout(); err == nil {
				err = a.print(out, f.json)
			}
		}
		if err != nil || code == 0 {
			return err
		}
		return &cli.ExitError{Code: code}
	})
}

// printSpread prints the counts of a diagram in the memory of all ranks.
func (a *answer) printSpread(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "states\t%v\n", a.States)
	fmt.Fprintf(t, "seconds\t%.3f\tby %s, places ordered by %s\n", a.Seconds, a.Strategy,
		a.PlaceOrder)
	fmt.Fprintf(t, "engine\t%s\n", a.Engine)
	fmt.Fprintf(t, "nodes\t%d\t%s\n", a.Nodes, shareOf(a.NodesByRank))
	_ = t.Flush()
}

// shareOf says how nodes are divided.
func shareOf(byRank []uint64) string {
	return fmt.Sprintf("of the set, %d at most in each of %s", slices.Max(byRank),
		plural.Of(len(byRank), "rank"))
}
