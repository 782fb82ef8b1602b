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
	single wordOp

	// start readies a machine for operation i, finish takes its answer.
	start, finish func(p *probe, i int)
	counts        counts
}

// newSession makes a session with room for depth operations in flight.
func newSession(t *table) (*session, error) {
	depth := t.depth
	if depth == 0 {
		depth = DefaultDepth
	}
	// Two chunks of each machine may be in flight, or one and a request of
	// another kind.
	q, err := t.job.NewQueue(depth * 2 * int(t.pieces()))
	if err != nil {
		return nil, err
	}
	s := &session{q: q, probes: make([]probe, depth), slots: core.NewSlots(depth)}
	for i := range s.probes {
		for half := range s.probes[i].chunks {
			buf, err := q.Alloc(int(t.chunk))
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			s.probes[i].chunks[half].buf = buf
		}
	}
	return s, nil
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// Start readies a machine.
func (s *session) Start(machine, i int) rma.Op {
	s.start(&s.probes[machine], i)
	return &s.probes[machine]
}

// Finish takes the answer of a machine.
func (s *session) Finish(machine, i int) {
	p := &s.probes[machine]
	s.counts.count(p.result, p.examined, p.lost, p.size)
	s.finish(p, i)
}

// finishEnded takes the answers of the machines that had ended before an error.
func (s *session) finishEnded() {
	for machine := range s.probes {
		i := s.slots.Running(machine)
		if i >= 0 && s.probes[machine].result != NotFound {
			s.Finish(machine, i)
		}
	}
}

// run carries out the operations with the given indices, or all n if indices is nil. After an
// error the session is not to be used again.
func (s *session) run(n int, indices []int, start, finish func(p *probe, i int)) (counts, error) {
	s.start, s.finish, s.counts = start, finish, counts{}
	before := *s.q.Stats()
	err := s.slots.Drive(context.Background(), s.q, n, indices, len(s.probes), s)
	if err != nil {
		s.finishEnded()
	}
	s.counts.queues = s.q.Stats().Since(before)
	s.start, s.finish = nil, nil
	return s.counts, err
}
