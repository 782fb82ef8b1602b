package explore

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// The engines.
const (
	engineAuto     = "auto"
	engineExplicit = "explicit"
	engineSymbolic = "symbolic"
	engineReduced  = "reduced" // of answers alone: reduced nets have answered everything
)

var engines = []string{engineAuto, engineExplicit, engineSymbolic}

// explicitOnly are the flags that only the explicit engine has.
var explicitOnly = []string{"order", "checkpoint", "every", "resume", "encoding", "access",
	"direct", "check", "max-depth", "max-states", "html", "coverage"}

// resolveEngine returns the engine that flags ask for. Auto becomes explicit if one of explicitOnly
// is given, or --trace, because the symbolic engine finds traces that are not the shortest.
func resolveEngine(engine string, flags *pflag.FlagSet) (string, error) {
	given := slices.IndexFunc(explicitOnly, flags.Changed)
	switch {
	case !slices.Contains(engines, engine):
		return engine, fmt.Errorf("--engine must be auto, explicit or symbolic, not %q", engine)
	case engine == engineAuto && (given >= 0 || flags.Changed("trace")):
		return engineExplicit, nil
	case engine != engineSymbolic || given < 0:
		return engine, nil
	case explicitOnly[given] == "coverage":
		return engine, errors.New("--engine symbolic and --coverage exclude each other: sets of " +
			"markings do not count firings; --examination QuasiLiveness says whether each " +
			"transition can fire")
	}
	return engine, fmt.Errorf("--engine symbolic and --%s exclude each other: sets of markings "+
		"are stored by one rank, and have no levels", explicitOnly[given])
}

// How both engines run at the same time.
const (
	// The symbolic engine beside a search gets one in besideShare bytes of the memory. It begins if
	// these are leastBeside bytes or more.
	besideShare = 16
	leastBeside = 32 << 20
	// Its strategies may cost the search besideBegin at once, and then the part besideTime of the
	// time.
	besideBegin = 100 * time.Millisecond
	besideTime  = 0.02
	strategies  = 2
	// A rank finds at most fastRank markings in a second.
	fastRank = 5e6
	// A search finds fewStates at once. Its answer then counts, because it has the depth.
	fewStates = 1 << 20
)

// errBeaten ends the engine that the other one has beaten.
var errBeaten = errors.New("the other engine has found the answer")

// pace pauses the symbolic engine, so that it does not slow down the search beside it.
type pace struct {
	begin  time.Time
	cores  float64 // A strategy takes this part of the search's processors.
	ranks  float64
	states *big.Int      // The search has memory for twice the planned number. nil: not known.
	over   func()        // It is called when the search is known not to find all markings.
	free   chan struct{} // It is closed when strategies pause no more.
	show   *display

	mu     sync.Mutex
	before time.Duration // A strategy ran this long before the search had begun.
	least  *big.Int      // A strategy has found this number of states.
	once   sync.Once
}

func newPace(ranks int, show *display) *pace {
	p := &pace{begin: time.Now(), ranks: float64(ranks), free: make(chan struct{}), show: show,
		least: new(big.Int)}
	cores := runtime.GOMAXPROCS(0)
	p.cores = strategies / float64(cores)
	if ranks+strategies <= cores {
		p.release()
	}
	return p
}

// release ends all pauses.
func (p *pace) release() { p.once.Do(func() { close(p.free) }) }

// plan takes what the search has planned.
func (p *pace) plan(plan explore.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states = new(big.Int).Lsh(new(big.Int).SetUint64(plan.States), 1)
}

// fits reports whether a search may find so many markings.
func (p *pace) fits(states *big.Int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.states == nil || states.Cmp(p.states) <= 0
}

// hold pauses a strategy that has run for longer than it may.
func (p *pace) hold(ctx context.Context, s diagram.Snapshot) {
	p.show.sets(s)
	select {
	case <-p.free:
		return
	default:
	}
	pause := p.pause(s, time.Now())
	if s.States != nil && !p.fits(s.States) {
		p.over()
	}
	if pause <= 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.free:
	case <-ctx.Done():
	}
}

// pause returns how long a strategy pauses. A strategy costs the search a part of the time that it
// runs. The cost may be besideBegin, and besideTime both of the time that has passed and of the
// time that the search needs at least for the states that a strategy has found.
func (p *pace) pause(s diagram.Snapshot, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.States != nil && s.States.Cmp(p.least) > 0 {
		p.least = s.States
	}
	if p.states == nil {
		p.before = max(p.before, s.Ran)
		return 0
	}
	states, _ := p.least.Float64()
	needs := min(states/fastRank/p.ranks, 1e6) * float64(time.Second)
	cost := time.Duration(float64(s.Ran-p.before) * p.cores)
	if free := besideBegin + time.Duration(needs*besideTime); cost > free {
		return p.begin.Add(time.Duration(float64(cost-free) / besideTime)).Sub(now)
	}
	return 0
}

