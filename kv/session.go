package kv

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/turns"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one batch at a time.
type session struct {
	q       rma.Queue
	ops     []op
	movers  []mover // that use the ops, when these have ended
	chunk   rma.Buf // for slots of no op
	running []int   // call of each slot, -1 for none
	turns   turns.Turns
	needs   []needy
	met     uint64 // the last generation that writes have seen moving, 0 for none
	writes  int    // that have
	peeks   peeks
	all     []int  // the numbers of the calls for the machines
	crowd   uint64 // hash of a new key far from home, 0 for none
}

// needy is a call that needs something before it can be made.
type needy struct {
	call int
	need
}

var errClosed = errors.New("kv: the map is closed")

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// session returns one that nobody uses.
func (m *Map) session() (*session, error) {
	if s, ok, err := m.pool.Take(); ok || err != nil {
		return s, err
	}
	// An item, a copy, a mark and the state may be on their way together with a chunk in parts.
	q, err := m.job.NewQueue(m.cfg.Depth*(5+longer*m.cfg.Chunk/8+1) + samples)
	if err != nil {
		return nil, err
	}
	s := &session{q: q, ops: make([]op, m.cfg.Depth), running: make([]int, m.cfg.Depth),
		turns: turns.New(m.cfg.Depth)}
	if s.chunk, err = q.Alloc(samples * sampleSlots * m.stride); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	for i := range s.ops {
		o := &s.ops[i]
		o.m = m
		for _, b := range []struct {
			buf   *rma.Buf
			words int
		}{{&o.chunk, longer * m.cfg.Chunk * m.stride}, {&o.there, classWords(m.cfg.largest())},
			{&o.here, classWords(m.cfg.largest())}, {&o.copy, copyWords}, {&o.mark, 1},
			{&o.control, 1}} {
			if *b.buf, err = q.Alloc(b.words); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
	}
	return s, nil
}

// Batch carries out calls, many of them at a time and in any order: calls of one batch on the
// same key take effect one after the other, but nobody knows in which order. They may travel to
// the ranks that have the keys, as [Config].Access says. The error is the first one of a call, or
// one that broke the batch off.
func (m *Map) Batch(calls []Call) error {
	for i := range calls {
		if err := m.cfg.check(&calls[i]); err != nil {
			return err
		}
	}
	var err error
	if !m.direct.all && m.traffic.line.Worth(len(calls)) {
		err = m.ship(calls)
	} else {
		err = m.batch(calls, nil)
	}
	for i := range calls {
		if calls[i].Err != nil {
			return calls[i].Err
		}
	}
	return err
}

// batch carries out some calls of a batch itself, or all for nil. If an error is returned it was
// broken off, and nobody knows of which calls.
func (m *Map) batch(calls []Call, which []int) error {
	s, err := m.session()
	if err != nil {
		return tell(calls, which, err)
	}
	before := *s.q.Stats()
	if which == nil {
		which = s.first(len(calls))
	}
	err = s.run(m, calls, s.toRun(m, calls, which))
	m.tally.queue(before, *s.q.Stats())
	m.pool.Give(s, err != nil)
	if err != nil {
		return tell(calls, which, err)
	}
	return nil
}

// tell gives some calls, or all for nil, an error, and returns it.
func tell(calls []Call, which []int, err error) error {
	for _, i := range which {
		calls[i].Err = err
	}
	for i := 0; which == nil && i < len(calls); i++ {
		calls[i].Err = err
	}
	return err
}

// first is the numbers of the first n calls.
func (s *session) first(n int) []int {
	for i := len(s.all); i < n; i++ {
		s.all = append(s.all, i)
	}
	return s.all[:n]
}

// toRun is the calls for the machines: those that are not answered by a look.
func (s *session) toRun(m *Map, calls []Call, which []int) []int {
	if !m.direct.any {
		return which
	}
	m.answerGets(&s.peeks, calls, which)
	m.tally.direct.Add(uint64(len(which) - len(s.peeks.left)))
	return s.peeks.left
}

// run makes some calls of a batch. What some of them need is done between them.
func (s *session) run(m *Map, calls []Call, which []int) error {
	s.needs, s.met, s.writes, s.crowd = s.needs[:0], 0, 0, 0
	if len(which) == 0 {
		return nil
	}
	err := s.make(m, calls, which)
	for err == nil && len(s.needs) > 0 {
		var again []int
		for _, n := range s.needs {
			if calls[n.call].Err = s.satisfy(m, n.need); calls[n.call].Err == nil {
				again = append(again, n.call)
			}
		}
		s.needs = s.needs[:0]
		err = s.make(m, calls, again)
	}
	if err == nil && (s.writes > 0 || s.crowd != 0) {
		s.tend(m)
	}
	return err
}

// make drives some calls.
func (s *session) make(m *Map, calls []Call, which []int) error {
	depth := min(max(len(which), 1), len(s.ops))
	for i := range depth {
		s.running[i] = -1
	}
	issued := 0
	next := func(slot int) rma.Op {
		o := &s.ops[slot]
		call := -1
		if s.running[slot] >= 0 {
			s.ended(m, o, s.running[slot])
			call = s.turns.Next(slot)
		}
		for call < 0 && issued < len(which) {
			call = which[issued]
			issued++
			c := &calls[call]
			if c.Kind != Get && depth > 1 && !s.turns.Take(slot, call, hashOf(c.Key)) {
				call = -1
			}
		}
		if s.running[slot] = call; call < 0 {
			return nil
		}
		o.start(&calls[call])
		return o
	}
	if err := rma.RunAll(context.Background(), s.q, depth, next); err != nil {
		return err
	}
	return s.q.Submit() // what nobody waits for
}

// ended takes down how a call has ended.
func (s *session) ended(m *Map, o *op, call int) {
	m.tally.call(o)
	if o.need.what != needNothing {
		s.needs = append(s.needs, needy{call, o.need})
	}
	if o.call.Kind != Get && o.met > 0 {
		s.met, s.writes = max(s.met, o.met), s.writes+1
	}
	if o.crowded() {
		s.crowd = o.hash | 1
	}
}
