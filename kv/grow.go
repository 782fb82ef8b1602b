package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// shareDivisor sets the limits of this package on shares: one slot or item in so many. A table
// moves because of removed keys only if they have at least this share of its slots.
const shareDivisor = 8

// nextSize is the size of the table that t moves to. Of the given number of slots of t that were
// examined, all or a sample, the given number are of removed keys. ok is false if the next table
// would be as full as this one.
func (m *Map) nextSize(t table, slots, removed uint64) (size uint64, ok bool) {
	switch {
	case removed > slots/2: // more than half of the next table will be empty
		return t.size, true
	case !m.largest(t):
		return t.size + 1, true
	}
	return t.size, removed >= max(1, slots/shareDivisor)
}

// beginMove has a table move to the next one, of a given size, unless it does so already, and
// returns the state.
func (m *Map) beginMove(ctx context.Context, now state, size uint64) (state, error) {
	_, err := m.states.CompareAndSwap(ctx, 0, 0, uint64(now), uint64(now.begun(size)))
	if err == nil {
		now, err = m.state(ctx)
	}
	return now, err
}

// satisfy does what a call needs before it can be made. The error is that of the call.
func (s *session) satisfy(n need) error {
	m, ctx := s.m, context.Background()
	if n.what == needItem {
		return s.findItem(ctx)
	}
	now, err := m.state(ctx)
	if err == nil && n.what == needRoom && !now.moving() && now.gen() == n.table.gen {
		size, ok := m.nextSize(n.table, n.table.slots, n.removed)
		if !ok {
			return &FullError{Slots: n.table.slots}
		}
		now, err = m.beginMove(ctx, now, size)
	}
	switch {
	case err != nil:
		return fmt.Errorf("kv: %w", err)
	case !now.moving(), n.what != needMove && now.gen() != n.table.gen:
		return nil // it has moved meanwhile
	case n.what == needPart:
		part, left := m.partAt(n.table, n.slot), 1
		return s.moveParts(now, func() (int, bool) { left--; return part, left == 0 })
	}
	return s.finishMove(ctx, now)
}

// finishMove has all slots of a table move, also those that other ranks work on, and ends the
// move in the state.
func (s *session) finishMove(ctx context.Context, now state) error {
	m := s.m
	from, _ := m.tables(now)
	for left := m.partsLeft(from); left > 0; left = m.partsLeft(from) {
		if err := s.helpMove(now, left); err != nil {
			return err
		}
	}
	_, err := m.states.CompareAndSwap(ctx, 0, 0, uint64(now), uint64(now.ended()))
	if err == nil {
		_, err = m.state(ctx)
	}
	if err != nil {
		return fmt.Errorf("kv: %w", err)
	}
	return nil
}

// helpMove has up to n parts of a table move.
func (s *session) helpMove(now state, n int) error {
	return s.moveParts(now, func() (part int, ok bool) {
		if n--; n < 0 {
			return 0, false
		}
		return s.m.moves.claim(now.gen())
	})
}

// moveParts has the parts move that claim returns, until ok is false.
func (s *session) moveParts(now state, claim func() (part int, ok bool)) error {
	m := s.m
	from, into := m.tables(now)
	if s.movers == nil {
		s.movers = make([]mover, len(s.ops))
	}
	var first error
	tooLate := false
	next := func(slot int) rma.Op {
		v := &s.movers[slot]
		if v.op != nil {
			v.op = nil
			tooLate = tooLate || v.tooLate
			if first == nil {
				first = v.dummy.Err
			}
			if !v.tooLate && v.dummy.Err == nil {
				m.moves.finish(from.gen, v.part)
			}
		}
		part, ok := 0, false
		if first == nil && !tooLate {
			part, ok = claim()
		}
		if !ok {
			return nil
		}
		v.start(&s.ops[slot], from, into, part)
		return v
	}
	if err := rma.RunAll(context.Background(), s.q, len(s.movers), next); err != nil {
		return err
	}
	if err := s.q.Submit(); err != nil || first != nil {
		return errors.Join(first, err)
	}
	if tooLate {
		return m.confirmLate(now)
	}
	return nil
}

// confirmLate is called after a mover was too late, or found no room. It is an error if the table
// has not moved on, as then there was no room.
func (m *Map) confirmLate(was state) error {
	now, err := m.state(context.Background())
	if err != nil {
		return fmt.Errorf("kv: %w", err)
	}
	if now == was {
		return fmt.Errorf("kv: table %d has no room for what moves from table %d", was.gen()+1,
			was.gen())
	}
	m.moves.drop(was.gen())
	return nil
}

// maintain does what a batch has found that the table needs: it helps to move it, a part for each
// write that has found it moving, or has it move where keys are far from home. It drops errors:
// they occur again, and then fail a call that needs this.
func (s *session) maintain() {
	m, ctx := s.m, context.Background()
	now, err := m.state(ctx)
	if err != nil {
		return
	}
	if !now.moving() && s.farHash != 0 {
		slots, taken, removed, err := s.sample(ctx, now)
		if err != nil || taken < slots-slots/shareDivisor {
			return
		}
		from, _ := m.tables(now)
		if size, ok := m.nextSize(from, taken, removed); ok {
			if now, err = m.beginMove(ctx, now, size); err == nil && now.moving() {
				_ = s.finishMove(ctx, now)
			}
		}
		return
	}
	if !now.moving() || now.gen() != s.movingGen {
		return
	}
	if from, _ := m.tables(now); m.partsLeft(from) > s.writes {
		_ = s.helpMove(now, s.writes)
		return
	}
	_ = s.finishMove(ctx, now)
}

const (
	sampleRuns  = 8  // runs of slots in a sample
	sampleSlots = 32 // in each run
)

// sample reads runs of slots that are spread over a table, and counts those that are taken, and
// those of removed keys among them. It begins where farHash has its home.
func (s *session) sample(ctx context.Context, now state) (slots, taken, removedOnes uint64,
	err error) {
	m := s.m
	t, _ := m.tables(now)
	var flights [sampleRuns]rma.Handle
	for i := range flights {
		slot := (s.farHash%t.slots + uint64(i)*(t.slots/sampleRuns)) % t.slots
		rank, off, rest := t.place(slot)
		n, at := min(sampleSlots, rest), int(slots)*m.stride
		flights[i] = s.q.Get(s.chunk[at:at+n*m.stride], m.slots, rank, off)
		slots += uint64(n)
	}
	err = s.q.Submit()
	for _, h := range flights { // all of them: a result that is not taken stays on the queue
		waited := s.q.Wait(ctx, h)
		if waited == nil {
			_, waited = s.q.Value(h)
		}
		if err == nil {
			err = waited
		}
	}
	if err != nil {
		return 0, 0, 0, err
	}
	for i := range int(slots) {
		word := s.chunk[i*m.stride]
		if word&occupied != 0 {
			taken++
			removedOnes += word / removed & 1
		}
	}
	return slots, taken, removedOnes, nil
}
