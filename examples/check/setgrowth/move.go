package main

// The steps of a move.

// copyNext has the next word of a piece copied, or the piece marked.
func (m *machine[R]) copyNext() {
	r := &m.Rank[m.id]
	for int(r.At) < m.piece && !has(r.Taken, r.At) {
		r.At++
	}
	switch {
	case int(r.At) < m.piece:
		r.Word = *m.toClose()
		r.Insert, r.Table, r.Distance, r.Phase = true, r.From+1, 0, examine
	case m.mutant == markFirst:
		m.scanAgain()
	default:
		r.Phase = mark
	}
}

func (m *machine[R]) scanAgain() {
	r := &m.Rank[m.id]
	r.Phase, r.Taken, r.At = scan, 0, 0
}

// copied ends the copy of a word.
func (m *machine[R]) copied() {
	r := &m.Rank[m.id]
	if r.Result == full {
		m.mark(stuck, true)
		m.forget()
		return
	}
	r.Result, r.Word, r.Insert, r.Table, r.Distance, r.Expected = 0, 0, false, 0, 0, 0
	r.At++
	m.copyNext()
}

// scanMarks looks for a piece that has not moved.
func (m *machine[R]) scanMarks() {
	r := &m.Rank[m.id]
	switch {
	case int(r.Piece) == m.pieces() || m.mutant == beginsEarly && r.Piece > 0:
		r.Phase = tell
	case m.Moved[m.number()] > r.From:
		r.Piece++
	default:
		r.Phase, r.At, r.Taken = closing, 0, 0
	}
}

// closed ends what is done to a bucket before it is copied.
func (m *machine[R]) closed(hasWord bool) {
	r := &m.Rank[m.id]
	if hasWord {
		r.Taken |= 1 << r.At
	}
	r.At++
	switch {
	case int(r.At) < m.piece && m.number()*m.piece+int(r.At) < m.sizes[r.From]:
		r.Phase = closing
	case m.mutant == markFirst:
		r.At, r.Phase = 0, mark
	default:
		r.At = 0
		m.copyNext()
	}
}

// readToClose reads a bucket that is to be closed.
func (m *machine[R]) readToClose() {
	b := *m.toClose()
	m.mark(rescued, b == closed && m.Deaths > 0)
	if b == empty && m.mutant != noClose {
		m.Rank[m.id].Phase = shut
		return
	}
	m.closed(b > closed)
}

// swapClosed closes a bucket by a compare-and-swap. If that loses, the bucket is closed or has a
// word, and the word that it returns is taken in place of what was read.
func (m *machine[R]) swapClosed() {
	switch p := m.toClose(); {
	case *p == empty || m.mutant == storeClosed:
		*p = closed
		m.closed(false)
	default:
		m.mark(lostClose, *p > closed)
		m.closed(*p > closed && m.mutant != loserLeaves)
	}
}

// setMark marks a piece.
func (m *machine[R]) setMark() {
	r, n := &m.Rank[m.id], m.number()
	m.mark(again, m.Moved[n] > r.From)
	m.Moved[n] = max(m.Moved[n], r.From+1)
	for at := n * m.piece; at < min((n+1)*m.piece, m.sizes[r.From]); at++ {
		word := m.Bucket[r.From][at]
		m.claim(movedLater, word <= closed || m.isFound(word, r.From+1))
	}
	if m.mutant == markFirst {
		r.At = 0
		m.copyNext()
		return
	}
	m.scanAgain()
}

// tellOthers: all pieces have moved.
func (m *machine[R]) tellOthers() {
	r := &m.Rank[m.id]
	m.OldestCell = max(m.OldestCell, r.From+1)
	r.Oldest = max(r.Oldest, r.From+1)
	m.forget()
}
