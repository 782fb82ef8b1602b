package main

// machine is a state while a rank makes a step.
type machine[R ranks] struct {
	*config
	id int
	state[R]
}

// next emits what a rank can do: each step is one access to one word of shared memory, with the
// local work that follows from it.
func next[R ranks](m machine[R], emit func(string, state[R])) {
	r := &m.Rank[m.id]
	if r.Phase == ended {
		return
	}
	if n := m; n.die() {
		emit("death", n.state)
	}
	if r.Phase == idle {
		m.calls(emit)
		return
	}
	steps := [...]struct {
		name string
		step func(*machine[R])
	}{
		examine: {"a bucket is read", (*machine[R]).read},
		claim:   {"compare-and-swap", (*machine[R]).compareAndSwap},
		answer:  {"answer", (*machine[R]).answer},
		scan:    {"a mark is read", (*machine[R]).scanMarks},
		closing: {"a bucket to be closed is read", (*machine[R]).readToClose},
		shut:    {"a bucket is closed", (*machine[R]).swapClosed},
		mark:    {"a piece is marked", (*machine[R]).setMark},
		tell:    {"all pieces have moved", (*machine[R]).tellOthers},
	}
	if r.Phase == examine && m.waits() {
		return
	}
	n := m
	steps[r.Phase].step(&n)
	emit(steps[r.Phase].name, n.state)
}

// calls are the calls that an idle rank can begin, and its end. It finds out from others at which
// table to begin, or does not.
func (m *machine[R]) calls(emit func(string, state[R])) {
	if m.Rank[m.id].Left == 0 {
		n := *m
		n.Rank[n.id] = rank{Phase: ended}
		emit("end", n.state)
		return
	}
	m.callsFrom(m.Rank[m.id].Oldest, emit)
	if m.OldestCell > m.Rank[m.id].Oldest {
		m.callsFrom(m.OldestCell, emit)
	}
}

func (m *machine[R]) callsFrom(oldest uint8, emit func(string, state[R])) {
	for word := range uint8(m.words) {
		for kind := range 2 {
			n := *m
			n.Rank[n.id] = rank{Phase: examine, Oldest: oldest, Left: m.Rank[m.id].Left - 1,
				Word: first + word, Insert: kind == 1, Was: has(m.InSet, first+word),
				Table: oldest}
			emit("search", n.state)
		}
	}
	if int(oldest) == m.tables-1 {
		return
	}
	from := oldest
	if m.mutant == movesNext && int(oldest)+1 < m.tables-1 {
		from++
	}
	n := *m
	n.Rank[n.id] = rank{Phase: scan, Oldest: oldest, Left: m.Rank[m.id].Left - 1, Moving: true,
		From: from}
	emit("move", n.state)
}

// waits: the rank waits for the end of a move.
func (m *machine[R]) waits() bool {
	r := &m.Rank[m.id]
	return m.mutant == wait && !r.Moving && m.OldestCell <= r.Table && *m.bucket() == closed
}

func (m *machine[R]) finish(result uint8) {
	r := &m.Rank[m.id]
	r.Result, r.Phase = result, answer
}

// limited ends a search that has examined all buckets within the limit of a table.
func (m *machine[R]) limited() {
	r := &m.Rank[m.id]
	switch {
	case !m.reached(r.Table, r.Distance):
	case int(r.Table) < m.tables-1 && (m.mutant != limitFull || r.Moving):
		m.mark(passedLimit, true)
		r.Table, r.Distance = r.Table+1, 0
	case r.Insert:
		m.finish(full)
	default:
		m.finish(notFound)
	}
}

// read examines a bucket.
func (m *machine[R]) read() {
	r := &m.Rank[m.id]
	switch b := *m.bucket(); {
	case b == r.Word && !(m.mutant == copyBlind && r.Moving):
		m.finish(found)
	case b == empty || b == closed && m.mutant == closedEmpty:
		if r.Expected, r.Phase = b, claim; !r.Insert {
			m.finish(notFound)
		}
	case b == closed && m.mutant != closedOther:
		m.claim(lastStays, int(r.Table) < m.tables-1)
		r.Table, r.Distance = r.Table+1, 0
	default:
		r.Distance++
		m.limited()
	}
}

// compareAndSwap claims a bucket. When it loses the bucket is read again.
func (m *machine[R]) compareAndSwap() {
	r := &m.Rank[m.id]
	if p := m.bucket(); *p == r.Expected {
		m.claim(changesOnce, *p == empty)
		for _, b := range m.Bucket[r.Table] {
			m.claim(noWordTwice, b != r.Word)
		}
		m.mark(forward, !r.Moving && r.Table > 0 && m.OldestCell < r.Table)
		m.mark(third, !r.Moving && r.Table == 2)
		m.mark(wonByCopy, r.Moving && !has(m.Acked, r.Word))
		*p = r.Word
		m.InSet |= 1 << r.Word
		if r.Moving && m.mutant == copyTells {
			m.claim(oneInserted, !has(m.Acked, r.Word))
			m.Acked |= 1 << r.Word
		}
		m.finish(inserted)
	} else {
		m.mark(lostClaim, *p == closed && !r.Moving)
		m.mark(lostCopy, *p == r.Word && r.Moving)
		if r.Phase = examine; m.mutant == noReturn && !r.Moving {
			r.Distance++
			m.limited()
		}
	}
	if r.Phase == answer && r.Moving {
		m.copied()
	}
}

// answer checks the result of a call, as if it were done at one moment of its time.
func (m *machine[R]) answer() {
	r := &m.Rank[m.id]
	if r.Moving {
		m.copied()
		return
	}
	m.claim(foundInSet, r.Result != found || has(m.InSet, r.Word))
	m.claim(inSetFound, r.Result == found || !r.Was)
	m.mark(staleStart, r.Oldest < m.OldestCell)
	switch r.Result {
	case inserted:
		m.claim(oneInserted, r.Insert && !has(m.Acked, r.Word))
		m.Acked |= 1 << r.Word
	case full:
		m.claim(fullNotInSet, r.Insert && !has(m.InSet, r.Word))
		m.claim(fullOfLast, int(r.Table) == m.tables-1)
		m.mark(fullAnswer, true)
	case notFound:
		m.claim(absentPut, !r.Insert)
	case found:
		later := true
		for _, b := range m.Bucket[0] {
			later = later && b != r.Word
		}
		m.mark(foundLater, later)
	}
	m.forget()
}

// forget clears what belongs to a call, so that equal states are equal.
func (m *machine[R]) forget() {
	r := &m.Rank[m.id]
	*r = rank{Oldest: r.Oldest, Left: r.Left}
}

// die ends a rank, before or after any other step.
func (m *machine[R]) die() bool {
	r := &m.Rank[m.id]
	if int(m.Deaths) == m.config.deaths {
		return false
	}
	m.mark(diedIn, r.Result == inserted && !r.Moving)
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
	for word := uint8(first); word < first+uint8(m.words); word++ {
		for table := range m.OldestCell + 1 {
			m.claim(nothingLost, m.isFound(word, table) == has(m.InSet, word))
		}
	}
	m.claim(oneInsertedEach, m.Acked == m.InSet || m.Deaths > 0 && m.Acked&m.InSet == m.Acked)
	return true
}
