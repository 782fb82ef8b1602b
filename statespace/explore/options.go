package explore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Options say how to search. Every rank gives the same, except for Progress,
// CheckpointEvery, Warn and Access, which are its own: Run compares the rest, and the models,
// before it begins.
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
	// Beside is how much of Mem the program may take for something else.
	Beside uint64
	// Access is how the set is reached where its memory is not addressable, as between hosts;
	// 0 means rma.Auto, which measures.
	Access rma.Access
	// Trace asks for a shortest way to the first of these that was found: findings of the model
	// by their numbers, Deadlock and Stranded. It takes 8 bytes more for each state and needs
	// BreadthFirst. Where one was found, finding the way takes at most as long as the search
	// did: states are expanded again. With EncodingFingerprint it takes up to 16 bytes for each
	// state, and finding the way no more than reading them.
	Trace []int
	// TraceEach asks for a way to each of Trace that was found, Result.Traces: each takes as long.
	// To a finding that has risen above 1 it leads to a state that shows its largest value, which
	// takes as long as a search once more. It also allows AnyOrder and Resume; there a trace is the
	// last state alone, and not of such findings.
	TraceEach bool
	// MaxDepth is the last level whose states are expanded, with BreadthFirst. 0: no limit.
	MaxDepth uint64
	// MaxStates ends the search once so many states are found, and some more, as ranks look between
	// blocks. 0: no limit.
	MaxStates uint64
	// Live are findings of the model of which each should be live: that from every state a state
	// is reached that shows it. Result.Live has the answer. A complete search continues for it: it
	// expands states several times more, and takes 8 bytes more for each state and then as many
	// again as a bucket takes, and memory for smaller searches. It needs BreadthFirst and another
	// encoding than EncodingFingerprint. With Resume it is mostly unknown: a checkpoint
	// does not say how its states were reached.
	Live []int
	// Walk is the share of the time, up to 0.9, in which each rank walks at random, if the model's
	// expanders are Walkers. What a walk finds may be far from the initial states, and the search
	// may not come there. The model can repeat the walks: Result.Walks. 0: no walks.
	Walk float64
	// After is called on all ranks once the search is complete, to find out more from its States.
	// It takes 8 bytes more for each state during the search. All ranks do the same in it: an error
	// that one of them makes up leaves the others waiting. It excludes EncodingFingerprint.
	After func(ctx context.Context, states *States) error
	// Coverage has Result.Coverage count how often each action was taken, if the model's expanders
	// are Namers. It excludes Resume.
	Coverage bool
	// Progress is called on rank 0 each second, from a goroutine of its own.
	Progress func(Snapshot)
	// progressEvery is the time between calls of Progress; 0 means a second. Tests set it.
	progressEvery time.Duration
	// Checkpoint is a file that the search is saved to now and then, so that Resume
	// can continue with it; empty: none. It means the same file on every rank. A symbolic link
	// there stays, and what it leads to is replaced; one that leads to nothing is refused.
	Checkpoint string
	// CheckpointEvery is the time between checkpoints; 0 means ten minutes.
	CheckpointEvery time.Duration
	// Resume is a checkpoint to continue with, by any number of ranks. It excludes Trace:
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

// Order is the order in which states are expanded.
type Order string

const (
	// BreadthFirst expands level by level, and so knows the depth. The default.
	BreadthFirst Order = "bfs"
	// AnyOrder expands whatever is at hand, and never waits for a level to end.
	AnyOrder Order = "any"
)

func (o *Options) complete() error {
	if o.Order == "" {
		o.Order = BreadthFirst
	}
	if o.progressEvery <= 0 {
		o.progressEvery = time.Second
	}
	if o.Order != BreadthFirst && o.Order != AnyOrder {
		return fmt.Errorf("explore: order %q is unknown; use %q or %q", string(o.Order),
			BreadthFirst, AnyOrder)
	}
	if len(o.Trace) > 0 && !o.TraceEach && o.Order != BreadthFirst {
		return fmt.Errorf("explore: a shortest trace needs order %q", BreadthFirst)
	}
	if len(o.Trace) > 0 && !o.TraceEach && o.Resume != "" {
		return errors.New("explore: a resumed search cannot trace; search from the beginning")
	}
	if o.MaxDepth > 0 && o.Order != BreadthFirst {
		return fmt.Errorf("explore: MaxDepth needs order %q: no other has levels", BreadthFirst)
	}
	if !(o.Walk >= 0 && o.Walk <= maxWalk) {
		return fmt.Errorf("explore: %v of the time for walks; use 0 to %v", o.Walk, maxWalk)
	}
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 10 * time.Minute
	}
	return nil
}

// admitLive refuses options about liveness that the model or other options exclude.
func (s *search) admitLive(o *Options) error {
	if o.After != nil && s.fingerprints() {
		return fmt.Errorf("explore: what is asked expands states again, and encoding %q does not "+
			"keep them; take another one", EncodingFingerprint)
	}
	if len(o.Live) == 0 {
		return nil
	}
	if o.Order != BreadthFirst {
		return fmt.Errorf("explore: liveness needs order %q", BreadthFirst)
	}
	if s.fingerprints() {
		return fmt.Errorf("explore: liveness expands states again, and encoding %q does not keep "+
			"them; take another one", EncodingFingerprint)
	}
	for _, finding := range o.Live {
		if finding < 0 || finding >= s.findings {
			return fmt.Errorf("explore: finding %d is to be live, and the model has %s", finding,
				plural.Of(s.findings, "finding"))
		}
	}
	return nil
}

