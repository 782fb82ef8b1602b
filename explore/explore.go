package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Order is the order in which states are expanded.
type Order string

const (
	// BreadthFirst expands level by level, and so knows the depth. The default.
	BreadthFirst Order = "bfs"
	// AnyOrder expands whatever is at hand, and never waits for a level to end.
	AnyOrder Order = "any"
)

// Options say how to search. Every rank gives the same, but for Progress, Every, CheckpointEvery,
// Warn and Access, which are its own: Run compares the rest, and the models, before it begins.
type Options struct {
	Order    Order    // empty: BreadthFirst
	Encoding Encoding // empty: EncodingAuto
	// Mem is the memory that the whole search may use, in bytes, all ranks
	// together. 0 means 80 percent of what is available.
	Mem uint64
	// MemWhole has Mem include all that the processes of the ranks take: the program, what it
	// holds already, and the model. Otherwise they get 48 MiB of it, at most a quarter, whatever
	// they take. Where Mem is 0 it is without meaning.
	MemWhole bool
	// Access is how the set is reached where its memory is not addressable, as between hosts;
	// 0 means ship.Auto, which measures.
	Access ship.Access
	// Trace asks for a shortest way to the first of these that was found: findings of the model
	// by their numbers, Deadlock and Stranded. It takes 8 bytes more for each state and needs
	// BreadthFirst. Where one was found, finding the way takes at most as long as the search
	// did: states are expanded again. With EncodingFingerprint it takes up to 16 bytes for each
	// state, and finding the way no more than reading them.
	Trace []int
	// Live are findings of the model of which each should be live: that from every state a state
	// is reached that shows it. Result.Live has the answer. A complete search goes on for it: it
	// expands states several times more, and takes 8 bytes more for each state and then as many
	// again as a bucket takes, and memory for smaller searches. It needs BreadthFirst and another
	// encoding than EncodingFingerprint. With Resume it is mostly unknown: a checkpoint
	// does not say how its states were reached.
	Live []int
	// Progress is called on rank 0 now and then, from a goroutine of its own.
	Progress func(Snapshot)
	// Every is the time between calls of Progress; 0 means a second.
	Every time.Duration
	// Checkpoint is a file that the search is saved to now and then, so that Resume
	// can go on with it; empty: none. It means the same file on every rank. A symbolic link
	// there stays, and what it leads to is replaced; one that leads to nothing is refused.
	Checkpoint string
	// CheckpointEvery is the time between checkpoints; 0 means ten minutes.
	CheckpointEvery time.Duration
	// Resume is a checkpoint to go on with, by any number of ranks. It excludes Trace:
	// a checkpoint does not say how its states were reached.
	Resume string
	// ModelID identifies the model, so that a checkpoint of another one is refused.
	// Ranks whose models have different ones do not search together.
	ModelID string
	// Warn is called with errors that do not end the search: on the rank where they happen,
	// and on rank 0.
	Warn func(error)
	// Check walks the set when the search is over and reports what is broken.
	Check bool
}

func (o *Options) complete() error {
	if o.Order == "" {
		o.Order = BreadthFirst
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Order != BreadthFirst && o.Order != AnyOrder {
		return fmt.Errorf("explore: order %q is unknown; use %q or %q", string(o.Order),
			BreadthFirst, AnyOrder)
	}
	if len(o.Trace) > 0 && o.Order != BreadthFirst {
		return fmt.Errorf("explore: a shortest trace needs order %q", BreadthFirst)
	}
	if len(o.Trace) > 0 && o.Resume != "" {
		return errors.New("explore: a resumed search cannot trace; search from the beginning")
	}
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 10 * time.Minute
	}
	return nil
}

// Reason says why a search ended before its end.
type Reason string

// The reasons. An empty Reason means that the search is complete.
const (
	Interrupted Reason = "interrupted"
	MemoryFull  Reason = "memory full"
	RankLost    Reason = "rank lost"
	Decided     Reason = "decided" // by Model.Decided
	Resumed     Reason = "resumed" // of Liveness alone
)

// Result is what a search found. It is the same on every rank but for Access and Elapsed, unless
// a rank was lost. Where memory was lost with it the counts are those of the ranks that are left.
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
	Saved    Saved  // after RankLost: what Options.Resume can go on with

	Ranks      int
	Order      Order
	Encoding   Encoding
	Access     ship.Choice // how this rank has reached the set where it is not addressable
	Elapsed    time.Duration
	StateBytes float64 // bytes of table, arenas, frontier and log at their peak, for each state
	LoadFactor float64
	Checked    bool // the set was examined as Options.Check asks, and is consistent

	// Trace is a shortest way from an initial state to what Options.Trace asks for; nil where
	// nothing was asked for, or nothing of it was found.
	Trace  []Step
	Traced int // the finding that Trace leads to, or Deadlock, or Stranded

	// Live is what is known about Options.Live; nil if nothing was asked, or the search is not
	// complete.
	Live *Liveness
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
	Level      uint64
	LoadFactor float64
	Bytes      uint64 // of table, arenas, frontier and log
	Elapsed    time.Duration
	Plan       Plan
}

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

