package kv

import (
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// direct is the memory of a map that this rank sees: its own, and that of ranks of its host. A get
// looks there by itself, without a queue:
//
//	slots   from home on, in the latest table that this rank has seen: an empty one ends the
//	        search, and where the fingerprint fits the item is looked at
//	item    each word is loaded once, for the seal and for the value; if the seal does not
//	        fit the item has been used again, and the slot is read again
//
// The get takes effect with the read of the slot whose item was whole, or that was empty, as it
// does in the machine. What tells of a table that moves is left to that: a frozen slot, and one
// that has moved from this table or a later one. So is what is out of sight. A slot that is read
// again and has another key by then is of a later table: all slots behind have moved from this one,
// and say so, if they do not have the key as it is now.
type direct struct {
	slots, items [][]uint64 // by rank, nil where out of sight
	flat         []uint64   // the items of all ranks, if they lie so
	any, all     bool       // memory of some rank, of every rank, is in sight
}

// lineSlots is how many slots a cache line has.
const lineSlots = 8

// look finds out which parts of the map are in sight.
func (m *Map) look() {
	d := direct{slots: make([][]uint64, m.ranks), items: make([][]uint64, m.ranks), all: true,
		flat: rma.Flat(m.items)}
	for rank := range d.slots {
		slots, items := m.slots.Words(rank), m.items.Words(rank)
		if slots == nil || items == nil || !m.slots.Caps().CPUAtomicsCoherent {
			d.all = false
			continue
		}
		d.slots[rank], d.items[rank], d.any = slots, items, true
	}
	m.direct = d
	if d.all {
		m.chunk = min(m.chunk, lineSlots) // more gets take no longer than longer ones
	}
}

// glance is a get under way: the slot that it looks at.
type glance struct {
	call  *Call
	index int // of the call in its batch
	hash  uint64
	slots []uint64 // of the rank, nil if out of sight
	at    int      // the slot among the words of these
	rank  int
	rest  int    // slots from this one to the last of the rank
	word  uint64 // of the slot
}

// hashOf is the hash of a key.
func hashOf(key []byte) uint64 {
	h := hashBegin(uint64(len(key)))
	n := wordsOf(len(key))
	for i := range n {
		h = hashStep(h, wordAt(key, i))
	}
	return hashEnd(h, n)
}

// home goes to the first slot that the key may have, and tells whether it is in sight.
func (m *Map) home(t *table, g *glance) bool {
	g.hash = hashOf(g.call.Key)
	g.rank, g.at, g.rest = m.place(*t, m.slotAt(*t, g.hash, 0))
	g.slots = m.direct.slots[g.rank]
	return g.slots != nil
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
	g.slots = m.direct.slots[g.rank]
	_, g.at, g.rest = m.place(*t, 0)
}

// seek goes on to the first slot without a key or that may be the key's, from the one looked at
// on. It reports false where the machine has to see to it.
func (m *Map) seek(t *table, g *glance) bool {
	look := lookFor(g.hash)
	for range t.all {
		if g.slots == nil {
			return false
		}
		g.word = atomic.LoadUint64(&g.slots[g.at])
		switch {
		case g.word&occupied == 0:
			return true
		case g.word&frozen != 0 && !seesThrough.On():
			return false
		case g.word&lookMask == look:
			return true
		}
		m.next(t, g)
	}
	return false
}

// itemIn is the item of a word, nil for one that is nowhere, or out of sight.
func (m *Map) itemIn(word uint64) []uint64 {
	at, n := (word&itemMask)*unitWords, uint64(classWords(classOf(word)))
	items := m.direct.flat
	if items == nil {
		rank, off := m.arena.locate(word & itemMask)
		if rank >= int(m.ranks) {
			return nil
		}
		items, at = m.direct.items[rank], uint64(off)
	}
	if word&occupied == 0 || at+n > uint64(len(items)) {
		return nil
	}
	return items[at : at+n]
}

// reads is how often a slot is read whose item does not fit, before it is left to the machine.
const reads = 64

// settle answers the call of a glance that seek has let go on to a slot. It reports false, and
// has changed nothing, where the machine has to.
func (m *Map) settle(t *table, g *glance) bool {
	for range reads {
		switch {
		case g.word&occupied == 0:
			return (movedFrom(g.word) < t.gen || seesEnd.On()) && g.answer(nil, false)
		case g.word&frozen != 0:
			return false
		}
		it := m.itemIn(g.word)
		if it == nil {
			return false
		}
		value, whole, same := load(g.call, g.word, it)
		switch {
		case whole && same:
			return g.answer(value, g.word&removed == 0)
		case whole:
			stranger.Hit()
			if !m.further(t, g) {
				return false
			}
		default:
			g.word = atomic.LoadUint64(&g.slots[g.at])
		}
	}
	return false
}

// further seeks on behind the slot looked at.
func (m *Map) further(t *table, g *glance) bool {
	m.next(t, g)
	return m.seek(t, g)
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
	return value, hashEnd(h, 1+wordsOf(keySize)+len(words)) == want || seesTorn.On(), same
}

// peek answers a get, if it can.
func (m *Map) peek(c *Call) bool {
	t := m.seen()
	g := glance{call: c} // here, or the call would move to the heap
	return m.home(&t, &g) && m.seek(&t, &g) && m.settle(&t, &g)
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

// answerGets answers those gets of a batch that it can. The rest, and what are no gets, is left
// for the machines; what they need of the memory is asked for as well.
func (m *Map) answerGets(p *peeks, calls []Call, which []int) {
	p.left = p.left[:0]
	for len(which) > 0 {
		t := m.seen()
		n := 0
		for ; len(which) > 0 && n < glances; which = which[1:] {
			g := &p.all[n]
			g.call, g.index = &calls[which[0]], which[0]
			if !m.home(&t, g) {
				p.left = append(p.left, g.index)
				continue
			}
			p.lines[n] = &g.slots[g.at]
			n++
		}
		m.answerGroup(p, p.all[:n], &t)
	}
}

// answerGroup answers gets that are at their homes.
func (m *Map) answerGroup(p *peeks, group []glance, t *table) {
	memory.Prefetch(p.lines[:len(group)], 1)
	lines := p.lines[:0]
	for k := range group {
		g := &group[k]
		if !m.seek(t, g) {
			g.word = frozen | occupied // which settle leaves to the machine
		} else if it := m.itemIn(g.word); it != nil {
			lines = append(lines, &it[0])
		}
	}
	memory.Prefetch(lines, itemLines)
	for k := range group {
		if g := &group[k]; g.call.Kind != Get || !m.settle(t, g) {
			p.left = append(p.left, g.index)
		}
	}
}
