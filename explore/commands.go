package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farhash/farhash/rma"
)

// obey follows the present command, which all ranks follow together.
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

// obeyed begins the next generation. The rank that comes first takes the command
// away, for any of them may be dead.
func (w *worker) obeyed(ctx context.Context, kind command, number uint64) error {
	w.generation++
	_, err := w.control.CompareAndSwap(ctx, 0, cellCommand,
		uint64(makeCommand(kind, w.generation-1, number)),
		uint64(makeCommand(commandRun, w.generation, 0)))
	return err
}

// fail has all ranks stop because this one cannot continue. A command that came first
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

// checkFailed stops the search if a rank is lost. A rank without work calls it now and then.
func (w *worker) checkFailed(ctx context.Context) error {
	if len(w.job.Failed()) > 0 {
		return w.stopAll(ctx, stopLost)
	}
	return nil
}

// announce has the other ranks know of new witnesses, and ends the search if what all
// have found decides everything. The rank that announces last sees the findings of all.
func (w *worker) announce(ctx context.Context, fresh []witness) error {
	for _, f := range fresh {
		cell := w.control.witness(f.finding)
		if err := w.control.set(ctx, cell+1, f.name); err != nil {
			return err
		}
		if err := w.control.set(ctx, cell, w.level+1); err != nil {
			return err
		}
	}
	if err := w.publishFindings(ctx); err != nil {
		return err
	}
	all, err := w.control.merged(ctx)
	if err != nil {
		return err
	}
	if yes, err := w.decided(all); err != nil || !yes {
		return err
	}
	return w.stopAll(ctx, stopDecided)
}

// makeRoom has the table grow when it is loaded, and ends the search when it must
// grow and cannot. It returns when there is room.
func (w *worker) makeRoom(ctx context.Context, full bool) error {
	if err := w.accountHeap(ctx); err != nil {
		return err
	}
	before := w.generation
	for {
		table := w.visited.full()
		if !full {
			var err error
			if table, err = w.loaded(ctx); err != nil || table < 0 {
				return err
			}
		}
		heap, err := w.control.Sum(ctx, cellHeapBytes)
		if err != nil {
			return err
		}
		buckets := w.budget.nextBuckets(w.visited.tables()[table], heap)
		switch {
		case buckets == 0 && !full:
			return nil // until it is full
		case buckets == 0:
			err = w.stopAll(ctx, stopFull)
		default:
			err = w.control.ask(ctx, w.generation, commandGrow,
				buckets<<1|uint64(table))
		}
		if err == nil {
			err = w.obey(ctx, ctx)
		}
		if err != nil || w.generation != before {
			return err
		}
	}
}

// loaded is the number of a table that is as full as it should become, -1 if none is.
func (w *worker) loaded(ctx context.Context) (int, error) {
	states, err := w.control.states(ctx)
	if err != nil {
		return 0, err
	}
	for i, t := range w.visited.tables() {
		if loaded, err := t.loaded(ctx, states); loaded || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// accountHeap accounts for frontier, log and a batch that has grown, and ends the search when
// they take more than their share.
func (w *worker) accountHeap(ctx context.Context) error {
	heap := w.pool.bytes() + w.log.bytes()
	if w.longest > (w.full+w.spare)*w.words { // a batch is there twice while it grows
		heap += uint64(w.batches) * 2 * 8 * uint64(w.longest)
	}
	if heap <= w.heap {
		return nil
	}
	w.heap = heap
	if err := w.control.set(ctx, cellHeapBytes, heap); err != nil {
		return err
	}
	if heap <= w.budget.heapLeft(w.visited) {
		return nil
	}
	if err := w.stopAll(ctx, stopFull); err != nil {
		return err
	}
	return w.obey(ctx, ctx)
}

// growTogether grows a table with all ranks. A table that cannot grow stays as it is, and all
// ranks know.
func (w *worker) growTogether(ctx context.Context, number uint64) error {
	t := w.visited.tables()[number&1]
	oldBytes := t.bytesFor(t.buckets()) - t.keptBytes()
	err := t.grow(ctx, number>>1)
	if w.missing(err) {
		return errStopped
	}
	if err != nil {
		w.budget.blocked, oldBytes = err, 0
	}
	w.table.see(w.visited, oldBytes)
	return w.obeyed(ctx, commandGrow, number)
}

// checkpointDue has all ranks write a checkpoint when it is time. Only a rank with a
// block that is not done asks, so that the search cannot end before all have seen it.
func (w *worker) checkpointDue(ctx context.Context) error {
	if w.opts.Checkpoint == "" || time.Since(w.saved) < w.opts.CheckpointEvery {
		return nil
	}
	if err := w.control.ask(ctx, w.generation, commandSave, 0); err != nil {
		return err
	}
	return w.obey(ctx, ctx)
}

// saveTogether writes a checkpoint with all ranks. A checkpoint that cannot be written
// is reported and the search continues: the one before it is still there.
func (w *worker) saveTogether(ctx context.Context) error {
	w.countDone()
	err := w.publish(ctx)
	if err == nil {
		err = w.job.Barrier(ctx) // nobody moves blocks any more, and all have published
	}
	if err == nil {
		// Another rank may have moved the level on just before it came here: what this one
		// has found for the next level is then for the present one.
		err = w.seeLevel(ctx)
	}
	if err == nil {
		err = w.save(ctx)
	}
	if w.missing(err) {
		return errStopped
	}
	var peer *rma.PeerError            // that rank reports the cause itself
	over := errors.Is(err, errStopped) // the last states are done
	if err != nil && !over && w.opts.Warn != nil && (w.job.Rank() == 0 || !errors.As(err, &peer)) {
		w.opts.Warn(fmt.Errorf("no checkpoint was written: %w", err))
	}
	w.saved = time.Now()
	return w.obeyed(ctx, commandSave, 0)
}
