package cache

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/turns"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q       rma.Queue
	ops     []op
	running []int // operation in each slot, -1 for none of the batch
	turns   turns.Turns
	pace    sharedPace
	returns uint64 // rma.Returns when it was made: older queues do not reach new memory
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// session returns one that nobody uses.
func (t *table) session() (*session, error) {
	now := rma.Returns(t.job)
	s, ok, err := t.sessions.TakeSince(now, func(s *session) uint64 { return s.returns })
	if ok || err != nil {
		return s, err
	}
	// A put and marks may be in flight together with the get of the next group.
	q, err := t.job.NewQueue(t.depth * (t.groupBuckets + 2))
	if err != nil {
		return nil, err
	}
	s = &session{q: q, returns: now, ops: make([]op, t.depth), running: make([]int, t.depth),
		turns: turns.New(t.depth), pace: sharedPace{pace: rma.Backoff{Job: t.job}}}
	for i := range s.ops {
		o := &s.ops[i]
		o.t, o.latch.job, o.latch.shared = t, t.job, &s.pace
		for _, b := range []struct {
			buf   *rma.Buf
			words int
		}{{&o.in, t.groupBuckets * t.bucketWords}, {&o.out, t.bucketWords}, {&o.word, 1}} {
			if *b.buf, err = q.Alloc(b.words); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
	}
	return s, nil
}

// queued runs a batch of searches through a queue. Errors of single operations are returned
// after all have ended.
func (t *table) queued(b *batch) error {
	s, err := t.session()
	if err != nil {
		return err
	}
	before := *s.q.Stats()
	failed, err := s.run(b)
	now := *s.q.Stats()
	t.sessions.Give(s, err != nil || s.returns != rma.Returns(t.job))
	b.counts.Queues.Add(now.Since(before))
	return errors.Join(err, failed)
}

// run drives the operations of a batch. failed is the first error of one.
func (s *session) run(b *batch) (failed, err error) {
	if err := s.repairPending(b.t.repairs.take()); err != nil {
		return nil, err
	}
	depth := min(max(b.n, 1), len(s.ops))
	if b.t.mode == Coarse && b.kind != kindGet {
		depth = 1 // they would wait for each other
	}
	exclude := depth > 1 && b.t.mode == Fine && b.kind != kindGet
	issued := 0
	s.pace.active = 0
	s.pace.progress()
	for slot := range depth {
		s.running[slot] = -1
	}
	next := func(slot int) rma.Op {
		o, place := &s.ops[slot], -1
		if i := s.running[slot]; i >= 0 {
			place = s.turns.Next(slot)
			s.running[slot] = -1
			s.pace.active--
			if o.err == nil {
				b.settle(i, &o.search)
			} else if failed == nil {
				failed = o.err
			}
		}
		for place < 0 && issued < b.n {
			place = issued
			issued++
			if exclude && !s.turns.Take(slot, place, b.lock(b.order.at(place))) {
				place = -1
			}
		}
		if place < 0 {
			return nil
		}
		i := b.order.at(place)
		s.running[slot] = i
		s.pace.active++
		o.kind, o.key, o.value = b.kind, b.key(i), b.value(i)
		o.start(hashKey(o.key))
		return o
	}
	err = rma.RunAll(context.Background(), s.q, depth, next)
	return failed, err
}

// lock identifies the lock of the group that operation i needs first.
func (b *batch) lock(i int) uint64 {
	hash := hashKey(b.key(i))
	group, _ := b.t.group(hash, 0)
	return (group + uint64(b.t.rankOf(hash))<<40) * rankFactor >> 32
}

// repairPending tries to repair locks.
func (s *session) repairPending(pending []pendingRepair) error {
	s.pace.active = 1
	for _, p := range pending {
		s.ops[0].retryRepair(p)
		if err := rma.Run(context.Background(), s.q, &s.ops[0]); err != nil {
			return err
		}
	}
	return nil
}
