package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// moverStops are where a direct mover may be stopped by the system.
var moverStops = []*mark.Mark{moverReads, moverRead, moverPlaced, moverMoved}

// stopped runs fn with a map of one rank that has two keys with the same home, at each place where
// a direct mover may stop that has the first of them.
func stopped(t *testing.T, fn func(m *Map, stop *mark.Mark, key []byte) error) error {
	mark.Need(t)
	for _, copies := range []bool{false, true} {
		for _, stop := range moverStops {
			cfg := Config{Slots: 16, MaxSlots: 16, Bytes: 1 << 12, MaxKey: 8, MaxValue: 8,
				Copies: copies}
			err := withMap(engines[0], 1, cfg, func(m *Map) error {
				key := []byte("key")
				_, err := m.Put(key, []byte("old"))
				other := sameHome(m, key)
				_, e := m.Put(other, []byte("other"))
				err = errors.Join(err, e, fn(m, stop, key), has(m, other, "other"), sound(m))
				if m.wordOf(other) == 0 { // a direct search ends at a frozen slot
					err = errors.Join(err, errors.New("a slot is still frozen"))
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("%v, copies %v: %w", stop, copies, err)
			}
		}
	}
	return nil
}

// overtaken has calls change the key while a direct mover stops with it, and another mover move it.
func overtaken(t *testing.T) error {
	acts := []struct {
		name, want string
		do         func(m *Map, key []byte) error
	}{
		{"get", "old", func(m *Map, key []byte) error { return has(m, key, "old") }},
		{"put", "new", func(m *Map, key []byte) error { return change(m, key, "new", false) }},
		{"delete", "", func(m *Map, key []byte) error { return change(m, key, "", true) }},
		{"delete and put", "new", func(m *Map, key []byte) error {
			return errors.Join(change(m, key, "", false), change(m, key, "new", true))
		}},
		{"mover", "old", func(m *Map, key []byte) error {
			s, v, err := paused(m, key, stageStart)
			err = errors.Join(err, runUntil(s.q, v, never), s.settle())
			giveBack(s)
			return err
		}},
		{"mover and put", "new", func(m *Map, key []byte) error {
			return errors.Join(moveTable(m, 0), change(m, key, "new", false))
		}},
	}
	for _, act := range acts {
		err := stopped(t, func(m *Map, stop *mark.Mark, key []byte) error {
			return errors.Join(at(t, stop, func() error { return act.do(m, key) },
				func() error { return moveTable(m, 0) }), holds(m, key, act.want))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", act.name, err)
		}
	}
	return nil
}

// wakesLate has a direct mover sleep until the table has moved several times.
func wakesLate(t *testing.T) error {
	for _, moves := range []int{1, 2, 3, 4} {
		for _, value := range []string{"old", "new", ""} {
			err := stopped(t, func(m *Map, stop *mark.Mark, key []byte) error {
				return errors.Join(at(t, stop, func() (err error) {
					for range moves {
						err = errors.Join(err, moveTable(m, 0))
					}
					return errors.Join(err, change(m, key, value, false))
				}, func() error { return moveTable(m, 0) }), holds(m, key, value))
			})
			if err != nil {
				return fmt.Errorf("%d moves, %q: %w", moves, value, err)
			}
		}
	}
	return nil
}

// writesBetween has a write that takes the third table for the first one come while a direct mover
// has placed its key there, and the second table has it still.
func writesBetween(t *testing.T) error {
	mark.Need(t)
	return overMemory(func(m *Map, key []byte) error {
		s, err := m.session()
		if err != nil {
			return err
		}
		o, c := &s.ops[0], Call{Kind: Put, Key: key, Value: []byte("new")}
		o.start(&c)
		err = runUntil(s.q, o, func() bool { return o.step == stepCompare })
		err = errors.Join(err, moveTable(m, 0), at(t, moverPlaced, func() error {
			err := runUntil(s.q, o, never)
			if o.need.what != needNothing {
				_, err = m.Put(key, c.Value)
			}
			return errors.Join(err, has(m, key, "new"))
		}, func() error { return moveTable(m, 0) }), has(m, key, "new"))
		giveBack(s)
		return err
	})
}

// readsReused has a direct mover read an item that has been used again for another key.
func readsReused(t *testing.T) error {
	return stopped(t, func(m *Map, _ *mark.Mark, key []byte) error {
		word := m.wordOf(key)
		it := m.itemIn(word)
		is := slices.Clone(it)
		err := at(t, moverReads, func() error {
			err := moveTable(m, 0)
			writeItem(it, word, []byte("third"), []byte("x"))
			return err
		}, func() error { return moveTable(m, 0) })
		copy(it, is)
		return err
	})
}

// movesRemoved has a direct mover free the items of removed keys, this rank's and those of another
// rank, which it tells.
func movesRemoved() error {
	ctx := context.Background()
	return withMap(engines[0], 2, small(false), func(m *Map) error {
		_, err := m.Put([]byte{byte(m.job.Rank())}, []byte("old"))
		err = errors.Join(err, m.job.Barrier(ctx))
		if m.job.Rank() == 0 {
			for other := range 2 {
				_, e := m.Delete([]byte{byte(other)})
				err = errors.Join(err, e)
			}
			err = errors.Join(err, moveTable(m, 0))
		}
		if err = errors.Join(err, m.job.Barrier(ctx)); err == nil {
			_, err = m.arena.collect(0, 0)
		}
		for unit := range m.arena.divided.Load() {
			if u := m.arena.load(unit); u.state() == itemInTable {
				err = errors.Join(err, fmt.Errorf("rank %d: unit %d is in no slot and not free",
					m.job.Rank(), unit))
			}
		}
		return errors.Join(err, m.job.Barrier(ctx))
	})
}

// movesCopies has a direct mover move a pair that has a copy in its slot, and one that is too large
// for it.
func movesCopies() error {
	return withMap(engines[0], 1, small(true), func(m *Map) error {
		values := map[string]bool{"short": true, "this value is longer than a copy.": false}
		for value, copied := range values {
			key := []byte("key")
			_, err := m.Put(key, []byte(value))
			if err = errors.Join(err, moveTable(m, 0), has(m, key, value)); err != nil {
				return err
			}
			t := m.latest.Load()
			rank, off, _ := t.place(t.slotAt(hashOf(key), 0))
			slot := m.slots.Words(rank)[off : off+m.stride]
			if _, _, ok := readCopy(slot, hashOf(key)); ok != copied {
				return fmt.Errorf("after a move the slot has a copy of %q: %v", value, ok)
			}
		}
		return m.Check(context.Background())
	})
}

// A direct mover says that slots are left whose items are on another host, and a mover moves them.
func TestDirectMoverLeavesSlots(t *testing.T) {
	ctx := context.Background()
	for _, e := range carriers {
		err := withMap(e, 2, moving(false), func(m *Map) (err error) {
			from, key := m.latest.Load(), []byte(nil)
			for i := 0; key == nil || m.owner(key) != 0; i++ {
				key = fmt.Appendf(nil, "%d", i)
			}
			if m.job.Rank() == 1 { // so that the item is there, and the slot is not
				_, err = m.Put(key, []byte("old"))
			}
			if err = errors.Join(err, m.job.Barrier(ctx)); err == nil && m.job.Rank() == 0 {
				now, stateErr := m.state(ctx)
				next, beginErr := m.begin(ctx, now, now.shape().size())
				_, into := m.tables(next)
				d := directMover{m: m, from: from, into: into,
					doneWord: movedWord(from.gen, into.shape)}
				left := d.movePart(m.partAt(from, from.slotAt(hashOf(key), 0)))
				if left != someLeft {
					err = fmt.Errorf("a part whose item is elsewhere has outcome %d", left)
				}
				err = errors.Join(stateErr, beginErr, err, moveTable(m, 0), has(m, key, "old"))
			}
			return errors.Join(err, m.CheckAll(ctx), m.job.Barrier(ctx))
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
