package main

// next emits what a client can do: each step is one access to one word of shared memory, with the
// local work that follows from it.
func next[C clients](m machine[C], emit func(string, state[C])) {
	try := func(action string, step func(*machine[C])) {
		n := m
		step(&n)
		emit(action, n.state)
	}
	c := &m.Client[m.id]
	switch c.Phase {
	case ended:
		return
	case idle:
		m.calls(emit)
	case fetch:
		for i := range slots {
			if c.Buf[i] == inFlight {
				try("a slot arrives", func(n *machine[C]) { n.fetch(i) })
			}
		}
	case swap:
		try("compare-and-swap", (*machine[C]).swap)
		if m.copies && !removes(c.Call) {
			try("the copy is put", func(n *machine[C]) { n.putPair(copyFirst) })
		}
	default:
		n := m
		emit(n.step(), n.state)
	}
	if int(m.Deaths) < m.deaths {
		try("death", (*machine[C]).die)
	}
}

// step is the step of a phase that has only one.
func (m *machine[C]) step() (action string) {
	switch c := &m.Client[m.id]; c.Phase {
	case take:
		m.take()
		return "an item is begun"
	case store:
		m.store()
		return "the item is ended"
	case readPair:
		c.Pair, c.Phase = m.Copy[m.at()].Pair, readSeal
		return "the copy arrives"
	case readSeal:
		m.readSeal()
		return "the seal of the copy arrives"
	case readItem:
		m.readItem()
		return "the item arrives"
	case copyFirst:
		m.putSeal(swapAfterCopy)
		return "the seal of the copy is put"
	case copySeal:
		m.putSeal(copyPair)
		return "the seal of the copy is put"
	case copyPair:
		m.putPair(answer)
		m.answers(putAnswer(c.Call))
		return "the copy is put"
	case swapAfterCopy:
		m.swap()
		return "compare-and-swap"
	case closeTable:
		m.closeTable()
		return "an empty slot is closed"
	case directSlot, directAgain:
		m.directSlot()
		return "the slot is read"
	case directKey, directValue:
		m.directItem()
		return "a word of the item is read"
	case answer:
		m.answer()
		return "answer"
	}
	return m.moveStep()
}

// calls are the calls that an idle client can make, and its end.
func (m *machine[C]) calls(emit func(string, state[C])) {
	made := false
	for call := range uint8(allCalls) {
		n := *m
		c := &n.Client[n.id]
		if c.Left == 0 || m.menu[m.id]>>call&1 == 0 {
			continue
		}
		if call < writeB {
			n.History = m.history().after[m.History][m.id].call[call]
			if n.History == 0 {
				continue // no value is left
			}
		}
		made = true
		c.Left--
		c.Call, c.Direct = call, m.direct && call != move
		switch {
		case call == move:
			c.Phase = readMover
		case puts(call):
			c.Value, c.Phase = 1, take
			if call < writeB {
				c.Value = m.history().writes[n.History]
			}
		default:
			n.search()
		}
		emit("call", n.state)
	}
	if !made {
		n := *m
		n.forget(ended)
		emit("end", n.state)
	}
}

// forget ends a call; the items stay.
func (m *machine[C]) forget(phase uint8) {
	c := &m.Client[m.id]
	*c = client{Item: c.Item, Phase: phase, Left: c.Left}
	if phase == ended {
		c.Left = 0
	}
}

// take begins a free item.
func (m *machine[C]) take() {
	c := &m.Client[m.id]
	for i := range c.Item {
		if it := &c.Item[i]; !it.Taken {
			*it = item{Key: it.Key, Value: c.Value, Use: it.Use + 1, Torn: true, Taken: true}
			c.New = m.word(m.id*ownItems + i)
			if c.Phase = store; m.mutant == mutantEarly {
				m.search()
			}
			return
		}
	}
	m.claim(hasItem, false)
}

// store ends the item before anything refers to it.
func (m *machine[C]) store() {
	c := &m.Client[m.id]
	it := m.item(c.New)
	it.Torn, it.Key = false, keyOf(c.Call)
	if m.mutant == mutantEarly {
		m.answers(0)
		return
	}
	m.search()
}

// answers has the client answer, which is a step of its own.
func (m *machine[C]) answers(reply uint8) {
	c := &m.Client[m.id]
	*c = client{Item: c.Item, Phase: answer, Call: c.Call, Left: c.Left, Value: reply, New: c.New}
}

// answer is the return of a call.
func (m *machine[C]) answer() {
	c := &m.Client[m.id]
	if c.Call < writeB {
		after := m.history().after[m.History][m.id].answer[c.Value]
		if m.claim(linearizable, after != 0); after != 0 {
			m.History = after
		}
	}
	m.forget(idle)
}

// die ends a client, before or after any other step.
func (m *machine[C]) die() {
	c := &m.Client[m.id]
	m.mark(diedMoving, c.Mover&frozen != 0 && m.Slot[c.From] == c.Mover)
	m.mark(diedIn, c.New != 0 && (m.Slot[0] == c.New || m.Slot[1] == c.New))
	m.Deaths++
	m.forget(ended)
}
