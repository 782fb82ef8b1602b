package kv

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
)

// checker is what Check has read.
type checker struct {
	m     *Map
	w     *walker
	keys  map[string]slotRead // where they are
	items map[uint64]string   // keys, by the number of their item
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

// Check walks the map and reports the first thing that is broken. Nobody may change the map
// meanwhile. If the table is moving, because a rank that moved it has died, both are walked.
func (m *Map) Check(ctx context.Context) error {
	w, err := m.walker(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	c := checker{m, w, map[string]slotRead{}, map[uint64]string{}}
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	from, into := m.tables(now)
	if err := c.table(from, now.moving()); err != nil {
		return err
	}
	if now.moving() {
		return c.table(into, false)
	}
	return c.empty(m.table(into.gen, from.size))
}

// table checks a table, which may be moving to the next one.
func (c *checker) table(t table, moving bool) error {
	words := make([]uint64, 0, t.slots)
	for s := range c.w.table(t, 0, t.slots) {
		words = append(words, s.word)
	}
	if c.w.err != nil {
		return c.w.err
	}
	for slot, word := range words {
		from := movedFrom(word)
		switch {
		case word&occupied != 0:
			if err := c.slot(words, slotRead{t, uint64(slot), word}, moving); err != nil {
				return err
			}
		case from > t.gen || from == t.gen && !moving:
			return fmt.Errorf("kv: slot %d of table %d has moved from table %d", slot, t.gen, from)
		}
	}
	return nil
}

// slot checks a slot with a key.
func (c *checker) slot(words []uint64, s slotRead, moving bool) error {
	p, fits := c.w.item(s.word)
	if c.w.err != nil {
		return c.w.err
	}
	if !fits {
		return fmt.Errorf("kv: slot %d refers with %#x to an item that is not its own", s.slot,
			s.word)
	}
	if from := compareFrozen(s.word, s.t.gen); s.word&frozen != 0 &&
		(from > 0 || from == 0 && !moving) {
		return fmt.Errorf("kv: slot %d of table %d is frozen with %#x", s.slot, s.t.gen, s.word)
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
		return fmt.Errorf("kv: slots %d of table %d and %d of table %d have the same key %x",
			other.slot, other.t.gen, s.slot, s.t.gen, key)
	case c.items[number] != "" && !twice:
		return fmt.Errorf("kv: the keys %x and %x refer to the same item %d", c.items[number], key,
			number)
	}
	c.keys[key], c.items[number] = s, key
	return nil
}

// empty makes sure that a table has no key.
func (c *checker) empty(t table) error {
	for s := range c.w.table(t, 0, t.slots) {
		if s.word&occupied != 0 || movedFrom(s.word) >= t.gen {
			return fmt.Errorf("kv: slot %d of table %d, which is not used yet, has %#x", s.slot,
				t.gen, s.word)
		}
	}
	return c.w.err
}

// checkPlace makes sure that a search finds the key in its slot.
func (m *Map) checkPlace(t table, words []uint64, slot, word uint64, key []byte) error {
	hash := hashOf(key)
	if word&matchMask != matchWord(hash) {
		return fmt.Errorf("kv: slot %d has the fingerprint of another key than %x", slot, key)
	}
	for d := uint64(0); ; d++ {
		at := t.slotAt(hash, d)
		if at == slot {
			return nil
		}
		if words[at]&occupied == 0 && (movedFrom(words[at]) < t.gen || words[at]&wasEmpty != 0) {
			return fmt.Errorf("kv: slot %d is empty, before key %x in slot %d", at, key, slot)
		}
	}
}
