package diagram

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
	"github.com/farhash/farhash/statespace/symbolic/spread"
)

// Spread is what ExploreSpread has found.
type Spread struct {
	States  *big.Int
	Nodes   []uint64 // of the set of all reachable markings, by the rank that has them
	Order   string   // how the order of the places was found
	Stats   spread.Stats
	Elapsed time.Duration
}

// ExploreSpread counts all reachable markings of a net, in one diagram in the memory of all ranks:
// MaxBytes for all of them together, or 0.8 of what is left. Package spread says what that costs,
// and how it fails. Collective.
func ExploreSpread(ctx context.Context, job rma.Job, net *petri.Net, maxBytes uint64) (
	res *Spread, err error) {
	begin := time.Now()
	if len(net.Places) == 0 {
		with := *net
		with.Places = []petri.Place{{}} // a diagram has a level at least
		net = &with
	}
	order := Choose(net).racing(symbolic.Saturation)
	x := &explorer{ctx: ctx, net: net, places: order.Places, levels: inverse(order.Places)}
	d, err := spread.New(ctx, job, spread.Config{Levels: len(net.Places), MaxBytes: maxBytes})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	from, err := x.spread(ctx, d)
	if err = rma.AllSucceeded(ctx, job, "diagram: transitions", err); err != nil {
		return nil, err
	}
	all, err := d.Reach(ctx, from)
	if err != nil {
		return nil, err
	}
	counted, err := d.Count(ctx, all)
	if err != nil {
		return nil, err
	}
	return &Spread{counted.Vectors, counted.Nodes, order.Name, d.Stats(), time.Since(begin)}, nil
}

// spread gives a diagram of all ranks the transitions and the initial marking.
func (x *explorer) spread(ctx context.Context, d *spread.Diagram) (from spread.Node, err error) {
	const nodeBytes = 32
	s, err := symbolic.New(ctx, symbolic.Config{Levels: len(x.places),
		MaxBytes: symbolic.MinBytes + nodeBytes*uint64(len(x.places))})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i := range x.net.Transitions {
		steps, moves := x.steps(&x.net.Transitions[i])
		t, err := s.NewTransition(steps...)
		if err != nil {
			return 0, fmt.Errorf("transition %s: %w", x.net.Transitions[i].ID, err)
		}
		if moves {
			d.AddTransitions(s, t)
		}
	}
	initial, err := s.Vector(x.vector(x.net.Initial()))
	if err != nil {
		return 0, err
	}
	return d.Import(s, initial)
}
