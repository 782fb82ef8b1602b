package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one batch at a time.
type session struct {
	q         rma.Queue
	ops       []op
	movers    []mover // they use the ops when these have ended
	chunk     rma.Buf // for the slots of a sample
	m         *Map
	slots     core.Slots
	calls     []Call // of the batch
	sums      sums
	needs     []callNeed
	movingGen uint64 // the last generation that writes have found moving, 0 for none
	writes    int    // that have
	farHash   uint64 // hash of a new key far from home, 0 for none
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
	s := &session{q: q, m: m, ops: make([]op, m.cfg.Depth), slots: core.NewSlots(m.cfg.Depth)}
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
	b := batch{m: m, calls: calls}
	requests, err := m.batches.Run(context.Background(), len(calls), &b)
	if b.shipped {
		m.tally.Add(core.Stripe(), &sums{Queues: requests})
		b.adaptRoom()
	}
	for i := range calls {
		if calls[i].Err == errUnanswered && err != nil {
			calls[i].Err = fmt.Errorf("kv: %w", err)
		}
	}
	for i := range calls {
		if calls[i].Err != nil {
			return calls[i].Err
		}
	}
	return err
}

// own makes calls without shipping them. They have their own errors.
func (m *Map) own(calls []Call) {
	if !m.batches.Any {
		_ = m.queued(calls, nil)
	} else if left := m.makeDirect(calls, nil, nil); len(left) > 0 {
		_ = m.queued(calls, left)
	}
}

// queued makes the calls with the given indices, or all for nil, through a queue. If it returns an
// error it was aborted: all these calls have the error, and may have been made.
func (m *Map) queued(calls []Call, indices []int) error {
	s, err := m.session()
	if err != nil {
		return failCalls(calls, indices, err)
	}
	before := *s.q.Stats()
	s.calls, s.sums = calls, sums{}
	err = s.run(indices)
	s.sums.Queues = s.q.Stats().Since(before)
	m.tally.Add(core.Stripe(), &s.sums)
	s.calls = nil
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

// run makes the calls with the given indices, or all for nil. It does what they need and makes
// them again, until all are made.
func (s *session) run(indices []int) error {
	s.needs, s.movingGen, s.writes, s.farHash = s.needs[:0], 0, 0, 0
	err := s.drive(indices)
	for err == nil && len(s.needs) > 0 {
		again := []int{}
		for _, n := range s.needs {
			if s.calls[n.call].Err = s.satisfy(s.m, n.need); s.calls[n.call].Err == nil {
				again = append(again, n.call)
			}
		}
		s.needs = s.needs[:0]
		err = s.drive(again)
	}
	if err == nil && (s.writes > 0 || s.farHash != 0) {
		s.maintain(s.m)
	}
	return err
}

// drive steps the machines of the calls with the given indices.
func (s *session) drive(indices []int) error {
	err := s.slots.Drive(context.Background(), s.q, len(s.calls), indices, len(s.ops), s)
	if err != nil {
		return err
	}
	return s.q.Submit() // requests that nobody waits for
}

// Turn has writes of one key take turns.
func (s *session) Turn(call int) (hash uint64, ok bool) {
	c := &s.calls[call]
	return hashOf(c.Key), c.Kind != Get
}

// Start readies a machine for a call.
func (s *session) Start(machine, call int) rma.Op {
	o := &s.ops[machine]
	o.start(&s.calls[call])
	return o
}

// Finish records how a call has ended.
func (s *session) Finish(machine, call int) {
	o := &s.ops[machine]
	s.sums.add(o)
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