// trait is what ranks must have in common, or they would search for different things.
type trait struct{ name, value string }

// traits are the traits of this rank's search.
func (s *search) traits() []trait {
	return []trait{
		{"model", fmt.Sprint(s.opts.ModelID, s.bits, s.initial)},
		{"order", string(s.opts.Order)},
		{"encoding", string(s.encoding)},
		{"mem", fmt.Sprint(s.opts.Mem)},
		{"mem whole", fmt.Sprint(s.opts.MemWhole)},
		{"beside", fmt.Sprint(s.opts.Beside)},
		{"number of findings", fmt.Sprint(s.findings)},
		{"trace", fmt.Sprint(s.opts.Trace)},
		{"trace each", fmt.Sprint(s.opts.TraceEach)},
		{"max depth", fmt.Sprint(s.opts.MaxDepth)},
		{"max states", fmt.Sprint(s.opts.MaxStates)},
		{"live", fmt.Sprint(s.opts.Live)},
		{"after", fmt.Sprint(s.opts.After != nil)},
		{"coverage", fmt.Sprint(s.opts.Coverage)},
		{"check", fmt.Sprint(s.opts.Check)},
		{"checkpoint", s.opts.Checkpoint},
		{"resume", s.opts.Resume},
	}
}

// A rank's words: a mask of the traits in which it differs from rank 0, with spread where it is on
// another host and refused where it cannot search at all, a hash of each trait, and the name of its
// host.
const (
	hostWords = 8 // names are cut off
	spread    = 1 << 63
	refused   = 1 << 62
)

// agree makes sure that all ranks search for the same, and reports to all what differs. failure
// is why this rank cannot search, nil if it can. Collective.
func (s *search) agree(ctx context.Context, failure error) error {
	mine := s.traits()
	w, err := s.job.NewWindow(ctx, rma.Spec{Name: "explore: options",
		Words: 1 + len(mine) + hostWords})
	if err != nil {
		return err
	}
	cells, err := rma.NewCells(s.job, w)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	err = s.compare(ctx, cells, mine, failure != nil)
	if failure != nil {
		err = failure
	}
	return errors.Join(err, cells.Close(), w.Close())
}

// compare compares each rank's traits with rank 0's, and finds out who is on which host.
func (s *search) compare(ctx context.Context, cells *rma.Cells, mine []trait,
	fails bool) error {
	rank := s.job.Rank()
	words := []uint64{0}
	for _, t := range mine {
		words = append(words, xxh3.HashString(t.value))
	}
	words = append(words, thisHost()...)
	for i, word := range words {
		if err := cells.Store(ctx, rank, i, word); err != nil {
			return err
		}
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	differs := uint64(0)
	for i := 1; i < len(words); i++ {
		first, err := cells.Load(ctx, 0, i)
		if err != nil {
			return err
		}
		switch {
		case first == words[i]:
		case i <= len(mine):
			differs |= 1 << (i - 1)
		default:
			differs |= spread
		}
	}
	if fails {
		differs = refused
	}
	if err := cells.Store(ctx, rank, 0, differs); err != nil {
		return err
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	// Nobody closes what others still read.
	return errors.Join(s.learn(ctx, cells, mine), s.job.Barrier(ctx))
}

// learn reads what the others have found out.
func (s *search) learn(ctx context.Context, cells *rma.Cells, mine []trait) error {
	all := uint64(0)
	var failure error
	err := cells.Gather(ctx, 0, 1, func(other int, words []uint64, err error) error {
		all |= words[0]
		if failure == nil {
			failure = differing(other, words[0], mine)
			if words[0]&refused != 0 {
				failure = &rma.PeerError{What: "explore", Rank: other}
			}
		}
		return err
	})
	if err != nil || failure != nil || all&spread == 0 {
		return cmp.Or(failure, err)
	}
	return cells.Gather(ctx, 1+len(mine), hostWords, func(_ int, name []uint64, err error) error {
		s.hosts = append(s.hosts, string(bytes.TrimRight(bytesOf(name), "\x00")))
		return err
	})
}

// thisHost is the name of this host.
func thisHost() []uint64 {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "an unnamed host"
	}
	words := make([]uint64, hostWords)
	copy(bytesOf(words), name)
	return words
}

// differing is the error for a rank that differs from rank 0 in some traits.
func differing(rank int, mask uint64, mine []trait) error {
	var names []string
	for i, t := range mine {
		switch {
		case mask&(1<<i) == 0:
		case i == 0:
			names = append(names, t.name)
		default:
			names = append(names, fmt.Sprintf("%s (here %q)", t.name, t.value))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("explore: rank %d has another %s than rank 0; give every rank the same",
		rank, strings.Join(names, " and "))
}
