package set

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q      rma.Queue
	probes []probe
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
	s := &session{q: q, probes: make([]probe, depth)}
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

// run drives the operations with the given indices, or all n if indices is nil: start readies
// a machine for one, finish takes its answer. After an error the session is not to be used
// again.
func (s *session) run(n int, indices []int, start, finish func(p *probe, i int)) (counts, error) {
	var c counts
	if indices != nil {
		n = len(indices)
	}
	depth := min(max(n, 1), len(s.probes))
	running := make([]int, depth) // operation in each slot, -1 for none
	for slot := range running {
		running[slot] = -1
	}
	complete := func(slot int) {
		if i := running[slot]; i >= 0 {
			p := &s.probes[slot]
			c.count(p.result, p.examined, p.lost, p.size)
			finish(p, i)
			running[slot] = -1
		}
	}
	issued := 0
	before := *s.q.Stats()
	err := rma.RunAll(context.Background(), s.q, depth, func(slot int) rma.Op {
		complete(slot)
		if issued == n {
			return nil
		}
		i := issued
		if indices != nil {
			i = indices[i]
		}
		running[slot] = i
		start(&s.probes[slot], i)
		issued++
		return &s.probes[slot]
	})
	for slot := range running { // after an error, what had ended before it
		if s.probes[slot].result != NotFound {
			complete(slot)
		}
	}
	c.rma = s.q.Stats().Since(before)
	return c, err
}
