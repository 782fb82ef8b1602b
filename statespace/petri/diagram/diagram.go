package diagram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"time"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Options control an exploration.
type Options struct {
	// MaxBytes is the memory for diagrams, as in symbolic.Config; 0 means 0.8 of what is left.
	MaxBytes uint64
	// Strategy of firing. Empty means symbolic.Race: two at the same time, with half of the memory
	// each.
	Strategy symbolic.Strategy
	// Order of the places. With the zero value it is what Choose takes, and where two strategies
	// run, Saturation takes it from the other end.
	Order Order
	// Deadlock asks for a firing sequence to a deadlock, and Witness for one to a marking that
	// shows the answer to a property, for each that has one. They are not always shortest ones.
	Deadlock, Witness bool
	// Progress is called about every 10 ms by each strategy, which waits until it returns: so it
	// may also have the strategy pause. Two strategies may call it at the same time.
	Progress func(Snapshot)
	// Goroutines is how many goroutines work on one diagram, as in symbolic.Config. 0 means 1, or
	// what symbolic.Race gives each strategy.
	Goroutines int

	ordered time.Duration // processor time of ordering places
}

// Result is what was found. All numbers are exact.
type Result struct {
	States    *big.Int
	Arcs      *big.Int // nil: to count them would take too long
	Deadlocks *big.Int
	Answers   []property.Answer // to the properties, in their order

	MaxTokensPlace   uint64
	MaxTokensMarking uint64

	Traces []Trace // that were asked for, where there is one, in the order of the properties
	// TracesCut is why some of them were not found: the context has ended, or memory was full.
	TracesCut error

	Strategy symbolic.Strategy
	Order    string // how the order of the places was found
	Nodes    int    // of the set of all reachable markings
	Stats    symbolic.Stats
	Elapsed  time.Duration
}

// UnsupportedError says that a property is of a kind that diagrams do not answer here.
type UnsupportedError struct{ Property property.Property }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s is not answered symbolically: ask without it, or explore explicitly",
		e.Property.Name)
}

// arcSteps is how many steps are taken to count arcs.
const arcSteps = 4_000_000

// explorer is an exploration in progress.
type explorer struct {
	ctx    context.Context
	net    *petri.Net
	s      *symbolic.Store
	places []int // by level
	levels []int // by place
	fires  []symbolic.Transition
	all    symbolic.Node // the reachable markings
	first  []uint32      // the initial marking, by level

	initial  symbolic.Node // the set of it
	moving   []symbolic.Transition
	number   []int                 // of the transitions of moving, in the net
	back     []symbolic.Transition // the way back of the first of moving
	strategy symbolic.Strategy

	paths          bool          // back has all transitions, and what follows is known
	stuck, looping symbolic.Node // markings without successors, and those that follow themselves

	opts  Options
	asked int // the property that is being answered
	goals []goal

	low, high []uint32 // tokens of any reachable marking, by level
}

// Explore finds all reachable markings of a net and answers properties of them. Without enough
// memory the error is a *symbolic.FullError; after the end of ctx its cause.
func Explore(ctx context.Context, net *petri.Net, opts Options,
	properties ...property.Property) (res *Result, err error) {
	begin := time.Now()
	for _, p := range properties {
		if !Supports(p) {
			return nil, &UnsupportedError{p}
		}
	}
	if len(net.Places) == 0 {
		return explorePlaceless(ctx, net, opts, properties)
	}
	given, ordered := ctx, opts.Order.Places != nil
	if err := opts.order(ctx, net); err != nil {
		return nil, err
	}
	if opts.Strategy != "" {
		res, err = explore(ctx, net, opts, properties)
	} else {
		res, err = symbolic.Race(ctx, opts.MaxBytes, func(ctx context.Context,
			strategy symbolic.Strategy, cfg symbolic.Config) (*Result, error) {
			opts := opts
			if !ordered {
				opts.Order = opts.Order.racing(strategy)
			}
			opts.Strategy, opts.MaxBytes = strategy, cfg.MaxBytes
			opts.Goroutines = cmp.Or(opts.Goroutines, cfg.Goroutines)
			res, err := explore(ctx, net, opts, properties)
			if err == nil && res.TracesCut != nil && given.Err() == nil && ctx.Err() != nil {
				return nil, res.TracesCut // the other strategy has all
			}
			return res, err
		})
	}
	if err != nil {
		return nil, err
	}
	res.Elapsed = time.Since(begin)
	return res, nil
}

// explorePlaceless explores a net without places. A diagram has a level at least, so the net gets a
// place that no transition touches.
func explorePlaceless(ctx context.Context, net *petri.Net, opts Options,
	properties []property.Property) (*Result, error) {
	with := *net
	with.Places, opts.Order = []petri.Place{{}}, Order{}
	res, err := Explore(ctx, &with, opts, properties...)
	if err != nil {
		return nil, err
	}
	for i := range res.Answers {
		a := &res.Answers[i]
		if a.Property.Kind == property.Stable {
			a.Verdict = logic.False // the place that is always the same is not of the net
		}
		if a.Marking != nil {
			a.Marking = []int64{}
		}
	}
	return res, nil
}

