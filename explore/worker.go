package explore

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/ship"
)

// stopReason is why all ranks stop before the end.
type stopReason uint64

const (
	stopInterrupted stopReason = iota + 1
	stopFull
	stopOverflow
	stopError
	stopLost
	stopDecided
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

// worker is the rank that expands states.
type worker struct {
	*search
	pool       pool
	now, next  frontier // of the present level and of the one after it
	level      uint64
	parity     int
	generation uint64 // commands to grow or save obeyed so far
	overflow   *OverflowError
	log        *levelLog
	saved      time.Time // of the last checkpoint, or the start

	todo    []uint64 // tasks that are being expanded: those of a block, or of several
	given   int      // how many they are
	at      int      // the successors of those before this one are in the set
	counted int      // and those before this one counted as done

	buffers
	states   []uint64 // of todo
	recent   recent
	gathered [2]gathered // one is inserted, while the other is gathered if there are two
	results  []set.Result
	names    []uint64

	created   [2]uint64
	done      [2]uint64
	arcs      uint64
	dead      uint64
	found     findings // of the states gathered
	shown     []uint64 // findings of those whose successors are in the set
	published []uint64 // findings as the others read them
	longest   int      // words of a batch so far
	heap      uint64   // most bytes of frontier and log so far
}

func newWorker(s *search) *worker {
	w := &worker{search: s, saved: s.started, buffers: buffersFor(ships(s.visited.access())),
		found: newFindings(s.live), shown: make([]uint64, s.findings),
		published: make([]uint64, s.findings)}
	w.todo = make([]uint64, 0, w.blocks*blockTasks*s.taskWords)
	w.states = make([]uint64, w.blocks*blockTasks*s.words)
	w.recent = newRecent(w.remembered, s.initial[:s.words])
	for i := range w.gathered[:w.batches] {
		w.gathered[i].batch = make([]uint64, 0, (w.full+s.spare)*s.words)
		w.gathered[i].findings = make([]uint64, s.findings)
	}
	w.results = make([]set.Result, insertBatches*w.full)
	w.names = make([]uint64, insertBatches*w.full)
	w.pool.taskWords = s.taskWords
	w.now.pool, w.next.pool = &w.pool, &w.pool
	if len(s.opts.Trace)+len(s.opts.Live) > 0 {
		w.log = newLevelLog()
	}
	return w
}

// ships reports whether batches of some length are shipped.
func ships(c ship.Choice) bool { return c != (ship.Choice{}) && c.MinBatch < math.MaxInt }

// loop expands states until all ranks are done or stop.
func (w *worker) loop(ctx, uncancelled context.Context) error {
	err := w.begin(uncancelled)
	if err != nil && w.opts.Resume != "" && ignoreLost(err) != nil {
		return err // of a checkpoint, and on every rank
	}
	pace := backoff.Backoff{Job: w.job}
	for err == nil {
		var worked bool
		if err = w.obey(ctx, uncancelled); err != nil {
			break
		}
		worked, err = w.work(uncancelled)
		if err == nil && !worked {
			worked, err = w.wait(uncancelled)
		}
		if worked {
			pace.Reset()
		} else if err == nil && pace.Pause() {
			err = w.checkFailed(uncancelled)
		}
	}
	if errors.Is(err, errStopped) {
		return w.publish(uncancelled)
	}
	return w.fail(uncancelled, err)
}

// fail has all ranks stop because this one cannot go on. A command that came first
// is obeyed first: to grow, the others need this rank. Which reason to stop came
// first decides what all of them return, so that an overflow is no error yet.
func (w *worker) fail(ctx context.Context, cause error) error {
	why := reasonOf(cause)
	switch {
	case errors.As(cause, &w.overflow):
		why = stopOverflow
	case w.missing(cause):
		why = stopLost
	}
	for {
		err := w.stopAll(ctx, why)
		if err == nil {
			err = w.obey(ctx, ctx)
		}
		switch {
		case err == nil:
		case errors.Is(err, errStopped) && (why == stopOverflow || why == stopLost):
			return w.publish(ctx)
		case errors.Is(err, errStopped):
			return cause
		case w.missing(err) && why == stopLost:
			return nil // rank 0 is lost, and the others find out by themselves
		default:
			return errors.Join(cause, err)
		}
	}
}

// begin has rank 0 insert the initial states, or goes on with a checkpoint.
func (w *worker) begin(ctx context.Context) error {
	if w.opts.Resume != "" {
		return w.resume(ctx)
	}
	if w.job.Rank() == 0 {
		if err := w.insert(ctx, slices.Clone(w.initial), nil, &w.now, 0); err != nil {
			return err
		}
		if err := w.publish(ctx); err != nil {
			return err
		}
	}
	return w.job.Barrier(ctx)
}

// obey carries out the command that all ranks carry out together.
func (w *worker) obey(ctx, uncancelled context.Context) error {
	cmd, err := w.control.command(uncancelled)
	if err != nil {
		return err
	}
	switch {
	case cmd.kind() == commandStop:
		return errStopped
	case cmd.kind() == commandGrow && cmd.generation() == w.generation%generations:
		return w.growTogether(uncancelled, cmd.number())
	case cmd.kind() == commandSave && cmd.generation() == w.generation%generations:
		return w.saveTogether(uncancelled)
	case ctx.Err() != nil:
		return w.stopAll(uncancelled, stopInterrupted)
	}
	return nil
}

// stopAll commands all ranks to stop, unless there is another command already.
func (w *worker) stopAll(ctx context.Context, why stopReason) error {
	return w.control.ask(ctx, w.generation, commandStop, why.number(w.job.Rank()))
}

// work expands one block, from this rank's list or from an exchange.
func (w *worker) work(ctx context.Context) (bool, error) {
	b := w.now.pop()
	if b == nil {
		b = w.pool.get()
		ok, err := w.exchange.claim(ctx, &b)
		if err != nil || !ok {
			w.pool.put(b)
			return false, err
		}
		// A block that waits holds its level open, so this is the block's level.
		if err := w.seeLevel(ctx); err != nil {
			return false, err
		}
	} else if err := w.share(ctx); err != nil {
		return false, err
	}
	w.begun(b)
	for n := min(w.blocks-1, len(w.now.blocks)/2); n > 0; n-- { // others may want the rest
		w.begun(w.now.pop())
	}
	return true, w.expand(ctx)
}

// begun has the tasks of a block expanded next.
func (w *worker) begun(b block) {
	w.todo = append(w.todo, b...)
	w.pool.put(b)
}

// share leaves a block for others when there is more than enough.
func (w *worker) share(ctx context.Context) error {
	if w.job.Size() == 1 || len(w.now.blocks) < 2 {
		return nil
	}
	slot, ok, err := w.exchange.wanted(ctx)
	if err != nil || !ok {
		return err
	}
	b := w.now.spare()
	err = w.exchange.offer(ctx, slot, b)
	w.pool.put(b)
	return err
}

// insert puts states into the set; what is new goes to a frontier. from is for each the name of the
// state before it, nil where nobody asks.
func (w *worker) insert(ctx context.Context, states, from []uint64, to *frontier,
	parity int) error {
	for len(states) > 0 {
		n := min(len(states)/w.words, len(w.results))
		k := min(n, len(from))
		if err := w.insertPiece(ctx, states[:n*w.words], from[:k], to, parity); err != nil {
			return err
		}
		states, from = states[n*w.words:], from[k:]
	}
	return nil
}

// insertPiece inserts at most insertBatches batches of states, however often the table must grow
// for them.
func (w *worker) insertPiece(ctx context.Context, states, from []uint64, to *frontier,
	parity int) error {
	words, taskWords := w.words, w.taskWords
	for len(states) > 0 {
		n := len(states) / words
		results, names := w.results[:n], w.names[:n]
		err := w.visited.insert(states, results, names)
		var full *set.FullError
		if err != nil && !errors.As(err, &full) {
			return err
		}
		tasks := names
		if w.fingerprints() {
			tasks = states
		}
		left := 0 // states that found no room are tried again
		for i, r := range results {
			switch r {
			case set.Inserted:
				to.push(tasks[i*taskWords : (i+1)*taskWords])
				if len(from) > 0 {
					w.log.follow(from[i])
				}
				w.log.add(names[i])
				w.created[parity]++
			case set.Full:
				copy(states[left*words:(left+1)*words], states[i*words:])
				if len(from) > 0 {
					from[left] = from[i]
				}
				left++
			}
		}
		states = states[:left*words]
		// The load is judged by what has been published.
		if err := w.control.set(ctx, cellCreated+parity, w.created[parity]); err != nil {
			return err
		}
		if err := w.makeRoom(ctx, left > 0); err != nil {
			return err
		}
	}
	return nil
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
