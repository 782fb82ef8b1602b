package kv

import (
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// direct is the memory of a map where this rank sees all of it. A get looks there by itself,
// without a queue:
//
//	state   if the table is moving, the get is left to the machine
//	slots   from home on: an empty one ends the search, and where the fingerprint fits the
//	        item is looked at; a frozen one is left to the machine
//	item    each word is loaded once, for the seal and for the value; if the seal does not
//	        fit the item has been used again, and the slot is read again
//	state   if it has changed, the answer is thrown away
//
// So an answer is of a table that did not move meanwhile, and the get takes effect with the
// read of the slot whose item was whole, or that was empty, as it does in the machine.
type direct struct {
	slots, items []uint64 // of all ranks, nil if they are out of sight
	segment      int      // words of slots of a rank
	state        *uint64  // nil if the map does not grow
}

// lineSlots is how many slots a cache line has.
const lineSlots = 8

// look finds out whether the map is in sight.
func (m *Map) look() {
	d := direct{slots: rma.Flat(m.slots), items: rma.Flat(m.items), segment: m.slots.Len()}
	if d.slots == nil || d.items == nil {
		return
	}
	if m.grows() {
		control := rma.Flat(m.control)
		if control == nil {
			return
		}
		d.state = &control[0]
	}
	m.direct = d
	m.chunk = min(m.chunk, lineSlots) // more gets take no longer than longer ones
}

// atRest is the table that the map is in, and what tells it; ok is false while it moves.
func (m *Map) atRest() (t table, s state, ok bool) {
	if m.direct.state == nil {
		return m.table(1, 0), 0, true
	}
	s = state(atomic.LoadUint64(m.direct.state))
	return m.table(s.gen(), s.size()), s, !s.moving()
}

// still tells whether the map has been in the same table since atRest.
func (m *Map) still(s state) bool {
	return m.direct.state == nil || atomic.LoadUint64(m.direct.state) == uint64(s)
}

// glance is a get under way: the slot that it looks at.
type glance struct {
	call  *Call
	index int // of the call in its batch
	hash  uint64
	at    int // the slot in all words of slots
	rank  int
	rest  int    // slots from this one to the last of the rank
	word  uint64 // of the slot
}

// home goes to the first slot that the key may have.
func (m *Map) home(t *table, g *glance) {
	key := g.call.Key
	h := hashBegin(uint64(len(key)))
	n := wordsOf(len(key))
	for i := range n {
		h = hashStep(h, wordAt(key, i))
	}
	g.hash = hashEnd(h, n)
	var off int
	g.rank, off, g.rest = m.place(*t, m.slotAt(*t, g.hash, 0))
	g.at = g.rank*m.direct.segment + off
}

// next goes to the slot behind.
func (m *Map) next(t *table, g *glance) {
	g.at += m.stride
	if g.rest--; g.rest > 0 {
		return
	}
	if g.rank++; g.rank == int(m.ranks) {
		g.rank = 0
	}
	_, off, rest := m.place(*t, 0)
	g.at, g.rest = g.rank*m.direct.segment+off, rest
}

// seek goes on to the first slot that is empty or may be the key's, from the one looked at on.
// It reports false where the machine has to see to it.
func (m *Map) seek(t *table, g *glance) bool {
	look := lookFor(g.hash)
	for range t.all {
		g.word = atomic.LoadUint64(&m.direct.slots[g.at])
		switch {
		case g.word&occupied == 0:
			return true
		case g.word&frozen != 0:
			return false
		case g.word&lookMask == look:
			return true
		}
		m.next(t, g)
	}
	return false
}

// itemIn is where the item of a word begins, nil for one that is nowhere.
func (m *Map) itemIn(word uint64) []uint64 {
	at, n := (word&itemMask)*unitWords, uint64(classWords(classOf(word)))
	if word&occupied == 0 || at+n > uint64(len(m.direct.items)) {
		return nil
	}
	return m.direct.items[at : at+n]
}

// reads is how often a slot is read whose item does not fit, before it is left to the machine.
const reads = 64

// settle answers the call of a glance that seek has let go on to a slot. It reports false, and
// has changed nothing, where the machine has to.
func (m *Map) settle(t *table, s state, g *glance) bool {
	for range reads {
		if g.word&occupied == 0 {
			return m.still(s) && g.answer(nil, false)
		}
		if g.word&frozen != 0 {
			return false
		}
		value, whole, same := load(g.call, g.word, m.itemIn(g.word))
		switch {
		case whole && same:
			return m.still(s) && g.answer(value, g.word&removed == 0)
		case whole:
			stranger.Hit()
			if m.next(t, g); !m.seek(t, g) {
				return false
			}
		default:
			g.word = atomic.LoadUint64(&m.direct.slots[g.at])
		}
	}
	return false
}

// answer tells the call that its key is there or not.
func (g *glance) answer(value []byte, there bool) bool {
	c := g.call
	c.Done, c.Version, c.Err = there, 0, nil
	if there {
		c.Value, c.Version = value, Version(identity(g.word))
	}
	return true
}

// load reads an item. If it is whole, that is what the word refers to, it tells whether its key
// is that of the call; the value of the call is then that of the item, appended.
func load(c *Call, word uint64, it []uint64) (value []byte, whole, same bool) {
	if len(it) == 0 {
		return nil, false, false
	}
	want := atomic.LoadUint64(&it[sealWord])
	lengths := atomic.LoadUint64(&it[lengthWord])
	keySize, valueSize, ok := sizesOf(lengths, len(it))
	if !ok {
		return nil, false, false
	}
	h := hashStep(hashBegin(identity(word)), lengths)
	same = keySize == len(c.Key)
	words := it[headWords:itemWords(keySize, valueSize)]
	for i := range words[:wordsOf(keySize)] {
		w := atomic.LoadUint64(&words[i])
		h = hashStep(h, w)
		same = same && w == wordAt(c.Key, i)
	}
	words = words[wordsOf(keySize):]
	at := len(c.Value)
	value = slices.Grow(c.Value, valueSize)[:at+valueSize]
	rest := value[at:]
	for i := range words {
		w := atomic.LoadUint64(&words[i])
		h = hashStep(h, w)
		rest = store(rest, w)
	}
	return value, hashEnd(h, 1+wordsOf(keySize)+len(words)) == want, same
}

// peek answers a get, if it can.
func (m *Map) peek(c *Call) bool {
	t, s, ok := m.atRest()
	if !ok {
		return false
	}
	g := glance{call: c} // here, or the call would move to the heap
	m.home(&t, &g)
	return m.seek(&t, &g) && m.settle(&t, s, &g)
}

const (
	glances   = 32 // gets of a batch whose memory is asked for at once
	itemLines = 3  // of an item
)

// peeks is what the gets of a batch need.
type peeks struct {
	all   [glances]glance
	lines [glances]*uint64
	left  []int // calls for the machine
}

// answerGets answers the gets of a batch that it can. The rest, and what are no gets, is left for
// the machines; what they need of the memory is asked for as well.
func (m *Map) answerGets(p *peeks, calls []Call) {
	p.left = p.left[:0]
	for i := 0; i < len(calls); {
		t, s, ok := m.atRest()
		n := 0
		for ; i < len(calls) && n < glances; i++ {
			if !ok {
				p.left = append(p.left, i)
				continue
			}
			g := &p.all[n]
			g.call, g.index = &calls[i], i
			m.home(&t, g)
			p.lines[n] = &m.direct.slots[g.at]
			n++
		}
		m.answerGroup(p, p.all[:n], &t, s)
	}
}

// answerGroup answers gets that are at their homes.
func (m *Map) answerGroup(p *peeks, group []glance, t *table, s state) {
	memory.Prefetch(p.lines[:len(group)], 1)
	for k := range group {
		g := &group[k]
		p.lines[k] = &m.direct.items[0]
		if !m.seek(t, g) {
			g.word = frozen | occupied // which settle leaves to the machine
		} else if it := m.itemIn(g.word); it != nil {
			p.lines[k] = &it[0]
		}
	}
	memory.Prefetch(p.lines[:len(group)], itemLines)
	for k := range group {
		if g := &group[k]; g.call.Kind != Get || !m.settle(t, s, g) {
			p.left = append(p.left, g.index)
		}
	}
}
