package kv

import (
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// directWrite is what a direct call that changes the map has done so far.
type directWrite struct {
	lane    *lane // locked
	item    []uint64
	mine    item   // where it is
	taken   bool   // mine is this call's
	word    uint64 // that refers to it
	farHash uint64 // hash of a new key far from home, 0 for none
}

// swap swaps the slot for what the call has it become. again is true if the swap loses, and then
// the call is to be attempted again. made is false where the machine has to make the call.
func (m *Map) swap(t *table, g *directCall, w *directWrite) (made, again bool) {
	c, word := g.call, g.word|removed
	if c.Kind.puts() {
		if !w.taken && !m.writeItem(g, w) {
			return false, false
		}
		word = w.word
	}
	// mark: a direct write is about to swap its slot
	if atomic.CompareAndSwapUint64(&g.slots[g.at], g.word, word) {
		m.wrote(t, g, w)
		return true, false
	}
	// mark: a compare-and-swap loses
	// The slot may have another key by now, which is not examined.
	return false, m.findCandidate(t, g)
}

// writeItem writes the item of a call, false if there is no free one.
func (m *Map) writeItem(g *directCall, w *directWrite) bool {
	c := g.call
	class := classFor(itemWords(len(c.Key), len(c.Value)))
	l := w.lane
	if w.mine, w.taken = m.arena.takeFrom(l, class); !w.taken {
		return false // here: the machine looks into all lanes, and for marks
	}
	if w.word = newWord(g.hash, class, w.mine); cap(l.room) < classWords(class) {
		l.room = make([]uint64, classWords(class))
	}
	room := l.room[:classWords(class)]
	w.item = room[:writeItem(room, w.word, c.Key, c.Value)]
	rank, off := m.arena.locate(w.mine.number)
	memory.StoreWords(m.direct.items.Segments[rank][off:], w.item)
	return true
}

// distance is how many slots the present one lies behind the home of the key.
func (m *Map) distance(t *table, g *directCall) uint64 {
	slot := uint64(g.rank+1)*t.perRank - uint64(g.rest)
	return (slot + t.slots - t.slotAt(g.hash, 0)) % t.slots
}

// wrote ends a call whose swap has taken effect.
func (m *Map) wrote(t *table, g *directCall, w *directWrite) {
	c := g.call
	c.Done, c.Version, c.Err = true, 0, nil
	// mark: a direct write has swapped its slot
	if !c.Kind.puts() {
		return
	}
	c.Version = Version(identity(w.word))
	if m.cfg.copied(c.Key, c.Value) {
		var pair [copyWords]uint64
		writeCopy(pair[:], w.word, c.Key, c.Value)
		memory.StoreWords(g.slots[g.at+1:], pair[:])
	}
	if g.word&occupied == 0 {
		if m.distance(t, g) >= m.farFromHome() {
			w.farHash = g.hash | 1
		}
		return
	}
	it := itemOf(g.word)
	if m.arena.owns(it) {
		m.arena.giveBackTo(w.lane, it)
		return
	}
	rank, off := m.arena.locate(it.number) // it was read, so its memory is addressable
	atomic.StoreUint64(&m.direct.items.Segments[rank][off+markWord], markOf(it))
}

// tidy does what direct calls have found that the table needs, when the lane is not locked.
func (m *Map) tidy(w *directWrite) {
	if w.farHash == 0 {
		return
	}
	_ = m.withSession(func(s *session) error {
		s.farHash = w.farHash
		s.maintain()
		return nil
	})
}

// stateLine is where the state of an item of this rank is, for a prefetch.
func (a *arena) stateLine(it item) *uint64 {
	return (*uint64)(unsafe.Pointer(&a.states[(it.number-a.first)&^1]))
}
