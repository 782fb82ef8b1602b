package kv

import (
	"cmp"
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
	needs     []need
	movingGen uint64 // the last generation that writes have found moving, 0 for none
	writes    int    // that have
	farHash   uint64 // hash of a new key far from home, 0 for none
}

var errClosed = fmt.Errorf("kv: the map is %w", rma.ErrClosed)

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
	var first error
	for i := range calls {
		c := &calls[i]
		if err != nil && c.Err == errUnanswered {
			c.Err = fmt.Errorf("kv: %w", err)
		}
		if first == nil {
			first = c.Err
		}
	}
	return cmp.Or(first, err)
}

// withSession calls fn with a session that nobody uses, and counts its requests. After an error of
// fn requests may still be in flight.
func (m *Map) withSession(fn func(s *session) error) error {
	s, err := m.session()
	if err != nil {
		return err
	}
	before := *s.q.Stats()
	s.sums, s.movingGen, s.writes, s.farHash = sums{}, 0, 0, 0
	err = fn(s)
	s.sums.Queues = s.q.Stats().Since(before)
	m.tally.Add(core.Stripe(), &s.sums)
	s.calls = nil
	m.pool.Give(s, err != nil)
	return err
}

// queued makes the calls with the given indices, or all for nil, through a queue. If that is
// aborted all these calls have the error, and may have been made.
func (m *Map) queued(calls []Call, indices []int) {
	err := m.withSession(func(s *session) error {
		s.calls = calls
		return s.run(indices)
	})
	if err == nil {
		return
	}
	for _, i := range indices {
		calls[i].Err = err
	}
	for i := 0; indices == nil && i < len(calls); i++ {
		calls[i].Err = err
	}
}

// run makes the calls with the given indices, or all for nil. It does what they need and makes
// them again, until all are made.
func (s *session) run(indices []int) error {
	for {
		s.needs = s.needs[:0]
		err := s.slots.Drive(context.Background(), s.q, len(s.calls), indices, len(s.ops), s)
		if err == nil {
			err = s.q.Submit() // requests that nobody waits for
		}
		if err != nil {
			return err
		}
		if len(s.needs) == 0 {
			break
		}
		indices = []int{} // not nil, which is all
		for _, n := range s.needs {
			if s.calls[n.call].Err = s.satisfy(n); s.calls[n.call].Err == nil {
				indices = append(indices, n.call)
			}
		}
	}
	if s.writes > 0 || s.farHash != 0 {
		s.maintain()
	}
	return nil
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
	k := &s.sums.Kinds[o.call.Kind]
	k.RoundTrips += o.roundTrips
	k.Lost += o.lost
	if o.need.what == needNothing {
		k.Calls++
	} else {
		o.need.call = call
		s.needs = append(s.needs, o.need)
	}
	if o.call.Kind != Get && o.movingGen > 0 {
		s.movingGen, s.writes = max(s.movingGen, o.movingGen), s.writes+1
	}
	if o.farFromHome() {
		s.farHash = o.hash | 1
	}
}
