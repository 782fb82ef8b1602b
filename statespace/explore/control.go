package explore

import (
	"context"
	"errors"
	"slices"

	"github.com/farhash/farhash/rma"
)

// control is the window through which the ranks of a search agree. Each rank writes the counters
// in its own segment, and all ranks read them. The words of command are in rank 0's segment.
//
// Invariant: a rank counts a state as created before it counts the state as done that it was
// reached from. So done never exceeds created, and both only grow. A rank that reads all words of
// done, and then all words of created, and finds equal sums, knows that at some moment between the
// two readings no state was left.
type control struct {
	*rma.Cells
	window rma.Window
	rank   int
	ranks  int

	turns int // a rank asks in one of so many rounds whether a level is over
	round int // rounds of this rank so far; ranks begin at different ones

	findings int // of the model
	found    int // the first word of the witnesses; findings follow them
}

// Words that each rank has in its segment. Created and done have a word for even levels and one
// for odd levels: a level ends when its own states are done, whatever was created for the next.
const (
	cellCreated = iota
	_
	cellDone
	_
	cellArcs
	cellDeadlocks
	cellHeapBytes // most bytes of frontier and log so far; the last one of the counters
	cellLoaded    // states that this rank has taken from a checkpoint
	cellWaiting   // how many of these wait for the present level, and then for the next one
	_
	cellShared // two banks: two words that the ranks compare, and why the rank has failed

	sharedWords = 3
)

// Words of rank 0 only. They share no cache line with the counters.
const (
	cellLevel      = 24 + iota // the level being expanded, or levelEnd
	cellCommand                // see command
	cellTables                 // pages of the two tables
	cellPeakTables             // most bytes of the tables so far

	// Each rank has two banks here, a level and a state each; its witnesses and findings follow.
	cellTrace
)

// levelEnd is set in the level word when nothing is left to expand.
const levelEnd = 1 << 63

func newControl(ctx context.Context, job rma.Job, stateWords, findings int) (*control, error) {
	found := cellTrace + 2*(1+stateWords)
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
		turns: turns(w), round: job.Rank(),
		findings: findings, found: found}, nil
}

func (c *control) close() error { return errors.Join(c.Cells.Close(), c.window.Close()) }

// set writes a word of this rank.
func (c *control) set(ctx context.Context, cell int, word uint64) error {
	return c.Store(ctx, c.rank, cell, word)
}

// raise makes a word of rank 0 at least so large.
func (c *control) raise(ctx context.Context, cell int, word uint64) error {
	for {
		now, err := c.Load(ctx, 0, cell)
		if err != nil || now >= word {
			return err
		}
		won, err := c.CompareAndSwap(ctx, 0, cell, now, word)
		if won || err != nil {
			return err
		}
	}
}

// witness is the first word of the witness of a finding or Deadlock.
func (c *control) witness(finding int) int { return c.found + witnessWords*(1+finding) }

// finding is the word of a finding.
func (c *control) finding(i int) int { return c.witness(c.findings) + i }

// merged is the largest of each finding over all ranks. absent says by an error which ranks to
// leave out.
func (c *control) merged(ctx context.Context, absent func(err error) bool) ([]uint64, error) {
	all := make([]uint64, c.findings)
	if c.findings == 0 {
		return all, nil
	}
	err := c.Gather(ctx, c.finding(0), c.findings, func(_ int, words []uint64, err error) error {
		if err != nil && absent(err) {
			return nil
		}
		for i, word := range words {
			all[i] = max(all[i], word)
		}
		return err
	})
	return all, err
}

// nobody is absent: every error counts.
func nobody(error) bool { return false }

