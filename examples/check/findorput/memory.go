package main

// get is the arrival of a word of a chunk: any one, at any time, whatever the phase.
func (m *machine[R]) get(i int) bool {
	r := &m.Rank[m.id]
	if r.Buf[i] != inFlight {
		return false
	}
	r.Buf[i] = m.Bucket[m.place(i)]
	m.advance()
	return true
}

// put writes a word of the own element into the slot.
func (m *machine[R]) put(i int) bool {
	r := &m.Rank[m.id]
	if r.Phase != store || has(r.Stored, uint8(i)) {
		return false
	}
	slot := r.Mine - 1
	m.claim(shownUnchanged, !has(m.Shown, slot) || m.eager())
	m.Arena[slot][i] = word(r.Element, i)
	r.Stored |= 1 << i
	if m.Whole &^= 1 << slot; r.Stored != both {
		return true
	}
	m.Whole |= 1 << slot
	if r.Phase = swap; m.eager() {
		r.Result, r.Phase = inserted, done
	}
	return true
}

// fetch is the arrival of a word of the element that the bucket refers to.
func (m *machine[R]) fetch(i int) bool {
	r := &m.Rank[m.id]
	slot := r.Buf[r.Next] & refMask
	waits := m.mutant == mutantWait && !has(m.Whole, slot)
	if r.Phase != match || has(r.Fetched, uint8(i)) || waits {
		return false
	}
	m.claim(wholeRead, has(m.Whole, slot))
	r.Fetched |= 1 << i
	r.Same = r.Same && m.Arena[slot][i] == word(r.Element, i)
	if r.Fetched != both && m.mutant != mutantHalf {
		return true
	}
	switch {
	case r.Same:
		r.Result, r.Phase = found, done
	case r.Staged:
		r.Staged = false
		m.searchFrom(0)
	default:
		r.Next++
		r.Phase = examine
	}
	r.Fetched, r.Same = 0, true
	m.advance()
	return true
}

// compareAndSwap: what it returns when it loses is examined in place of what was read.
func (m *machine[R]) compareAndSwap() bool {
	r := &m.Rank[m.id]
	if r.Phase != swap {
		return false
	}
	e, at := r.Element, m.place(int(r.Next))
	b := m.Bucket[at]
	if b == 0 || m.mutant == mutantPut {
		m.claim(noElementTwice, !has(m.InSet, e))
		m.Bucket[at] = m.key(e) + r.Mine - 1
		m.InSet |= 1 << e
		m.Shown |= 1 << (r.Mine - 1)
		for x := range int(r.Begin + r.Next) {
			m.claim(noGap, m.Bucket[(m.home(e)+x)%m.buckets] != 0)
		}
		m.mark(wrapped, at < m.home(e))
		if r.Phase = store; !m.eager() {
			r.Result, r.Phase = inserted, done
		}
		return true
	}
	m.mark(lostEqual, m.holds(b, e))
	m.mark(lostSimilar, !m.holds(b, e) && m.matches(b))
	m.mark(lostOther, !m.matches(b))
	r.Phase = examine
	if r.Buf[r.Next] = b; m.memory {
		r.Buf[r.Next] = inFlight // the loop reads it again
	}
	switch {
	case m.mutant == mutantSkip:
		r.Next++
	case m.mutant == mutantTrust && m.matches(b):
		r.Result, r.Phase = found, done
	}
	m.advance()
	return true
}

// answer checks the result of a search, as if it were done at one moment of its time.
func (m *machine[R]) answer() bool {
	r := &m.Rank[m.id]
	if r.Phase != done {
		return false
	}
	e := r.Element
	m.claim(foundInSet, r.Result != found || has(m.InSet, e))
	m.claim(inSetFound, r.Result == found || !r.Was)
	free := 0 // buckets in reach
	for b := range m.buckets {
		if m.Bucket[b] == 0 && (b+m.buckets-m.home(e))%m.buckets < m.limit {
			free++
		}
	}
	switch r.Result {
	case inserted:
		m.claim(oneInserted, r.Insert && !has(m.Acked, e))
		m.Acked |= 1 << e
		if m.mutant != mutantKeep {
			r.Mine = 0
		}
	case full:
		m.claim(fullWithoutRoom, r.Insert && free == 0)
		m.claim(fullNotInSet, !has(m.InSet, e))
		m.mark(fullAnswer, true)
		for b := range m.buckets {
			m.mark(fullEarly, m.Bucket[b] == 0)
		}
	case notFound:
		m.claim(absentPut, !r.Insert)
		m.mark(absentFull, free == 0)
	}
	*r = rank{Same: true, Mine: r.Mine, Taken: r.Taken, Left: r.Left}
	return true
}

// die ends a rank, before or after any other step.
func (m *machine[R]) die() bool {
	r := &m.Rank[m.id]
	if int(m.Deaths) == m.config.deaths {
		return false
	}
	m.mark(diedIn, r.Result == inserted)
	m.mark(diedTorn, r.Stored != 0 && r.Stored != both)
	m.mark(diedOut, r.Phase == swap)
	m.Deaths++
	*r = rank{Phase: ended}
	return true
}

// end checks the memory when all ranks have ended.
func (m *machine[R]) end() bool {
	for i := range len(m.Rank) {
		if m.Rank[i].Phase != ended {
			return false
		}
	}
	for e := uint8(1); e <= 3; e++ {
		n := 0
		for _, b := range m.Bucket[:m.buckets] {
			if b != 0 && m.holds(b, e) {
				n++
			}
		}
		m.claim(nothingLost, n <= 1 && (n == 1) == has(m.InSet, e))
	}
	m.claim(oneInsertedEach, m.Acked == m.InSet || m.Deaths > 0 && m.Acked&m.InSet == m.Acked)
	return true
}
