package kv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
)

// script is one that reaches marks.
func script(name string, run func() error, marks ...*mark.Mark) lab.Script {
	return testScript(name, func(*testing.T) error { return run() }, marks...)
}

// testScript is one that needs its test.
func testScript(name string, run func(t *testing.T) error, marks ...*mark.Mark) lab.Script {
	return lab.Script{Name: name, Run: func(t *testing.T) error {
		for _, m := range marks {
			m.Claim(t)
		}
		return run(t)
	}}
}

// scripts are interleavings and small cases that random schedules do not find, or not soon.
var scripts = lab.Scripts{
	script("late write", lateWrite), script("late mover", lateMover, lateMove),
	script("late freeze", lateFreeze), script("late start", lateStart, lateHold),
	script("late delete", lateDelete), script("late get", lateGet, staleTable),
	script("late chunk", lateChunk, ofTwoTables),
	script("late swap", lateSwap, keyChanged),
	script("late thaw", lateThaw, closesOldTable, changesArrived),
	script("late thaw of an earlier move", lateThaws),
	script("late write to a key that arrives", lateArrival, changesArrived),
	script("late sweep", lateSweep),
	script("equal fingerprints", fingerprintCollisions, fingerprintCollision),
	script("direct get from a table that has moved", getFromMoved),
	script("direct get from a frozen slot", getFromFrozen),
	testScript("direct get of a torn item", getFromTorn, directRead, singleRead),
	testScript("direct get of an item whose use comes again", getFromReused, directRead,
		singleRead),
	script("direct write to a table that has moved", writeToMoved),
	script("direct write to a frozen slot", writeToFrozen),
	testScript("direct write that loses its swap", writeLoses, directSwap),
	testScript("direct write that is read at once", writeIsRead, directSwapped),
	testScript("direct add that loses its swap", addLoses, directSwap),
	testScript("direct mover that others overtake", overtaken, moverStops...),
	testScript("direct mover that wakes up late", wakesLate, moverStops...),
	testScript("direct mover and a late write", writesBetween, moverPlaced),
	testScript("direct mover of an item whose use has ended", readsReused, moverReads),
	script("direct mover and copies", movesCopies),
	script("direct mover and removed keys", movesRemoved),
	script("versions", versionsDiffer), script("uses", usesDiffer),
	script("items", everySequence),
}

func TestLabScripts(t *testing.T) { scripts.Run(t) }

// overMemory runs fn with a map of one rank that has one key, whose gets are direct.
func overMemory(fn func(m *Map, key []byte) error) error {
	cfg := Config{Slots: 8, MaxSlots: 8, Bytes: 1 << 12, MaxKey: 8,
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
			s, v, err := paused(m, key, stageChunk)
			err = errors.Join(err, checkGet(m, key, batch), runUntil(s.q, v, never),
				checkGet(m, key, batch))
			giveBack(s)
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

// ways to get a key directly, with the mark where each has begun to read its item.
var ways = []struct {
	name string
	read *mark.Mark
	get  func(m *Map, c *Call) error
}{
	{"Get", singleRead, func(m *Map, c *Call) (err error) {
		c.Value, c.Version, c.Done, err = m.Get(c.Key, c.Value)
		return err
	}},
	{"call", directRead, func(m *Map, c *Call) error { return m.one(c, false) }},
	{"batch", directRead, func(m *Map, c *Call) error {
		calls := []Call{*c}
		err := m.Batch(calls)
		*c = calls[0]
		return err
	}},
}

// getFromTorn: an item that is used again while it is read, for another key, is not returned.
func getFromTorn(t *testing.T) error {
	mark.Need(t)
	for _, way := range ways {
		err := overMemory(func(m *Map, key []byte) error {
			old, other := itemOf(m.wordOf(key)).number, sameLane(key)
			return at(t, way.read, func() error {
				err := change(m, key, "new", false)
				for used := false; err == nil && !used; {
					err = change(m, other, "other", false)
					used = itemOf(m.wordOf(other)).number == old
				}
				return err
			}, func() error { return getsValue(m, key, "new", way.get) })
		})
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

// sameLane is another key whose calls choose the same lane first, with assertions.
func sameLane(key []byte) []byte {
	for i := 0; ; i++ {
		other := fmt.Appendf(nil, "%d", i)
		if hashOf(other)%lanes == hashOf(key)%lanes {
			return other
		}
	}
}

// getFromReused: an item is not returned that is used again while it is read, so often that its
// slot has the same word.
func getFromReused(t *testing.T) error {
	mark.Need(t)
	const value = "longer than before"
	for _, way := range ways {
		err := withMap(engines[0], 1, small(false), func(m *Map) error {
			key := []byte("key")
			_, err := m.Put(key, []byte("old"))
			return errors.Join(err, at(t, way.read, func() error {
				word := m.wordOf(key)
				writeItem(m.itemIn(word), word, key, []byte(value))
				return nil
			}, func() error { return getsValue(m, key, value, way.get) }))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

// wordOf is the word of a key at its home or after it, over directly addressable memory.
func (m *Map) wordOf(key []byte) uint64 {
	g, t := directCall{call: &Call{Key: key}}, m.latest.Load()
	for m.startAtHome(t, &g); m.search(t, &g) && g.word&occupied != 0; m.nextSlot(t, &g) {
		it := m.itemIn(g.word)
		if keySize, _, head, _ := sizesOf(it[sealWord], it); hasKey(it[head:], keySize, key) {
			return g.word
		}
	}
	return 0
}

// getsValue makes sure that a get has a value and its version.
func getsValue(m *Map, key []byte, want string, get func(m *Map, c *Call) error) error {
	c := Call{Kind: Get, Key: key}
	err := get(m, &c)
	if err == nil && (string(c.Value) != want ||
		c.Version != Version(identity(m.wordOf(key)))) {
		err = fmt.Errorf("%q, version %d, is read in place of %q", c.Value, c.Version, want)
	}
	return err
}
