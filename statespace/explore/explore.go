package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Run explores all states of model on the ranks of job. Collective: every rank
// calls it with an equal model. When ctx ends, all ranks stop and the result says
// Interrupted; a full memory or a lost rank end it likewise, with counts that hold
// for what was found. An error means that there is no result: *OverflowError when
// the packing of the model was too small, on every rank.
func Run(ctx context.Context, job rma.Job, model Model, opts Options) (*Result, error) {
	s, err := newSearch(context.WithoutCancel(ctx), job, model, opts)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.run(ctx)
}

// Reason says why a search ended before its end.
type Reason string

// The reasons. An empty Reason means that the search is complete.
const (
	Interrupted  Reason = "interrupted"
	MemoryFull   Reason = "memory full"
	RankLost     Reason = "rank lost"
	LimitReached Reason = "limit reached" // of Options.MaxDepth or MaxStates
	Decided      Reason = "decided"       // by Model.Decided
	Resumed      Reason = "resumed"       // of Liveness alone
)

// Result is what a search found. It is the same on every rank, except for Access, Elapsed and,
// where the system refused memory, Detail, unless a rank was lost. Where memory was lost with it
// the counts are of the ranks that are left.
type Result struct {
	States    uint64
	Arcs      uint64 // transitions fired; several may lead from one state to another
	Depth     uint64 // number of the last level; initial states are level 0. BreadthFirst only
	Deadlocks uint64
	Findings  []uint64 // of the model: the largest over all ranks
	Missed    float64  // with EncodingFingerprint the probability that a state was missed; else 0

	Complete bool
	Reason   Reason // why not complete
	Detail   string // more about it, in a sentence
	NeedMem  uint64 // after MemoryFull: a budget to try, in bytes
	Lost     []int  // after RankLost: the ranks that this one misses, in rising order
	// After RankLost: the checkpoint that Options.Resume can take, if there is one, and how
	// many states it has.
	Saved       string
	SavedStates uint64

	Ranks      int
	Order      Order
	Encoding   Encoding
	Access     rma.AccessChoice // how this rank has reached the set where it is not addressable
	Elapsed    time.Duration
	Bytes      uint64 // of table, arenas, frontier and log at their peak
	LoadFactor float64
	Checked    bool // the set was examined as Options.Check asks, and is consistent

	// Trace is a shortest way from an initial state to what Options.Trace asks for; nil where
	// nothing was asked for, or nothing of it was found.
	Trace  []Step
	Traced int // the finding that Trace leads to, or Deadlock, or Stranded
	// Traces are ways to all of Options.Trace that were found, with TraceEach; else to the first.
	Traces []Trace
	// TracesCut: the context ended before all of Traces were found.
	TracesCut bool
	// Walks have shown these findings first: there is no Trace to them. nil without Options.Walk.
	Walks map[int]Walk

	// Coverage has the actions, of what was searched: their arcs come to Arcs, and their states to
	// States without the initial ones. nil without Options.Coverage, and if a rank was lost.
	Coverage []Action

	// Live is what is known about Options.Live; nil if nothing was asked, or the search is not
	// complete.
	Live *Liveness
	// Swept is what happened in Options.After; nil if it was not called.
	Swept *Swept
}

// StateBytes is Bytes for each state. It is 0 where there are fewer than 100,000 states, as most of
// Bytes is then the first table.
func (r *Result) StateBytes() float64 {
	if r.States < 100_000 {
		return 0
	}
	return float64(r.Bytes) / float64(r.States)
}

// Trace is a way to a state that shows something.
type Trace struct {
	Target int    // what it shows: a finding, Deadlock or Stranded
	Steps  []Step // nil if a walk has shown it, see Result.Walks
	// Alone: Steps has the last state alone, as the search does not know how it was reached.
	Alone bool
	// Back is, for a path that repeats for ever, the number of the step that its last one leads
	// back to, plus 1; else 0.
	Back int
}

// Step is a state of a trace.
type Step struct {
	State []uint64
	// Action is which successor of the state before this is, in the order of Expand; -1 for an
	// initial state.
	Action int
}

