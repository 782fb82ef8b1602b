package main

// moveStep is a step of the move of a slot of table 0, so that its key has its place in table 1.
func (m *machine[C]) moveStep() (action string) {
	c := &m.Client[m.id]
	from := int(c.From)
	switch c.Phase {
	case readMover:
		m.readMover()
		return "the slot that moves is read"
	case freezeMover:
		m.compareAndSwap(from, c.Mover, c.Mover|frozen)
		c.Phase, c.Mover = readMover, 0
		return "the slot is frozen"
	case markFirst:
		m.compareAndSwap(from, c.Mover, moved)
		c.Phase = readMoverItem
		return "the slot is marked"
	case readMoverItem:
		m.readMoverItem()
		return "the item that moves arrives"
	case copyMover:
		m.copyMover()
		return "the slot is copied"
	case copyOver:
		m.compareAndSwap(slots+int(c.At), c.Buf[c.At], c.Mover&^frozen)
		c.endSearch(markMover)
		return "the slot is copied over another"
	}
	m.markMover()
	return "the slot is marked as moved"
}

func (m *machine[C]) readMover() {
	c := &m.Client[m.id]
	c.Mover = m.Slot[c.From]
	switch isFrozen := c.Mover&frozen != 0; {
	case c.Mover == moved:
		m.movedOn()
	case c.Mover == 0 || isFrozen && c.Mover&removed != 0:
		c.Phase = markMover
	case !isFrozen && m.mutant != mutantNoFreeze:
		c.Phase = freezeMover
	case m.mutant == mutantMarkFirst:
		c.Phase = markFirst
	default:
		c.Phase = readMoverItem
	}
}

// readMoverItem learns the key that moves, and searches for it.
func (m *machine[C]) readMoverItem() {
	c := &m.Client[m.id]
	if !m.isWhole(c.Mover) {
		m.claim(wholeItem, m.Slot[c.From] != c.Mover)
		c.Phase = markMover
		return
	}
	c.Sought, c.Table, c.Moving = m.item(c.Mover).Key, 1, true
	m.search()
}

func (m *machine[C]) copyMover() {
	c := &m.Client[m.id]
	seen := m.compareAndSwap(m.at(), 0, c.Mover&^frozen)
	if seen != 0 {
		m.mark(twice, seen&live == c.Mover&live)
		m.search()
		return
	}
	c.endSearch(markMover)
}

func (m *machine[C]) markMover() {
	c := &m.Client[m.id]
	if m.mutant == mutantUnmarked && c.Call != move && c.Mover&frozen != 0 {
		m.movedOn()
		return
	}
	seen := m.compareAndSwap(int(c.From), c.Mover, moved)
	if seen == c.Mover && seen&removed != 0 {
		m.free(seen)
	}
	if c.Mover == 0 && seen != 0 {
		c.Phase = readMover
		return
	}
	m.movedOn()
}

// movedOn continues when the slot has moved: with the next slot, or with the call.
func (m *machine[C]) movedOn() {
	c := &m.Client[m.id]
	was := *c
	*c = client{Item: was.Item, Phase: readMover, Call: was.Call, Left: was.Left,
		Value: was.Value, New: was.New}
	switch {
	case c.Call != move:
		c.Table = 1
		m.search()
	case was.From == slots-1:
		m.forget(idle)
	default:
		c.From = was.From + 1
	}
}
