package explore

import "context"

// wait checks whether the level or the search is over, and if so goes on to the next level or ends.
// It reads the level word first: what this rank has found for the next level may be the
// only work left, and other ranks may have moved the level on meanwhile.
func (w *worker) wait(ctx context.Context) (moved bool, err error) {
	before := w.level
	if err := w.seeLevel(ctx); err != nil || w.level != before {
		return true, err
	}
	over, err := w.control.over(ctx, w.parity)
	if err != nil || !over {
		return false, err
	}
	if err := w.control.advance(ctx, w.level, w.opts.Order == AnyOrder); err != nil {
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

// checkFailed stops the search if a rank is lost. A rank without work calls it now and then.
func (w *worker) checkFailed(ctx context.Context) error {
	if len(w.job.Failed()) > 0 {
		return w.stopAll(ctx, stopLost)
	}
	return nil
}
