package main

import "github.com/farhash/farhash/statespace/check"

const maxAreas = 3

// The wrong versions.
const (
	noHold     = 1 + iota // movers hold nothing
	noCheck               // a mover does not read the state after it holds
	holdsFrom             // it holds only the area that slots leave
	readsEarly            // a table begins whose holds were read when another one was there
	deadHold              // the dead hold their areas
	thawsLate             // a mover releases before its last step
)

// What must be able to happen.
const (
	late      = 1 + iota // a mover comes when the table has moved
	released             // a mover has held when the table had moved
	inTheWay             // all areas are held
	diedHolds            // a client dies that holds
	thirdArea            // a table begins in an area that is not the last but one's
	marks
)

// config is the size of a search.
type config struct {
	areas, tables int
	rounds        int // parts of moves that each client makes
	deaths        int
	mutant, reach int
}

var usual = config{areas: 2, tables: 5, rounds: 4, deaths: 1}

// The claims.
const (
	keyIsThere       = "the key is there"
	frozenUntilMoved = "a key stays frozen until its old slot has moved"
	markClaim        = "the mark is never reached"
)

// The phases of a client: what it accesses next.
const (
	idle = iota
	readHolds
	wait // until an area is free, or the state another one
	begin
	hold
	checkState
	readSlot
	freeze
	readTarget
	place
	swap
	thaw
	release
	end
	ended
)

// A slot: | kind (2) | generation (4) |. A word of the key has one bit of a generation if it is
// frozen.
const (
	kindAt = 4
	genOf  = 1<<kindAt - 1
	empty  = 0 // or moved from that generation
	word   = 1 << kindAt
	frozen = 2 << kindAt
)

// client is what a client knows.
type client struct {
	Phase  uint8 `bits:"4"`
	Left   uint8 `bits:"3"` // rounds
	Gen    uint8 `bits:"3"` // of the state that it has read,
	From   uint8 `bits:"2"` // and its areas
	Into   uint8 `bits:"2"`
	Word   uint8 `bits:"6"` // of the slot, or of the target
	Next   uint8 `bits:"2"` // the client whose holds are read
	Free   uint8 `bits:"3"` // areas that nobody read so far holds
	Mine   bool  // it has to thaw what it has moved
	Moved  bool  // the slot has moved
	Holds  uint8 `bits:"3"` // what others read: a bit for each area
	Doomed bool  // it is dead
}

type clients interface{ [2]client | [3]client }

// state is the state of the memory and of all clients.
type state[C clients] struct {
	Client C
	Slot   [maxAreas]uint8 `bits:"6"`
	Gen    uint8           `bits:"3"`
	From   uint8           `bits:"2"` // the area of the table
	Into   uint8           `bits:"2"` // the area that it moves to
	Moving bool
	Deaths uint8 `bits:"2"`
	Broken bool  // a mark was reached
}

// machine is a state while a client makes a step.
type machine[C clients] struct {
	*config
	id int
	state[C]
}

// moves is the protocol. A deadlock is a client that waits for ever.
func moves[C clients](name string, c config) check.Model[state[C]] {
	first := state[C]{Gen: 1}
	first.Slot[0] = word
	for i := range len(first.Client) {
		first.Client[i].Left = uint8(c.rounds)
	}
	m := check.Model[state[C]]{Name: name, Init: []state[C]{first},
		Next: func(s state[C], emit func(string, state[C])) {
			over := true
			for id := range len(s.Client) {
				over = over && s.Client[id].Phase == ended
				next(machine[C]{config: &c, id: id, state: s}, emit)
			}
			if over {
				emit("all have ended", s)
			}
		},
		Properties: []check.Property[state[C]]{
			check.Always(keyIsThere, func(s state[C]) bool { return s.there() }),
			check.Always(frozenUntilMoved, func(s state[C]) bool {
				return s.isFrozen() || c.mutant == noHold // which breaks both at the same step
			})}}
	if c.reach > 0 {
		m.Properties = append(m.Properties, check.Always(markClaim,
			func(s state[C]) bool { return !s.Broken }))
	}
	return m
}

// isFrozen reports whether the key is frozen in the next table, if it is there, until it has moved.
func (s *state[C]) isFrozen() bool {
	return !s.Moving || s.Slot[s.From]>>kindAt == empty || s.Slot[s.Into] != word
}

// there reports whether a search finds the key, in the table or in the next one.
func (s *state[C]) there() bool {
	if at := s.Slot[s.From]; at>>kindAt != empty {
		return true
	} else if !s.Moving || at != s.Gen {
		return false
	}
	return s.Slot[s.Into]>>kindAt != empty
}

func (m *machine[C]) mark(name int, happens bool) {
	m.Broken = m.Broken || happens && m.reach == name
}

// next emits what a client can do: each step is one access to shared memory.
func next[C clients](m machine[C], emit func(string, state[C])) {
	c := &m.Client[m.id]
	if c.Phase == ended {
		return
	}
	n := m
	if action := n.step(); action != "" {
		emit(action, n.state)
	}
	if int(m.Deaths) < m.deaths {
		m.mark(diedHolds, c.Holds != 0)
		m.Deaths++
		*c = client{Phase: ended, Holds: c.Holds, Doomed: true}
		emit("death", m.state)
	}
}

