package kv

import "context"

// Sweep finds the items of this rank that no slot refers to and no call holds, and takes them
// back: those whose mark was lost, as a rank died that had taken them out of the table. It
// reads every slot, and returns how many items it has found. Others may go on.
func (m *Map) Sweep(ctx context.Context) (found int, err error) {
	found, _, _, err = m.sweep(ctx)
	return found, err
}

// sweep also counts the slots that are taken, and those of removed keys among them.
func (m *Map) sweep(ctx context.Context) (found int, taken, removedOnes uint64, err error) {
	w, err := m.walker()
	if err != nil {
		return 0, 0, 0, err
	}
	defer w.q.Close()
	lost := m.arena.published()
	err = w.tables(ctx, func(_ table, _, word uint64) (bool, error) {
		taken++
		if word&removed != 0 {
			removedOnes++
		}
		if it := itemOf(word); m.arena.mine(it) {
			lost.sees(it.number-m.arena.first, it.use)
		}
		return true, nil
	})
	if err == nil {
		found = m.arena.recover(lost)
	}
	return found, taken, removedOnes, err
}

// uses has, by unit, the uses of items of which no slot is known, plus 1, or 0.
type uses []uint16

// sees says that a slot refers to a use.
func (u uses) sees(unit, use uint64) {
	if unit < uint64(len(u)) && uint64(u[unit]) == use+1 {
		u[unit] = 0
	}
}

// published are the items that have come into the table. A slot that refers to one of them
// does so for good, or goes over into the next table, until the use ends: who then walks the
// tables one after the other meets it.
func (a *arena) published() uses {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := make(uses, len(a.known))
	for unit, o := range a.known {
		if o.where == inTable || sweepsHeld.On() && o.where == held {
			u[unit] = o.use + 1
		}
	}
	return u
}

// recover takes back the items that are published still, and no slot was seen that refers to
// them.
func (a *arena) recover(lost uses) (found int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for unit, use := range lost {
		o := &a.known[unit]
		if use != 0 && o.where == inTable && (o.use == use-1 || sweepsUsed.On()) {
			a.release(item{number: a.first + uint64(unit), use: uint64(o.use)}, o)
			recovered.Hit()
			found++
		}
	}
	return found
}

// findItem looks for items that can be used again: those that were lost, and those of removed
// keys, if the table can move. That takes long, so that it is done once in so many uses, or
// when a rank has died.
func (s *session) findItem(ctx context.Context, m *Map) error {
	full := &FullError{Items: true, Slots: m.Slots()}
	dead := len(m.job.Failed())
	if !m.arena.due(dead) {
		return full
	}
	found, taken, removedOnes, err := m.sweep(ctx)
	if err != nil || found > 0 {
		return err
	}
	if !m.grows() || removedOnes < max(1, taken/worth) {
		m.arena.sweptInVain(dead)
		return full
	}
	now, err := m.state(ctx)
	if err == nil && !now.moving() {
		now, err = m.begin(ctx, now, now.size())
	}
	if err != nil || !now.moving() {
		return err
	}
	return s.finish(ctx, m, now)
}

// due tells whether a sweep may find something: none has been in vain since many items were
// handed out, and since another rank died.
func (a *arena) due(dead int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	few := a.takes-a.swept < max(1, uint64(len(a.known)/worth))
	return a.swept == 0 || !few || a.dead != dead
}

func (a *arena) sweptInVain(dead int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.swept, a.dead = a.takes, dead
}