// search is one rank's part of a search.
type search struct {
	job       rma.Job
	model     Model
	bits      int      // of a state
	words     int      // of a state
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
	started   time.Time
	table     tableSize
	loss      error    // the first error that named a lost rank
	lost      []int    // the ranks that were lost then
	hosts     []string // by rank; nil where all are on one
	stranded  *place   // nil: no state was found to be
	taskWords int      // length of a task: 1, or words where a name does not give a state back
}

// newSearch makes what the ranks share. Collective.
func newSearch(ctx context.Context, job rma.Job, model Model, opts Options) (*search, error) {
	s := &search{job: job, started: time.Now(), spare: spareStates}
	err := opts.complete()
	if err == nil {
		err = s.admit(model)
	}
	if err == nil {
		s.encoding, err = opts.Encoding.choose(s.bits, s.words)
	}
	if s.taskWords = 1; s.fingerprints() {
		s.taskWords = s.words
	}
	if err == nil {
		err = s.admitLive(&opts)
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
	if s.exchange, err = newExchange(ctx, job, s.taskWords); err != nil {
		return nil, errors.Join(err, s.control.close())
	}
	s.visited, err = newVisited(ctx, job, s.encoding, s.words, s.bits, s.budget,
		opts.Access)
	if err != nil {
		return nil, errors.Join(err, s.exchange.close(), s.control.close())
	}
	s.table.see(s.visited, 0)
	s.worker = newWorker(s)
	return s, nil
}

func (s *search) close() {
	_ = errors.Join(s.worker.pool.slabs.close(), s.worker.log.close(), s.visited.close(),
		s.exchange.close(), s.control.close())
}

// run searches and sums up.
func (s *search) run(ctx context.Context) (*Result, error) {
	uncancelled := context.WithoutCancel(ctx) // ranks stop together, which takes messages
	stopProgress := s.startProgress(uncancelled)
	failure := s.worker.loop(ctx, uncancelled)
	if s.loss == nil { // else not all would come
		if err := s.job.Barrier(uncancelled); !s.missing(err) {
			s.loss = err
		}
	}
	stopProgress()
	if failure != nil {
		return nil, failure
	}
	res, err := s.result(uncancelled)
	if err != nil {
		return nil, err
	}
	if s.opts.Check && s.loss == nil {
		if err := core.CheckAll(uncancelled, s.job, "explore", s.visited.check); err != nil {
			return nil, err
		}
		res.Checked = true
	}
	if s.loss == nil {
		err = s.answerLive(ctx, uncancelled, res)
	}
	if err == nil && s.loss == nil {
		err = s.trace(uncancelled, res)
	}
	if err == nil && s.loss == nil {
		err = ignoreLost(s.job.Barrier(uncancelled)) // nobody closes what others still read
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// elapsed is the time that the search has taken, that before a checkpoint included.
func (s *search) elapsed() time.Duration { return time.Since(s.started) }

// ignoreLost drops the error that a rank is lost, where its part is done.
func ignoreLost(err error) error {
	var gone *rma.RankError
	if errors.As(err, &gone) {
		return nil
	}
	return err
}

// plan says how the memory is to be used.
func (s *search) plan() Plan {
	per := s.budget.stateBytes(s.visited)
	return Plan{Mem: s.budget.mem, States: uint64(float64(s.budget.states) / per),
		StateBytes: per, Encoding: s.encoding}
}

// result sums up what the ranks have counted.
func (s *search) result(ctx context.Context) (*Result, error) {
	r := &Result{Ranks: s.job.Size(), Order: s.opts.Order, Encoding: s.encoding,
		Access: s.visited.access(), Elapsed: time.Since(s.started)}
	heap, whole := uint64(0), true
	r.Findings = make([]uint64, s.findings)
	for rank := range s.job.Size() {
		c, err := s.control.counts(ctx, rank)
		if s.missing(err) {
			whole = false // its counts are lost with it
			continue
		}
		if err != nil {
			return nil, err
		}
		r.States += c[cellCreated] + c[cellCreated+1]
		r.Arcs += c[cellArcs]
		r.Deadlocks += c[cellDeadlocks]
		heap += c[cellHeapBytes]
		if err := s.control.merge(ctx, rank, r.Findings); err != nil {
			return nil, err
		}
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
	r.LoadFactor = float64(r.States) / float64(s.visited.buckets())
	if s.fingerprints() {
		r.Missed = missed(r.States, r.Arcs+uint64(len(s.initial)/s.words))
	}
	r.StateBytes = float64(s.table.peak.Load()+heap) / float64(max(r.States, 1))
	if r.Complete {
		return r, nil
	}
	return r, s.explain(ctx, r)
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
	case stopFull:
		r.Reason = MemoryFull
		r.NeedMem = s.budget.enough(s.visited, r.States)
		r.Detail = fmt.Sprintf("%s is not enough; try %s or more: the number of states is unknown",
			memory.Format(s.budget.mem), memory.Format(r.NeedMem))
		if s.budget.blocked != nil { // a larger budget alone would not help
			r.Detail = fmt.Sprintf("the table cannot grow: %v", s.budget.blocked)
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
