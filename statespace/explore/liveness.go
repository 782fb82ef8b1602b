package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/set"
)

// Liveness is what is known about Options.Live.
type Liveness struct {
	Known bool // whether the following is: Reason says why not
	Live  bool // from every state each of the findings is reached
	// Finding is one that is not reached from some state, if Live is not set. Options.Trace leads
	// there with Stranded.
	Finding int

	Reason Reason // Interrupted, MemoryFull, RankLost or Resumed
	Detail string // more about it, in a sentence

	Sweeps   int // how often the states whose answer was open were expanded again
	searches int // from one state, for what is reached from there
	Elapsed  time.Duration
}

// liveLoad is the load of the set of live states when all are in it.
const liveLoad = 0.7

// answerLive finds out whether Options.Live is live, once the search is complete. Collective.
func (s *search) answerLive(ctx, uncancelled context.Context, res *Result) error {
	if len(s.opts.Live) == 0 || !res.Complete || s.atLast {
		return nil
	}
	begun := time.Now()
	res.Live = &Liveness{}
	l := &liveness{sweeper: sweeper{search: s}, Liveness: res.Live, left: res.States}
	err := l.answer(ctx, uncancelled, res)
	if s.missing(err) {
		l.Reason, l.Detail = RankLost, "liveness was not answered yet"
	}
	if l.Reason != "" {
		err = nil
	}
	if l.live != nil {
		err = errors.Join(err, ignoreLost(l.live.Close()))
	}
	res.Live.Elapsed = time.Since(begun)
	return err
}

// liveness is a rank's part of the answer. A state is live if all the findings are reached from
// it. So are then the states that lead to it.
type liveness struct {
	sweeper // its worklist has the states of the log that are not in live
	*Liveness
	live    *set.Set // the tasks of the states that are known to be live
	left    uint64   // states of all ranks that are not in live
	mem     uint64   // bytes that a search from one state may use
	results []set.Result
}

// answer takes states that are not known to be live, one after the other. A search from there
// either misses a finding, which is the answer, or shows that the state is live, and so are those
// that lead to it.
func (l *liveness) answer(ctx, uncancelled context.Context, res *Result) error {
	for _, finding := range l.opts.Live {
		if res.Findings[finding] == 0 {
			return l.strandInitial(uncancelled, finding)
		}
	}
	if l.opts.Resume != "" {
		return l.unknown(Resumed, "a checkpoint does not say how its states were reached; search "+
			"from the beginning")
	}
	err := l.open(uncancelled)
	for first := true; err == nil && l.left > 0; first = false {
		var from *place
		searched := first && res.Deadlocks == 0 && len(l.initial) == l.words
		switch {
		case searched:
			from, err = l.initialPlace(uncancelled)
		case first && res.Deadlocks > 0:
			from, err = l.firstWitness(uncancelled, Deadlock)
		default:
			from, err = l.lastLeft(uncancelled)
		}
		if err == nil && !searched {
			err = l.searchFrom(ctx, uncancelled, from)
		}
		if err != nil || l.Known {
			return err
		}
		err = l.spread(ctx, uncancelled, from.task)
	}
	if err == nil {
		l.Known, l.Live = true, true
	}
	return err
}

// initialPlace is the first of the initial states.
func (l *liveness) initialPlace(ctx context.Context) (*place, error) {
	task := make([]uint64, 1)
	_, err := l.share(ctx, 0, l.visited.names(l.initial[:l.words], task))
	return &place{task: task[0]}, err
}

// strandInitial is the answer where the search has not met a finding at all.
func (l *liveness) strandInitial(ctx context.Context, finding int) (err error) {
	l.Known, l.Finding = true, finding
	l.stranded, err = l.initialPlace(ctx)
	return err
}

// open makes room.
func (l *liveness) open(ctx context.Context) error {
	need, _, err := l.taken(ctx, 0, l.begin())
	if err != nil {
		return err
	}
	buckets := max(minBuckets, uint64(float64(l.left)/liveLoad))
	need += tableBytes(buckets, 0) + minMem
	if need > l.budget.states {
		return l.memoryFull(need)
	}
	l.mem = l.budget.states - need + minMem
	l.live, err = set.New(ctx, l.job, set.Config{Buckets: buckets, Access: l.opts.Access})
	return err
}

// memoryFull ends the answer where so many bytes for states would not be too many.
func (l *liveness) memoryFull(states uint64) error {
	return l.unknown(MemoryFull, l.tooLittle(" for liveness", states))
}

// unknown ends the answer, on all ranks alike.
func (l *liveness) unknown(why Reason, detail string) error {
	l.Reason, l.Detail = why, detail
	return fmt.Errorf("explore: liveness: %s %s", why, detail)
}

// lastLeft is a state of the highest level that has one that is not known to be live. Few states
// lead on from there, and most lead there.
func (l *liveness) lastLeft(ctx context.Context) (*place, error) {
	var mine *place
	for i := l.worker.log.n - 1; i >= 0 && mine == nil; i-- {
		if l.work.Has(i) {
			mine = l.worker.log.at(i)
		}
	}
	return l.agreed(ctx, mine, func(level, than uint64) bool { return level > than })
}

