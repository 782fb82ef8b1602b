package kv

import (
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
)

// A call that changes the map works on memory as a direct get does (direct.go), up to its slot:
//
//	item    is written into this rank's memory before a slot refers to it
//	swap    a compare-and-swap of the slot; when it loses, the slot is examined again
//	copy    is written behind the swap; should the slot change meanwhile, its seal is not
//	        that of the word
//
// The call takes effect with the swap, as it does in the step machine, or with the read of the slot
// that decided against it. It is left to the machine, which has nothing to undo, where a get would
// be, where no slot is empty, and where the arena has no free item.

// directWrite is what a direct call that changes the map has done so far.
type directWrite struct {
	item  []uint64 // room to make it
	mine  item
	taken bool   // mine is this call's
	word  uint64 // that refers to it
}

// finishWrite makes a call after findCandidate has found a slot. It returns false, and has changed
// nothing, where the machine has to make the call.
func (m *Map) finishWrite(t *table, g *directCall, w *directWrite) bool {
	w.taken = false
	done := m.write(t, g, w)
	switch {
	case !w.taken:
	case done && g.call.Done:
		m.arena.publish(w.mine)
	default:
		m.arena.putBack(w.mine, g.hash)
	}
	return done
}

// write makes the call.
func (m *Map) write(t *table, g *directCall, w *directWrite) bool {
	c := g.call
	for range maxReads {
		version := Version(0)
		switch {
		case g.word&occupied == 0:
			if movedFrom(g.word) >= t.gen && !takesMovedForEmpty.On() {
				return false
			}
		case g.word&frozen != 0:
			return false
		default:
			whole, same := m.compareItem(c.Key, g.word)
			if !whole {
				g.word = atomic.LoadUint64(&g.slots[g.at])
				continue
			}
			if !same {
				fingerprintCollision.Hit()
				if !m.nextCandidate(t, g) {
					return false
				}
				continue
			}
			if g.word&removed == 0 {
				version = Version(identity(g.word))
			}
		}
		if !c.decide(version) {
			c.Err = nil
			return true
		}
		word := g.word | removed
		if c.Kind.puts() {
			if !w.taken && !m.writeItem(g, w) {
				return false
			}
			word = w.word
		}
		directSwap.Hit()
		if atomic.CompareAndSwapUint64(&g.slots[g.at], g.word, word) {
			m.wrote(t, g, w)
			return true
		}
		lostSwap.Hit()
		if ignoresLost.On() {
			c.Done, c.Version = true, Version(identity(w.word))
			return true
		}
		if !m.findCandidate(t, g) { // the slot may have another key by now, which is not examined
			return false
		}
	}
	return false
}

// compareItem reads the item of a word. whole reports whether it is the one that the word refers to
// and can be read, same whether its key is the one given.
func (m *Map) compareItem(key []byte, word uint64) (whole, same bool) {
	it := m.itemIn(word)
	if it == nil {
		return false, false
	}
	want, lengths := atomic.LoadUint64(&it[sealWord]), atomic.LoadUint64(&it[lengthWord])
	keySize, valueSize, ok := splitLengths(lengths, len(it))
	if !ok {
		return false, false
	}
	h := hashStep(hashBegin(identity(word)), lengths)
	same = keySize == len(key)
	words := it[headWords:itemWords(keySize, valueSize)]
	for i := range words {
		w := atomic.LoadUint64(&words[i])
		h = hashStep(h, w)
		same = same && (i >= wordsOf(keySize) || w == wordAt(key, i))
	}
	return hashEnd(h, 1+len(words)) == want || takesTorn.On(), same
}

// writeItem writes the item of a call, false if there is no free one.
func (m *Map) writeItem(g *directCall, w *directWrite) bool {
	c := g.call
	class := classFor(itemWords(len(c.Key), len(c.Value)))
	var err error
	if w.mine, w.taken, err = m.arena.take(class, g.hash); err != nil || !w.taken {
		return false
	}
	if w.word = newWord(g.hash, class, w.mine); len(w.item) < classWords(class) {
		w.item = make([]uint64, classWords(class))
	}
	n := writeItem(w.item, c.Key, c.Value)
	w.item[sealWord] = seal(w.word, w.item, n)
	if !writesLate.On() {
		m.storeItem(w)
	}
	return true
}

// storeItem writes an item into this rank's memory.
func (m *Map) storeItem(w *directWrite) {
	rank, off := m.arena.locate(w.mine.number)
	k, v, _ := splitLengths(w.item[lengthWord], len(w.item))
	memory.StoreWords(m.direct.items.Segments[rank][off:], w.item[:itemWords(k, v)])
}

// distance is how many slots the present one lies behind the home of the key.
func (m *Map) distance(t *table, g *directCall) uint64 {
	slot := uint64(g.rank+1)*t.perRank - uint64(g.rest)
	return (slot + t.slots - m.slotAt(*t, g.hash, 0)) % t.slots
}

// maintainFar does what the table needs after a new key has found its slot far from home.
func (m *Map) maintainFar(hash uint64) {
	s, err := m.session()
	if err != nil {
		return
	}
	s.movingGen, s.writes, s.farHash = 0, 0, hash|1
	before := *s.q.Stats()
	s.maintain(m)
	m.tally.Add(core.Stripe(), &sums{Queues: s.q.Stats().Since(before)})
	m.pool.Give(s, false)
}

// wrote ends a call whose swap has taken effect.
func (m *Map) wrote(t *table, g *directCall, w *directWrite) {
	c := g.call
	c.Done, c.Version, c.Err = true, 0, nil
	directSwapped.Hit()
	if writesLate.On() && w.taken {
		m.storeItem(w)
	}
	if !c.Kind.puts() {
		return
	}
	c.Version = Version(identity(w.word))
	if m.cfg.Copies && len(c.Key)+len(c.Value) <= copySize {
		var pair [copyWords]uint64
		writeCopy(pair[:], w.word, c.Key, c.Value)
		memory.StoreWords(g.slots[g.at+1:], pair[:])
	}
	if g.word&occupied == 0 {
		if m.grows() && m.distance(t, g) >= m.farFromHome() {
			m.maintainFar(g.hash)
		}
		return
	}
	it := itemOf(g.word)
	if m.arena.owns(it) {
		m.arena.giveBack(it, g.hash)
		return
	}
	rank, off := m.arena.locate(it.number) // it was read, so its memory is addressable
	atomic.StoreUint64(&m.direct.items.Segments[rank][off+markWord], markOf(it))
}
