package nessie

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one call at a time.
type session struct {
	t     *Table
	q     rma.Queue
	op    *op // the call
	mover *op // migrations that it needs
	rng   *rand.Rand
	count counts
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// with does an operation, and has fn examine the result.
func (t *Table) with(ctx context.Context, kind Kind, key, value []byte, fn func(o *op)) error {
	if len(key) < 1 || len(key) > t.cfg.MaxKey || kind == Write && len(value) > t.cfg.MaxValue {
		return fmt.Errorf("kv: a key of %d bytes, a value of %d; this map takes 1 to %d, 0 to %d",
			len(key), len(value), t.cfg.MaxKey, t.cfg.MaxValue)
	}
	s, ok, err := t.pool.Take()
	if err == nil && !ok {
		s, err = t.newSession()
	}
	if err != nil {
		return err
	}
	before := *s.q.Stats()
	s.count = counts{}
	err = s.call(ctx, kind, key, value)
	fn(s.op)
	s.op.key, s.op.value = nil, nil // they are the caller's
	t.tally.add(&s.count, s.q.Stats().Since(before))
	var full *FullError
	var busy *BusyError
	t.pool.Give(s, err != nil && !errors.As(err, &full) && !errors.As(err, &busy))
	return err
}

func (t *Table) newSession() (*session, error) {
	q, err := t.job.NewQueue(queueDepth)
	if err != nil {
		return nil, err
	}
	s := &session{t: t, q: q}
	if s.op, err = newOp(t, q); err == nil {
		s.mover, err = newOp(t, q)
	}
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	s.rng = rand.New(rand.NewPCG(uint64(t.job.Rank()), t.tally.session()))
	return s, nil
}

// call tries an operation until it is done.
func (s *session) call(ctx context.Context, kind Kind, key, value []byte) error {
	o := s.op
	o.key, o.value, o.found, o.sent = key, value, false, false
	s.count.kind = kind
	p, sec := s.t.slotsOf(key)
	for attempt := range s.t.cfg.Attempts {
		o.start(s.t.first[kind], p, sec)
		if err := s.run(ctx, o); err != nil {
			return err
		}
		switch o.outcome {
		case done:
			return nil
		case bothTaken:
			if how, err := s.makeRoom(ctx); err != nil {
				return err
			} else if how == done {
				continue // the write follows at once
			}
		}
		s.count.retries++
		s.pause(attempt)
	}
	return &BusyError{Key: key, Attempts: s.t.cfg.Attempts}
}

// run drives one attempt. The error is of the engine, or a FullError.
func (s *session) run(ctx context.Context, o *op) error {
	o.trips = 0
	err := rma.Run(ctx, s.q, o)
	s.count.trips += o.trips
	s.count.migrations += o.moves
	if err == nil {
		err = o.err
	}
	return err
}

// makeRoom empties one of the slots in which the write has found other keys: by one migration,
// first of the key in the primary slot, or by a chain of them.
func (s *session) makeRoom(ctx context.Context) (outcome, error) {
	o := s.op
	how, err := s.move(ctx, o.p, o.a.key)
	if err == nil && how == blocked {
		how, err = s.move(ctx, o.s, o.b.key)
	}
	if err != nil || how != blocked {
		return how, err
	}
	s.count.chains++
	for _, from := range []uint64{o.p, o.s} {
		m := s.mover
		m.start((*op).walk, from, 0)
		if err := s.run(ctx, m); err != nil || m.outcome == retry {
			return m.outcome, err
		}
		if m.outcome == done {
			return s.moveAll(ctx, m.path)
		}
	}
	return blocked, &FullError{Slots: s.t.total}
}

// moveAll moves the keys of a chain, the last one first.
func (s *session) moveAll(ctx context.Context, path []link) (outcome, error) {
	// mark: a chain of keys is moved
	for i := len(path) - 1; i >= 0; i-- {
		how, err := s.move(ctx, path[i].slot, path[i].key)
		if err != nil || how != done {
			return retry, err
		}
	}
	return done, nil
}

// move migrates a key out of a slot.
func (s *session) move(ctx context.Context, from uint64, key []byte) (outcome, error) {
	m := s.mover
	m.key, m.sent = key, false
	m.start(s.t.first[migrate], from, s.t.other(key, from))
	err := s.run(ctx, m)
	if err == nil && m.outcome == done {
		s.count.migrations++
	}
	return m.outcome, err
}

// A pause between attempts is at most pauseMinNs at first, twice as long each time, and at most
// pauseMaxNs.
const (
	pauseMinNs = 1000
	pauseMaxNs = 1 << 20
)

// pause backs off before the next attempt, by half to all of what is allowed, at random.
func (s *session) pause(attempt int) {
	most := int64(min(pauseMinNs<<min(attempt, 20), pauseMaxNs))
	ns := most - s.rng.Int64N(most/2)
	if j, ok := s.t.job.(backoff.Sleeper); ok {
		j.Sleep(ns)
		return
	}
	time.Sleep(time.Duration(ns))
}
