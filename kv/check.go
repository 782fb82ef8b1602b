package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/farhash/farhash/internal/core"
)

// checker is what Check has read.
type checker struct {
	m     *Map
	w     *walker
	keys  map[string]slotRead // where they are
	items map[uint64]string   // keys, by the number of their item
	units map[uint64]uint64   // the end of each item, by its number

	faults core.Faults
}

// CheckAll waits for all ranks, runs Check on one of them, as it walks the whole map, and reports
// to all whether it was clean. Collective.
func (m *Map) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, m.job, "kv", func(ctx context.Context) error {
		if m.job.Rank() > 0 {
			return nil
		}
		return m.Check(ctx)
	})
}

// Check walks the map and reports what is broken. Nobody may change the map at the same time,
// except a map opened by name, where only what several walks find is reported. If the table is
// moving, because a rank that moved it has died, both are walked.
func (m *Map) Check(ctx context.Context) error {
	if m.shared == nil {
		return m.check(ctx)
	}
	return core.CheckBeside(func() error {
		return m.fault.Guard(func() error { return m.check(ctx) })
	})
}

// check is Check of a map that does not change.
func (m *Map) check(ctx context.Context) error {
	w, err := m.walker(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	c := checker{m: m, w: w, keys: map[string]slotRead{}, items: map[uint64]string{},
		units:  map[uint64]uint64{},
		faults: core.Faults{Table: "kv"}}
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	from, into := m.tables(now)
	c.table(from, now.moving())
	switch {
	case now.moving():
		c.table(into, false)
	case m.takeMemory == nil:
		for area := range m.areas {
			if area != from.shape.area() {
				c.empty(m.table(from.gen+1, newShape(from.shape.size(), area)))
			}
		}
	case from.gen > 1: // the table before has memory
		c.empty(m.table(from.gen+1, now.other()))
	}
	if w.err != nil {
		return w.err
	}
	c.overlaps()
	return c.faults.Err()
}

// overlaps makes sure that no two items of keys have a unit in common.
func (c *checker) overlaps() {
	numbers := slices.Sorted(maps.Keys(c.units))
	for i := range numbers[:max(1, len(numbers))-1] {
		if end, next := c.units[numbers[i]], numbers[i+1]; end > next {
			c.faults.Add("the items of the keys %x and %x overlap: one ends at unit %d, the other "+
				"begins at %d", c.items[numbers[i]], c.items[next], end, next)
		}
	}
}

// table checks a table, which may be moving to the next one.
func (c *checker) table(t *table, moving bool) {
	words := make([]uint64, 0, t.slots)
	for s := range c.w.table(t, 0, t.slots) {
		words = append(words, s.word)
	}
	for slot, word := range words {
		from := movedFrom(word)
		switch {
		case c.w.err != nil:
			return
		case word&occupied != 0:
			if err := c.slot(words, slotRead{t, uint64(slot), word}, moving); err != nil {
				c.faults.Add("%w", err)
			}
		case from > t.gen || from == t.gen && !moving:
			c.faults.Add("slot %d of table %d has moved from table %d", slot, t.gen, from)
		}
	}
}

// slot checks a slot with a key. The error is its first fault.
func (c *checker) slot(words []uint64, s slotRead, moving bool) error {
	p, fits := c.w.item(s.word)
	if c.w.err != nil {
		return nil // which ends the check
	}
	if !fits {
		return fmt.Errorf("slot %d refers with %#x to an item that is not its own", s.slot, s.word)
	}
	if c.m.shared != nil && !c.m.arena.has(s.word) {
		return fmt.Errorf("slot %d refers with %#x to an item that others may take", s.slot, s.word)
	}
	if from := compareFrozen(s.word, s.t.gen); s.word&frozen != 0 &&
		(from > 0 || from == 0 && !moving) {
		return fmt.Errorf("slot %d of table %d is frozen with %#x", s.slot, s.t.gen, s.word)
	}
	hash := hashOf(p.Key)
	word := thaw(s.word, hash)
	if err := c.m.checkPlace(s.t, words, s.slot, word, p.Key); err != nil {
		return err
	}
	key, number := string(p.Key), itemOf(word).number
	other, twice := c.keys[key]
	moves := other.word&frozen != 0 && compareFrozen(other.word, other.t.gen) == 0
	switch {
	case twice && (!moves || other.t == s.t || thaw(other.word, hash) != word):
		return fmt.Errorf("slots %d of table %d and %d of table %d have the same key %x",
			other.slot, other.t.gen, s.slot, s.t.gen, key)
	case c.items[number] != "" && !twice:
		return fmt.Errorf("the keys %x and %x refer to the same item, %#x", c.items[number], key,
			word)
	}
	c.keys[key], c.items[number] = s, key
	c.units[number] = number + classUnits(classOf(word))
	return nil
}

// empty makes sure that a table has no key.
func (c *checker) empty(t *table) {
	for s := range c.w.table(t, 0, t.slots) {
		if s.word&occupied != 0 || movedFrom(s.word) >= t.gen {
			c.faults.Add("slot %d of table %d, which is not used yet, has %#x", s.slot,
				t.gen, s.word)
		}
	}
}

// checkPlace makes sure that a search finds the key in its slot.
func (m *Map) checkPlace(t *table, words []uint64, slot, word uint64, key []byte) error {
	hash := hashOf(key)
	if word&matchMask != matchWord(hash) {
		return fmt.Errorf("slot %d has the fingerprint of another key than %x", slot, key)
	}
	for d := uint64(0); ; d++ {
		at := t.slotAt(hash, d)
		if at == slot {
			return nil
		}
		if means := meaningOf(words[at], hash, t.gen); means == slotEmpty || means == slotClosed {
			return fmt.Errorf("slot %d is empty, before key %x in slot %d", at, key, slot)
		}
	}
}

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
	t    *table
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
		w.items, err = core.NewReader(m.job, m.items, &m.regions, maxItem)
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
func (w *walker) table(t *table, begin, end uint64) iter.Seq[slotRead] {
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
// at the same time. A key that is there all the while comes at least once.
func (w *walker) keys() iter.Seq[slotRead] {
	return func(yield func(slotRead) bool) {
		for t := w.m.latest.Load(); ; {
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

// count calls each for every slot that keys iterates over. It counts them, and how many of these
// have removed keys, and returns the last table that has any.
func (m *Map) count(ctx context.Context, each func(s slotRead)) (taken, removedOnes uint64,
	last *table, err error) {
	last = m.latest.Load()
	err = m.fault.Guard(func() error {
		w, err := m.walker(ctx)
		if err != nil {
			return err
		}
		defer w.close()
		for s := range w.keys() {
			taken++
			removedOnes += s.word / removed & 1
			last = s.t
			each(s)
		}
		return w.err
	})
	return taken, removedOnes, last, err
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
	_, key, value, fits := verify(word, it)
	return Pair{slices.Clone(key), slices.Clone(value)}, fits
}

// pair reads the key of a slot and its value, and the slot again if its item has changed. An item
// that is not that of its slot, which does not change, is damaged.
func (w *walker) pair(s slotRead) (p Pair, there bool) {
	for same := 0; w.err == nil && s.word&occupied != 0 && s.word&removed == 0; {
		if p, there = w.item(s.word); there {
			return p, true
		}
		rank, off, _ := s.t.place(s.slot)
		words := w.read(w.slots, rank, off, 1)
		switch {
		case w.err != nil:
		case words[0] != s.word:
			s.word, same = words[0], 0
		case same == maxSame:
			w.err = fmt.Errorf("kv: slot %d of table %d refers with %#x to an item that is "+
				"damaged; Check says what else is", s.slot, s.t.gen, s.word)
		default:
			same++
		}
	}
	return Pair{}, false
}

// maxSame is how often a slot is read that has the same word each time, and not the item of it.
const maxSame = 3
