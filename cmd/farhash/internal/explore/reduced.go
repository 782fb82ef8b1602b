package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/petri/reduce"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Questions are answered on nets that are reduced, each on its own, after a short search of the
// given net and before all other searches. Counts are never of a reduced net.

// fewBefore is how many markings the search of the given net may find before nets are reduced, and
// walkBefore the part of its time for random walks, if there are any.
var (
	fewBefore  uint64 = 1 << 16
	walkBefore        = .4
)

// effort is what a question may take of a reduced net.
type effort struct {
	states uint64  // that a search stores
	walk   float64 // the part of its time for random walks
	bytes  uint64  // of sets of markings
	time   time.Duration
}

// The first effort is made before other searches, and later ones beside these, each for all
// questions that are open.
var (
	firstEffort  = effort{1 << 12, .5, 16 << 20, 30 * time.Millisecond}
	laterEfforts = []effort{{1 << 16, .3, 32 << 20, 200 * time.Millisecond},
		{1 << 20, .3, 256 << 20, 2 * time.Second}}
)

// netSize is the size of a reduced net. The fields are named as in --json.
type netSize struct {
	Places      int `json:"places"`
	Transitions int `json:"transitions"`
}

func (s *netSize) String() string {
	return fmt.Sprintf("reduced to %s, %s", plural.Of(s.Places, "place"),
		plural.Of(s.Transitions, "transition"))
}

// reducible reports whether flags leave it to this command how it answers questions, and ask
// neither for counts nor for shortest traces.
func (f *exploreFlags) reducible(changed func(flag string) bool) bool {
	return f.reduce == "yes" && f.engine == engineAuto && f.trace != "deadlock" &&
		!(f.trace == "witness" && f.walk == 0) && !slices.ContainsFunc(explicitOnly, changed)
}

// mayReduce reports whether there is a property that reductions keep, and memory for efforts.
func (f *exploreFlags) mayReduce(opts explore.Options, properties []property.Property) bool {
	if !f.reduces || f.launched {
		return false
	}
	mem, err := cli.Memory(opts.Mem)
	return err == nil && mem/besideShare >= leastBeside &&
		slices.ContainsFunc(properties, func(p property.Property) bool {
			return p.Kind <= property.Bound
		})
}

// exploreReduced answers properties by a short search of the net, then by reduced nets, and then
// by all other searches.
func (f *exploreFlags) exploreReduced(ctx context.Context, net *petri.Net, opts explore.Options,
	properties []property.Property) error {
	f.known = newKnown(properties)
	answers := f.stream(net, len(properties))
	first, err := f.searchFew(ctx, net, opts, properties, answers)
	if first != nil && (first.exact() || first.Unbounded != nil || ctx.Err() != nil) {
		return errors.Join(answers.print(*first), f.writeTraces(net, first.Traces), err)
	}
	f.lines.plan = answers.show.plan
	if first != nil {
		for i := range first.Properties {
			if p := first.Properties[i]; p.known() {
				f.known.learn(p, first.traceOf(p.Name))
				answers.give(p)
			}
		}
	}
	questions, err := f.ask(net, opts, f.known.open(properties))
	if err != nil {
		return err
	}
	if err := questions.try(ctx, firstEffort, f.ranks, answers); err != nil {
		return err
	}
	questions.sort()
	open := f.known.open(properties)
	switch {
	case len(open) == 0:
		return f.printKnown(net, answers)
	case f.trace == "":
		return f.exploreBeside(ctx, net, opts, open, questions)
	}
	for _, e := range laterEfforts {
		if err := questions.try(ctx, e, f.ranks, answers); err != nil {
			return err
		}
	}
	if open = f.known.open(open); len(open) == 0 {
		return f.printKnown(net, answers)
	}
	return f.known.exit(f.exploreGiven(ctx, net, opts, open))
}

