package nessie

import (
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// hand is an operation that a test drives, step by step.
type hand struct {
	*op
	q rma.Queue
}

func (t *Table) hand(first step, key []byte, value string) (*hand, error) {
	q, err := t.job.NewQueue(queueDepth)
	if err != nil {
		return nil, err
	}
	o, err := newOp(t, q)
	if err != nil {
		return nil, err
	}
	o.key, o.value = key, []byte(value)
	p, s := t.slotsOf(key)
	o.start(first, p, s)
	return &hand{o, q}, nil
}

// steps does what n waits are for, or all that there is.
func (h *hand) steps(n int) error {
	for ; n != 0; n-- {
		handle, err := h.Step(h.q)
		if err != nil || handle == rma.NoHandle {
			return errors.Join(err, h.err)
		}
		if err := errors.Join(h.q.Submit(), h.q.Wait(ctx, handle)); err != nil {
			return err
		}
	}
	return nil
}

// all is every step that is left.
const all = -1

// rivals are two keys with the same primary slot.
func (t *Table) rivals() (a, b []byte) {
	a = number(0)
	p, _ := t.slotsOf(a)
	for n := uint64(1); ; n++ {
		b = number(n)
		if q, _ := t.slotsOf(b); q == p {
			return a, b
		}
	}
}

func (t *Table) reads(key []byte, want string) error {
	value, ok, err := t.Read(ctx, key, nil)
	if err == nil && (string(value) != want || ok != (want != "")) {
		err = fmt.Errorf("key %x has %q, %v, not %q", key, value, ok, want)
	}
	return err
}

// writeSecondary puts a key into its secondary slot: a rival is in the way for a while.
func (t *Table) writeSecondary(key, rival []byte, value string) error {
	err := errors.Join(t.Write(ctx, rival, nil), t.Write(ctx, key, []byte(value)))
	_, deleteErr := t.Delete(ctx, rival)
	return errors.Join(err, deleteErr)
}

// script runs a test of one table, whose ranks are hands.
func script(t *testing.T, fn func(t *Table) error) {
	t.Helper()
	cfg := Config{SlotsPerRank: 16, ItemsPerRank: 32, MaxKey: 8, MaxValue: 8}
	if err := withTable(lab.Engines()[1], 1, cfg, fn); err != nil {
		t.Error(err)
	}
}

// TestDeleteTakesEffectTwice is fault 3 of docs/nessie.md: a write that was acknowledged, and
// read, is gone.
func TestDeleteTakesEffectTwice(t *testing.T) {
	script(t, func(t *Table) error {
		a, b := t.rivals()
		if err := t.writeSecondary(a, b, "v1"); err != nil {
			return err
		}
		d, err := t.hand((*op).delete, a, "")
		return errors.Join(err,
			d.steps(3), // it has cleared s
			t.reads(a, ""),
			t.Write(ctx, a, []byte("v2")),
			t.reads(a, "v2"),
			d.steps(all),
			t.reads(a, ""),
			t.Check(ctx))
	})
}

// TestLostWriteClears is fault 4: a write that was acknowledged is in no slot any more, until
// another one, which was overtaken, has tried again.
func TestLostWriteClears(t *testing.T) {
	script(t, func(t *Table) error {
		a, b := t.rivals()
		if err := t.writeSecondary(a, b, "v1"); err != nil {
			return err
		}
		w, err := t.hand((*op).writeLate, a, "v3")
		if err != nil {
			return err
		}
		m, err := t.hand((*op).migrate, a, "")
		err = errors.Join(err,
			w.steps(1), // its item is in p
			t.Write(ctx, a, []byte("v2")),
			m.steps(all), // from p to s
			t.reads(a, "v2"),
			w.steps(all),
			t.reads(a, ""))
		if m.outcome != done || w.outcome != retry {
			err = errors.Join(err, fmt.Errorf("outcomes %d and %d", m.outcome, w.outcome))
		}
		p, s := t.slotsOf(a)
		w.start((*op).write, p, s)
		return errors.Join(err, w.steps(all), t.reads(a, "v3"), t.Check(ctx))
	})
}

// writeLate is write where s is read late, as it may where s is at another rank.
func (o *op) writeLate(q rma.Queue) step {
	o.take(q, o.key, o.value)
	o.cas(q, o.p, 0, o.n, &o.i)
	return func(o *op, q rma.Queue) step {
		o.readSlot(q, o.s, &o.j)
		return (*op).tried
	}
}

// TestMissIsChecked is fault 1, which the check at the end of a read prevents: the key moves from s
// to p while it is read.
func TestMissIsChecked(t *testing.T) {
	script(t, func(t *Table) error {
		a, b := t.rivals()
		if err := t.writeSecondary(a, b, "v1"); err != nil {
			return err
		}
		r, err := t.hand((*op).read, a, "")
		err = errors.Join(err,
			r.steps(1), // p is empty
			t.Write(ctx, a, []byte("v2")),
			r.steps(all))
		if r.outcome != retry {
			err = errors.Join(err, fmt.Errorf("outcome %d, found %v", r.outcome, r.found))
		}
		return err
	})
}

// migrates moves a key out of a slot.
func (t *Table) migrates(key []byte, from uint64) error {
	m, err := t.hand((*op).migrate, key, "")
	if err != nil {
		return err
	}
	m.start((*op).migrate, from, t.other(key, from))
	err = m.steps(all)
	if m.outcome != done {
		err = errors.Join(err, fmt.Errorf("the migration has outcome %d", m.outcome))
	}
	return err
}

// bothReadings runs a script with the most favourable reading and with the paper to the letter.
func bothReadings(t *testing.T, fn func(t *Table, a []byte) error) {
	t.Helper()
	for _, literal := range []bool{false, true} {
		script(t, func(t *Table) error {
			t.cfg.Literal = literal
			a, _ := t.rivals()
			err := errors.Join(t.Write(ctx, a, []byte("v1")), fn(t, a))
			if err != nil {
				err = fmt.Errorf("to the letter %v: %w", literal, err)
			}
			return err
		})
	}
}

// TestMiss is fault 1: to the letter, a read misses a key that moves from s to p meanwhile.
func TestMiss(t *testing.T) {
	bothReadings(t, func(t *Table, a []byte) error {
		p, _ := t.slotsOf(a)
		r, err := t.hand((*op).read, a, "")
		err = errors.Join(err,
			t.migrates(a, p),
			r.steps(1), // p is empty
			t.Write(ctx, a, []byte("v2")),
			r.steps(all))
		if literal := t.cfg.Literal; r.found || (r.outcome == done) != literal {
			err = errors.Join(err, fmt.Errorf("outcome %d, found %v", r.outcome, r.found))
		}
		return err
	})
}

// TestEmptySlots is fault 2: to the letter, a delete does not notice that its key has moved to and
// fro.
func TestEmptySlots(t *testing.T) {
	bothReadings(t, func(t *Table, a []byte) error {
		p, s := t.slotsOf(a)
		d, err := t.hand((*op).delete, a, "")
		err = errors.Join(err,
			d.steps(1), // s is empty
			t.migrates(a, p),
			d.steps(1), // p is empty
			t.migrates(a, s),
			d.steps(all),
			t.reads(a, "v1"))
		if literal := t.cfg.Literal; (d.outcome == done) != literal {
			err = errors.Join(err, fmt.Errorf("outcome %d", d.outcome))
		}
		return err
	})
}

// TestComesBack is fault 6, and then 7: to the letter, the copy of a migration that has failed
// hides its key, and comes back when it is migrated.
func TestComesBack(t *testing.T) {
	bothReadings(t, func(t *Table, a []byte) error {
		t.cfg.Attempts = 3
		_, s := t.slotsOf(a)
		m, err := t.hand((*op).migrate, a, "")
		err = errors.Join(err, m.steps(2)) // it has read the item
		_, deleteErr := t.Delete(ctx, a)
		err = errors.Join(err, deleteErr, m.steps(all))
		if !t.cfg.Literal {
			return errors.Join(err, t.reads(a, ""), t.Check(ctx))
		}
		entries, entriesErr := t.Entries(ctx)
		if len(entries) != 1 || entries[0].Valid || entries[0].Primary {
			err = errors.Join(err, fmt.Errorf("the table has %v", entries))
		}
		var busy *BusyError
		if _, _, readErr := t.Read(ctx, a, nil); !errors.As(readErr, &busy) {
			err = errors.Join(err, fmt.Errorf("a read ends with %v", readErr))
		}
		return errors.Join(err, entriesErr, t.migrates(a, s), t.reads(a, "v1"))
	})
}

// TestOvertakenWrite: a write whose item another has replaced and moved away does not take it
// back, and is done in its next attempt.
func TestOvertakenWrite(t *testing.T) {
	overtaken.Claim(t)
	script(t, func(t *Table) error {
		a, _ := t.rivals()
		w, err := t.hand((*op).write, a, "v1")
		if err != nil {
			return err
		}
		p, s := t.slotsOf(a)
		m, err := t.hand((*op).migrate, a, "")
		err = errors.Join(err,
			w.steps(1), // its item is in p
			t.Write(ctx, a, []byte("v2")),
			m.steps(all), // from p to s
			w.steps(all))
		if m.outcome != done || w.outcome != retry {
			return errors.Join(err, fmt.Errorf("outcomes %d and %d", m.outcome, w.outcome))
		}
		w.start((*op).write, p, s)
		return errors.Join(err, t.reads(a, "v2"), w.steps(all), t.reads(a, "v1"), t.Check(ctx))
	})
}

// TestItemsComeBack: a rank writes with items that others have taken out of the table.
func TestItemsComeBack(t *testing.T) {
	markFound.Claim(t)
	cfg := Config{SlotsPerRank: 16, ItemsPerRank: 3, MaxKey: 8, MaxValue: 8}
	for _, e := range lab.Engines() {
		err := withTable(e, 2, cfg, func(t *Table) error {
			for round := range 20 {
				var err error
				if round%2 == t.job.Rank() {
					err = errors.Join(t.Write(ctx, number(1), number(uint64(round))),
						t.Write(ctx, number(2), number(uint64(round))))
				}
				if err = errors.Join(err, t.job.Barrier(ctx)); err != nil {
					return err
				}
			}
			return errors.Join(t.Check(ctx), t.job.Barrier(ctx))
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