// explore explores a net by the strategy of opts.
func explore(ctx context.Context, net *petri.Net, opts Options,
	properties []property.Property) (_ *Result, err error) {
	if opts.Progress != nil && opts.Goroutines <= 1 {
		runtime.LockOSThread() // for its clock
		defer runtime.UnlockOSThread()
	}
	s, err := symbolic.New(ctx, symbolic.Config{Levels: len(net.Places), MaxBytes: opts.MaxBytes,
		Goroutines: opts.Goroutines, Progress: opts.progress(len(net.Places))})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x := &explorer{ctx: ctx, net: net, s: s, places: opts.Order.Places,
		levels: inverse(opts.Order.Places), strategy: opts.Strategy, opts: opts}
	res := &Result{Strategy: opts.Strategy, Order: opts.Order.Name}
	if err := x.reach(opts.Strategy); err != nil {
		return nil, err
	}
	if err := x.count(res); err != nil {
		return nil, err
	}
	for i, p := range properties {
		x.asked = i
		a, err := x.answer(p)
		if err != nil {
			return nil, err
		}
		res.Answers = append(res.Answers, a)
	}
	err = x.traceAll(res)
	res.Stats = s.Stats()
	return res, err
}

// reach finds the reachable markings.
func (x *explorer) reach(strategy symbolic.Strategy) error {
	x.first = x.vector(x.net.Initial())
	var err error
	if x.initial, err = x.held(x.s.Vector(x.first)); err != nil {
		return err
	}
	for i := range x.net.Transitions {
		steps, moves := x.steps(&x.net.Transitions[i])
		t, err := x.s.NewTransition(steps...)
		if err != nil {
			return fmt.Errorf("transition %s: %w", x.net.Transitions[i].ID, err)
		}
		x.fires = append(x.fires, t)
		if moves {
			x.moving, x.number = append(x.moving, t), append(x.number, i)
		}
	}
	if x.all, err = x.s.Reach(x.initial, x.moving, strategy); err == nil {
		x.s.Hold(x.all)
	}
	return err
}

// steps are what a transition does at each level, and whether it may change any.
func (x *explorer) steps(t *petri.Transition) (steps []symbolic.Step, moves bool) {
	out := t.Out
	for _, in := range t.In {
		for ; len(out) > 0 && out[0].Place < in.Place; out = out[1:] {
			steps = append(steps, symbolic.Step{Level: x.levels[out[0].Place],
				Change: out[0].Weight})
		}
		st := symbolic.Step{Level: x.levels[in.Place], Need: uint32(in.Weight), Change: -in.Weight}
		if len(out) > 0 && out[0].Place == in.Place {
			st.Change += out[0].Weight
			out = out[1:]
		}
		steps = append(steps, st)
	}
	for _, a := range out {
		steps = append(steps, symbolic.Step{Level: x.levels[a.Place], Change: a.Weight})
	}
	if len(t.Inhibitors)+len(t.Resets) > 0 {
		steps = x.specialSteps(t, steps)
	}
	for _, st := range steps {
		moves = moves || st.Set || st.Change != 0
	}
	if len(steps) == 0 {
		steps = []symbolic.Step{{}} // it can always fire
	}
	return steps, moves
}

// specialSteps adds the inhibitor and reset arcs of a transition to its steps.
func (x *explorer) specialSteps(t *petri.Transition, steps []symbolic.Step) []symbolic.Step {
	at := func(place int) *symbolic.Step {
		for i := range steps {
			if steps[i].Level == x.levels[place] {
				return &steps[i]
			}
		}
		steps = append(steps, symbolic.Step{Level: x.levels[place]})
		return &steps[len(steps)-1]
	}
	for _, a := range t.Inhibitors {
		at(a.Place).Below = uint32(a.Weight)
	}
	for _, place := range t.Resets {
		at(place).Set, at(place).Change = true, 0
	}
	for _, a := range t.Out {
		if st := at(a.Place); st.Set {
			st.Change = a.Weight
		}
	}
	return steps
}

// count finds the numbers of a result.
func (x *explorer) count(res *Result) error {
	ones := make(map[int]int64, len(x.places))
	for level := range x.places {
		ones[level] = 1
	}
	most, err := x.s.Largest(x.all, ones, 0)
	if err != nil {
		return err
	}
	stuck, err := x.s.Stuck(x.all, x.fires)
	if err != nil {
		return err
	}
	if x.low, x.high, err = x.s.Extremes(x.all); err != nil {
		return err
	}
	for _, peak := range x.high {
		res.MaxTokensPlace = max(res.MaxTokensPlace, uint64(peak))
	}
	res.MaxTokensMarking = uint64(most)
	if x.opts.Deadlock {
		x.aim(Deadlock, stuck)
	}
	if res.Deadlocks, err = x.s.Count(stuck); err != nil {
		return err
	}
	if res.States, err = x.s.Count(x.all); err != nil {
		return err
	}
	if res.Nodes, err = x.s.Size(x.all); err != nil {
		return err
	}
	res.Arcs, err = x.s.Firings(x.all, x.fires, arcSteps)
	return err
}
