package nessie

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// walkSlots is how many slots a walk reads at a time.
const walkSlots = 256

// walker reads slots and items one after the other.
type walker struct {
	t     *Table
	q     rma.Queue
	chunk rma.Buf
	item  rma.Buf
}

// walk calls fn with a walker and every slot and its word, until it returns an error.
func (t *Table) walk(ctx context.Context, fn func(w *walker, slot, word uint64) error) error {
	if err := t.pool.Open(); err != nil {
		return err
	}
	q, err := t.job.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	w := &walker{t: t, q: q}
	if w.chunk, err = q.Alloc(walkSlots); err != nil {
		return err
	}
	if w.item, err = q.Alloc(t.arena.words); err != nil {
		return err
	}
	for at := uint64(0); at < t.total; {
		rank, off := t.place(at)
		n := min(walkSlots, t.cfg.SlotsPerRank-uint64(off))
		if t.shared != nil {
			t.shared.read(w.chunk[:n], at)
		} else if err := w.get(ctx, w.chunk[:n], t.slots, rank, off); err != nil {
			return err
		}
		for i := range n {
			if err := fn(w, at+i, w.chunk[i]); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// get reads words.
func (w *walker) get(ctx context.Context, dst rma.Buf, win rma.Window, rank, off int) error {
	h := w.q.Get(dst, win, rank, off)
	if err := w.q.Submit(); err != nil {
		return err
	}
	if err := w.q.Wait(ctx, h); err != nil {
		return err
	}
	_, err := w.q.Value(h)
	return err
}

// Len counts the slots that are taken: the keys, while nobody migrates or writes.
func (t *Table) Len(ctx context.Context) (uint64, error) {
	n := uint64(0)
	err := t.walk(ctx, func(_ *walker, _, word uint64) error {
		if !empty(word) {
			n++
		}
		return nil
	})
	return n, err
}

// Check walks the table and reports the first thing that is broken. Nobody may change the table
// during the call.
func (t *Table) Check(ctx context.Context) error {
	keys, items := map[string]uint64{}, map[uint64]uint64{}
	return t.walk(ctx, func(w *walker, slot, word uint64) error {
		if empty(word) {
			return nil
		}
		it := itemOf(word)
		rank, off := t.arena.locate(it)
		if rank >= t.job.Size() {
			return fmt.Errorf("kv: slot %d holds %#x, which refers to no item", slot, word)
		}
		if err := w.get(ctx, w.item, t.items, rank, off); err != nil {
			return err
		}
		var c content
		c.read(w.item, word)
		p, s := t.slotsOf(c.key)
		switch {
		case !c.whole:
			return fmt.Errorf("kv: slot %d refers with %#x to an item that is not its own", slot,
				word)
		case !c.valid:
			return fmt.Errorf("kv: slot %d has key %x, which is not valid", slot, c.key)
		case slot != p && slot != s:
			return fmt.Errorf("kv: slot %d has key %x, of slots %d and %d", slot, c.key, p, s)
		}
		if other, twice := keys[string(c.key)]; twice {
			return fmt.Errorf("kv: slots %d and %d have the same key %x", other, slot, c.key)
		}
		if other, twice := items[it.number]; twice {
			return fmt.Errorf("kv: slots %d and %d refer to the same item %d", other, slot,
				it.number)
		}
		keys[string(c.key)], items[it.number] = slot, slot
		return nil
	})
}