// Plan is how a search means to use its memory.
type Plan struct {
	Mem        uint64  // bytes for everything
	States     uint64  // states that this is enough for, about
	StateBytes float64 // at the worst moment, with a quarter of the states waiting
	Encoding   Encoding
}

// Snapshot is how far a search has come.
type Snapshot struct {
	States     uint64
	Arcs       uint64
	Waiting    uint64 // states that are not expanded yet
	Level      uint64
	Findings   []uint64     // the largest over all ranks; nil before the search begins
	Walks      map[int]Walk // the walks that have shown findings, with Options.Walk
	LoadFactor float64
	Bytes      uint64 // of table, arenas, frontier and log
	Elapsed    time.Duration
	Plan       Plan
}

// search is one rank's part of a search.
type search struct {
	job       rma.Job
	model     Model
	bits      int      // of a state
	words     int      // of a state
	padded    bool     // states end in zeros; see Padded
	initial   []uint64 // the initial states
	findings  int      // of the model
	live      []uint64 // of expander
	expander  Expander
	spare     int // states that a batch has room for beyond its length
	opts      Options
	encoding  Encoding
	control   *control
	exchange  *exchange
	visited   visited
	budget    *budget
	worker    *worker
	started   time.Time // less the time before a checkpoint
	refused   error     // why there was no memory for larger tables, where this rank asked
	loss      error     // the first error that named a lost rank
	lost      []int     // the ranks that were lost then
	hosts     []string  // by rank; nil where all are on one
	stranded  *place    // nil: no state was found to be
	atLast    bool      // the search is complete, and its last states have decided everything
	rounds    int       // of words shared
	ways      uint64    // traces that were searched for
	taskWords int       // length of a task: 1, or words where a name does not give a state back
}

// logs reports whether the ranks keep logs.
func (s *search) logs() bool {
	return len(s.opts.Trace) > 0 && s.tracesBack() || len(s.opts.Live) > 0 || s.opts.After != nil
}

// newSearch makes what the ranks share. Collective.
func newSearch(ctx context.Context, job rma.Job, model Model, opts Options) (*search, error) {
	s := &search{job: job, started: time.Now(), spare: spareStates}
	err := opts.complete()
	if err == nil {
		err = s.admit(model)
	}
	if err == nil {
		s.encoding, err = opts.Encoding.choose(s.bits, s.words, s.padded)
	}
	if s.taskWords = 1; s.fingerprints() {
		s.taskWords = s.words
	}
	if err == nil {
		err = s.admitLive(&opts)
	}
	if err == nil {
		err = s.admitNamer(&opts)
	}
	s.opts = opts
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	if err := s.tryCheckpoint(ctx); err != nil {
		return nil, err // before hours of search, not after
	}
	if s.control, err = newControl(ctx, job, s.words, s.findings); err != nil {
		return nil, err
	}
	if err := s.makeBudget(ctx); err != nil {
		return nil, errors.Join(err, s.control.close())
	}
	if s.exchange, err = newExchange(ctx, job, s.taskWords, s.offered()); err != nil {
		return nil, errors.Join(err, s.control.close())
	}
	states, nodes, err := s.tableConfigs()
	if err == nil {
		s.visited, err = newVisited(ctx, job, s.encoding, s.words, s.bits, s.padded, states,
			nodes)
	}
	if err != nil {
		return nil, errors.Join(err, s.exchange.close(), s.control.close())
	}
	s.worker = newWorker(s)
	return s, nil
}

func (s *search) close() {
	_ = errors.Join(s.worker.pool.slabs.close(), s.worker.log.close(), s.visited.close(),
		s.exchange.close(), s.control.close())
}