// open is how many of the states created so far, in levels of each parity, have not been expanded.
// It reads done before created, so that it is never less than none.
func (c *control) open(ctx context.Context) (left [2]uint64, err error) {
	for i, first := range []int{cellDone, cellCreated} {
		err = c.Gather(ctx, first, len(left), func(_ int, words []uint64, err error) error {
			for parity, word := range words {
				left[parity] += word * uint64(2*i-1) // done is subtracted
			}
			return err
		})
		if err != nil {
			return left, err
		}
	}
	return left, nil
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

// counters are the counters of a rank, or sums of them.
type counters [cellHeapBytes + 1]uint64

// states is how many states were found.
func (c *counters) states() uint64 { return c[cellCreated] + c[cellCreated+1] }

// counts adds up the counters of all ranks. absent says by an error which ranks to leave out; whole
// reports that there was none.
func (c *control) counts(ctx context.Context, absent func(err error) bool) (
	sums counters, whole bool, err error) {
	whole = true
	err = c.Gather(ctx, 0, len(sums), func(_ int, words []uint64, err error) error {
		if err != nil && absent(err) {
			whole = false
			return nil
		}
		for cell, word := range words {
			sums[cell] += word
		}
		return err
	})
	return sums, whole, err
}

// advance ends a level that is over: it moves the level word on, or marks the end where no level
// comes after it. Any rank may do it; the first one does.
func (c *control) advance(ctx context.Context, level uint64, last bool) error {
	next := level + 1
	if last {
		next = level | levelEnd
	}
	_, err := c.CompareAndSwap(ctx, 0, cellLevel, level, next)
	return err
}

// A command is what all ranks do together: one word, so that two commands never
// compete.
//
//	| number (54): reason to stop | generation (8) | kind (2) |
//
// The generation counts commands obeyed. A rank whose own generation is past the generation of a
// command has obeyed it already.
type command uint64

const (
	commandRun  command = 0
	commandStop command = 1
	commandSave command = 2
)

// generations is how many checkpoints a command distinguishes. Ranks never differ by more
// than one: a checkpoint waits for all of them.
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

// wait checks whether the level or the search is over, and if so moves to the next level or ends.
// It reads the level word first: what this rank has found for the next level may be the
// only work left, and other ranks may have moved the level on since.
func (w *worker) wait(ctx context.Context) (moved bool, err error) {
	before := w.level
	if err := w.seeLevel(ctx); err != nil || w.level != before {
		return true, err
	}
	if w.control.round++; w.control.round%w.control.turns != 0 {
		return false, nil // others ask
	}
	// Where this level is over, the next one has all its states, and none is expanded.
	open, err := w.control.open(ctx)
	if err != nil || open[w.parity] > 0 {
		return false, err
	}
	last := w.opts.Order == AnyOrder || open[1-w.parity] == 0
	if !last && w.opts.MaxDepth > 0 && w.level >= w.opts.MaxDepth {
		return true, w.stopAll(ctx, stopLimit)
	}
	if err := w.control.advance(ctx, w.level, last); err != nil {
		return false, err
	}
	err = w.seeLevel(ctx)
	return w.level != before, err
}

// seeLevel catches up with the level that the ranks are at.
func (w *worker) seeLevel(ctx context.Context) error {
	level, err := w.control.Load(ctx, 0, cellLevel)
	switch {
	case err != nil:
		return err
	case level&levelEnd != 0:
		return errStopped
	case level == w.level:
		return nil
	}
	// Levels are ended one by one, and this rank has nothing left of those it
	// missed; what it has found for the next one can only be for this one.
	w.level, w.parity = level, int(level%2)
	w.now, w.next = w.next, w.now
	w.log.level(level)
	return nil
}

// countDone counts the states that have been expanded.
func (w *worker) countDone() {
	w.done[w.parity] += uint64(w.at - w.counted)
	w.counted = w.at
}

// publish writes this rank's counters: created before done, see control.
func (w *worker) publish(ctx context.Context) error {
	if err := w.publishFindings(ctx); err != nil {
		return err
	}
	for _, c := range []struct {
		cell int
		word uint64
	}{
		{cellCreated, w.created[0]}, {cellCreated + 1, w.created[1]},
		{cellArcs, w.arcs}, {cellDeadlocks, w.dead},
		{cellDone + w.parity, w.done[w.parity]},
	} {
		if err := w.control.set(ctx, c.cell, c.word); err != nil {
			return err
		}
	}
	return nil
}

// publishFindings writes the findings that have risen, of states whose successors are in the set.
// What others read never falls.
func (w *worker) publishFindings(ctx context.Context) error {
	for i, word := range w.noted {
		if word <= w.published[i] {
			continue
		}
		if err := w.control.set(ctx, w.control.finding(i), word); err != nil {
			return err
		}
		w.published[i] = word
	}
	return nil
}

// share gives every rank the words of all. failure is why this rank cannot continue: then every
// rank gets an error. Banks take turns, so that nobody overwrites what another still reads.
// Collective.
func (s *search) share(ctx context.Context, mine uint64, failure error) ([]uint64, error) {
	words, _, err := s.sharePair(ctx, mine, 0, failure)
	return words, err
}

// sharePair is share for two words of each rank.
func (s *search) sharePair(ctx context.Context, first, second uint64, failure error) (firsts,
	seconds []uint64, err error) {
	bank := cellShared + s.rounds%2*sharedWords
	s.rounds++
	why := uint64(0)
	if failure != nil {
		why = uint64(reasonOf(failure))
	}
	for i, word := range []uint64{first, second, why} {
		if err == nil {
			err = s.control.set(ctx, bank+i, word)
		}
	}
	if err == nil {
		err = s.job.Barrier(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(failure, err)
	}
	firsts, seconds = make([]uint64, s.job.Size()), make([]uint64, s.job.Size())
	var peer error // which rank has failed
	err = s.control.Gather(ctx, bank, sharedWords, func(rank int, of []uint64, err error) error {
		if why := of[2]; err == nil && peer == nil && why != 0 {
			peer = stopReason(why).failed(rank)
		}
		firsts[rank], seconds[rank] = of[0], of[1]
		return err
	})
	if err == nil && peer != nil {
		err = s.job.Barrier(ctx) // nobody closes what others still read
	}
	switch err = errors.Join(peer, err); {
	case failure != nil:
		return nil, nil, failure
	case err != nil:
		return nil, nil, err
	}
	return firsts, seconds, nil
}

// sum adds up the words of all ranks.
func sum(words []uint64) (total uint64) {
	for _, word := range words {
		total += word
	}
	return total
}

// stopReason is why all ranks stop before the end.
type stopReason uint64

const (
	stopInterrupted stopReason = iota + 1
	stopFull
	stopOverflow
	stopError
	stopLost
	stopDecided
	stopLimit
	stopModel // and a breach
)

// number is the number of a command to stop: a reason, and the rank that has it.
func (why stopReason) number(rank int) uint64 { return uint64(rank)<<8 | uint64(why) }

// stopped splits the number of a command to stop.
func stopped(number uint64) (why stopReason, rank int) {
	return stopReason(number & 0xff), int(number >> 8)
}

// errStopped ends a worker's loop in good order.
var errStopped = errors.New("explore: stopped")

// reasonOf is the reason for which a rank stops after an error.
func reasonOf(cause error) stopReason {
	var broken *modelError
	if errors.As(cause, &broken) {
		return broken.breach.reason()
	}
	return stopError
}

// reason is a breach as a reason for all ranks to stop.
func (b breach) reason() stopReason { return stopModel + stopReason(b) }

// failed is the error of the other ranks when one rank stops for a reason.
func (why stopReason) failed(rank int) error {
	what := "explore"
	if why >= stopModel && why < stopModel+stopReason(breaches) {
		what += ": " + breach(why-stopModel).String()
	}
	return &rma.PeerError{What: what, Rank: rank}
}

// missing reports whether err says that a rank is lost. It remembers the ranks that are lost at
// the first such error: ranks that are missing later may have ended because of that loss.
func (s *search) missing(err error) bool {
	var gone *rma.RankError
	if !errors.As(err, &gone) {
		return false
	}
	if s.loss == nil {
		s.loss, s.lost = err, s.job.Failed()
		if !gone.Left {
			s.lost = append(s.lost, gone.Rank)
		}
		slices.Sort(s.lost)
		s.lost = slices.Compact(s.lost)
	}
	return true
}

// ignoreLost drops the error that a rank is lost, where its part is done.
func ignoreLost(err error) error {
	var gone *rma.RankError
	if errors.As(err, &gone) {
		return nil
	}
	return err
}
