package explore

import (
	"context"
	"errors"
	"slices"

	"github.com/farhash/farhash/rma"
)

// errNoPredecessor means that the model has other successors than before.
var errNoPredecessor = errors.New("explore: no state leads to one of the trace any more; " +
	"make Expand of the model give the same successors whenever it is given the same state")

// lookBlocks is how many blocks a rank expands before it looks whether another rank has found what
// all search for.
const lookBlocks = 16

// trace finds a shortest way to the first target that was found, or to each, backwards: the ranks
// agree on a witness in the lowest level. Then level by level each expands again the states that it
// inserted in the level before, until one leads to the present state. Collective.
func (s *search) trace(ctx, uncancelled context.Context, res *Result) error {
	for _, target := range s.opts.Trace {
		at, err := s.shown(ctx, uncancelled, target, res)
		if err != nil {
			return err
		}
		if at == nil {
			continue
		}
		t := Trace{Target: target}
		switch {
		case at.walk() != nil:
		case s.tracesBack():
			t.Steps, err = s.wayTo(uncancelled, at)
		default:
			t.Alone = true
			t.Steps = []Step{{State: make([]uint64, s.words), Action: -1}}
			err = s.visited.load(uncancelled, []uint64{at.task}, t.Steps[0].State)
			_, err = s.share(uncancelled, 0, err)
		}
		if err != nil {
			return err
		}
		if res.Traces = append(res.Traces, t); len(res.Traces) == 1 && !t.Alone {
			res.Trace, res.Traced = t.Steps, target
		}
		if !s.opts.TraceEach {
			return nil
		}
		if res.TracesCut, err = s.cut(ctx, uncancelled, nil); err != nil || res.TracesCut {
			return err
		}
	}
	return nil
}

// tracesBack reports whether the search finds ways to its states.
func (s *search) tracesBack() bool { return s.opts.Order == BreadthFirst && s.opts.Resume == "" }

// cut reports whether a rank has been interrupted.
func (s *search) cut(ctx, uncancelled context.Context, failure error) (bool, error) {
	mine := uint64(0)
	if ctx.Err() != nil {
		mine = 1
	}
	all, err := s.share(uncancelled, mine, failure)
	return slices.Contains(all, 1), err
}

// shown is a state of the lowest level that shows a target: nil if there is none, or it is not
// known.
func (s *search) shown(ctx, uncancelled context.Context, target int, res *Result) (*place, error) {
	if s.opts.TraceEach && target >= 0 && res.Findings[target] > 1 {
		if !s.tracesBack() || s.fingerprints() {
			return nil, nil
		}
		return s.peak(ctx, uncancelled, target, res)
	}
	at, err := s.firstWitness(uncancelled, target)
	if at != nil && !s.tracesBack() && s.fingerprints() {
		return nil, err // its name does not give it back
	}
	return at, err
}

// peak is a state of the lowest level that shows the largest value of a finding; nil if only a walk
// has come to one. Each rank expands the states of its log until one shows it. Collective.
func (s *search) peak(ctx, uncancelled context.Context, target int, res *Result) (*place, error) {
	first, failure := s.firstPeak(ctx, uncancelled, target, res)
	if cut, err := s.cut(ctx, uncancelled, failure); err != nil || cut {
		res.TracesCut = cut
		return nil, err
	}
	return s.agreed(uncancelled, first, func(level, than uint64) bool { return level < than })
}

// agreed is one of the places that ranks have, nil if none has any: that of the lowest rank, unless
// another one's level comes before it. Collective.
func (s *search) agreed(ctx context.Context, mine *place,
	before func(level, than uint64) bool) (at *place, err error) {
	level, task := uint64(0), uint64(0)
	if mine != nil {
		level, task = mine.level+1, mine.task
	}
	levels, tasks, err := s.sharePair(ctx, level, task, nil)
	for rank, level := range levels {
		if level > 0 && (at == nil || before(level-1, at.level)) {
			at = &place{tasks[rank], level - 1}
		}
	}
	return at, err
}