// run searches, sums up, and answers what is asked of a search that has ended.
func (s *search) run(ctx context.Context) (*Result, error) {
	uncancelled := context.WithoutCancel(ctx) // ranks stop together, which takes messages
	stopProgress := s.startProgress(uncancelled)
	failure := s.worker.loop(ctx, uncancelled)
	_ = s.together(func() error {
		if err := s.job.Barrier(uncancelled); err != nil && !s.missing(err) {
			s.loss = err
		}
		return nil
	})
	stopProgress()
	if failure != nil {
		return nil, failure
	}
	res, err := s.result(uncancelled)
	if err != nil {
		return nil, err
	}
	err = s.together(
		func() (err error) {
			if res.Checked = s.opts.Check; res.Checked {
				err = core.CheckAll(uncancelled, s.job, "explore", s.visited.check)
			}
			return err
		},
		func() (err error) { res.Coverage, err = s.coverage(uncancelled); return err },
		func() error { return s.answerLive(ctx, uncancelled, res) },
		func() error { return s.answerAfter(ctx, uncancelled, res) },
		func() (err error) { res.Walks, err = s.walksTo(uncancelled, res.Findings); return err },
		func() error { return s.trace(ctx, uncancelled, res) },
		// Nobody closes what others still read.
		func() error { return ignoreLost(s.job.Barrier(uncancelled)) })
	if err != nil {
		return nil, err
	}
	return res, nil
}

// together takes stages in which every rank takes part, until one fails. After a loss nothing
// collective happens any more, because not all ranks would come.
func (s *search) together(stages ...func() error) error {
	for _, stage := range stages {
		if s.loss != nil {
			return nil
		}
		if err := stage(); err != nil {
			return err
		}
	}
	return nil
}

// result sums up what the ranks have counted.
func (s *search) result(ctx context.Context) (*Result, error) {
	r := &Result{Ranks: s.job.Size(), Order: s.opts.Order, Encoding: s.encoding,
		Access: s.visited.access(), Elapsed: time.Since(s.started)}
	c, whole, err := s.control.counts(ctx, s.missing) // of a rank that is lost they are as well
	if err != nil {
		return nil, err
	}
	r.States, r.Arcs, r.Deadlocks = c.states(), c[cellArcs], c[cellDeadlocks]
	if r.Findings, err = s.control.merged(ctx, s.missing); err != nil {
		return nil, err
	}
	level, err := s.control.Load(ctx, 0, cellLevel)
	switch {
	case s.missing(err):
		level = s.worker.level
	case err != nil:
		return nil, err
	}
	r.Depth = level &^ levelEnd
	r.Complete = level&levelEnd != 0 && whole
	tables, err := s.control.Load(ctx, 0, cellPeakTables)
	if err != nil && !s.missing(err) {
		return nil, err
	}
	if err := ignoreLost(s.visited.leave(ctx)); err != nil { // it knows its last table then
		return nil, err
	}
	r.LoadFactor = float64(r.States) / float64(s.visited.buckets())
	if s.fingerprints() {
		r.Missed = missed(r.States, r.Arcs+uint64(len(s.initial)/s.words))
	}
	r.Bytes = tables + c[cellHeapBytes]
	if r.Complete {
		return r, nil
	}
	if err := s.explain(ctx, r); err != nil {
		return r, err
	}
	done := c[cellDone] + c[cellDone+1]
	if r.Reason == Decided && whole && done == r.States { // by the last of all states
		r.Complete, r.Reason, s.atLast = true, "", true
	}
	return r, nil
}

// explain says why a search is not complete.
func (s *search) explain(ctx context.Context, r *Result) error {
	cmd, err := s.control.command(ctx)
	if err != nil && !s.missing(err) {
		return err
	}
	why, rank := stopLost, 0
	if cmd.kind() == commandStop {
		why, rank = stopped(cmd.number())
	}
	switch why {
	case stopInterrupted:
		r.Reason = Interrupted
	case stopDecided:
		r.Reason = Decided
	case stopLimit:
		r.Reason = LimitReached
		r.Detail = s.limit(r)
	case stopFull:
		r.Reason = MemoryFull
		r.NeedMem = s.budget.enough()
		limit := ""
		if s.budget.room > 0 {
			limit = forWindows(s.budget.room)
		}
		r.Detail = fmt.Sprintf("%s is not enough%s; try %s or more: the number of states is "+
			"unknown", memory.Format(s.budget.mem), limit, memory.Format(r.NeedMem))
		if s.refused != nil { // a larger budget alone would not help
			r.Detail = fmt.Sprintf("the table cannot grow: %v", s.refused)
		}
	case stopOverflow:
		if s.worker.overflow != nil {
			return s.worker.overflow
		}
		return &OverflowError{}
	case stopLost:
		s.explainLost(r, rank)
	default:
		return why.failed(rank)
	}
	return nil
}