// exploreBeside makes the later efforts beside all other searches.
func (f *exploreFlags) exploreBeside(ctx context.Context, net *petri.Net, opts explore.Options,
	open []property.Property, questions *questions) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(errBeaten)
	answers := f.stream(net, len(open))
	searched, fault := make(chan error, 1), make(chan error, 1)
	f.known.done, f.known.over = make(chan struct{}), ctx.Done()
	opts.Beside += questions.mem
	go func() { searched <- f.exploreGiven(ctx, net, opts, open) }()
	go func() {
		defer close(f.known.done)
		for _, e := range laterEfforts {
			if err := questions.try(ctx, e, 1, answers); err != nil {
				fault <- err
				return
			}
		}
	}()
	select {
	case err := <-searched:
		return f.known.exit(err)
	case err := <-fault:
		return err
	case <-f.known.all:
	}
	if !f.known.claim() {
		return f.known.exit(<-searched)
	}
	err := f.printKnown(net, answers)
	stop(errBeaten)
	<-searched
	return err
}

// printKnown prints an answer to all without counts.
func (f *exploreFlags) printKnown(net *petri.Net, answers *stream) error {
	a := answer{Model: net.Name, Places: len(net.Places), Transitions: len(net.Transitions),
		Engine: engineReduced, last: true}
	f.known.addTo(&a)
	return errors.Join(answers.print(a), f.writeTraces(net, a.Traces))
}

// searchFew searches the net until it has found a few markings.
func (f *exploreFlags) searchFew(ctx context.Context, net *petri.Net, opts explore.Options,
	properties []property.Property, answers *stream) (first *answer, err error) {
	short := *f
	short.itf, short.known, opts.MaxStates = "", nil, fewBefore
	if opts.Walk > 0 && f.trace == "" {
		opts.Walk = max(opts.Walk, walkBefore)
	}
	err = short.search(ctx, net, opts, properties, answers, func(a answer) error {
		first = &a
		return nil
	})
	return first, err
}

// exact reports whether everything is answered.
func (a *answer) exact() bool {
	return (a.Complete || a.decided()) && !slices.ContainsFunc(a.Properties, unknown)
}

// traceOf is the trace that shows a property; nil if there is none.
func (a *answer) traceOf(name string) *netTrace {
	i := slices.IndexFunc(a.Traces, func(t netTrace) bool { return t.Property == name })
	if i < 0 {
		return nil
	}
	return &a.Traces[i]
}

// smaller is a question with its reduced net.
type smaller struct {
	*reduce.Reduced // nil before the first effort, and where the rules change nothing
	property        *property.Property
	search          *packing.Search
	begun           bool
}

// questions are those that may have reduced nets, and have no answer yet.
type questions struct {
	f    *exploreFlags
	net  *petri.Net
	opts explore.Options
	mem  uint64 // of all that are tried at the same time
	all  []*smaller
}

// ask asks open properties of reduced nets.
func (f *exploreFlags) ask(net *petri.Net, opts explore.Options, open []property.Property) (
	*questions, error) {
	mem, err := cli.Memory(opts.Mem)
	opts.MemWhole, opts.Progress = false, nil
	q := &questions{f: f, net: net, opts: opts, mem: mem / besideShare}
	for i := range open {
		q.all = append(q.all, &smaller{property: &open[i]})
	}
	return q, err
}

// begin reduces the net. It reports false if that leaves it as it is.
func (q *smaller) begin(net *petri.Net) bool {
	if q.begun {
		return q.Reduced != nil
	}
	q.begun = true
	if q.Reduced = reduce.For(net, *q.property); q.Reduced == nil {
		return false
	}
	q.search = packing.NewSearch(q.Net, q.Property)
	q.search.Endless = true
	return true
}

// sort leaves the questions that have reduced nets, those with small ones first.
func (q *questions) sort() {
	q.all = slices.DeleteFunc(q.all, func(one *smaller) bool { return one.Reduced == nil })
	slices.SortStableFunc(q.all, func(a, b *smaller) int {
		return len(a.Net.Transitions) - len(b.Net.Transitions)
	})
}