// searchFrom finds out whether all the findings are reached from a state. If not that is the
// answer.
func (l *liveness) searchFrom(ctx, uncancelled context.Context, from *place) error {
	state := make([]uint64, l.words)
	err := l.visited.load(uncancelled, []uint64{from.task}, state)
	if _, err = l.share(uncancelled, 0, err); err != nil {
		return err
	}
	l.searches++
	res, err := Run(ctx, l.job, &startedAt{l.model, state, l.opts.Live}, Options{Order: AnyOrder,
		Encoding: l.encoding, Mem: l.mem, Access: l.opts.Access, ModelID: l.opts.ModelID})
	var little *memoryError
	switch {
	case errors.As(err, &little):
		return l.memoryFull(l.budget.states)
	case err != nil:
		return err
	}
	missing := slices.IndexFunc(l.opts.Live, func(i int) bool { return res.Findings[i] == 0 })
	switch {
	case missing < 0:
		return nil
	case res.Complete:
		if slices.ContainsFunc(slices.Collect(slices.Chunk(l.initial, l.words)),
			func(first []uint64) bool { return slices.Equal(first, state) }) {
			from.level = 0 // the log has initial states at level 1
		}
		l.Known, l.Finding, l.stranded = true, l.opts.Live[missing], from
		return nil
	case res.Reason == MemoryFull:
		return l.memoryFull(l.budget.states)
	case res.Reason == RankLost:
		l.loss, l.lost = errors.New(res.Detail), res.Lost
	}
	return l.unknown(res.Reason, res.Detail)
}

// startedAt is a model that begins with another state, and is decided when all of some findings
// are found.
type startedAt struct {
	Model
	state []uint64
	find  []int
}

func (m *startedAt) Initial(out []uint64) []uint64 { return append(out, m.state...) }

func (m *startedAt) Decided(findings []uint64) bool {
	return !slices.ContainsFunc(m.find, func(i int) bool { return findings[i] == 0 })
}

// What a rank says of a sweep beside how many states it has found to be live.
const (
	sweepInterrupted = 1 << 63
	sweepFull        = 1 << 62
)

// spread makes a state live, and all states from which live ones are reached, by sweeps through
// the logs of all ranks until one finds nothing. Sweeps take turns in direction: one that goes
// down from the highest level follows a path back as far as its levels rise, one that goes up as
// far as they fall. Collective.
func (l *liveness) spread(ctx, uncancelled context.Context, task uint64) error {
	// Nobody sweeps before the state is in the set.
	if _, err := l.share(uncancelled, 0, l.seed(task)); err != nil {
		return err
	}
	l.left--
	for l.left > 0 {
		found, failure := l.sweep(ctx, uncancelled)
		said, err := l.share(uncancelled, found, failure)
		if err != nil {
			return err
		}
		l.Sweeps++
		found = 0
		for _, word := range said {
			switch {
			case word&sweepInterrupted != 0:
				return l.unknown(Interrupted, "liveness was not answered yet")
			case word&sweepFull != 0:
				return l.memoryFull(l.budget.states)
			}
			found += word
		}
		if l.left -= found; found == 0 {
			break
		}
	}
	return nil
}

// seed makes a state live, if this rank logged it.
func (l *liveness) seed(task uint64) error {
	for i := range l.worker.log.n {
		if l.worker.log.task(i) == task {
			l.work.Done(i)
			_, err := l.live.FindOrPut(task)
			return err
		}
	}
	return nil
}

// sweep examines this rank's states that are not known to be live, once each. It returns how many
// are.
func (l *liveness) sweep(ctx, uncancelled context.Context) (found uint64, err error) {
	l.work.Reset(false, false)
	for {
		l.index = l.work.Next(l.index[:0], l.blocks*blockTasks, 0)
		if len(l.index) == 0 {
			return found, nil
		}
		if ctx.Err() != nil {
			return sweepInterrupted, nil
		}
		some, err := l.examine(uncancelled)
		var full *set.FullError
		if errors.As(err, &full) {
			return sweepFull, nil
		}
		if err != nil {
			return 0, err
		}
		found += some
	}
}

// examine looks whether states at hand lead to live ones, and makes those live.
func (l *liveness) examine(ctx context.Context) (found uint64, err error) {
	if err := l.load(ctx); err != nil {
		return 0, err
	}
	live := l.tasks[:0] // not beyond what has been read
	for from := 0; from < len(l.index); from += len(l.ends) {
		if err := l.expand(from); err != nil {
			return 0, err
		}
		l.results = grown(l.results, len(l.names))
		if err := l.live.ContainsBatch(l.names, l.results); err != nil {
			return 0, err
		}
		begin := 0
		for k, end := range l.ends {
			if slices.Contains(l.results[begin:end], set.Found) {
				l.work.Done(l.index[from+k])
				live = append(live, l.tasks[from+k])
			}
			begin = end
		}
	}
	l.results = grown(l.results, len(live))
	return uint64(len(live)), l.live.FindOrPutBatch(live, l.results)
}