// firstPeak is the first state of this rank's log, and on rank 0 of the initial states, that shows
// the largest value of a finding; nil if none does, or the context ends.
func (s *search) firstPeak(ctx, uncancelled context.Context, target int, res *Result) (
	_ *place, err error) {
	defer s.recoverPanic(&err)
	e, err := s.anotherExpander()
	if err != nil {
		return nil, err
	}
	var out []uint64
	look := func(tasks, states []uint64, level uint64) (*place, error) {
		for i, task := range tasks {
			if out, err = e.Expand(states[i*s.words:][:s.words:s.words], out[:0]); err != nil {
				return nil, err
			}
			if e.Findings()[target] >= res.Findings[target] {
				return &place{task: task, level: level}, nil
			}
		}
		return nil, ctx.Err()
	}
	if s.job.Rank() == 0 {
		tasks := make([]uint64, len(s.initial)/s.words)
		if err := s.visited.names(slices.Clone(s.initial), tasks); err != nil {
			return nil, err
		}
		if at, err := look(tasks, s.initial, 0); at != nil || err != nil {
			return at, ignoreCut(err)
		}
	}
	states := make([]uint64, blockTasks*s.words)
	for level := range res.Depth {
		for tasks := range s.worker.log.blocks(level) {
			if err := s.visited.load(uncancelled, tasks, states[:len(tasks)*s.words]); err != nil {
				return nil, err
			}
			if at, err := look(tasks, states, level+1); at != nil || err != nil {
				return at, ignoreCut(err)
			}
		}
	}
	return nil, nil
}

