package set

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q      rma.Queue
	probes []probe
	slots  core.Slots
	held   heldSlots // free slots for the elements of the batch

	batch  *batch // in progress
	single batch  // of one item, kept so that a single call allocates nothing
}

// session returns a session with room for Depth operations in flight.
func (t *table) session() (*session, error) {
	if s, ok, err := t.sessions.Take(); ok || err != nil {
		return s, err
	}
	depth := t.geometry.Depth
	// Two chunks of each machine may be in flight, or one and a request of
	// another kind.
	q, err := t.job.NewQueue(depth * 2 * int(t.pieces()))
	if err != nil {
		return nil, err
	}
	s := &session{q: q, probes: make([]probe, depth), slots: core.NewSlots(depth),
		single: batch{t: t, results: make([]Result, 1)}}
	alloc := func(buf *rma.Buf, words int) {
		if err == nil {
			*buf, err = q.Alloc(words)
		}
	}
	for i := range s.probes {
		p := &s.probes[i]
		p.t, p.held = t, &s.held
		alloc(&p.chunks[0].buf, int(t.chunk))
		alloc(&p.chunks[1].buf, int(t.chunk))
		if t.arenas != nil {
			alloc(&p.there, t.width)
			alloc(&p.here, t.width)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// Start readies a machine.
func (s *session) Start(machine, i int) rma.Op {
	s.probes[machine].start(s.batch, i)
	return &s.probes[machine]
}

// Finish takes the answer of a machine.
func (s *session) Finish(machine, i int) {
	p, b := &s.probes[machine], s.batch
	b.count(p.result, p.examined, p.lost, p.size)
	b.results[i] = p.result
	if b.refs != nil {
		b.refs[i] = Ref(p.bucket & refMask)
	}
	if p.stored && p.result != Inserted {
		s.held.takeBack(p.mine)
	}
}

// run carries out the items of a batch with the given indices, or all if at is nil. After an
// error the session is not to be used again.
func (s *session) run(b *batch, at []int) error {
	s.batch, s.held = b, heldSlots{arenas: b.t.arenas, needed: len(b.results)}
	before := *s.q.Stats()
	err := s.slots.Drive(context.Background(), s.q, len(b.results), at, len(s.probes), s)
	if err != nil { // some machines have ended before it
		for machine := range s.probes {
			i := s.slots.Running(machine)
			if i >= 0 && s.probes[machine].result != NotFound {
				s.Finish(machine, i)
			}
		}
	}
	s.held.release()
	b.noSlot += s.held.noSlot
	b.queues.Add(s.q.Stats().Since(before))
	s.batch = nil
	return err
}

// Queued answers items through a queue.
func (b *batch) Queued(at []int) error {
	s, err := b.t.session()
	if err == nil {
		err = s.run(b, at)
		b.t.sessions.Give(s, err != nil)
	}
	return err
}

// oneQueued runs one operation through a queue.
func (t *table) oneQueued(item []uint64, insert bool) (Result, error) {
	s, err := t.session()
	if err != nil {
		return NotFound, err
	}
	b := &s.single
	b.items, b.insert, b.counts = append(b.items[:0], item...), insert, counts{}
	b.results[0] = NotFound
	err = s.run(b, nil)
	r, c := b.results[0], b.counts
	t.sessions.Give(s, err != nil)
	return r, t.ended(&c, err)
}
