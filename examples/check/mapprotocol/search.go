package main

// search requests the slots of a table, whose words come in any order. A direct call begins with
// the first one.
func (m *machine[C]) search() {
	c := &m.Client[m.id]
	c.At, c.Moved = 0, false
	if c.Phase = fetch; c.Direct {
		c.Phase = directSlot
		return
	}
	for i := range slots {
		c.Buf[i] = inFlight
	}
}

// at is the slot that is examined.
func (m *machine[C]) at() int {
	c := &m.Client[m.id]
	return int(c.Table)*slots + int(c.At)
}

// fetch is the arrival of a slot.
func (m *machine[C]) fetch(i int) {
	c := &m.Client[m.id]
	c.Buf[i] = m.Slot[int(c.Table)*slots+i]
	if c.Buf[0] != inFlight && c.Buf[1] != inFlight {
		m.examine()
	}
}

// examine continues until it needs memory, or has an answer.
func (m *machine[C]) examine() {
	c := &m.Client[m.id]
	for ; c.At < slots && c.Buf[c.At] == moved; c.At++ {
		c.Moved = true
	}
	switch {
	case c.At == slots || c.Buf[c.At] == 0:
		m.absent()
	case m.copies && c.Call == readA:
		c.Phase = readPair
	default:
		c.Phase = readItem
	}
}

// readSeal: a copy is taken if its seal fits the word and the pair.
func (m *machine[C]) readSeal() {
	c := &m.Client[m.id]
	pair, seal := c.Pair, m.Copy[m.at()].Seal
	c.Pair = 0
	if seal == sealOf(c.Buf[c.At], pair) || m.mutant == mutantNoCopySeal {
		m.mark(fromCopy, true)
		m.examined(pair>>3, pair&7)
		return
	}
	m.mark(staleCopy, pair != 0)
	m.mark(crossed, seal != 0 && uint8(seal&31) != pair)
	c.Phase = readItem
}

// readItem reads the item of a word. If the seal does not fit the word, it has been used again.
func (m *machine[C]) readItem() {
	c := &m.Client[m.id]
	word := c.Buf[c.At]
	if !m.isWhole(word) {
		m.mark(recycled, true)
		m.claim(wholeItem, m.Slot[m.at()] != word)
		m.search()
		return
	}
	it := m.item(word)
	m.examined(it.Key, it.Value)
}

// examined continues where the key and the value of a slot are known.
func (m *machine[C]) examined(key, value uint8) {
	c := &m.Client[m.id]
	sought := keyOf(c.Call)
	if c.Moving {
		sought = c.Sought
	}
	switch {
	case key != sought && m.mutant != mutantNoKey:
		c.At++
		m.examine()
	case c.Moving && m.mutant == mutantCopyOver:
		c.Phase = copyOver
	case c.Moving:
		c.endSearch(markMover)
	case c.Buf[c.At]&frozen != 0 && c.Call != readA:
		m.mark(helped, true)
		c.From = c.At
		c.endSearch(readMover)
	default:
		m.found(value)
	}
}

// endSearch forgets what a mover does not need.
func (c *client) endSearch(phase uint8) {
	c.Phase, c.Table, c.At, c.Buf = phase, 0, 0, [slots]uint16{}
	c.Moved, c.Moving, c.Sought = false, false, 0
}

// toSwap continues with the compare-and-swap of the slot.
func (c *client) toSwap() {
	old := c.Buf[c.At]
	c.Phase, c.Moved, c.Buf = swap, false, [slots]uint16{}
	c.Buf[c.At] = old
}

// found decides what a call makes of its key.
func (m *machine[C]) found(value uint8) {
	c := &m.Client[m.id]
	word := c.Buf[c.At]
	there := word&removed == 0
	switch {
	case c.Call == readA:
		m.mark(oldValue, word&frozen != 0)
		if !there {
			value = 0
		}
		m.answers(value)
	case removes(c.Call) && !there, c.Call == ifSameA && (!there || value != 1):
		m.free(c.New)
		m.answers(0)
	case c.Call == ifNoneA && there:
		m.free(c.New)
		m.answers(1)
	default:
		c.toSwap()
	}
}

// absent continues where the key is not in this table; the slot is empty, or after the last one.
func (m *machine[C]) absent() {
	c := &m.Client[m.id]
	behind, reads := c.At == slots, c.Call == readA
	asIfNot := m.mutant == mutantSkips && !behind && (reads || removes(c.Call))
	switch {
	case c.Moving:
		m.claim(hasRoom, !behind)
		c.Phase, c.Buf = copyMover, [slots]uint16{}
	case c.Moved && c.Table == 0 && !asIfNot && !reads && !behind && m.mutant != mutantNoClose:
		c.Phase = closeTable
	case c.Moved && c.Table == 0 && !asIfNot:
		c.Table = 1
		m.search()
	case !puts(c.Call) || c.Call == ifSameA:
		m.free(c.New)
		m.answers(0)
	default:
		if m.claim(hasRoom, !behind); !behind {
			c.toSwap()
		}
	}
}

// closeTable has no call put the key here while it is changed in the next table.
func (m *machine[C]) closeTable() {
	c := &m.Client[m.id]
	if m.compareAndSwap(int(c.At), 0, moved) == 0 {
		m.mark(closed, true)
		c.Table = 1
	}
	m.search()
}

// swap swaps the slot for what the call has it become.
func (m *machine[C]) swap() {
	c := &m.Client[m.id]
	old, word := c.Buf[c.At], c.New
	if removes(c.Call) {
		if word = old | removed; m.mutant == mutantEmptied {
			word = 0
		}
	}
	switch {
	case m.compareAndSwap(m.at(), old, word) != old:
		m.mark(lost, old != 0)
		if c.Phase, c.Buf = directSlot, [slots]uint16{}; !c.Direct {
			m.search()
		}
	case removes(c.Call):
		if m.mutant == mutantFreed || m.mutant == mutantEmptied {
			m.free(old)
		}
		m.answers(1)
	default:
		m.mark(revived, old&removed != 0 && c.Call < writeB)
		m.free(old)
		switch {
		case m.mutant == mutantEarly:
			c.Phase = store
		case m.copies:
			c.Phase = copySeal
		default:
			m.answers(putAnswer(c.Call))
		}
	}
}

// putAnswer is the answer of a call that has put.
func putAnswer(call uint8) uint8 {
	if call == ifSameA {
		return 1
	}
	return 0
}

// The copy is put, in flight with the compare-and-swap: before it or after it.
func (m *machine[C]) putPair(then uint8) {
	c := &m.Client[m.id]
	m.Copy[m.at()].Pair = pairOf(keyOf(c.Call), c.Value)
	c.Phase = then
}

func (m *machine[C]) putSeal(then uint8) {
	c := &m.Client[m.id]
	m.Copy[m.at()].Seal = sealOf(c.New, pairOf(keyOf(c.Call), c.Value))
	c.Phase = then
}