// ignoreCut drops the error of a context that has ended.
func ignoreCut(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// firstWitness finds a witness in the lowest level that has one; nil when there is none.
func (s *search) firstWitness(ctx context.Context, target int) (at *place, err error) {
	if target == Stranded {
		return s.stranded, nil
	}
	err = s.control.Gather(ctx, s.control.witness(target), witnessWords,
		func(_ int, words []uint64, err error) error {
			if words[0] == 0 || at != nil && words[0]-1 >= at.level {
				return err
			}
			at = &place{level: words[0] - 1, task: words[1]}
			return err
		})
	return at, err
}

// wayTo is a shortest way to a state. Collective.
func (s *search) wayTo(ctx context.Context, at *place) (way []Step, err error) {
	s.ways++
	t := &tracer{search: s, state: make([]uint64, s.words)}
	if t.Expander, err = s.anotherExpander(); err != nil {
		return nil, err
	}
	if s.fingerprints() {
		t.state = []uint64{at.task} // names go back as states do
	} else if err := s.visited.load(ctx, []uint64{at.task}, t.state); err != nil {
		return nil, err
	}
	for level := at.level; level > 0; level-- {
		at := Step{State: slices.Clone(t.state)}
		if at.Action, err = t.stepBack(ctx, level); err != nil {
			return nil, err
		}
		way = append(way, at)
	}
	way = append(way, Step{State: t.state, Action: -1})
	slices.Reverse(way)
	if s.fingerprints() {
		err = rma.AllSucceeded(ctx, s.job, "explore", t.regenerate(way))
	}
	return way, err
}

// tracer finds the way back to an initial state.
type tracer struct {
	*search
	Expander
	state []uint64 // the present one
	out   []uint64
	last  []uint64 // the state before it, where this rank has found one
}

// stepBack replaces the state, of the given level, by a predecessor in the level before, and
// returns the action that leads from there. Collective: the ranks publish what they find in banks
// that take turns, and the state of the lowest rank counts.
func (t *tracer) stepBack(ctx context.Context, level uint64) (int, error) {
	bank := cellTrace + int(level%2)*(1+t.words)
	action, failure := t.findPredecessor(ctx, bank, level)
	if failure == nil && action >= 0 {
		words := append([]uint64{t.stamp(level)}, t.last...)
		for i, word := range slices.Backward(words) { // the level last: the rest is there then
			failure = errors.Join(failure, t.control.set(ctx, bank+i, word))
		}
	}
	actions, err := t.share(ctx, uint64(action+1), failure)
	if err != nil {
		return 0, err
	}
	finder := slices.IndexFunc(actions, func(word uint64) bool { return word != 0 })
	if finder < 0 {
		return 0, errors.Join(errNoPredecessor, t.job.Barrier(ctx))
	}
	for i := range t.state {
		if t.state[i], err = t.control.Load(ctx, finder, bank+1+i); err != nil {
			return 0, err
		}
	}
	return int(actions[finder]) - 1, nil
}

// levelBits is room for a level in a stamp.
const levelBits = 40

// stamp says that a rank has published a predecessor of a state of this level. That of the way
// before may still be there.
func (t *tracer) stamp(level uint64) uint64 {
	return t.ways<<levelBits | level
}

// found reports whether a rank has published a predecessor of a state of this level.
func (t *tracer) found(ctx context.Context, bank int, level uint64) (bool, error) {
	for rank := range t.job.Size() {
		if word, err := t.control.Load(ctx, rank, bank); err != nil || word == t.stamp(level) {
			return true, err
		}
	}
	return false, nil
}

// findPredecessor searches the states that this rank inserted in the level before for one that
// leads to the present state, until another rank has found one. It returns the action that does,
// or -1.
func (t *tracer) findPredecessor(ctx context.Context, bank int, level uint64) (action int,
	err error) {
	if t.fingerprints() {
		from, ok := t.worker.log.before(level-1, t.state[0])
		if t.last = []uint64{from}; !ok {
			return -1, nil
		}
		return 0, nil
	}
	if level == 1 {
		if t.job.Rank() != 0 {
			return -1, nil
		}
		return t.leading(t.initial)
	}
	states := make([]uint64, blockTasks*t.words)
	blocks := 0
	// The states of a level were inserted while the level before was expanded.
	for tasks := range t.worker.log.blocks(level - 2) {
		if err := t.visited.load(ctx, tasks, states[:len(tasks)*t.words]); err != nil {
			return -1, err
		}
		action, err = t.leading(states[:len(tasks)*t.words])
		if err != nil || action >= 0 {
			return action, err
		}
		if blocks++; blocks%lookBlocks != 0 {
			continue
		}
		if found, err := t.found(ctx, bank, level); err != nil || found {
			return -1, err
		}
	}
	return -1, nil
}

// leading finds the first of states from which one action leads to the present state, and that
// action; -1 if there is none.
func (t *tracer) leading(states []uint64) (action int, err error) {
	defer t.recoverPanic(&err)
	for n := t.words; len(states) > 0; states = states[n:] {
		out, err := t.Expand(states[:n:n], t.out[:0])
		if err != nil {
			return -1, err
		}
		t.out = out
		for i := 0; i+n <= len(out); i += n {
			if slices.Equal(out[i:i+n], t.state) {
				t.last = slices.Clone(states[:n])
				return i / n, nil
			}
		}
	}
	return -1, nil
}

// regenerate replaces fingerprints, from one of an initial state on, by the states that have them.
func (t *tracer) regenerate(way []Step) (err error) {
	defer t.recoverPanic(&err)
	next := t.initial
	for i := range way {
		action := slices.IndexFunc(slices.Collect(slices.Chunk(next, t.words)),
			func(state []uint64) bool { return fingerprint(state) == way[i].State[0] })
		if action < 0 {
			return errNoPredecessor
		}
		state := slices.Clone(next[action*t.words:][:t.words])
		if i == 0 {
			action = -1
		}
		way[i] = Step{State: state, Action: action}
		if i+1 == len(way) {
			break
		}
		if next, err = t.Expand(state, nil); err != nil {
			return err
		}
	}
	return nil
}
