package nessie

import (
	"bytes"
	"context"
)

// Entry is what a slot has.
type Entry struct {
	Key, Value []byte
	Primary    bool // it is the primary slot of the key
	Valid      bool // the flag is on
	Owner      int  // the rank of the item
}

// Entries are the slots that are taken and whose items are whole, in their order. Nobody may change
// the table during the call.
func (t *Table) Entries(ctx context.Context) (all []Entry, err error) {
	err = t.walk(ctx, func(w *walker, slot, word uint64) error {
		if empty(word) {
			return nil
		}
		rank, off := t.arena.locate(itemOf(word))
		if err := w.get(ctx, w.item, t.items, rank, off); err != nil {
			return err
		}
		var c content
		if c.read(w.item, word); !c.whole {
			return nil
		}
		p, _ := t.slotsOf(c.key)
		all = append(all, Entry{Key: bytes.Clone(c.key), Value: bytes.Clone(c.value),
			Primary: p == slot, Valid: c.valid, Owner: rank})
		return nil
	})
	return all, err
}
