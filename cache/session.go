package cache

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q       rma.Queue
	ops     []op
	running []int // operation in each slot, -1 for none
	crowd   crowd
}

// session returns one that nobody uses.
func (t *table) session() (*session, error) {
	s, err := t.sessions.take()
	if s != nil || err != nil {
		return s, err
	}
	// A put and marks may be on their way together with the get of the next group.
	q, err := t.job.NewQueue(t.depth * (t.groupBuckets + 2))
	if err != nil {
		return nil, err
	}
	s = &session{q: q, ops: make([]op, t.depth), running: make([]int, t.depth),
		crowd: crowd{pace: rma.Backoff{Job: t.job}}}
	for i := range s.ops {
		o := &s.ops[i]
		o.t, o.latch.job, o.latch.crowd = t, t.job, &s.crowd
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

// queued runs a batch of searches through a queue. Errors of single operations are told
// after all have ended.
func (t *table) queued(b *batch) error {
	s, err := t.session()
	if err != nil {
		return err
	}
	before := *s.q.Stats()
	failed, err := s.run(b)
	now := *s.q.Stats()
	t.sessions.give(s, err != nil)
	b.counts.Queues.Add(difference(now, before))
	return errors.Join(err, failed)
}

// run drives the operations of a batch. failed is the first error of one.
func (s *session) run(b *batch) (failed, err error) {
	depth := min(max(b.n, 1), len(s.ops))
	if b.t.mode == Coarse && b.kind != kindGet {
		depth = 1 // they would wait for each other
	}
	issued := 0
	s.crowd.active = 0
	s.crowd.progress()
	for slot := range depth {
		s.running[slot] = -1
	}
	next := func(slot int) rma.Op {
		o := &s.ops[slot]
		if i := s.running[slot]; i >= 0 {
			s.running[slot] = -1
			s.crowd.active--
			if o.err == nil {
				b.settle(i, &o.search)
			} else if failed == nil {
				failed = o.err
			}
		}
		if issued == b.n {
			return nil
		}
		s.running[slot] = issued
		s.crowd.active++
		o.kind, o.key, o.value = b.kind, b.key(issued), b.value(issued)
		o.start(hashKey(o.key))
		issued++
		return o
	}
	err = rma.RunAll(context.Background(), s.q, depth, next)
	return failed, err
}

// difference is what was counted since before.
func difference(now, before rma.Stats) rma.Stats {
	now.Gets -= before.Gets
	now.Puts -= before.Puts
	now.CompareAndSwaps -= before.CompareAndSwaps
	now.FetchAdds -= before.FetchAdds
	now.Bytes -= before.Bytes
	now.RoundTrips -= before.RoundTrips
	now.Retries -= before.Retries
	return now
}
