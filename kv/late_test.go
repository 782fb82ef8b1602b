package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// Interleavings that random schedules hardly find: a call stops for so long that the table has
// moved twice, and is in the same memory again.

// runUntil steps a machine until stop holds and it has got what it waits for, or to its end.
func runUntil(q rma.Queue, machine rma.Op, stop func() bool) error {
	for {
		h, err := machine.Step(q)
		if err != nil || h == rma.NoHandle {
			return err
		}
		if err := q.Submit(); err != nil {
			return err
		}
		if err := q.Wait(context.Background(), h); err != nil || stop() {
			return err
		}
	}
}

var never = func() bool { return false }

// paused is a mover of the part of a key, which has stopped at a stage.
func paused(m *Map, key []byte, at stage) (*session, *mover, error) {
	s, err := m.session()
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	now, err := m.state(ctx)
	if err == nil && !now.moving() {
		now, err = m.changeState(ctx, now, now.begun(now.size()))
	}
	if err != nil {
		return nil, nil, err
	}
	v := &mover{}
	from, into := m.table(now.gen(), now.size()), m.table(now.gen()+1, now.nextSize())
	slot := from.slotAt(hashOf(key), 0)
	part := m.partAt(from, slot)
	v.start(&s.ops[0], from, into, part, 0, m.slotsOf(from, part))
	return s, v, runUntil(s.q, v, func() bool { return v.stage == at })
}

// alone runs fn with a map of one rank that has one key and moves without growing.
func alone(fn func(m *Map, key []byte) error) error {
	cfg := Config{Slots: 8, MaxSlots: 8, Bytes: 1 << 12, MaxKey: 8,
		MaxValue: 8}
	return withMap(engines[1], 1, cfg, func(m *Map) error {
		key := []byte("key")
		_, err := m.Put(key, []byte("old"))
		return errors.Join(err, fn(m, key), m.Check(context.Background()))
	})
}

// has makes sure of the value of a key.
func has(m *Map, key []byte, want string) error {
	value, _, ok, err := m.Get(key, nil)
	if err == nil && (!ok || string(value) != want) {
		err = fmt.Errorf("the key has %q, there %v; it should have %q", value, ok, want)
	}
	return err
}

// lateWrite has a write that takes the third table for the first one swap a word there that
// has just come, while the second one still has it.
func lateWrite() error {
	return alone(func(m *Map, key []byte) error {
		s, err := m.session()
		if err != nil {
			return err
		}
		o, c := &s.ops[0], Call{Kind: Put, Key: key, Value: []byte("new")}
		o.start(&c)
		err = runUntil(s.q, o, func() bool { return o.step == stepCompare })
		if err = errors.Join(err, moveTable(m, 0)); err != nil {
			return err
		}
		moverSession, v, err := paused(m, key, stagePlace)
		if err = errors.Join(err, runUntil(s.q, o, never)); err != nil {
			return err
		}
		if o.need.what != needNothing {
			_, err = m.Put(key, c.Value)
		}
		err = errors.Join(err, has(m, key, "new"), runUntil(moverSession.q, v, never))
		m.pool.Give(s, false)
		m.pool.Give(moverSession, false)
		return errors.Join(err, moveTable(m, 0), has(m, key, "new"))
	})
}

// lateMover has a mover that has copied a slot of the first table mark it as moved, when the
// third one is there, and the same word in the same slot, frozen and not copied.
func lateMover() error {
	return alone(func(m *Map, key []byte) error {
		first, one, err := paused(m, key, stagePlace)
		if err = errors.Join(err, moveTable(m, 0), moveTable(m, 0)); err != nil {
			return err
		}
		second, other, err := paused(m, key, stageChunk)
		err = errors.Join(err, runUntil(first.q, one, never), has(m, key, "old"),
			runUntil(second.q, other, never), moveTable(m, 0), has(m, key, "old"))
		m.pool.Give(first, false)
		m.pool.Give(second, false)
		return err
	})
}

// lateDelete has a delete find a slot that has moved and an empty one after it, where its key
// is put before it continues, and copied from.
func lateDelete() error {
	return alone(func(m *Map, first []byte) error {
		key := []byte("other") // all keys have the same home
		writer, err := m.session()
		if err != nil {
			return err
		}
		put, c := &writer.ops[0], Call{Kind: Put, Key: key, Value: []byte("new")}
		put.start(&c)
		chunk := func() bool { return true }
		err = runUntil(writer.q, put, chunk)
		moverSession, v, pauseErr := paused(m, first, stagePlace)
		err = errors.Join(err, pauseErr, runUntil(moverSession.q, v, func() bool {
			return v.stage == stageSwap && v.new == v.doneWord
		}))
		deleter, sessionErr := m.session()
		if err = errors.Join(err, sessionErr); err != nil {
			return err
		}
		del, d := &deleter.ops[0], Call{Kind: Delete, Key: key}
		del.start(&d)
		err = errors.Join(runUntil(deleter.q, del, chunk), runUntil(writer.q, put, never),
			runUntil(moverSession.q, v, func() bool { return v.stage == stagePlace }),
			runUntil(deleter.q, del, never))
		if del.need.what != needNothing {
			_, e := m.Delete(key)
			err = errors.Join(err, e)
		}
		if _, _, ok, e := m.Get(key, nil); ok || e != nil {
			err = errors.Join(err, e, errors.New("the key is there, and was deleted"))
		}
		err = errors.Join(err, runUntil(moverSession.q, v, never), has(m, first, "old"))
		for _, s := range []*session{writer, moverSession, deleter} {
			m.pool.Give(s, false)
		}
		return err
	})
}

