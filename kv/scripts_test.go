package kv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/mutant"
)

// script is one for each way of running it.
func script(name string, run func() error, mutants ...*mutant.Mutant) lab.Script {
	return lab.Script{Name: name, Run: func(*testing.T) error { return run() }, Mutants: mutants}
}

// scripts are interleavings and small cases, and the wrong versions that they notice. The lab
// does not, or not soon.
var scripts = lab.Scripts{
	script("late write", lateWrite, thawsEarly), script("late mover", lateMover, untagged),
	script("late delete", lateDelete, unclosed), script("late get", lateGet, skipsTable),
	script("late mover of a removed key", lateRemoved, skipsStateCheck),
	script("late swap", lateSwap, ignoresChange), script("late thaw", lateThaw),
	script("late sweep", lateSweep, endsWalk),
	script("equal fingerprints", fingerprintCollisions, unkeyed),
	script("direct get from a table that has moved", getFromMoved, takesMovedForEmpty),
	script("direct get from a frozen slot", getFromFrozen, passesFrozen),
	script("direct get of a torn item", getFromTorn, takesTorn),
	script("direct write to a table that has moved", writeToMoved, takesMovedForEmpty),
	script("direct write to a frozen slot", writeToFrozen, passesFrozen),
	{Name: "direct write that loses its swap", Run: writeLoses,
		Mutants: []*mutant.Mutant{ignoresLost}},
	{Name: "direct write that is read at once", Run: writeIsRead,
		Mutants: []*mutant.Mutant{writesLate}},
	script("versions", versionsDiffer, unversioned, useSticks),
	script("uses", usesDiffer, unversioned, useSticks),
	script("items", everySequence, unversioned, anyMark, givesTwice, revives, sweepsUsed,
		sweepsHeld),
}

func TestLabScripts(t *testing.T) {
	for _, m := range []*mark.Mark{lateMove, keyChanged, changesArrived, closesOldTable,
		staleTable, fingerprintCollision, directSwap, directSwapped} {
		m.Claim(t)
	}
	scripts.Run(t)
}

// overMemory runs fn with a map of one rank that has one key, whose gets are direct.
func overMemory(fn func(m *Map, key []byte) error) error {
	cfg := Config{SlotsPerRank: 8, MaxSlotsPerRank: 8, BytesPerRank: 1 << 12, MaxKey: 8,
		MaxValue: 8}
	return withMap(engines[0], 1, cfg, func(m *Map) error {
		key := []byte("key")
		_, err := m.Put(key, []byte("old"))
		return errors.Join(err, fn(m, key))
	})
}

// getFromMoved has a rank get from a table that has moved, which it does not know.
func getFromMoved() error {
	for _, batch := range []bool{false, true} {
		err := overMemory(func(m *Map, key []byte) error {
			before := m.latest.Load()
			err := moveTable(m, 0)
			m.latest.Store(before)
			return errors.Join(err, checkGet(m, key, batch))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// getFromFrozen has a rank get when the slot of its key is frozen, and when it has moved.
func getFromFrozen() error {
	for _, batch := range []bool{false, true} {
		err := overMemory(func(m *Map, key []byte) error {
			s, v, err := paused(m, key, stageItem)
			err = errors.Join(err, checkGet(m, key, batch), runUntil(s.q, v, never),
				checkGet(m, key, batch))
			m.pool.Give(s, false)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkGet makes sure of the value of a key.
func checkGet(m *Map, key []byte, batch bool) error {
	if !batch {
		return has(m, key, "old")
	}
	calls := []Call{{Kind: Get, Key: key}, {Kind: Get, Key: []byte("nowhere")}}
	err := m.Batch(calls)
	if err == nil && (string(calls[0].Value) != "old" || calls[1].Done) {
		err = fmt.Errorf("a batch gets %q, and %v for a key that is nowhere", calls[0].Value,
			calls[1].Done)
	}
	return err
}

// getFromTorn: an item whose seal is not that of the word of its slot is not returned, and the
// call is not changed.
func getFromTorn() error {
	key, value := []byte("key of some length"), []byte("a value of several words")
	return withMap(engines[0], 1, small(false), func(m *Map) error {
		if _, err := m.Put(key, value); err != nil {
			return err
		}
		g := directCall{call: &Call{Key: key}}
		table := m.latestTable()
		if !m.startAtHome(&table, &g) || !m.findCandidate(&table, &g) {
			return errors.New("the key is not found")
		}
		it := m.itemIn(g.word)
		for i := sealWord; i < itemWords(len(key), len(value)); i++ {
			c := Call{Kind: Get, Key: key, Value: []byte("before")}
			it[i] ^= 1 << 20
			if m.tryDirect(&c) || c.Done || string(c.Value) != "before" {
				return fmt.Errorf("word %d is broken, and the call is %+v", i, c)
			}
			it[i] ^= 1 << 20
			if !m.tryDirect(&c) || !c.Done || string(c.Value) != "before"+string(value) {
				return fmt.Errorf("the item is whole, and the call is %+v", c)
			}
		}
		return nil
	})
}
