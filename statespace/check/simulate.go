package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/logic"
)

// Simulation says how to walk. The zero value walks until its context ends.
type Simulation struct {
	Depth int    // steps of a walk; 0 means 100
	Walks uint64 // how many walks, of all ranks together; 0: until the context ends
	Seed  uint64 // makes other walks
	// Progress is called on rank 0 about each second, with its own walks and steps.
	Progress func(walks, steps uint64, elapsed time.Duration)
}

// Simulated is what walks have found. It is the same on every rank, except for Elapsed.
type Simulated[S any] struct {
	Walks, Steps uint64
	Properties   []Answer // what no walk has decided is Unknown
	// Shown is the property that Path shows: one that is violated, or "deadlock"; empty if there
	// is none. Walk is the number of the walk that showed it.
	Shown string
	Walk  uint64
	// Path leads there, without states that occur twice. A shorter one may exist.
	Path []Step[S]
	// Interrupted: the context ended before all walks were taken.
	Interrupted bool

	Simulation Simulation
	Ranks      int
	Elapsed    time.Duration
}

// Violated reports whether a walk came to a violation.
func (r *Simulated[S]) Violated() bool { return r.Shown != "" }

// Simulate walks at random through the states of a model on the ranks of job, from an initial state
// up to Simulation.Depth, again and again. It stores no states: so it finds violations in models
// that are too large to search, and proves nothing. It ends at the first violation, or when all is
// found that is to be found and nothing else is asked. Properties along paths stay Unknown. Walk i
// of a seed is the same on any number of ranks, and so is the violation that is shown: the one of
// the lowest walk. Collective.
func Simulate[S any](ctx context.Context, job rma.Job, m Model[S], opts Simulation) (
	*Simulated[S], error) {
	if opts.Depth == 0 {
		opts.Depth = 100
	}
	s, err := newSystem(&m)
	if err == nil && opts.Depth < 0 {
		err = fmt.Errorf("check: walks of %d steps; Simulation.Depth is at least 1", opts.Depth)
	}
	uncancelled := context.WithoutCancel(ctx)
	if err = rma.AllSucceeded(uncancelled, job, "check", err); err != nil {
		return nil, err
	}
	w, err := job.NewWindow(uncancelled, rma.Spec{Name: "check: simulation",
		Words: simulationCells + len(m.Properties)})
	if err != nil {
		return nil, err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	now := time.Now()
	sim := &simulator[S]{system: s, opts: opts, job: job, cells: cells, begun: now, shown: now,
		found: make([]bool, len(m.Properties))}
	r, err := sim.run(ctx, uncancelled)
	return r, errors.Join(err, cells.Close(), w.Close())
}

// Words of a rank's segment; then one for each property that is to be found, 1 when it is.
const (
	cellViolation   = iota // the lowest walk of this rank that is violated + 1
	cellStop               // 1: this rank has been interrupted, or has failed
	cellWalks              // that this rank has taken
	cellSteps              // of these
	simulationCells        // how many there are
)

// simulator is a rank's part of a simulation.
type simulator[S any] struct {
	*system[S]
	opts  Simulation
	job   rma.Job
	cells *rma.Cells
	begun time.Time

	walks, steps uint64
	violation    uint64 // the lowest walk + 1 of all ranks that is known here
	stopped      bool
	found        []bool // by property: it is to be found, and is
	looked       time.Time
	shown        time.Time // progress
}

// run walks, and collects what all ranks have found. A failure of one rank ends all.
func (s *simulator[S]) run(ctx, uncancelled context.Context) (*Simulated[S], error) {
	failure := s.walkAll(ctx, uncancelled)
	if failure != nil {
		_ = s.set(uncancelled, cellStop, 1)
	}
	err := errors.Join(s.set(uncancelled, cellWalks, s.walks),
		s.set(uncancelled, cellSteps, s.steps))
	if err = errors.Join(failure, err); err != nil {
		return nil, rma.AllSucceeded(uncancelled, s.job, "check", err)
	}
	if err := rma.AllSucceeded(uncancelled, s.job, "check", nil); err != nil {
		return nil, err
	}
	r, err := s.collect(uncancelled)
	return r, rma.AllSucceeded(uncancelled, s.job, "check", err)
}

func (s *simulator[S]) set(ctx context.Context, cell int, word uint64) error {
	return s.cells.Store(ctx, s.job.Rank(), cell, word)
}

// walkAll takes every walk of this rank: one in as many as there are ranks.
func (s *simulator[S]) walkAll(ctx, uncancelled context.Context) error {
	for number := uint64(s.job.Rank()); ; number += uint64(s.job.Size()) {
		switch {
		case s.opts.Walks > 0 && number >= s.opts.Walks,
			s.violation != 0 && number >= s.violation, s.stopped, s.allFound():
			return nil
		case ctx.Err() != nil:
			return s.set(uncancelled, cellStop, 1)
		}
		end, err := s.walk(ctx, uncancelled, number)
		if err != nil {
			return err
		}
		s.walks++
		if end != "" && (s.violation == 0 || number+1 < s.violation) {
			s.violation = number + 1
			if err := s.set(uncancelled, cellViolation, s.violation); err != nil {
				return err
			}
		}
		if err := s.look(uncancelled); err != nil {
			return err
		}
	}
}

// allFound reports whether nothing is left to find.
func (s *simulator[S]) allFound() bool {
	return s.Deadlocks && len(s.found) > 0 && !slices.Contains(s.found, false)
}

// look sees now and then what the others have found.
func (s *simulator[S]) look(ctx context.Context) error {
	const pause = 5 * time.Millisecond
	if time.Since(s.looked) < pause {
		return nil
	}
	s.looked = time.Now()
	if s.opts.Progress != nil && s.job.Rank() == 0 && time.Since(s.shown) > time.Second {
		s.shown = time.Now()
		s.opts.Progress(s.walks, s.steps, time.Since(s.begun))
	}
	for rank := range s.job.Size() {
		if err := s.lookAt(ctx, rank); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulator[S]) lookAt(ctx context.Context, rank int) error {
	violation, err := s.cells.Load(ctx, rank, cellViolation)
	if err != nil {
		return err
	}
	if violation != 0 && (s.violation == 0 || violation < s.violation) {
		s.violation = violation
	}
	stop, err := s.cells.Load(ctx, rank, cellStop)
	if err != nil {
		return err
	}
	s.stopped = s.stopped || stop != 0
	for i := range s.found {
		word, err := s.cells.Load(ctx, rank, simulationCells+i)
		if err != nil {
			return err
		}
		s.found[i] = s.found[i] || word != 0
	}
	return nil
}

// walk takes a walk. end is what is violated at its end.
func (s *simulator[S]) walk(ctx, uncancelled context.Context, number uint64) (end string,
	err error) {
	const pause = 1 << 10
	w := newWalker(s.system, s.opts, number)
	for {
		end, err = w.look(func(i int) error {
			if s.found[i] {
				return nil
			}
			s.found[i] = true
			return s.set(uncancelled, simulationCells+i, 1)
		})
		if err != nil || end != "" {
			return end, err
		}
		if end, err = w.step(); err != nil || end != "" || w.over {
			return end, err
		}
		s.steps++
		if w.depth%pause == 0 {
			if err := s.look(uncancelled); err != nil || s.stopped || ctx.Err() != nil {
				return "", err
			}
		}
	}
}

// collect makes the result. All ranks have ended their walks.
func (s *simulator[S]) collect(ctx context.Context) (*Simulated[S], error) {
	r := &Simulated[S]{Simulation: s.opts, Ranks: s.job.Size(), Elapsed: time.Since(s.begun),
		Properties: []Answer{}}
	for rank := range s.job.Size() {
		if err := s.lookAt(ctx, rank); err != nil {
			return nil, err
		}
		walks, err := s.cells.Load(ctx, rank, cellWalks)
		if err != nil {
			return nil, err
		}
		steps, err := s.cells.Load(ctx, rank, cellSteps)
		if err != nil {
			return nil, err
		}
		r.Walks, r.Steps = r.Walks+walks, r.Steps+steps
	}
	r.Interrupted = s.stopped && s.violation == 0
	if s.violation != 0 {
		r.Walk = s.violation - 1
		if err := s.replay(r); err != nil {
			return nil, err
		}
	}
	for i, p := range s.Properties {
		a := Answer{Name: p.Name, Kind: p.Kind}
		switch {
		case p.Kind == HoldsSometimes && s.found[i]:
			a.Verdict = logic.True
		case p.Name == r.Shown:
			a.Verdict = logic.False
		}
		r.Properties = append(r.Properties, a)
	}
	return r, nil
}

// replay takes the walk again that has come to a violation.
func (s *simulator[S]) replay(r *Simulated[S]) error {
	w := newWalker(s.system, s.opts, r.Walk)
	path := []Step[S]{{State: w.state}}
	last := map[string]int{} // by state: where the path has it last
	for end := ""; ; {
		key, err := s.pack(w.state)
		if err != nil {
			return w.wrong(err.Error())
		}
		last[fmt.Sprint(key)] = len(path) - 1
		if end, err = w.look(func(int) error { return nil }); err == nil && end == "" {
			if end, err = w.step(); err == nil && end == "" && w.over {
				err = w.wrong("Next emitted other states when the walk was repeated; have it " +
					"depend on nothing else than the state")
			}
		}
		if err != nil {
			return err
		}
		if r.Shown = end; end != "" {
			break
		}
		path = append(path, Step[S]{Action: w.action, State: w.state})
	}
	for at := 0; ; at++ { // where a state occurs again the path continues from there
		key, err := s.pack(path[at].State)
		if err != nil {
			return w.wrong(err.Error())
		}
		step := path[at]
		if at = last[fmt.Sprint(key)]; len(r.Path) == 0 {
			step.Action = ""
		}
		if r.Path = append(r.Path, step); at == len(path)-1 {
			return nil
		}
	}
}

// walker is on a walk.
type walker[S any] struct {
	*system[S]
	rng    *rand.Rand
	limit  int
	depth  int
	state  S
	action string
	over   bool // the state has no next one, which is allowed, or the walk is as long as it may be
}

func newWalker[S any](m *system[S], opts Simulation, number uint64) *walker[S] {
	w := &walker[S]{system: m, rng: rand.New(rand.NewPCG(opts.Seed, number)), limit: opts.Depth}
	w.state = m.Init[w.rng.IntN(len(m.Init))]
	return w
}

// look asks the properties of the state, and returns the first that is violated. found is called
// with those that are to be found and hold.
func (w *walker[S]) look(found func(i int) error) (violated string, err error) {
	defer w.recover(&err)
	for i := range w.Properties {
		p := &w.Properties[i]
		switch holds := p.Holds(w.state); {
		case p.Kind == HoldsAlways && !holds:
			return p.Name, nil
		case p.Kind == HoldsSometimes && holds:
			if err := found(i); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// step takes a step, each of those that Next emits with the same probability.
func (w *walker[S]) step() (violated string, err error) {
	defer w.recover(&err)
	if w.over = w.depth == w.limit; w.over {
		return "", nil
	}
	n, to, action := uint64(0), w.state, ""
	w.Next(w.state, func(name string, next S) {
		if n++; w.rng.Uint64N(n) == 0 {
			to, action = next, name
		}
	})
	if n == 0 {
		if w.over = true; w.Deadlocks {
			return "", nil
		}
		return deadlockName, nil
	}
	w.state, w.action = to, action
	w.depth++
	return "", nil
}

func (w *walker[S]) recover(err *error) {
	if p := recover(); p != nil {
		*err = w.wrong(fmt.Sprintf("it panicked: %v\n%s", p, debug.Stack()))
	}
}

func (w *walker[S]) wrong(detail string) error {
	return &Error{Model: w.Name, Detail: detail, State: text(w.state), Action: w.action}
}

// Report is a text about the result: counts, answers, and the path.
func (r *Simulated[S]) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of up to %s, %s, seed %d\n", plural.Of(int(r.Walks), "random walk"),
		plural.Of(r.Simulation.Depth, "step"), plural.Of(int(r.Steps), "step"), r.Simulation.Seed)
	fmt.Fprintf(&b, "%v, %.0f steps/s with %s\n", r.Elapsed.Round(time.Millisecond),
		float64(r.Steps)/max(r.Elapsed.Seconds(), 1e-9), plural.Of(r.Ranks, "rank"))
	reportAnswers(&b, r.Properties)
	if r.Interrupted {
		fmt.Fprintln(&b, "INTERRUPTED")
	}
	if r.Shown == "" {
		fmt.Fprintln(&b, "nothing was violated on these walks; a search proves more")
		return b.String()
	}
	fmt.Fprintf(&b, "walk %d, perhaps not on a shortest path:\n", r.Walk)
	(&Trace[S]{Name: r.Shown, Violation: true, Path: r.Path, Back: -1}).report(&b)
	return b.String()
}
