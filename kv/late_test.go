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
		now, err = m.begin(ctx, now, now.shape().size())
	}
	if err != nil {
		return nil, nil, err
	}
	h, _, err := m.hold(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	s.held = append(s.held, h)
	v := &mover{}
	from, into := m.tables(now)
	slot := from.slotAt(hashOf(key), 0)
	part := m.partAt(from, slot)
	v.start(&s.ops[0], from, into, part, 0, m.slotsOf(from, part))
	return s, v, runUntil(s.q, v, func() bool { return v.stage == at })
}

// arrived is a mover of the part of a key that has stopped when the key has left its old slot, and
// is frozen in the next table.
func arrived(m *Map, key []byte) (*session, *mover, error) {
	s, v, err := paused(m, key, stagePlace)
	if err != nil {
		return nil, nil, err
	}
	return s, v, runUntil(s.q, v, func() bool {
		return v.stage == stageSwap && v.new == v.doneWord
	})
}

// giveBack gives a session back that has ended, and what it holds.
func giveBack(s *session) {
	for _, h := range s.held {
		_ = h.release()
	}
	s.held = nil
	s.m.pool.Give(s, false)
}

// alone runs fn with a map of one rank that has one key and moves without growing.
func alone(fn func(m *Map, key []byte) error) error { return aloneOn(engines[1], fn) }

// aloneOn is alone on an engine.
func aloneOn(e engine, fn func(m *Map, key []byte) error) error {
	cfg := Config{Slots: 8, MaxSlots: 8, Bytes: 1 << 12, MaxKey: 8,
		MaxValue: 8}
	return withMap(e, 1, cfg, func(m *Map) error {
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
		giveBack(s)
		giveBack(moverSession)
		return errors.Join(err, moveTable(m, 0), has(m, key, "new"))
	})
}

// lateMover has a mover of the first table come to copy a slot when the third one moves, and has
// the same word frozen and not copied.
func lateMover() error {
	return alone(func(m *Map, key []byte) error {
		first, one, err := paused(m, key, stageChunk)
		if err = errors.Join(err, moveTable(m, 0), moveTable(m, 0)); err != nil {
			return err
		}
		second, other, err := paused(m, key, stageChunk)
		err = errors.Join(err, runUntil(first.q, one, never), has(m, key, "old"),
			runUntil(second.q, other, never), moveTable(m, 0), has(m, key, "old"))
		giveBack(first)
		giveBack(second)
		return err
	})
}

// lateFreeze has two movers of the first table stop, one that has read a slot and one that has
// copied it, until the third table has the same word in the same slot, if it is in the same memory.
func lateFreeze() error {
	return alone(func(m *Map, key []byte) error {
		first, one, err := paused(m, key, stagePart)
		second, other, e := paused(m, key, stagePlace)
		err = errors.Join(err, e, moveTable(m, 0), moveTable(m, 0), has(m, key, "old"))
		if at := m.latest.Load(); at.gen != 3 || at.shape.area() == one.from.shape.area() {
			err = errors.Join(err, fmt.Errorf("table %d is in area %d", at.gen, at.shape.area()))
		}
		err = errors.Join(err, runUntil(first.q, one, never), has(m, key, "old"),
			runUntil(second.q, other, never), has(m, key, "old"), m.Check(context.Background()),
			moveTable(m, 0), has(m, key, "old"))
		giveBack(first)
		giveBack(second)
		return err
	})
}

// lateStart has a mover begin with a table that moves on before the mover holds its areas.
func lateStart() error {
	return alone(func(m *Map, key []byte) error {
		s, err := m.session()
		if err != nil {
			return err
		}
		ctx := context.Background()
		now, err := m.state(ctx)
		if err == nil {
			now, err = m.begin(ctx, now, now.shape().size())
		}
		err = errors.Join(err, moveTable(m, 0), moveTable(m, 0), s.helpMove(now, 1),
			has(m, key, "old"))
		if held, e := m.held(ctx); held != 0 || e != nil {
			err = errors.Join(err, e, fmt.Errorf("%#x is held", held))
		}
		m.pool.Give(s, false)
		return err
	})
}

