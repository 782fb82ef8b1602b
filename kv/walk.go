package kv

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// walker reads slots and items one after the other.
type walker struct {
	m     *Map
	q     rma.Queue
	chunk rma.Buf
	it    rma.Buf
}

// walkSlots is how many slots a walker reads at a time.
const walkSlots = 256

func (m *Map) walker() (*walker, error) {
	if err := m.pool.Open(); err != nil {
		return nil, err
	}
	q, err := m.job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	w := &walker{m: m, q: q}
	if w.chunk, err = q.Alloc(walkSlots * m.stride); err == nil {
		w.it, err = q.Alloc(classWords(m.cfg.largest()))
	}
	if err != nil {
		_ = q.Close()
		return nil, err
	}
	return w, nil
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

// each calls fn with every slot's place and word, until it returns false.
func (w *walker) each(ctx context.Context, fn func(slot, word uint64) (bool, error)) error {
	m := w.m
	for at := uint64(0); at < m.total; {
		rank, off, rest := m.place(at)
		n := min(rest, walkSlots)
		if err := w.get(ctx, w.chunk[:n*m.stride], m.slots, rank, off); err != nil {
			return err
		}
		for i := range n {
			if more, err := fn(at+uint64(i), w.chunk[i*m.stride]); !more || err != nil {
				return err
			}
		}
		at += uint64(n)
	}
	return nil
}

// item reads what a word refers to. fits is false when that is another item by now.
func (w *walker) item(ctx context.Context, word uint64) (key, value []byte, fits bool, err error) {
	rank, off := w.m.arena.locate(itemOf(word).number)
	if rank >= int(w.m.ranks) || classOf(word) > w.m.cfg.largest() {
		return nil, nil, false, nil
	}
	it := w.it[:classWords(classOf(word))]
	if err := w.get(ctx, it, w.m.items, rank, off); err != nil {
		return nil, nil, false, err
	}
	k, v, ok := sizes(it)
	if !ok || seal(word, it, itemWords(k, v)) != it[sealWord] {
		return nil, nil, false, nil
	}
	return unpack(nil, it[headWords:], k), unpack(nil, it[headWords+wordsOf(k):], v), true, nil
}

// slot reads one slot again.
func (w *walker) slot(ctx context.Context, slot uint64) (uint64, error) {
	rank, off, _ := w.m.place(slot)
	err := w.get(ctx, w.it[:1], w.m.slots, rank, off)
	return w.it[0], err
}

// Range calls fn with every key and its value, until fn returns false. A key that is there
// from the beginning to the end comes once, with a value that it has had meanwhile; one that
// is put or deleted meanwhile may come. fn may keep what it is given, and call the map.
func (m *Map) Range(ctx context.Context, fn func(key, value []byte) bool) error {
	w, err := m.walker()
	if err != nil {
		return err
	}
	defer w.q.Close()
	return w.each(ctx, func(slot, word uint64) (bool, error) {
		for word != 0 && word&removed == 0 {
			key, value, fits, err := w.item(ctx, word)
			if err != nil {
				return false, err
			}
			if fits {
				return fn(key, value), nil
			}
			if word, err = w.slot(ctx, slot); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// Len counts the keys. It reads every slot.
func (m *Map) Len(ctx context.Context) (uint64, error) {
	n, _, err := m.count(ctx)
	return n, err
}

// count counts the keys, and the slots that are taken.
func (m *Map) count(ctx context.Context) (keys, taken uint64, err error) {
	w, err := m.walker()
	if err != nil {
		return 0, 0, err
	}
	defer w.q.Close()
	err = w.each(ctx, func(_, word uint64) (bool, error) {
		if word != 0 {
			taken++
		}
		if word != 0 && word&removed == 0 {
			keys++
		}
		return true, nil
	})
	return keys, taken, err
}

// Check walks the map and reports the first thing that is broken. Nobody may change the map
// meanwhile.
func (m *Map) Check(ctx context.Context) error {
	w, err := m.walker()
	if err != nil {
		return err
	}
	defer w.q.Close()
	words := make([]uint64, 0, m.total)
	collect := func(_, word uint64) (bool, error) { words = append(words, word); return true, nil }
	if err := w.each(ctx, collect); err != nil {
		return err
	}
	keys, items := map[string]uint64{}, map[uint64]uint64{}
	for slot, word := range words {
		if word == 0 {
			continue
		}
		key, _, fits, err := w.item(ctx, word)
		if err != nil {
			return err
		}
		if !fits {
			return fmt.Errorf("kv: slot %d refers with %#x to an item that is not its own", slot,
				word)
		}
		if err := m.checkPlace(words, uint64(slot), key); err != nil {
			return err
		}
		if other, twice := keys[string(key)]; twice {
			return fmt.Errorf("kv: slots %d and %d have the same key %x", other, slot, key)
		}
		number := itemOf(word).number
		if other, twice := items[number]; twice {
			return fmt.Errorf("kv: slots %d and %d refer to the same item %d", other, slot, number)
		}
		keys[string(key)], items[number] = uint64(slot), uint64(slot)
	}
	return nil
}

// checkPlace makes sure that a search finds the key in its slot.
func (m *Map) checkPlace(words []uint64, slot uint64, key []byte) error {
	packed := make([]uint64, wordsOf(len(key)))
	pack(packed, key)
	hash := hashKey(packed, len(key))
	if words[slot]&lookMask != lookFor(hash) {
		return fmt.Errorf("kv: slot %d has the fingerprint of another key than %x", slot, key)
	}
	for d := uint64(0); ; d++ {
		at := m.slotAt(hash, d)
		if at == slot {
			return nil
		}
		if words[at] == 0 {
			return fmt.Errorf("kv: slot %d is empty, before key %x in slot %d", at, key, slot)
		}
	}
}
