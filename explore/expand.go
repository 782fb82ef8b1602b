package explore

import (
	"context"
	"sync"
)

// gathered is the successors of some of the states to be expanded.
type gathered struct {
	batch      []uint64 // those that go into the set
	from       []uint64 // for each the name of the state before it, where the log wants it
	end        int      // they are of states before this one
	arcs, dead uint64
	deadlocked int       // the first of dead
	fresh      []witness // of findings
	findings   []uint64  // after these states
	err        error
}

// expand finds the successors of the states to be expanded, and inserts them batch by batch.
func (w *worker) expand(ctx context.Context) error {
	to, parity := &w.next, 1-w.parity
	if w.opts.Order == AnyOrder {
		to, parity = &w.now, w.parity
	}
	w.given = len(w.todo) / w.taskWords
	if err := w.visited.load(ctx, w.todo, w.states[:w.given*w.words]); err != nil {
		return err
	}
	now, next := &w.gathered[0], &w.gathered[w.batches-1]
	for w.gather(now, 0); w.at < w.given; now, next = next, now {
		if now.err != nil {
			return now.err
		}
		if err := w.settleAndGather(ctx, now, next, to, parity); err != nil {
			return err
		}
	}
	w.countDone()
	// After a failure they stay: the others may be about to write a checkpoint.
	w.todo, w.given, w.at, w.counted = w.todo[:0], 0, 0, 0
	return w.publish(ctx)
}

// settleAndGather inserts the successors of some states, and gathers those of the next ones:
// meanwhile if there are two batches, else afterwards in the same one.
func (w *worker) settleAndGather(ctx context.Context, now, next *gathered, to *frontier,
	parity int) error {
	end := now.end
	if end == w.given {
		return w.settle(ctx, now, to, parity)
	}
	if w.batches == 1 {
		err := w.settle(ctx, now, to, parity)
		if err == nil {
			w.gather(next, end)
		}
		return err
	}
	var ahead sync.WaitGroup
	ahead.Go(func() { w.gather(next, end) })
	err := w.settle(ctx, now, to, parity)
	ahead.Wait()
	return err
}

// settle inserts successors. Then, between two states, with nothing in flight, is the moment for a
// checkpoint: states whose successors have only been gathered still wait.
func (w *worker) settle(ctx context.Context, g *gathered, to *frontier, parity int) error {
	w.longest = max(w.longest, cap(g.batch))
	if err := w.insert(ctx, g.batch, g.from, to, parity); err != nil {
		return err
	}
	w.at = g.end
	w.arcs += g.arcs
	copy(w.shown, g.findings)
	if w.dead == 0 && g.dead > 0 {
		g.fresh = append(g.fresh, witness{Deadlock, w.name(g.deadlocked)})
	}
	w.dead += g.dead
	if len(g.fresh) > 0 {
		if err := w.announce(ctx, g.fresh); err != nil {
			return err
		}
	}
	return w.checkpointDue(ctx)
}

// countDone counts the states that have been expanded.
func (w *worker) countDone() {
	w.done[w.parity] += uint64(w.at - w.counted)
	w.counted = w.at
}