// lateDelete has two deletes find a slot that has moved and an empty one after it, where their key
// is put before they continue, and copied from.
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
		calls := []Call{{Kind: Delete, Key: key}, {Kind: Delete, Key: key}}
		for i := range calls {
			deleter.ops[i].start(&calls[i])
			err = errors.Join(err, runUntil(deleter.q, &deleter.ops[i], chunk))
		}
		err = errors.Join(err, runUntil(writer.q, put, never),
			runUntil(moverSession.q, v, func() bool { return v.stage == stagePlace }))
		for i := range calls {
			err = errors.Join(err, goOn(deleter, &deleter.ops[i]))
		}
		if _, _, ok, e := m.Get(key, nil); ok || e != nil {
			err = errors.Join(err, e, errors.New("the key is there, and was deleted"))
		}
		err = errors.Join(err, runUntil(moverSession.q, v, never), has(m, first, "old"))
		for _, s := range []*session{writer, moverSession, deleter} {
			giveBack(s)
		}
		return err
	})
}

// goOn has a call go on, and makes it again if it needs anything but a thawed key.
func goOn(s *session, o *op) error {
	err := runUntil(s.q, o, never)
	switch n := o.need; n.what {
	case needNothing:
	case needThaw:
		err = errors.Join(err, s.thawArrived(context.Background(), n.table, n.slot, n.word, o.hash))
	default:
		c := *o.call
		err = errors.Join(err, s.m.one(&c, false))
	}
	return err
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
		giveBack(s)
		giveBack(moverSession)
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
		giveBack(s)
		return err
	})
}

// lateChunk has a get read an empty slot of the first table, and the slots before it when the third
// one is in its memory, where the key is in that slot.
func lateChunk() error {
	return errors.Join(lateChunkOn(engines[0]), lateChunkOn(engines[1]))
}

func lateChunkOn(e engine) error {
	return aloneOn(e, func(m *Map, key []byte) error {
		put := func(name string) error { _, err := m.Put([]byte(name), []byte("old")); return err }
		s, err := m.session()
		if err = errors.Join(err, put("other"), put("third")); err != nil {
			return err
		}
		o, c := &s.ops[0], Call{Kind: Get, Key: []byte("other")}
		o.start(&c)
		err = errors.Join(runUntil(s.q, o, func() bool { return o.step == stepSearch }),
			moveInOrder(m, 2, 0, 1), put("fourth"), moveInOrder(m, 3, 0, 1, 2))
		t := m.latest.Load()
		if t.gen != 3 || t.shape.area() != o.table.shape.area() || o.chunk[3*m.stride] != 0 {
			return errors.Join(err, fmt.Errorf("table %d is in area %d; slot 3 was %#x", t.gen,
				t.shape.area(), o.chunk[3*m.stride]))
		}
		w, e := m.walker(context.Background())
		if err = errors.Join(err, e); err != nil {
			return err
		}
		for slot := range w.table(t, 0, 3) {
			o.chunk[int(slot.slot)*m.stride] = slot.word
		}
		err = errors.Join(err, w.err, w.close(), runUntil(s.q, o, never))
		s.calls = []Call{c}
		if o.need.what != needNothing && len(s.satisfy([]need{o.need})) > 0 {
			err = errors.Join(err, m.one(&c, false))
		}
		if !c.Done {
			err = errors.Join(err, errors.New("the key is there, and is not found"))
		}
		giveBack(s)
		return err
	})
}

// moveInOrder moves some slots of the table first, in this order.
func moveInOrder(m *Map, slots ...uint64) error {
	ctx := context.Background()
	return m.withSession(func(s *session) error {
		now, err := m.state(ctx)
		if err == nil {
			now, err = m.begin(ctx, now, now.shape().size())
		}
		if err != nil {
			return err
		}
		from, into := m.tables(now)
		for _, slot := range slots {
			v := mover{}
			v.start(&s.ops[0], from, into, 0, slot, 1)
			err = errors.Join(err, runUntil(s.q, &v, never))
		}
		return errors.Join(err, s.settle(), s.finishMove(ctx, now))
	})
}

