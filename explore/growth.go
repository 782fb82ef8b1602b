package explore

import (
	"context"
	"sync/atomic"
)

// tableSize is the memory of the visited set, for the progress display and for
// the final figures.
type tableSize struct {
	buckets atomic.Uint64
	bytes   atomic.Uint64
	peak    atomic.Uint64 // bytes at the worst moment so far
}

// see notes the present size, and that a table of oldBytes existed at the same time.
func (t *tableSize) see(v visited, oldBytes uint64) {
	now := v.bytesFor(v.buckets())
	t.buckets.Store(v.buckets())
	t.bytes.Store(now)
	t.peak.Store(max(t.peak.Load(), now+oldBytes))
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
			err = w.control.ask(ctx, w.generation, commandGrow, growNumber(table, buckets))
		}
		if err == nil {
			err = w.obey(ctx, ctx)
		}
		if err != nil || w.generation != before {
			return err
		}
	}
}

// growNumber is the number of a command to grow a table.
func growNumber(table int, buckets uint64) uint64 { return buckets<<1 | uint64(table) }

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
	heap := w.pool.bytes() + w.log.bytes() + w.batchBytes()
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

// obeyed goes on to the next generation. The rank that comes first takes the command
// away, for any of them may be dead.
func (w *worker) obeyed(ctx context.Context, kind command, number uint64) error {
	w.generation++
	_, err := w.control.CompareAndSwap(ctx, 0, cellCommand,
		uint64(makeCommand(kind, w.generation-1, number)),
		uint64(makeCommand(commandRun, w.generation, 0)))
	return err
}
