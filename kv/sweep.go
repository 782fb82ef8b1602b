package kv

import "context"

// Sweep finds the items of this rank that no slot refers to and no call holds, and takes them
// back. Their marks were lost, as a rank died that had taken them out of the table. Sweep
// reads every slot, and returns how many items it has found. Other calls may run meanwhile.
func (m *Map) Sweep(ctx context.Context) (found int, err error) {
	found, _, _, err = m.sweep(ctx)
	return found, err
}

// sweep also counts the slots that are taken, and those of removed keys among them.
func (m *Map) sweep(ctx context.Context) (found int, taken, removedOnes uint64, err error) {
	w, err := m.walker(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	defer w.close()
	lost := m.arena.published()
	for s := range w.keys() {
		taken++
		removedOnes += s.word / removed & 1
		if it := itemOf(s.word); m.arena.owns(it) {
			lost.remove(it.number-m.arena.first, it.use)
		}
	}
	if w.err == nil {
		found = m.arena.recover(lost)
	}
	return found, taken, removedOnes, w.err
}

// uses has, by unit, the uses, plus 1, of items for which no slot was found yet, or 0.
type uses []uint16

// remove removes a use that a slot refers to.
func (u uses) remove(unit, use uint64) {
	if unit < uint64(len(u)) && uint64(u[unit]) == use+1 {
		u[unit] = 0
	}
}

// published is the uses of items in the table. A slot that refers to one of them does so until
// the use ends, or moves to the next table. So a walk over the tables, one after the other, finds
// a slot of each use that has not ended.
func (a *arena) published() uses {
	u := make(uses, a.divided.Load())
	for unit := range u {
		state := a.load(uint64(unit))
		if state.state() == itemInTable {
			u[unit] = uint16(state.use()) + 1
		}
	}
	return u
}

// recover takes back the items that are still published and that the walk found no slot for.
func (a *arena) recover(lost uses) (found int) {
	to := a.lane(0)
	defer to.mu.Unlock()
	for unit, use := range lost {
		u := a.load(uint64(unit))
		it := item{number: a.first + uint64(unit), use: u.use()}
		if use != 0 && u.state() == itemInTable && u.use() == uint64(use-1) &&
			a.recycle(it, u, to) {
			// mark: an item without a mark is found
			found++
		}
	}
	return found
}

// findItem finds items that can be used again: those whose mark was lost, and those of removed
// keys, if there are enough for the table to move. That takes long, so that due limits how often
// it is done.
func (s *session) findItem(ctx context.Context) error {
	m := s.m
	full := &FullError{Items: true, Slots: m.Slots()}
	dead := len(m.job.Failed())
	if !m.arena.due(dead) {
		return full
	}
	found, taken, removedOnes, err := m.sweep(ctx)
	if err != nil || found > 0 {
		return err
	}
	if removedOnes < max(1, taken/shareDivisor) {
		m.arena.sweptInVain(dead)
		return full
	}
	now, err := m.state(ctx)
	if err == nil && !now.moving() {
		now, err = m.beginMove(ctx, now, now.size())
	}
	if err != nil || !now.moving() {
		return err
	}
	return s.finishMove(ctx, now)
}

// due reports whether a sweep may find something: no sweep has found nothing yet, or many items
// were handed out since, or another rank has died since.
func (a *arena) due(dead int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	few := a.handedOut()-a.sweptAt < max(1, a.divided.Load()/shareDivisor)
	return a.sweptAt == 0 || !few || a.deadAt != dead
}

// sweptInVain records that a sweep has found nothing.
func (a *arena) sweptInVain(dead int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweptAt, a.deadAt = a.handedOut(), dead
}

// handedOut is how many items were handed out.
func (a *arena) handedOut() (n uint64) {
	for i := range a.lanes {
		l := &a.lanes[i]
		l.mu.Lock()
		n += l.handedOut
		l.mu.Unlock()
	}
	return n
}
