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

// fail has all ranks stop because this one cannot continue. A command that came first
// is obeyed first: to save, the others need this rank. Which reason to stop came
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

// idle is called now and then by a rank without work. It stops the search if a rank is lost, and
// gives the memory of tables back that have moved.
func (w *worker) idle(ctx context.Context) error {
	if len(w.job.Failed()) > 0 {
		return w.stopAll(ctx, stopLost)
	}
	tables, err := w.control.Load(ctx, 0, cellTables)
	if err != nil || tables == w.moved {
		return err
	}
	w.moved = tables
	return w.visited.leave(ctx)
}

// announce has the other ranks know of new witnesses, and ends the search if what all
// have found decides everything. The rank that announces last sees the findings of all.
func (w *worker) announce(ctx context.Context, fresh []witness) error {
	for _, f := range fresh {
		cell := w.control.witness(f.finding)
		if err := w.control.set(ctx, cell+1, f.name); err != nil {
			return err
		}
		if err := w.control.set(ctx, cell, f.level(w.level)+1); err != nil {
			return err
		}
	}
	if err := w.publishFindings(ctx); err != nil {
		return err
	}
	all, err := w.control.merged(ctx, nobody)
	if err != nil {
		return err
	}
	if yes, err := w.decided(all); err != nil || !yes {
		return err
	}
	return w.stopAll(ctx, stopDecided)
}

// endFull ends the search because memory is full. After another command, which came first, it
// continues.
func (w *worker) endFull(ctx context.Context) error {
	if err := w.stopAll(ctx, stopFull); err != nil {
		return err
	}
	return w.obey(ctx, ctx)
}

// accountHeap accounts for frontier, log and a batch that has grown, and ends the search when
// the tables do not leave enough memory for them. On several hosts a rank has its share of that, as
// each host has its memory.
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
	tables, err := w.tables(ctx)
	left := w.budget.states - min(w.budget.states, tables)
	if err != nil || heap <= left/w.budget.ranks {
		return err
	}
	if w.hosts == nil {
		if all, err := w.control.Sum(ctx, cellHeapBytes); err != nil || all <= left {
			return err
		}
	}
	return w.endFull(ctx)
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
	// The rank that comes first takes the command away, for any of them may be dead.
	w.generation++
	_, err = w.control.CompareAndSwap(ctx, 0, cellCommand,
		uint64(makeCommand(commandSave, w.generation-1, 0)),
		uint64(makeCommand(commandRun, w.generation, 0)))
	return err
}
