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
	keys  map[string]place  // where their words are
	items map[uint64]string // keys, by the number of their item
}

// place is where a word is.
type place struct {
	t    table
	slot uint64
	word uint64 // not frozen
	old  bool   // it is frozen, in a table that moves
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
	w, err := m.walker()
	if err != nil {
		return err
	}
	defer w.close()
	c := checker{m, w, map[string]place{}, map[uint64]string{}}
	if !m.grows() {
		return c.table(ctx, m.latestTable(), false)
	}
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	if err := c.table(ctx, m.table(now.gen(), now.size()), now.moving()); err != nil {
		return err
	}
	if now.moving() {
		return c.table(ctx, m.table(now.gen()+1, now.nextSize()), false)
	}
	return c.empty(ctx, m.table(now.gen()+1, now.size()))
}

// table checks a table, which may be moving to the next one.
func (c *checker) table(ctx context.Context, t table, moving bool) error {
	words := make([]uint64, 0, t.slots)
	collect := func(_, word uint64) (bool, error) { words = append(words, word); return true, nil }
	if _, err := c.w.each(ctx, t, collect); err != nil {
		return err
	}
	for slot, word := range words {
		if word&occupied == 0 {
			if movedFrom(word) > t.gen || movedFrom(word) == t.gen && !moving {
				return fmt.Errorf("kv: slot %d of table %d has moved from table %d", slot, t.gen,
					movedFrom(word))
			}
			continue
		}
		if err := c.slot(ctx, words, place{t, uint64(slot), word, false}, moving); err != nil {
			return err
		}
	}
	return nil
}

// slot checks a slot with a key.
func (c *checker) slot(ctx context.Context, words []uint64, p place, moving bool) error {
	key, _, fits, err := c.w.item(ctx, p.word)
	if err != nil {
		return err
	}
	if !fits {
		return fmt.Errorf("kv: slot %d refers with %#x to an item that is not its own", p.slot,
			p.word)
	}
	if p.word&frozen != 0 {
		relation := frozenRelation(p.word, p.t.gen)
		if relation == fromLater || relation == fromThis && !moving {
			return fmt.Errorf("kv: slot %d of table %d is frozen with %#x", p.slot, p.t.gen,
				p.word)
		}
		p.old = frozenRelation(p.word, p.t.gen) == fromThis
		p.word = thaw(p.word, hashTwice(key)[0])
	}
	if err := c.m.checkPlace(p.t, words, p.slot, p.word, key); err != nil {
		return err
	}
	number := itemOf(p.word).number
	other, twice := c.keys[string(key)]
	switch {
	case twice && (!other.old || other.t == p.t || other.word != p.word):
		return fmt.Errorf("kv: slots %d of table %d and %d of table %d have the same key %x",
			other.slot, other.t.gen, p.slot, p.t.gen, key)
	case c.items[number] != "" && !twice:
		return fmt.Errorf("kv: the keys %x and %x refer to the same item %d", c.items[number], key,
			number)
	}
	c.keys[string(key)], c.items[number] = p, string(key)
	return nil
}

// empty makes sure that a table has no key.
func (c *checker) empty(ctx context.Context, t table) error {
	_, err := c.w.each(ctx, t, func(slot, word uint64) (bool, error) {
		if word&occupied != 0 || movedFrom(word) >= t.gen {
			return false, fmt.Errorf("kv: slot %d of table %d, which is not used yet, has %#x",
				slot, t.gen, word)
		}
		return true, nil
	})
	return err
}

// checkPlace makes sure that a search finds the key in its slot.
func (m *Map) checkPlace(t table, words []uint64, slot, word uint64, key []byte) error {
	hash := hashTwice(key)[0]
	if word&matchMask != matchWord(hash) {
		return fmt.Errorf("kv: slot %d has the fingerprint of another key than %x", slot, key)
	}
	for d := uint64(0); ; d++ {
		at := m.slotAt(t, hash, d)
		if at == slot {
			return nil
		}
		if words[at]&occupied == 0 && (movedFrom(words[at]) < t.gen || words[at]&wasEmpty != 0) {
			return fmt.Errorf("kv: slot %d is empty, before key %x in slot %d", at, key, slot)
		}
	}
}
