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
	ctx   context.Context
	slots *core.Reader
	items *core.Reader
	err   error // the first one: it ends what iterates
}

// slotRead is a slot of a table, and its word as read.
type slotRead struct {
	t    table
	slot uint64
	word uint64
}

// walkSlots is how many slots a walker reads at a time.
const walkSlots = 256

func (m *Map) walker(ctx context.Context) (*walker, error) {
	err := m.pool.Open()
	if err != nil {
		return nil, err
	}
	w, maxItem := &walker{m: m, ctx: ctx}, classWords(m.cfg.largest())
	w.slots, err = core.NewReader(m.job, m.slots, &m.batches.Regions, walkSlots*m.stride)
	if err == nil {
		w.items, err = core.NewReader(m.job, m.items, &m.direct.items, maxItem)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *walker) close() error {
	return errors.Join(w.slots.Close(), w.items.Close())
}

// read reads words. After an error there are none.
func (w *walker) read(r *core.Reader, rank, off, n int) (words []uint64) {
	if w.err == nil {
		words, w.err = r.Read(w.ctx, rank, off, n)
	}
	return words
}

// table iterates over the slots of a table from begin to before end.
func (w *walker) table(t table, begin, end uint64) iter.Seq[slotRead] {
	return func(yield func(slotRead) bool) {
		var words []uint64 // a copy: the loop may read a slot again
		for at := begin; at < end; {
			rank, off, rest := t.place(at)
			n := min(rest, walkSlots, int(end-at))
			words = append(words[:0], w.read(w.slots, rank, off, n*w.m.stride)...)
			if w.err != nil {
				return
			}
			for i := range n {
				if !yield(slotRead{t, at + uint64(i), words[i*w.m.stride]}) {
					return
				}
			}
			at += uint64(n)
		}
	}
}

// keys iterates over the slots that have a key in the latest table, and in those that it moves to
// meanwhile. A key that is there all the while comes at least once.
func (w *walker) keys() iter.Seq[slotRead] {
	return func(yield func(slotRead) bool) {
		for t := w.m.latestTable(); ; {
			for s := range w.table(t, 0, t.slots) {
				if s.word&occupied != 0 && !yield(s) {
					return
				}
			}
			if w.err != nil {
				return
			}
			var now state
			now, w.err = w.m.state(w.ctx)
			from, into := w.m.tables(now)
			switch {
			case w.err != nil:
				return
			case from.gen > t.gen:
				t = from
			case from.gen == t.gen && now.moving():
				t = into
			default:
				return
			}
		}
	}
}

// item reads what a word refers to. fits is false when that is another item by now.
func (w *walker) item(word uint64) (p Pair, fits bool) {
	rank, off, n := w.m.locateItem(word)
	if n == 0 {
		return Pair{}, false
	}
	it := w.read(w.items, rank, off, n)
	if w.err != nil {
		return Pair{}, false
	}
	_, k, v, ok := verify(word, it)
	if !ok {
		return Pair{}, false
	}
	return Pair{unpack(nil, it[headWords:], k), unpack(nil, it[headWords+wordsOf(k):], v)}, true
}

// pair reads the key of a slot and its value, and the slot again where its item has changed.
func (w *walker) pair(s slotRead) (p Pair, there bool) {
	for w.err == nil && s.word&occupied != 0 && s.word&removed == 0 {
		if p, there = w.item(s.word); there {
			return p, true
		}
		rank, off, _ := s.t.place(s.slot)
		if words := w.read(w.slots, rank, off, 1); w.err == nil {
			s.word = words[0]
		}
	}
	return Pair{}, false
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// All iterates over the keys of all ranks and their values, in no particular order. A key that is
// there from the beginning to the end comes once, with a value that it has had meanwhile. A key
// that is put or deleted meanwhile may come. The loop may keep the pairs, and call the map. All
// keeps 16 bytes for each key that has come.
func (m *Map) All(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		visited := map[[2]uint64]bool{} // hashes of keys, which are found again after a move
		for p, err := range m.pairs(ctx, (*walker).keys) {
			if err == nil {
				hashes := [2]uint64{hashOf(p.Key), hashBytes(^uint64(len(p.Key)), p.Key)}
				if visited[hashes] {
					continue
				}
				visited[hashes] = true
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// pairs iterates over the keys in the slots of a walker, and their values.
func (m *Map) pairs(ctx context.Context,
	slots func(w *walker) iter.Seq[slotRead]) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		w, err := m.walker(ctx)
		if err != nil {
			yield(Pair{}, err)
			return
		}
		defer w.close()
		for s := range slots(w) {
			p, there := w.pair(s)
			if w.err != nil {
				break
			}
			if there && !yield(p, nil) {
				return
			}
		}
		if w.err != nil {
			yield(Pair{}, w.err)
		}
	}
}

// Len counts the keys. It reads every slot, and every item if the table moves meanwhile.
func (m *Map) Len(ctx context.Context) (uint64, error) {
	w, err := m.walker(ctx)
	if err != nil {
		return 0, err
	}
	defer w.close()
	keys, first := uint64(0), m.latestTable()
	moving := false
	for s := range w.keys() {
		if s.word&removed == 0 {
			keys++
		}
		moving = moving || s.t != first
	}
	if !moving || w.err != nil {
		return keys, w.err
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
