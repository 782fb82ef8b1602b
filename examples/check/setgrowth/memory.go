package main

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

// home is the bucket where the search for a word begins. The runs of all words overlap around the
// end of table 0. In table 1 words 2 and 4 have the same home.
func (m *machine[R]) home(table, word uint8) int {
	switch {
	case table == 0 && word != 4:
		return m.sizes[0] - 1
	case table == 1 && word == 3:
		return 1
	}
	return 0
}

func (m *machine[R]) place(table, word, distance uint8) *uint8 {
	return &m.Bucket[table][(m.home(table, word)+int(distance))%m.sizes[table]]
}

// bucket is the one that a search is at.
func (m *machine[R]) bucket() *uint8 {
	r := &m.Rank[m.id]
	return m.place(r.Table, r.Word, r.Distance)
}

// reached reports whether a search has come to the limit of a table.
func (m *machine[R]) reached(table, distance uint8) bool {
	return int(distance) >= min(m.limit, m.sizes[table])
}

// pieces is how many pieces the table has that moves.
func (m *machine[R]) pieces() int {
	return (m.sizes[m.Rank[m.id].From] + m.piece - 1) / m.piece
}

// number is the piece that a rank is at. Rank 1 takes them from the last one on.
func (m *machine[R]) number() int {
	n := int(m.Rank[m.id].Piece)
	if m.id == 1 {
		n = m.pieces() - 1 - n
	}
	return n
}

// toClose is the bucket that a move is at.
func (m *machine[R]) toClose() *uint8 {
	r := &m.Rank[m.id]
	return &m.Bucket[r.From][m.number()*m.piece+int(r.At)]
}

// isFound reports whether a search for a word that begins at a table finds it.
func (m *machine[R]) isFound(word, table uint8) bool {
	for distance := uint8(0); int(table) < m.tables; {
		switch *m.place(table, word, distance) {
		case word:
			return true
		case empty:
			return false
		case closed:
			table, distance = table+1, 0
		default:
			if distance++; m.reached(table, distance) {
				table, distance = table+1, 0
			}
		}
	}
	return false
}