// lateGet has a get take the third table for the first one, when that moves, and its key has
// not yet.
func lateGet() error {
	return alone(func(m *Map, first []byte) error {
		key := []byte("other")
		_, err := m.Put(key, []byte("old"))
		s, sessionErr := m.session()
		if err = errors.Join(err, sessionErr); err != nil {
			return err
		}
		o, c := &s.ops[0], Call{Kind: Get, Key: key}
		o.start(&c)
		err = errors.Join(moveTable(m, 0), moveTable(m, 0))
		moverSession, v, pauseErr := paused(m, first, stagePlace)
		err = errors.Join(err, pauseErr, runUntil(moverSession.q, v, func() bool {
			return v.stage == stageSwap && v.new == v.doneWord
		}), runUntil(s.q, o, never))
		if !c.Done {
			err = errors.Join(err, errors.New("the key is there, and is not found"))
		}
		err = errors.Join(err, runUntil(moverSession.q, v, never))
		m.pool.Give(s, false)
		m.pool.Give(moverSession, false)
		return err
	})
}

// lateRemoved has a mover of the first table come to the third one, where a key is removed and
// the next one's search leads over it.
func lateRemoved() error {
	return alone(func(m *Map, first []byte) error {
		s, err := m.session()
		if err != nil {
			return err
		}
		ctx := context.Background()
		now, err := m.state(ctx)
		if err == nil {
			now, err = m.changeState(ctx, now, now.begun(now.size()))
		}
		v := &mover{}
		from := m.table(now.gen(), 0)
		v.start(&s.ops[0], from, m.table(now.gen()+1, 0), 0, 0, m.slotsOf(from, 0))
		err = errors.Join(err, moveTable(m, 0), moveTable(m, 0))
		_, e := m.Put([]byte("other"), []byte("old"))
		_, e2 := m.Delete(first)
		err = errors.Join(err, e, e2, runUntil(s.q, v, never), has(m, []byte("other"), "old"))
		m.pool.Give(s, false)
		return err
	})
}

// lateSwap has a delete find its key and then another one in its slot, as the table has moved
// twice; what it has read of the slots after it is of the first one.
func lateSwap() error {
	return alone(func(m *Map, first []byte) error {
		key := []byte("other")
		_, err := m.Put(key, []byte("old"))
		s, e := m.session()
		if err = errors.Join(err, e); err != nil {
			return err
		}
		o, c := &s.ops[0], Call{Kind: Delete, Key: key}
		o.start(&c)
		err = runUntil(s.q, o, func() bool { return o.step == stepCompare })
		_, e = m.Delete(first)
		err = errors.Join(err, e, moveTable(m, 0))
		for _, k := range []string{"third", "key"} {
			_, e = m.Put([]byte(k), []byte("old"))
			err = errors.Join(err, e)
		}
		err = errors.Join(err, moveTable(m, 0), runUntil(s.q, o, never))
		if !c.Done {
			err = errors.Join(err, errors.New("the key was there, and is not deleted"))
		}
		m.pool.Give(s, false)
		return err
	})
}

// lateThaw has a put come when its key has moved, before that is thawed in the next table.
func lateThaw() error {
	return alone(func(m *Map, key []byte) error {
		s, v, err := paused(m, key, stagePlace)
		err = errors.Join(err, runUntil(s.q, v, func() bool {
			return v.stage == stageSwap && v.new == v.doneWord
		}))
		_, e := m.Put(key, []byte("new"))
		err = errors.Join(err, e, has(m, key, "new"), runUntil(s.q, v, never), has(m, key, "new"))
		m.pool.Give(s, false)
		return err
	})
}

// lateSweep sweeps when a key has moved, and others of the table have not.
func lateSweep() error {
	return alone(func(m *Map, key []byte) error {
		s, v, err := paused(m, key, stagePlace)
		err = errors.Join(err, runUntil(s.q, v, func() bool {
			return v.stage == stageSwap && v.new == v.doneWord
		}))
		n, e := m.swept(context.Background())
		if n != 0 {
			err = errors.Join(err, fmt.Errorf("%d items are found that are in use", n))
		}
		err = errors.Join(err, e, runUntil(s.q, v, never), has(m, key, "old"))
		m.pool.Give(s, false)
		return err
	})
}
