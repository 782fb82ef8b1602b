package kv

import (
	"context"
	"errors"
	"math/bits"

	"github.com/farhash/farhash/rma"
)

// slotAt is the slot at a distance from the home of a hash. Homes are cache lines of 8 words.
func (m *Map) slotAt(hash, distance uint64) uint64 {
	lines := uint64(8 / m.stride)
	home, _ := bits.Mul64(hash, m.total/lines)
	return (home*lines + distance) % m.total
}

// place is the rank and offset of a slot, and how many slots follow it there, itself included.
func (m *Map) place(slot uint64) (rank, off, rest int) {
	in := slot % m.cfg.SlotsPerRank
	return int(slot / m.cfg.SlotsPerRank), int(in) * m.stride, int(m.cfg.SlotsPerRank - in)
}

// session is a queue with step machines on it, for one batch at a time.
type session struct {
	q       rma.Queue
	ops     []op
	running []int // call of each slot, -1 for none
}

var errClosed = errors.New("kv: the map is closed")

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// session returns one that nobody uses.
func (m *Map) session() (*session, error) {
	if s, ok, err := m.pool.Take(); ok || err != nil {
		return s, err
	}
	// An item, a copy and a mark may be on their way together with a chunk in parts.
	q, err := m.job.NewQueue(m.cfg.Depth * (4 + longer*m.cfg.Chunk/8 + 1))
	if err != nil {
		return nil, err
	}
	s := &session{q: q, ops: make([]op, m.cfg.Depth), running: make([]int, m.cfg.Depth)}
	for i := range s.ops {
		o := &s.ops[i]
		o.m = m
		for _, b := range []struct {
			buf   *rma.Buf
			words int
		}{{&o.chunk, longer * m.cfg.Chunk * m.stride}, {&o.there, classWords(m.cfg.largest())},
			{&o.here, classWords(m.cfg.largest())}, {&o.copy, copyWords}, {&o.mark, 1}} {
			if *b.buf, err = q.Alloc(b.words); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
	}
	return s, nil
}

// Batch carries out calls, many of them at a time and in any order: calls of one batch on the
// same key take effect one after the other, but nobody knows in which order. The error is the
// first one of a call, or one that broke the batch off.
func (m *Map) Batch(calls []Call) error {
	for i := range calls {
		if err := m.cfg.check(&calls[i]); err != nil {
			return err
		}
	}
	s, err := m.session()
	if err != nil {
		return err
	}
	before := *s.q.Stats()
	err = s.run(m, calls)
	m.tally.queue(before, *s.q.Stats())
	m.pool.Give(s, err != nil)
	for i := range calls {
		if err != nil { // it was broken off: nobody knows of which calls
			calls[i].Err = err
		} else if calls[i].Err != nil {
			return calls[i].Err
		}
	}
	return err
}

// run drives the calls of a batch.
func (s *session) run(m *Map, calls []Call) error {
	depth := min(max(len(calls), 1), len(s.ops))
	for i := range depth {
		s.running[i] = -1
	}
	issued := 0
	next := func(slot int) rma.Op {
		o := &s.ops[slot]
		if s.running[slot] >= 0 {
			s.running[slot] = -1
			m.tally.call(o)
		}
		if issued == len(calls) {
			return nil
		}
		s.running[slot] = issued
		o.start(&calls[issued])
		issued++
		return o
	}
	if err := rma.RunAll(context.Background(), s.q, depth, next); err != nil {
		return err
	}
	return s.q.Submit() // what nobody waits for
}