// exploreBoth runs both engines, and prints the first answer.
func (f *exploreFlags) exploreBoth(ctx context.Context, net *petri.Net, mem uint64,
	opts explore.Options, properties []property.Property) error {
	b := &both{exploreFlags: f, ctx: ctx, net: net, mem: mem, properties: properties,
		searched: make(chan struct{}), reached: make(chan struct{}),
		answers: f.stream(net, len(properties))}
	b.pace = newPace(f.ranks, b.answers.show)
	opts.Beside += mem / besideShare
	searching, stopSearch := context.WithCancelCause(ctx)
	reaching, stopReaching := context.WithCancelCause(ctx)
	defer stopSearch(errBeaten)
	defer stopReaching(errBeaten)
	b.searching = searching
	b.pace.over = func() {
		b.pace.release()
		if len(properties) == 0 { // else one marking may be enough
			stopSearch(errBeaten)
		}
	}
	go b.search(opts)
	go b.reach(reaching, mem/besideShare)
	return b.first()
}

// both are the engines that explore a net at the same time. A goroutine for each engine writes its
// results before it closes its channel, and first reads them after that.
type both struct {
	*exploreFlags
	ctx        context.Context
	net        *petri.Net
	mem        uint64
	properties []property.Property
	pace       *pace
	answers    *stream

	searching context.Context
	searched  chan struct{} // It is closed after the search.
	answer    *answer       // nil: the search has none.
	err       error

	reached chan struct{} // It is closed when the symbolic engine has ended.
	res     *diagram.Result
	failure error // It says why there is no result.
}

func (b *both) search(opts explore.Options) {
	defer close(b.searched)
	b.answers.show.planned = b.pace.plan
	b.err = b.exploreFlags.search(b.searching, b.net, opts, b.properties, b.answers,
		func(a answer) error {
			b.answer = &a
			return nil
		})
}

// reach explores by sets of markings.
func (b *both) reach(ctx context.Context, mem uint64) {
	defer close(b.reached)
	b.res, b.failure = diagram.Explore(ctx, b.net, diagram.Options{MaxBytes: mem, Goroutines: 1,
		Progress: func(s diagram.Snapshot) { b.pace.hold(ctx, s) }}, b.properties...)
}

// first waits for the first answer to all that was asked, and prints it.
func (b *both) first() error {
	select {
	case <-b.searched:
	case <-b.reached:
		if b.failure == nil && !b.waits() {
			return b.printReached()
		}
		<-b.searched
	}
	var overflow *explore.OverflowError
	switch {
	case b.exact(), b.answer != nil && b.answer.Unbounded != nil:
		return b.printSearched()
	case b.ctx.Err() == nil && !errors.As(b.err, &overflow):
		b.alone()
	}
	return b.last()
}

// last prints an answer after a search that has ended without all answers.
func (b *both) last() error {
	select {
	case <-b.reached:
		if b.failure != nil && !b.beaten() {
			break
		}
		err := b.printReached()
		if err == nil && b.ctx.Err() != nil { // the search was to add to it
			err = &cli.ExitError{Code: b.interruptCode(b.ctx)}
		}
		return err
	default:
	}
	return b.printSearched()
}

// beaten reports whether the search was stopped before its end.
func (b *both) beaten() bool {
	return b.ctx.Err() == nil && errors.Is(context.Cause(b.searching), errBeaten)
}

// waits reports whether to wait for the search though the symbolic engine has an answer, because
// the search ends soon, or because it counts the arcs, and the symbolic engine did not.
func (b *both) waits() bool {
	return b.res.States.Cmp(big.NewInt(fewStates)) <= 0 ||
		b.res.Arcs == nil && len(b.properties) == 0 && b.pace.fits(b.res.States)
}

// exact reports whether the search has answered everything.
func (b *both) exact() bool {
	return b.answer != nil && b.err == nil && b.answer.exact()
}

// alone waits for the symbolic engine after a search without an answer. If its memory is full, it
// begins again with all memory.
func (b *both) alone() {
	b.pace.release()
	b.answers.show.continueAlone()
	<-b.reached
	if full := (*symbolic.FullError)(nil); errors.As(b.failure, &full) {
		b.answers.show.continueAlone()
		b.reached = make(chan struct{})
		b.reach(b.ctx, b.mem)
	}
}

// printReached prints what the symbolic engine has found.
func (b *both) printReached() error {
	b.answers.show.close()
	printed, err := b.answers.end()
	if err != nil {
		return err
	}
	return b.finishSymbolic(b.ctx, b.net, b.properties, printed, b.res, b.failure, true)
}

// printSearched prints what the search has found.
func (b *both) printSearched() error {
	b.answers.show.close()
	if b.answer == nil {
		return b.err
	}
	if full := (*symbolic.FullError)(nil); errors.As(b.failure, &full) && b.answer.detail != "" {
		b.answer.detail += "; sets of markings do not fit either"
	}
	if err := b.answers.print(*b.answer); err != nil {
		return err
	}
	return b.err
}
