package set

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// Collect removes every word for which keep returns false: the garbage collection that
// OP leaves out. Each rank calls its keep for the words in its part of the table.
// Collective; no other call may run on any rank meanwhile, and old and new table
// are in memory together for a while. When it fails the set is unchanged.
func (s *Set) Collect(ctx context.Context, keep func(word uint64) bool) error {
	m := s.mover()
	m.keep = func(_ context.Context, bucket uint64) (bool, error) {
		return keep(bucket &^ occupied), nil
	}
	t, err := m.rebuild(ctx, s.job, s.t, s.t.geometry)
	if err != nil {
		return err
	}
	return replace(ctx, s.job, s.tally, &s.t, t, m.moved)
}

// Collect removes every element for which keep returns false; see Set.Collect. The slots
// of removed elements are used again. References of the other elements remain valid. The
// bytes given to keep are valid until it returns.
func (e *Elements) Collect(ctx context.Context, keep func(element []byte) bool) error {
	var freed []Ref
	m := e.mover()
	m.keep = func(ctx context.Context, bucket uint64) (bool, error) {
		words, err := e.elementOf(ctx, bucket)
		if err != nil {
			return false, err
		}
		wanted := keep(bytesOf(words)[:e.cfg.ElementBytes])
		if !wanted {
			freed = append(freed, Ref(bucket&refMask))
		}
		return wanted, nil
	}
	t, err := m.rebuild(ctx, e.job, e.t, e.t.geometry)
	if err != nil {
		if freesEarly.On() {
			err = errors.Join(err, e.arenas.putFreed(ctx, freed))
		}
		return err
	}
	if err := replace(ctx, e.job, e.tally, &e.t, t, m.moved); err != nil {
		return err
	}
	// Only now: no rank reads the old table any more.
	return e.arenas.putFreed(ctx, freed)
}

// replace puts the new table in the place of the old one, with the number of
// elements that this rank has moved. Collective: when it returns every rank has.
func replace(ctx context.Context, job rma.Job, ta *tally, at **table, t *table,
	moved uint64) error {
	old := *at
	*at = t
	if err := ta.restart(ctx, moved); err != nil {
		return err
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	return old.close()
}