// try makes an effort for all that are open, several at the same time.
func (q *questions) try(ctx context.Context, e effort, workers int, answers *stream) error {
	var faults error
	var mu sync.Mutex
	var all sync.WaitGroup
	e.bytes = min(e.bytes, q.mem/uint64(workers))
	opts := q.opts
	opts.Mem = q.mem / uint64(workers)
	todo := make(chan *smaller)
	for range workers {
		all.Go(func() {
			for one := range todo {
				p, t, err := q.answer(ctx, one, opts, e)
				if p != nil && err == nil {
					q.f.known.learn(*p, t)
					answers.give(*p)
				}
				mu.Lock()
				faults = errors.Join(faults, err)
				mu.Unlock()
			}
		})
	}
	for _, one := range q.all {
		if ctx.Err() == nil && len(q.f.known.open([]property.Property{*one.property})) > 0 {
			todo <- one
		}
	}
	close(todo)
	all.Wait()
	return faults
}

// answer makes an effort for a question. p is nil if there is no answer: what keeps from one, such
// as full memory, is no error here. What shows it is replayed on the given net.
func (q *questions) answer(ctx context.Context, one *smaller, opts explore.Options, e effort) (
	p *propertyAnswer, t *netTrace, err error) {
	if !one.begin(q.net) {
		return nil, nil, nil
	}
	known, firings := one.bySearch(ctx, opts, e)
	if known == nil {
		known, firings = one.bySets(ctx, e)
	}
	if known == nil {
		return nil, nil, nil
	}
	known.Property = one.property
	answer := newPropertyAnswer(q.net, *known)
	answer.Reduced = &netSize{len(one.Net.Places), len(one.Net.Transitions)}
	if firings == nil {
		return &answer, nil, nil
	}
	expanded, marking, err := one.Replay(*firings)
	if err == nil && known.Property.Kind == property.Bound &&
		known.Property.Sum.Value(marking) != known.Value {
		err = fmt.Errorf("a fault: a trace does not lead to %s = %d", known.Property.Name,
			known.Value)
	}
	if err != nil || q.f.trace != "witness" {
		return &answer, nil, err
	}
	trace := newNetTrace(q.net, expanded)
	trace.goal, trace.Shortest = shownGoal(known, q.net), len(expanded) == 0
	return &answer, &trace, nil
}

// bySearch answers a question by a search and random walks. The firings are of the reduced net, to
// a marking that shows the answer; nil if none does. An answer whose trace is not found is none.
func (q *smaller) bySearch(ctx context.Context, opts explore.Options, e effort) (
	known *property.Answer, firings *[]int) {
	if opts.MaxStates = e.states; opts.Walk > 0 {
		opts.Walk = e.walk
	}
	opts.Trace = packing.Witnesses([]property.Property{q.Property})
	err := farhash.Run(ctx, 1, func(job rma.Job) error {
		res, p, err := q.search.Run(ctx, job, opts)
		if err != nil {
			return err
		}
		a := p.Answers(res)[0]
		if !a.Exact {
			return nil
		}
		t, ok, err := traceOf(q.Net, p, a, res)
		if err != nil {
			return err
		}
		if known = &a; ok {
			firings = &t.numbers
		} else if a.Witness >= 0 && a.Property.Kind != property.Bound {
			known = nil
		}
		return nil
	})
	if err != nil {
		return nil, nil
	}
	return known, firings
}

// bySets answers a question by sets of markings.
func (q *smaller) bySets(ctx context.Context, e effort) (
	known *property.Answer, firings *[]int) {
	ctx, stop := context.WithTimeout(ctx, e.time)
	defer stop()
	res, err := diagram.Explore(ctx, q.Net, diagram.Options{MaxBytes: e.bytes, Goroutines: 1,
		Strategy: symbolic.Saturation, Witness: true}, q.Property)
	if err != nil || !res.Answers[0].Exact {
		return nil, nil
	}
	if known = &res.Answers[0]; len(res.Traces) > 0 {
		firings = &res.Traces[0].Firings
	} else if known.Marking != nil {
		return nil, nil
	}
	return known, firings
}
