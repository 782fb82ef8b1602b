package main

// directSlot reads a slot, for the first time or after its item. If the word is the same then, the
// item was the word's all the time. Slots that move are left to a search.
func (m *machine[C]) directSlot() {
	c := &m.Client[m.id]
	word := m.Slot[m.at()]
	if c.Phase == directAgain {
		m.mark(reread, word != c.Buf[c.At])
		if word == c.Buf[c.At] || m.mutant == mutantTakesTorn {
			m.directExamined()
			return
		}
		c.Same, c.Pair = false, 0
	}
	c.Buf[c.At] = word
	switch {
	case word&(moved|frozen) != 0:
		m.leave()
	case word == 0:
		m.absent()
	default:
		c.Phase = directKey
	}
}

// directItem reads a word of the item: its key, or its value.
func (m *machine[C]) directItem() {
	c := &m.Client[m.id]
	it := m.item(c.Buf[c.At])
	if c.Phase == directValue {
		c.Pair, c.Phase = it.Value, directAgain
		return
	}
	c.Phase = directAgain
	if c.Same = it.Key == keyOf(c.Call); c.Same && (c.Call == readA || c.Call == ifSameA) {
		c.Phase = directValue
	}
}

// directExamined continues where the item was the slot's.
func (m *machine[C]) directExamined() {
	c := &m.Client[m.id]
	same, value := c.Same, c.Pair
	c.Same, c.Pair = false, 0
	if same {
		m.found(value)
		return
	}
	c.Phase, c.Buf = directSlot, [slots]uint16{}
	if c.At++; c.At == slots {
		m.leave()
	}
}

// leave has a search make the call, which has changed nothing.
func (m *machine[C]) leave() {
	m.Client[m.id].Direct = false
	m.search()
}
