package explore

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// control is the window through which the ranks of a search agree. Each rank's
// segment begins with counters that only that rank writes; the words of command
// are in rank 0's segment.
//
// Invariant: a rank counts a state as created before it counts the state as done
// that it was reached from. Hence sum(done) == sum(created), where all done
// words were read before any created word, means that nothing was left at some
// moment between: done never exceeds created, and both only grow.
type control struct {
	*rma.Cells
	window rma.Window
	rank   int
	ranks  int

	findings int // of the model
	found    int // the first word of the witnesses; findings follow them
}

// Words of a rank's segment. Created and done are kept separately for even and odd
// levels, so that a level ends when its own states are all done, whatever has been
// created for the next.
const (
	cellCreated   = 0 // and 1
	cellDone      = 2 // and 3
	cellArcs      = 4
	cellDeadlocks = 5
	cellHeapBytes = 6 // most bytes of frontier and log so far

	cellShared = 7 // two banks: a word that the ranks compare, and why the rank has failed

	cellLoaded  = 11 // states that this rank has taken from a checkpoint
	cellWaiting = 12 // and 13: those of them that wait for this level and for the next

	cellProcess = 14 // a number that differs between processes
	cellProgram = 15 // bytes that this rank takes beside its part of the budget
	cellPeak    = 19 // most bytes that its process has taken so far, if it is the first one there

	// Words of rank 0 only.
	cellLevel   = 16 // the level being expanded, or levelEnd
	cellCommand = 17
	cellMem     = 18 // bytes that the whole search may use

	cellTrace = 24 // two banks: step, action, state...; then witnesses and findings
)

// levelEnd is set in the level word when nothing is left to expand.
const levelEnd = 1 << 63

func newControl(ctx context.Context, job rma.Job, stateWords, findings int) (*control, error) {
	found := cellTrace + 2*(traceHead+stateWords)
	words := found + witnessWords*(1+findings) + findings
	w, err := job.NewWindow(ctx, rma.Spec{Name: "explore: control", Words: words})
	if err != nil {
		return nil, err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &control{Cells: cells, window: w, rank: job.Rank(), ranks: job.Size(),
		findings: findings, found: found}, nil
}

// witness is the first word of the witness of a finding or Deadlock.
func (c *control) witness(finding int) int { return c.found + witnessWords*(1+finding) }

// finding is the word of a finding.
func (c *control) finding(i int) int { return c.witness(c.findings) + i }

// merged is the largest of each finding over all ranks.
func (c *control) merged(ctx context.Context) ([]uint64, error) {
	all := make([]uint64, c.findings)
	for rank := range c.ranks {
		if err := c.merge(ctx, rank, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// merge raises all to the findings of a rank.
func (c *control) merge(ctx context.Context, rank int, all []uint64) error {
	for i := range all {
		word, err := c.Load(ctx, rank, c.finding(i))
		if err != nil {
			return err
		}
		all[i] = max(all[i], word)
	}
	return nil
}

// set writes a word of this rank.
func (c *control) set(ctx context.Context, cell int, word uint64) error {
	return c.Store(ctx, c.rank, cell, word)
}

// over reports whether every state created so far in levels of this parity has
// been expanded.
func (c *control) over(ctx context.Context, parity int) (bool, error) {
	done, err := c.Sum(ctx, cellDone+parity)
	if err != nil {
		return false, err
	}
	created, err := c.Sum(ctx, cellCreated+parity)
	return done == created, err
}

// states is the number of states found so far.
func (c *control) states(ctx context.Context) (uint64, error) {
	even, err := c.Sum(ctx, cellCreated)
	if err != nil {
		return 0, err
	}
	odd, err := c.Sum(ctx, cellCreated+1)
	return even + odd, err
}

// counts are the counters of a rank.
func (c *control) counts(ctx context.Context, rank int) (words [cellHeapBytes + 1]uint64,
	err error) {
	for cell := range words {
		if words[cell], err = c.Load(ctx, rank, cell); err != nil {
			return words, err
		}
	}
	return words, nil
}

// advance ends a level that is over: it moves the level word on, or marks the
// end when the next level is empty. Any rank may do it; the first one does.
func (c *control) advance(ctx context.Context, level uint64, sameLevel bool) error {
	next := level + 1
	if !sameLevel {
		empty, err := c.over(ctx, int(next%2))
		if err != nil {
			return err
		}
		if empty {
			next = level | levelEnd
		}
	} else {
		next = level | levelEnd
	}
	_, err := c.CompareAndSwap(ctx, 0, cellLevel, level, next)
	return err
}

// A command is what all ranks do together: one word, so that two commands never
// compete.
//
//	| number (54): buckets and table to grow, reason to stop | generation (8) | kind (2) |
//
// The generation counts commands obeyed. A rank whose own generation is past that of a
// command has obeyed it already.
type command uint64

const (
	commandRun  command = 0
	commandGrow command = 1
	commandStop command = 2
	commandSave command = 3
)

// generations is how many growths a command distinguishes. Ranks never differ by more
// than one: growth waits for all of them.
const generations = 1 << 8

func (c command) kind() command      { return c & 3 }
func (c command) generation() uint64 { return uint64(c>>2) % generations }
func (c command) number() uint64     { return uint64(c >> 10) }

func makeCommand(kind command, generation, number uint64) command {
	return command(number<<10|generation%generations<<2) | kind
}

// command reads the present command.
func (c *control) command(ctx context.Context) (command, error) {
	word, err := c.Load(ctx, 0, cellCommand)
	return command(word), err
}

// ask makes kind the command if the ranks are running as of generation. It does
// not report whether another command came first: the caller reads the command again.
func (c *control) ask(ctx context.Context, generation uint64, kind command, number uint64) error {
	_, err := c.CompareAndSwap(ctx, 0, cellCommand,
		uint64(makeCommand(commandRun, generation, 0)),
		uint64(makeCommand(kind, generation, number)))
	return err
}

func (c *control) close() error { return errors.Join(c.Cells.Close(), c.window.Close()) }