func (m *machine[C]) step() (action string) {
	c := &m.Client[m.id]
	switch c.Phase {
	case idle:
		m.readState()
		return "the state is read"
	case readHolds:
		m.readHolds()
		return "holds are read"
	case wait:
		if m.freeAreas() == 0 && !m.Moving && m.Gen == c.Gen {
			return ""
		}
		*c = client{Left: c.Left}
		return "it waits no longer"
	case begin:
		m.begin()
		return "the table begins to move"
	case hold:
		c.Phase = checkState
		switch m.mutant {
		case noHold:
		case holdsFrom:
			c.Holds = 1 << c.From
		default:
			c.Holds = 1<<c.From | 1<<c.Into
		}
		return "areas are held"
	case checkState:
		c.Phase = readSlot
		if m.mutant != noCheck && m.mutant != noHold && (!m.Moving || m.Gen != c.Gen) {
			m.mark(released, true)
			c.Phase = release
		}
		return "the state is read again"
	case release:
		c.Holds, c.Phase = 0, end
		return "areas are released"
	case end:
		if c.Moved && m.Moving && m.Gen == c.Gen {
			m.Gen, m.From, m.Into, m.Moving = m.Gen+1, m.Into, 0, false
		}
		m.round()
		return "the move ends"
	}
	return m.move()
}

// round ends a round.
func (m *machine[C]) round() {
	c := &m.Client[m.id]
	*c = client{Left: c.Left - 1, Holds: c.Holds}
	if c.Left == 0 {
		c.Phase = ended
	}
}

func (m *machine[C]) readState() {
	c := &m.Client[m.id]
	c.Gen, c.From, c.Into = m.Gen, m.From, m.Into
	switch {
	case m.Moving:
		c.Phase = hold
	case int(m.Gen) == m.tables:
		c.Left = 1
		m.round()
	default:
		c.Phase, c.Free = readHolds, (1<<m.areas-1)&^(1<<m.From)
	}
}

// freeAreas are those in which a table may begin, as far as nobody holds them now.
func (m *machine[C]) freeAreas() (free uint8) {
	free = (1<<m.areas - 1) &^ (1 << m.From)
	for _, o := range m.clients() {
		free &^= m.holdsOf(o)
	}
	return free
}

func (m *machine[C]) clients() (all []client) {
	for i := range len(m.Client) {
		all = append(all, m.Client[i])
	}
	return all
}

// holdsOf are the areas that a client holds.
func (m *machine[C]) holdsOf(o client) uint8 {
	if o.Doomed && m.mutant != deadHold {
		return 0
	}
	return o.Holds
}

// readHolds reads what one client holds.
func (m *machine[C]) readHolds() {
	c := &m.Client[m.id]
	c.Free &^= m.holdsOf(m.Client[c.Next])
	if c.Next++; int(c.Next) < len(m.Client) {
		return
	}
	c.Next = 0
	if c.Free == 0 {
		m.mark(inTheWay, true)
		c.Phase = wait
		return
	}
	for c.Into = 0; c.Free>>c.Into&1 == 0; {
		c.Into++
	}
	c.Phase, c.Free = begin, 0
}

func (m *machine[C]) begin() {
	c := &m.Client[m.id]
	if !m.Moving && (m.Gen == c.Gen || m.mutant == readsEarly && m.From != c.Into &&
		int(m.Gen) < m.tables) {
		m.mark(thirdArea, c.Into == maxAreas-1)
		m.Moving, m.Into = true, c.Into
	}
	*c = client{Left: c.Left}
}

// move is a step of the move of the slot.
func (m *machine[C]) move() (action string) {
	c := &m.Client[m.id]
	bit := frozen | c.Gen&1
	switch c.Phase {
	case readSlot:
		c.Word = m.Slot[c.From]
		m.look()
		return "the slot is read"
	case freeze:
		if m.Slot[c.From] == c.Word {
			m.Slot[c.From] = bit
		}
		c.Word, c.Phase = 0, readSlot
		return "the slot is frozen"
	case readTarget:
		c.Word = m.Slot[c.Into]
		m.target()
		return "the slot of the next table is read"
	case place:
		if c.Phase = readTarget; m.Slot[c.Into] == c.Word {
			m.Slot[c.Into], c.Phase, c.Mine = bit, swap, true
		}
		c.Word = 0
		return "the word is placed"
	case swap:
		c.Phase = readSlot
		if m.Slot[c.From] == bit {
			if m.Slot[c.From] = c.Gen; c.Mine {
				c.Phase = thaw
			}
		}
		if m.mutant == thawsLate {
			c.Holds = 0
		}
		return "the slot has moved"
	}
	if m.Slot[c.Into] == bit {
		m.Slot[c.Into] = word
	}
	c.Phase = readSlot
	return "the word is thawed"
}

// look decides about the slot that moves.
func (m *machine[C]) look() {
	c := &m.Client[m.id]
	c.Mine = false
	switch at := c.Word; {
	case at>>kindAt == empty && at >= c.Gen:
		m.mark(late, m.Gen != c.Gen)
		c.Word, c.Phase, c.Moved = 0, release, true
	case at>>kindAt == empty: // the key is not there, which the claim has found
		c.Word, c.Phase = 0, release
	case at == frozen|c.Gen&1:
		c.Word, c.Phase = 0, readTarget
	default:
		c.Phase = freeze
	}
}

// target decides about the slot of the next table.
func (m *machine[C]) target() {
	c := &m.Client[m.id]
	switch at := c.Word; {
	case at>>kindAt == empty && at <= c.Gen:
		c.Phase = place
		return
	case at == word:
		c.Phase = swap
	case at == frozen|c.Gen&1:
		c.Phase, c.Mine = swap, true
	default: // the next table moves, so this one has
		m.mark(late, true)
		c.Phase, c.Moved = release, true
	}
	c.Word = 0
}
