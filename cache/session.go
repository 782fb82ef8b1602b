package cache

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q      rma.Queue
	ops    []op
	slots  core.Slots
	batch  *scratch // that is carried out
	failed error    // the first one of its operations
	pace   pace
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// session returns one that nobody uses.
func (c *Cache) session() (*session, error) {
	s, ok, err := c.sessions.Take()
	if ok || err != nil {
		return s, err
	}
	// A put and marks may be in flight together with the get of the next group.
	q, err := c.job.NewQueue(c.cfg.Depth * (c.cfg.GroupBuckets + 2))
	if err != nil {
		return nil, err
	}
	s = &session{q: q, ops: make([]op, c.cfg.Depth),
		slots: core.NewSlots(c.cfg.Depth), pace: newPace(c.job)}
	group := c.cfg.GroupBuckets * c.bucketWords
	for i := range s.ops {
		buf, err := q.Alloc(group + c.bucketWords + 1)
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
		o := &s.ops[i]
		o.c, o.latch.job, o.latch.shared = c, c.job, &s.pace
		o.in, o.out, o.word = buf[:group], buf[group:group+c.bucketWords], buf[group+c.bucketWords:]
		o.key, o.value = c.keyIn(o.out), c.valueIn(o.out)
	}
	return s, nil
}

// Queued carries out the operations at of a call, or all for nil, through a queue. Errors of
// single operations are returned after all have ended.
func (b *scratch) Queued(at []int) error {
	c := b.c
	s, err := c.session()
	if err != nil {
		return err
	}
	before, depth := *s.q.Stats(), len(s.ops)
	if c.cfg.Mode == Coarse && b.kind != kindGet {
		depth = 1 // they would wait for each other
	}
	if err = s.repair(c.repairs.take()); err == nil {
		s.batch, s.pace.active = b, 0
		s.pace.progress()
		err = s.slots.Drive(context.Background(), s.q, len(b.results), at, depth, s)
	}
	b.counts.Queues.Add(s.q.Stats().Since(before))
	failed := s.failed
	s.batch, s.failed = nil, nil
	c.sessions.Give(s, err != nil)
	return errors.Join(err, failed)
}

// Turn has writes that need the same lock take turns: that of the first group of their keys.
func (s *session) Turn(i int) (lock uint64, ok bool) {
	b, c := s.batch, s.batch.c
	if c.cfg.Mode != Fine || b.kind == kindGet {
		return 0, false
	}
	hash := hashKey(b.word(i))
	group, _ := c.group(hash, 0)
	return (group + uint64(c.rankOf(hash))<<40) * rankFactor >> 32, true
}

// Start readies a machine for an operation.
func (s *session) Start(machine, i int) rma.Op {
	o, b := &s.ops[machine], s.batch
	s.pace.active++
	b.keys.pack(o.key, i)
	if o.kind = b.kind; o.kind == kindPut {
		b.values.pack(o.value, i)
	}
	o.start(hashKey(o.key))
	return o
}

// Finish takes the answer of a machine.
func (s *session) Finish(machine, i int) {
	o := &s.ops[machine]
	s.pace.active--
	if o.err == nil {
		s.batch.settle(i, &o.search)
	} else if s.failed == nil {
		s.failed = o.err
	}
}

// repair tries to repair locks.
func (s *session) repair(pending []pendingRepair) error {
	s.pace.active = 1
	for _, p := range pending {
		s.ops[0].retryRepair(p)
		if err := rma.Run(context.Background(), s.q, &s.ops[0]); err != nil {
			return err
		}
	}
	return nil
}
