package kv

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/turns"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one batch at a time.
type session struct {
	q          rma.Queue
	ops        []op
	movers     []mover // they use the ops when these have ended
	chunk      rma.Buf // for the slots of a sample
	running    []int   // call of each slot, -1 for none
	turns      turns.Turns
	needs      []callNeed
	movingGen  uint64 // the last generation that writes have found moving, 0 for none
	writes     int    // that have
	directGets directGets
	indices    []int  // the numbers of the calls for the machines
	farHash    uint64 // hash of a new key far from home, 0 for none
}

// callNeed is a call that needs something before it can be made.
type callNeed struct {
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
	// An item, a copy, a mark and the state may be in flight together with a chunk in parts.
	q, err := m.job.NewQueue(m.cfg.Depth*(5+laterChunkFactor*m.cfg.Chunk/8+1) + sampleRuns)
	if err != nil {
		return nil, err
	}
	s := &session{q: q, ops: make([]op, m.cfg.Depth), running: make([]int, m.cfg.Depth),
		turns: turns.New(m.cfg.Depth)}
	if s.chunk, err = q.Alloc(sampleRuns * sampleSlots * m.stride); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	for i := range s.ops {
		o := &s.ops[i]
		o.m = m
		for _, b := range []struct {
			buf   *rma.Buf
			words int
		}{{&o.chunk, laterChunkFactor * m.cfg.Chunk * m.stride},
			{&o.there, classWords(m.cfg.largest())}, {&o.here, classWords(m.cfg.largest())},
			{&o.copy, copyWords}, {&o.mark, 1}, {&o.control, 1}} {
			if *b.buf, err = q.Alloc(b.words); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
	}
	return s, nil
}

// Batch carries out calls, many of them at the same time and in any order. Calls of one batch on
// the same key take effect one after the other, in an unspecified order. They may be shipped to
// the ranks that have the keys, as [Config].Access says. The error is the first one of a call, or
// one that aborted the batch.
func (m *Map) Batch(calls []Call) error {
	for i := range calls {
		if err := m.cfg.check(&calls[i]); err != nil {
			return err
		}
	}
	var err error
	if !m.direct.all && m.shipping.line.Worth(len(calls)) {
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

// batch carries out the calls with the given indices without shipping them, or all for nil. If it
// returns an error it was aborted: all these calls have the error, and may have been made.
func (m *Map) batch(calls []Call, indices []int) error {
	s, err := m.session()
	if err != nil {
		return failCalls(calls, indices, err)
	}
	before := *s.q.Stats()
	if indices == nil {
		indices = s.firstIndices(len(calls))
	}
	err = s.run(m, calls, s.machineCalls(m, calls, indices))
	m.tally.queue(before, *s.q.Stats())
	m.pool.Give(s, err != nil)
	if err != nil {
		return failCalls(calls, indices, err)
	}
	return nil
}

// failCalls gives the calls with the given indices, or all for nil, an error, and returns it.
func failCalls(calls []Call, indices []int, err error) error {
	for _, i := range indices {
		calls[i].Err = err
	}
	for i := 0; indices == nil && i < len(calls); i++ {
		calls[i].Err = err
	}
	return err
}

// firstIndices is the indices of the first n calls.
func (s *session) firstIndices(n int) []int {
	for i := len(s.indices); i < n; i++ {
		s.indices = append(s.indices, i)
	}
	return s.indices[:n]
}

// machineCalls answers gets directly, and returns the indices of the calls for the machines.
func (s *session) machineCalls(m *Map, calls []Call, indices []int) []int {
	if !m.direct.some {
		return indices
	}
	m.answerGets(&s.directGets, calls, indices)
	m.tally.direct.Add(uint64(len(indices) - len(s.directGets.left)))
	return s.directGets.left
}

// run makes the calls with the given indices. It does what they need and makes them again, until
// all are made.
func (s *session) run(m *Map, calls []Call, indices []int) error {
	s.needs, s.movingGen, s.writes, s.farHash = s.needs[:0], 0, 0, 0
	if len(indices) == 0 {
		return nil
	}
	err := s.drive(m, calls, indices)
	for err == nil && len(s.needs) > 0 {
		var again []int
		for _, n := range s.needs {
			if calls[n.call].Err = s.satisfy(m, n.need); calls[n.call].Err == nil {
				again = append(again, n.call)
			}
		}
		s.needs = s.needs[:0]
		err = s.drive(m, calls, again)
	}
	if err == nil && (s.writes > 0 || s.farHash != 0) {
		s.maintain(m)
	}
	return err
}

// drive steps the machines of the calls with the given indices.
func (s *session) drive(m *Map, calls []Call, indices []int) error {
	depth := min(max(len(indices), 1), len(s.ops))
	for i := range depth {
		s.running[i] = -1
	}
	issued := 0
	next := func(slot int) rma.Op {
		o := &s.ops[slot]
		call := -1
		if s.running[slot] >= 0 {
			s.recordEnd(m, o, s.running[slot])
			call = s.turns.Next(slot)
		}
		for call < 0 && issued < len(indices) {
			call = indices[issued]
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
	return s.q.Submit() // requests that nobody waits for
}

// recordEnd records how a call has ended.
func (s *session) recordEnd(m *Map, o *op, call int) {
	m.tally.call(o)
	if o.need.what != needNothing {
		s.needs = append(s.needs, callNeed{call, o.need})
	}
	if o.call.Kind != Get && o.movingGen > 0 {
		s.movingGen, s.writes = max(s.movingGen, o.movingGen), s.writes+1
	}
	if o.farFromHome() {
		s.farHash = o.hash | 1
	}
}
