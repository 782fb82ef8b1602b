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
	r := m.Rank[m.id]
	try := func(action string, step func(*machine[R]) bool) {
		if n := m; step(&n) {
			emit(action, n.state)
		}
	}
	if r.Phase == ended {
		return
	}
	if r.Phase == idle {
		m.calls(emit)
		return
	}
	for i := range 2 * m.chunk {
		try("a word arrives", func(n *machine[R]) bool { return n.get(i) })
	}
	for i := range 2 {
		try("a word of the element is put", func(n *machine[R]) bool { return n.put(i) })
		try("a word of the other element arrives", func(n *machine[R]) bool { return n.fetch(i) })
	}
	try("compare-and-swap", (*machine[R]).compareAndSwap)
	try("answer", (*machine[R]).answer)
	try("death", (*machine[R]).die)
}

// calls are the searches that an idle rank can begin, and its end.
func (m *machine[R]) calls(emit func(string, state[R])) {
	n := *m
	if n.die() {
		emit("death", n.state)
	}
	if n = *m; m.Rank[m.id].Left == 0 {
		n.Rank[n.id] = rank{Phase: ended}
		emit("end", n.state)
		return
	}
	for element := range uint8(4) {
		for kind := range 2 {
			n := *m
			r := &n.Rank[n.id]
			if element > 0 {
				r.Left--
				r.Element, r.Insert, r.Staged = element, kind == 1, false
				r.Was = has(n.InSet, element)
				n.searchFrom(0)
				emit("search", n.state)
			}
			if element > 0 && m.memory {
				r.Staged = true
				emit("search of a batch", n.state)
			}
		}
	}
}

func has(mask, i uint8) bool { return mask>>i&1 != 0 }

// claim notes that a claim is broken unless it holds; the first one counts.
func (m *machine[R]) claim(name uint8, holds bool) {
	if !holds && m.Broken == 0 {
		m.Broken = name
	}
}

// mark notes that something happens which is claimed never to.
func (m *machine[R]) mark(name int, happens bool) {
	m.claim(firstMark, !(happens && m.reach == name))
}

// word is a word of an element. A slot of 1 that is overwritten by 2 holds 3 for a moment.
func word(element uint8, i int) uint8 {
	return [...][2]uint8{1: {1, 1}, 2: {2, 1}, 3: {1, 2}}[element][i]
}

func (m *machine[R]) key(element uint8) uint8 {
	if int(element) == m.distinct {
		return occupied + 64
	}
	return occupied + 32
}

func (m *machine[R]) home(element uint8) int {
	if element == 3 {
		return m.home3
	}
	return m.buckets - 1
}

// place is the bucket of a word of the buffer.
func (m *machine[R]) place(i int) int {
	r := &m.Rank[m.id]
	return (m.home(r.Element) + int(r.Begin) + i) % m.buckets
}

func (m *machine[R]) matches(word uint8) bool {
	return word&keyMask == m.key(m.Rank[m.id].Element)
}

// holds reports whether a bucket refers to an element.
func (m *machine[R]) holds(bucket, element uint8) bool {
	return m.Arena[bucket&refMask] == [2]uint8{word(element, 0), word(element, 1)}
}

// eager: the reference is published before the element is written.
func (m *machine[R]) eager() bool { return m.mutant == mutantEarly || m.mutant == mutantWait }

func (m *machine[R]) request(i int) {
	r := &m.Rank[m.id]
	if r.Buf[i] = past; int(r.Begin)+i < m.limit {
		r.Buf[i] = inFlight
	}
}

// searchFrom requests two chunks.
func (m *machine[R]) searchFrom(distance int) {
	r := &m.Rank[m.id]
	r.Begin, r.Next, r.Phase = uint8(distance), 0, examine
	for i := range 2 * m.chunk {
		m.request(i)
	}
}

func (m *machine[R]) nextChunk() {
	r := &m.Rank[m.id]
	r.Begin += uint8(m.chunk)
	r.Next = 0
	for i := range m.chunk {
		r.Buf[i] = r.Buf[m.chunk+i]
		m.request(m.chunk + i)
	}
}

// arrived reports whether the chunk has.
func (m *machine[R]) arrived() bool {
	r := &m.Rank[m.id]
	last := m.chunk - 1
	if r.Staged {
		last = m.chunk
	}
	return r.Buf[0] != inFlight && r.Buf[last] != inFlight || m.mutant == mutantNoAwait
}

// advance continues until it needs memory, or has an answer.
func (m *machine[R]) advance() {
	for r := &m.Rank[m.id]; r.Phase == examine; {
		distance := int(r.Begin + r.Next)
		reached := distance >= m.limit ||
			m.mutant == mutantNoWrap && m.home(r.Element)+distance >= m.buckets
		switch {
		case reached && r.Insert:
			r.Result, r.Phase = full, done
		case reached:
			r.Result, r.Phase = notFound, done
		case int(r.Next) == m.chunk:
			m.nextChunk()
		case !m.arrived():
			return
		case r.Staged:
			m.finishLine()
		default:
			m.consider()
		}
	}
}

// finishLine: a batch over memory has read a line, here of two buckets, some time ago. If none
// has the fingerprint, those before the first empty one are not read again.
func (m *machine[R]) finishLine() {
	r := &m.Rank[m.id]
	switch {
	case m.matches(r.Buf[0]):
		r.Phase = match
	case m.matches(r.Buf[1]):
		r.Next, r.Phase = 1, match
	default:
		n := 0
		if r.Buf[0] != 0 {
			n++
		}
		if r.Buf[1] != 0 && (r.Buf[0] != 0 || m.mutant == mutantCount) {
			n++
		}
		r.Staged = false
		m.searchFrom(n)
	}
}

// consider decides on a bucket, as read or as a lost compare-and-swap returned it.
func (m *machine[R]) consider() {
	r := &m.Rank[m.id]
	switch word := r.Buf[r.Next]; {
	case word == 0 && !r.Insert:
		r.Result, r.Phase = notFound, done
	case word == 0:
		m.mark(stale, m.Bucket[m.place(int(r.Next))] != 0)
		if r.Mine != 0 {
			m.mark(reused, r.Stored == 0)
		} else {
			r.Mine = 1 + uint8(m.id*m.ops) + r.Taken
			r.Taken++
		}
		if r.Phase = store; r.Stored == both || m.eager() {
			r.Phase = swap
		}
	case !m.matches(word):
		r.Next++
	case m.mutant == mutantFingerprint:
		r.Result, r.Phase = found, done
	default:
		r.Phase = match
	}
}