// limit says which limit has ended a search.
func (s *search) limit(r *Result) string {
	if s.opts.MaxStates > 0 && r.States >= s.opts.MaxStates {
		return fmt.Sprintf("%d states are found, and the limit is %d", r.States, s.opts.MaxStates)
	}
	return fmt.Sprintf("the states up to depth %d were expanded, which is the limit", r.Depth)
}

// explainLost describes the loss, and the checkpoint to resume from.
func (s *search) explainLost(r *Result, reporter int) {
	s.awaitLoss()
	r.Reason, r.Lost = RankLost, s.lost
	r.Saved, r.SavedStates = s.latest()
	if len(s.lost) == 0 { // this rank reaches all others
		r.Detail = fmt.Sprintf("rank %d does not reach another one any more", reporter)
		return
	}
	r.Detail = ranksWere(s.lost, s.hosts) + " lost, with the states yet to be expanded there"
}

// maxLossPauses is how often a rank pauses, a millisecond at most, until it knows who is lost.
const maxLossPauses = 1000

// awaitLoss waits until this rank, too, knows who is lost: the command to stop may arrive
// before the engine reports the loss here.
func (s *search) awaitLoss() {
	pace := backoff.Backoff{Job: s.job}
	for pauses := 0; len(s.lost) == 0 && pauses < maxLossPauses; {
		if pace.Pause() {
			pauses++
		}
		s.lost = slices.Sorted(slices.Values(s.job.Failed()))
	}
}

// ranksWere is the beginning of a sentence on ranks: "ranks 1 and 3 were", or, where ranks are on
// several hosts, "rank 1 on alpha was".
func ranksWere(ranks []int, hosts []string) string {
	var text strings.Builder
	for i, rank := range ranks {
		switch {
		case i > 0 && i == len(ranks)-1:
			text.WriteString(" and ")
		case i > 0:
			text.WriteString(", ")
		}
		fmt.Fprint(&text, rank)
		last := i == len(ranks)-1
		if hosts != nil && (last || hosts[ranks[i+1]] != hosts[rank]) {
			text.WriteString(" on " + hosts[rank])
		}
	}
	if len(ranks) == 1 {
		return "rank " + text.String() + " was"
	}
	return "ranks " + text.String() + " were"
}

// startProgress calls Options.Progress on rank 0 until the returned function is
// called. Every number is read by one-sided operations; no rank is asked.
func (s *search) startProgress(ctx context.Context) (stop func()) {
	if s.opts.Progress == nil || s.job.Rank() != 0 {
		return func() {}
	}
	plan := s.plan()
	s.opts.Progress(Snapshot{Plan: plan})
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(s.opts.progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if shot, err := s.snapshot(ctx); err == nil {
					shot.Plan = plan
					s.opts.Progress(shot)
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// snapshot reads the counters of all ranks.
func (s *search) snapshot(ctx context.Context) (Snapshot, error) {
	shot := Snapshot{Elapsed: time.Since(s.started)}
	tables, err := s.tables(ctx)
	if err != nil {
		return shot, err
	}
	open, err := s.control.open(ctx)
	if err != nil {
		return shot, err
	}
	c, _, err := s.control.counts(ctx, nobody)
	if err != nil {
		return shot, err
	}
	if shot.Findings, err = s.control.merged(ctx, nobody); err != nil {
		return shot, err
	}
	if shot.Walks, err = s.walksTo(ctx, shot.Findings); err != nil {
		return shot, err
	}
	shot.States, shot.Waiting, shot.Arcs = c.states(), open[0]+open[1], c[cellArcs]
	shot.LoadFactor = float64(shot.States) / float64(s.visited.buckets())
	shot.Bytes = tables + c[cellHeapBytes]
	level, err := s.control.Load(ctx, 0, cellLevel)
	shot.Level = level &^ levelEnd
	return shot, err
}

// plan says how the memory is to be used.
func (s *search) plan() Plan {
	per := s.budget.perState
	return Plan{Mem: s.budget.mem, States: uint64(float64(s.budget.states) / per),
		StateBytes: per, Encoding: s.encoding}
}
