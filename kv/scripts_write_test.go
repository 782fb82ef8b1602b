package kv

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// These scripts have calls that change the map meet others, over memory of one rank. Each is run
// by single calls and by batches.

// change puts a value, or removes the key where it is empty.
func change(m *Map, key []byte, value string, batch bool) error {
	c := Call{Kind: Put, Key: key, Value: []byte(value)}
	if value == "" {
		c = Call{Kind: Delete, Key: key}
	}
	if !batch {
		return m.one(&c, false)
	}
	calls := []Call{c}
	return m.Batch(calls)
}

// holds makes sure that a key has a value, or where it is empty, that it is not there.
func holds(m *Map, key []byte, want string) error {
	if want != "" {
		return has(m, key, want)
	}
	_, _, ok, err := m.Get(key, nil)
	if ok {
		err = fmt.Errorf("%q is there", key)
	}
	return err
}

// at calls do where a call next reaches a mark. It returns the error of do.
func at(t *testing.T, place *mark.Mark, do func() error, call func() error) error {
	t.Helper()
	var err error
	done := false
	place.Intercept(t, func() {
		if !done {
			done, err = true, do()
		}
	})
	return errors.Join(call(), err)
}

// sound makes sure that nothing is broken, and no item is lost.
func sound(m *Map) error {
	found, err := m.swept(context.Background())
	if found > 0 {
		err = errors.Join(err, fmt.Errorf("%d items were lost", found))
	}
	return errors.Join(err, m.Check(context.Background()))
}

// eachChange runs fn for single calls and batches, for puts and deletions.
func eachChange(fn func(m *Map, key []byte, value string, batch bool) error) error {
	for _, batch := range []bool{false, true} {
		for _, value := range []string{"new", ""} {
			err := overMemory(func(m *Map, key []byte) error {
				return errors.Join(fn(m, key, value, batch), sound(m))
			})
			if err != nil {
				return fmt.Errorf("value %q, batch %v: %w", value, batch, err)
			}
		}
	}
	return nil
}

// writeToMoved has a rank change a key in a table that has moved, which it does not know.
func writeToMoved() error {
	return eachChange(func(m *Map, key []byte, value string, batch bool) error {
		before := m.latest.Load()
		err := moveTable(m, 0)
		m.latest.Store(before)
		return errors.Join(err, change(m, key, value, batch), holds(m, key, value))
	})
}

// writeToFrozen has a rank change a key whose slot is frozen.
func writeToFrozen() error {
	return eachChange(func(m *Map, key []byte, value string, batch bool) error {
		s, v, err := paused(m, key, stageChunk)
		err = errors.Join(err, change(m, key, value, batch), runUntil(s.q, v, never),
			holds(m, key, value))
		giveBack(s)
		return err
	})
}

// writeLoses has another call come first, to the same key, to one that is new, and to the empty
// slot that another new key takes.
func writeLoses(t *testing.T) error {
	mark.Need(t)
	return eachChange(func(m *Map, key []byte, value string, batch bool) error {
		puts := func(key []byte, value string) func() error {
			return func() error { return change(m, key, value, batch) }
		}
		fresh, other, same := []byte("fresh"), []byte("other"), sameHome(m, []byte("other"))
		return errors.Join(
			at(t, directSwap, puts(key, "first"), puts(key, value)), holds(m, key, value), sound(m),
			at(t, directSwap, puts(fresh, "first"), puts(fresh, "second")),
			has(m, fresh, "second"), sound(m),
			at(t, directSwap, puts(same, "first"), puts(other, "second")),
			has(m, same, "first"), has(m, other, "second"))
	})
}

// sameHome is another key with the same home.
func sameHome(m *Map, key []byte) []byte {
	t := m.latest.Load()
	for i := 0; ; i++ {
		other := fmt.Appendf(nil, "%d", i)
		if t.slotAt(hashOf(other), 0) == t.slotAt(hashOf(key), 0) {
			return other
		}
	}
}

// writeIsRead has another call read the key as soon as it has its slot.
func writeIsRead(t *testing.T) error {
	mark.Need(t)
	return eachChange(func(m *Map, key []byte, value string, batch bool) error {
		return at(t, directSwapped, func() error { return holds(m, key, value) },
			func() error { return change(m, key, value, batch) })
	})
}
