package kv

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
)

// A batch that has a table move asks the other ranks to move the slots that are in their memory,
// where batches are shipped. They work on their own memory then, all at the same time; over a
// network a slot takes four round trips. Who asks looks at all slots afterwards, with a get for
// each part.

// kindMove is the kind of such a request. It has the state, and its answer says whether there is
// more to do.
const kindMove = 2

// askedParts is how many parts a rank moves for one request, so that others wait a short time.
const askedParts = 16

// ask has all ranks whose memory this process cannot address, and this one, move their slots. What
// they leave is moved by requests. So its errors do not matter: they occur again.
func (s *session) ask(now state) {
	m := s.m
	if !m.batches.Ships() || m.batches.All {
		return
	}
	var ranks []int
	for rank := range m.job.Size() {
		if rank == m.job.Rank() || m.batches.At(rank) == nil {
			ranks = append(ranks, rank)
		}
	}
	requests, _ := m.batches.Ask(context.Background(), ranks, core.Question{Kind: kindMove,
		About: uint64(now), Here: func(rank int) (more bool, err error) {
			if rank != m.job.Rank() { // it cannot answer
				return false, nil
			}
			return s.moveOwn(now, askedParts)
		}})
	s.moved.Add(requests)
}

// answerMove answers a request to move slots of this rank: 1 if there are more of them.
func (m *Map) answerMove(n int, request, answer []uint64) (words int, err error) {
	if n != 1 || len(request) != 1 || len(answer) < 1 {
		return 0, errBadRequest
	}
	answer[0] = 0
	now, err := m.state(context.Background())
	if err != nil || uint64(now) != request[0] || !now.moving() { // it has moved
		return 1, err
	}
	more := false
	err = m.withSession(func(s *session) (err error) {
		more, err = s.moveOwn(now, askedParts)
		return err
	})
	if more && err == nil {
		answer[0] = 1
	}
	return 1, err
}

// moveOwn moves up to so many parts that are in this rank's memory, and reports whether there are
// more.
func (s *session) moveOwn(now state, atMost int) (more bool, err error) {
	m := s.m
	from, _ := m.tables(now)
	if m.partsLeft(from) == 0 {
		return false, nil
	}
	first := m.job.Rank() * int(from.parts)
	todo, more := m.moves.of(now.gen(), first, first+int(from.parts), atMost)
	err = s.moveParts(now, len(todo), func() (part int, ok bool) {
		if len(todo) == 0 {
			return 0, false
		}
		part, todo = todo[0], todo[1:]
		return part, true
	})
	if err != nil {
		return false, fmt.Errorf("kv: moving slots that others have asked for: %w", err)
	}
	return more, nil
}

// of is up to n parts of a table, of those from first to end, that this rank does not know to have
// moved, and whether there are more. It goes round: the next call, which may come before these have
// moved, gets others while there are some.
func (p *progress) of(gen uint64, first, end, n int) (parts []int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen != gen || p.left == 0 {
		return nil, false
	}
	begin, size := p.ownNext, end-first
	for i := range size {
		part := first + (begin+i)%size
		if p.done[part] {
			continue
		}
		if len(parts) == n {
			return parts, true
		}
		parts = append(parts, part)
		p.ownNext = (begin + i + 1) % size
	}
	return parts, false
}
