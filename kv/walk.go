package kv

import (
	"context"
	"errors"
	"iter"

	"github.com/farhash/farhash/internal/core"
)

// walker reads slots and items one after the other.
type walker struct {
	m     *Map
	slots *core.Reader
	slot  *core.Reader // of one slot
	items *core.Reader
}

// walkSlots is how many slots a walker reads at a time.
const walkSlots = 256

func (m *Map) walker() (*walker, error) {
	err := m.pool.Open()
	if err != nil {
		return nil, err
	}
	w, maxItem := &walker{m: m}, classWords(m.cfg.largest())
	slots, items := &m.batches.Regions, &m.direct.items
	w.slots, err = core.NewReader(m.job, m.slots, slots, walkSlots*m.stride)
	if err == nil {
		w.slot, err = core.NewReader(m.job, m.slots, slots, 1)
	}
	if err == nil {
		w.items, err = core.NewReader(m.job, m.items, items, maxItem)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *walker) close() error {
	return errors.Join(w.slots.Close(), w.slot.Close(), w.items.Close())
}

// each calls fn with every slot of a table and its word, until it returns false.
func (w *walker) each(ctx context.Context, t table,
	fn func(slot, word uint64) (bool, error)) (more bool, err error) {
	return w.slotsIn(ctx, t, 0, t.slots, fn)
}

// slotsIn is each for the slots from begin to before end.
func (w *walker) slotsIn(ctx context.Context, t table, begin, end uint64,
	fn func(slot, word uint64) (bool, error)) (more bool, err error) {
	m := w.m
	for at := begin; at < end; {
		rank, off, rest := m.place(t, at)
		n := min(rest, walkSlots, int(end-at))
		words, err := w.slots.Read(ctx, rank, off, n*m.stride)
		if err != nil {
			return false, err
		}
		for i := range n {
			if more, err := fn(at+uint64(i), words[i*m.stride]); !more || err != nil {
				return false, err
			}
		}
		at += uint64(n)
	}
	return true, nil
}

// tables calls fn with the slots that have a key in the latest table, and in those that it
// moves to meanwhile. A key that is there all the while comes at least once.
func (w *walker) tables(ctx context.Context,
	fn func(t table, slot, word uint64) (bool, error)) error {
	m := w.m
	for t := m.latestTable(); ; {
		more, err := w.each(ctx, t, func(slot, word uint64) (bool, error) {
			if word&occupied == 0 {
				return true, nil
			}
			return fn(t, slot, word)
		})
		if !more || err != nil || !m.grows() || endsWalk.On() {
			return err
		}
		s, err := m.state(ctx)
		switch {
		case err != nil:
			return err
		case s.gen() > t.gen:
			t = m.table(s.gen(), s.size())
		case s.gen() == t.gen && s.moving():
			t = m.table(s.gen()+1, s.nextSize())
		default:
			return nil
		}
	}
}

// item reads what a word refers to. fits is false when that is another item by now.
func (w *walker) item(ctx context.Context, word uint64) (key, value []byte, fits bool, err error) {
	rank, off := w.m.arena.locate(itemOf(word).number)
	if rank >= int(w.m.ranks) || classOf(word) > w.m.cfg.largest() {
		return nil, nil, false, nil
	}
	it, err := w.items.Read(ctx, rank, off, classWords(classOf(word)))
	if err != nil {
		return nil, nil, false, err
	}
	_, k, v, ok := verify(word, it)
	if !ok {
		return nil, nil, false, nil
	}
	return unpack(nil, it[headWords:], k), unpack(nil, it[headWords+wordsOf(k):], v), true, nil
}

// word reads the word of one slot again.
func (w *walker) word(ctx context.Context, t table, slot uint64) (uint64, error) {
	rank, off, _ := w.m.place(t, slot)
	words, err := w.slot.Read(ctx, rank, off, 1)
	if err != nil {
		return 0, err
	}
	return words[0], nil
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// All iterates over the keys of all ranks and their values, in no particular order. A key that is
// there from the beginning to the end comes once, with a value that it has had meanwhile. A key
// that is put or deleted meanwhile may come. The loop may keep the pairs, and call the map. Where
// the table can move, All keeps 16 bytes for each key that has come.
func (m *Map) All(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		w, err := m.walker()
		if err != nil {
			yield(Pair{}, err)
			return
		}
		defer w.close()
		visited := map[[2]uint64]bool{} // hashes of keys, which are found again after a move
		more := true
		err = w.tables(ctx, func(t table, slot, word uint64) (bool, error) {
			p, there, err := w.pair(ctx, t, slot, word)
			if !there || err != nil {
				return true, err
			}
			if m.grows() {
				hashes := hashTwice(p.Key)
				if visited[hashes] {
					return true, nil
				}
				visited[hashes] = true
			}
			more = yield(p, nil)
			return more, nil
		})
		if err != nil && more {
			yield(Pair{}, err)
		}
	}
}

// pair reads the key of a slot and its value, and the slot again where its item has changed.
func (w *walker) pair(ctx context.Context, t table, slot, word uint64) (p Pair, there bool,
	err error) {
	for word&occupied != 0 && word&removed == 0 {
		key, value, fits, err := w.item(ctx, word)
		if err != nil || fits {
			return Pair{key, value}, fits, err
		}
		if word, err = w.word(ctx, t, slot); err != nil {
			return Pair{}, false, err
		}
	}
	return Pair{}, false, nil
}

// hashTwice returns two hashes of a key.
func hashTwice(key []byte) [2]uint64 {
	packed := make([]uint64, wordsOf(len(key)))
	pack(packed, key)
	return [2]uint64{hashKey(packed, len(key)), hashWords(^uint64(len(key)), packed)}
}

// Len counts the keys. It reads every slot, and every item if the table moves meanwhile.
func (m *Map) Len(ctx context.Context) (uint64, error) {
	w, err := m.walker()
	if err != nil {
		return 0, err
	}
	defer w.close()
	keys, first := uint64(0), m.latestTable()
	moving := false
	err = w.tables(ctx, func(t table, _, word uint64) (bool, error) {
		if word&removed == 0 {
			keys++
		}
		moving = moving || t != first
		return true, nil
	})
	if !moving || err != nil {
		return keys, err
	}
	keys = 0
	for _, err := range m.All(ctx) {
		if err != nil {
			return 0, err
		}
		keys++
	}
	return keys, nil
}
