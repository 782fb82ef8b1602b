package kv

import (
	"context"
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
)

// Tables follow each other in few areas of the window of slots. So a mover that stops, for however
// long, could go on when its area has another table, whose slots may have the same words: it would
// freeze or empty slots of that table. Therefore a process holds both areas of a move while it
// moves slots, and a table begins only in an area that nobody holds. Dead processes hold nothing.
//
// Other calls need no hold. They change a slot by compare-and-swap from a word that is not frozen:
// then the key of the word is in this slot of the present table, whichever that is, and has the
// item of the word; or it is an empty one, which has the generation.

// The holds of a process are a word, with 16 bits for each area: how many of its sessions hold it.
const holdBits = 16

// hold is two areas, or one, that a session holds.
type hold struct {
	m     *Map
	delta uint64 // what it adds to the holds of the process
}

// holders is how many processes a rank has.
func (m *Map) holders() int {
	if m.shared != nil {
		return rma.MaxMembers
	}
	return 1
}

// myHolds is where the holds of this process are.
func (m *Map) myHolds() (rank, off int) {
	if m.shared != nil {
		return 0, holdsAt + m.shared.Member()
	}
	return m.job.Rank(), holdsAt
}

// hold holds the areas of a table that moves. ok is false, and nothing is held, if the state is no
// longer now. It is read after the holds have changed: a later state, which uses an area again,
// comes after somebody has read these holds.
func (m *Map) hold(ctx context.Context, now state) (h hold, ok bool, err error) {
	h = hold{m, 1<<(holdBits*now.shape().area()) + 1<<(holdBits*now.other().area())}
	then, err := h.take(ctx)
	if err != nil || then == now {
		return h, err == nil, err
	}
	// mark: a table has moved by the time its areas are held
	return hold{}, false, h.release()
}

// take holds, and returns the state after it.
func (h hold) take(ctx context.Context) (state, error) {
	if err := h.add(h.delta); err != nil {
		return 0, err
	}
	return h.m.state(ctx)
}

// release ends a hold, when no request that changes a slot is in flight.
func (h hold) release() error { return h.add(-h.delta) }

func (h hold) add(delta uint64) error {
	rank, off := h.m.myHolds()
	if _, err := h.m.states.Add(context.Background(), rank, off, delta); err != nil {
		return fmt.Errorf("kv: %w", err)
	}
	return nil
}

// freeArea is an area for the table after that of a state. It waits while living processes hold all
// that there are, until the state is another one.
func (m *Map) freeArea(ctx context.Context, now state) (area uint64, then state, err error) {
	pace := backoff.Backoff{Job: m.job}
	for then = now; then == now; then, err = m.state(ctx) {
		if err != nil {
			return 0, then, err
		}
		held, err := m.held(ctx)
		if err != nil {
			return 0, then, err
		}
		for area := range m.areas {
			if area != now.shape().area() && held>>(holdBits*area)&(1<<holdBits-1) == 0 {
				return area, now, nil
			}
		}
		// mark: all areas are held
		if pace.Pause() {
			if _, err := m.ended(); err != nil { // the dead hold nothing
				return 0, then, err
			}
		}
	}
	return 0, then, err
}

// held has the bits of the holds of all living processes.
func (m *Map) held(ctx context.Context) (held uint64, err error) {
	failed := m.job.Failed()
	add := func(rank int, words []uint64, err error) error {
		if slices.Contains(failed, rank) {
			return nil
		}
		for _, word := range words {
			held |= word
		}
		return err
	}
	err = m.states.Gather(ctx, holdsAt, m.holders(), add)
	if err != nil {
		return 0, fmt.Errorf("kv: %w", err)
	}
	return held, nil
}

// adoptFrom takes over from a member that has ended: what it held.
func (m *Map) adoptFrom(member int) {
	m.arena.adoptFrom(uint64(member))
	atomicAt(m.control.Words(0), holdsAt+member).Store(0)
}

// thawArrived thaws the word of a slot that was frozen when its key arrived in this table, and that
// its mover has left so. The word was of a key with this hash.
func (s *session) thawArrived(ctx context.Context, t *table, slot, word, hash uint64) error {
	h := hold{s.m, 1 << (holdBits * t.shape.area())}
	now, err := h.take(ctx)
	if err != nil {
		return err
	}
	if now.gen() == t.gen || now.moving() && now.gen()+1 == t.gen {
		rank, off, _ := t.place(slot)
		err = core.Await(ctx, s.q, s.q.CompareAndSwap(s.m.slots, rank, off, word, thaw(word, hash)))
	}
	if err != nil {
		s.held = append(s.held, h)
		return fmt.Errorf("kv: %w", err)
	}
	return h.release()
}