// lateThaw has a put come when its key has moved, before that is thawed in the next table.
func lateThaw() error {
	return alone(func(m *Map, key []byte) error {
		s, v, err := arrived(m, key)
		_, e := m.Put(key, []byte("new"))
		err = errors.Join(err, e, has(m, key, "new"), runUntil(s.q, v, never), has(m, key, "new"))
		giveBack(s)
		return err
	})
}

// lateThaws has a mover, and a write that wants a key thawed, come when the same key has arrived
// again so many tables later that the frozen word is the same, and has not left its old slot.
func lateThaws() error {
	return alone(func(m *Map, key []byte) error {
		s, v, err := arrived(m, key)
		writer, e := m.session()
		if err = errors.Join(err, e); err != nil {
			return err
		}
		into, slot, word := v.table, v.slot(), freeze(v.word, v.from.gen)
		for range fingerprintMask + 1 {
			err = errors.Join(err, moveTable(m, 0))
		}
		again, w, e := paused(m, key, stagePlace)
		err = errors.Join(err, e, m.atSlot(w.table, slot, word))
		into.shape = newShape(into.shape.size(), w.table.shape.area()) // as if it was not held
		e = writer.thawArrived(context.Background(), m.table(into.gen, into.shape), slot, word,
			hashOf(key))
		err = errors.Join(err, e, runUntil(s.q, v, never), s.settle(),
			m.atSlot(w.table, slot, word), runUntil(again.q, w, never), has(m, key, "old"))
		giveBack(s)
		giveBack(again)
		giveBack(writer)
		return err
	})
}

// lateArrival has a write find its key where it has just arrived, and swap its word when it has
// arrived again, so many tables later that the frozen word is the same, and has not left its old
// slot.
func lateArrival() error {
	return alone(func(m *Map, key []byte) error {
		s, v, err := arrived(m, key)
		writer, e := m.session()
		if err = errors.Join(err, e); err != nil {
			return err
		}
		o, c := &writer.ops[0], Call{Kind: Put, Key: key, Value: []byte("new")}
		o.start(&c)
		err = errors.Join(err, runUntil(writer.q, o, func() bool {
			return o.step == stepCompare && o.table.gen == v.table.gen
		}), runUntil(s.q, v, never), s.settle())
		giveBack(s)
		for range fingerprintMask + 1 {
			err = errors.Join(err, moveTable(m, 0))
		}
		again, w, e := paused(m, key, stagePlace)
		err = errors.Join(err, e, m.atSlot(w.table, o.slot(), o.chunk[o.at*m.stride]),
			runUntil(writer.q, o, never))
		if o.need.what != needNothing {
			_, e = m.Put(key, c.Value)
		}
		err = errors.Join(err, e, has(m, key, "new"), runUntil(again.q, w, never),
			has(m, key, "new"))
		giveBack(again)
		giveBack(writer)
		return err
	})
}

// atSlot makes sure of the word of a slot.
func (m *Map) atSlot(t *table, slot, want uint64) error {
	w, err := m.walker(context.Background())
	if err != nil {
		return err
	}
	defer w.close()
	for s := range w.table(t, slot, slot+1) {
		if s.word != want {
			return fmt.Errorf("slot %d of table %d has %#x, not %#x", slot, t.gen, s.word, want)
		}
	}
	return w.err
}

// lateSweep sweeps when a key has moved, and others of the table have not.
func lateSweep() error {
	return alone(func(m *Map, key []byte) error {
		s, v, err := arrived(m, key)
		n, e := m.swept(context.Background())
		if n != 0 {
			err = errors.Join(err, fmt.Errorf("%d items are found that are in use", n))
		}
		err = errors.Join(err, e, runUntil(s.q, v, never), has(m, key, "old"))
		giveBack(s)
		return err
	})
}
