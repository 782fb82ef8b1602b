package kv

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
)

// direct is the memory of a map that this rank addresses directly: its own, and that of ranks of
// its host. A call works on it without a queue:
//
//	slots   from home on, in the latest table that this rank knows: an empty one ends the
//	        search, and where the fingerprint matches the item is read
//	item    each word is loaded once, for the seal and for the value; if the seal is not that
//	        of the slot's word the item has been used again, and the slot is read again
//
// What changes the map goes on so (direct_write.go):
//
//	item    is written into this rank's memory before a slot refers to it
//	swap    a compare-and-swap of the slot; when it loses, the slot is examined again
//	copy    is written behind the swap; should the slot change meanwhile, its seal is not
//	        that of the word
//
// The call takes effect with the swap, or with the read of the slot whose item was whole, or that
// was empty, as it does in the step machine (op.go). Left to the machine, which has nothing to
// undo, are slots of a table that moves: a frozen slot, and one that has moved from this table or a
// later one. So are memory that is not directly addressable, and calls for which no slot is empty
// or no item free.
//
// A slot that is read again and has another key by then is of a later table. All slots behind it
// then either have the key as it is now, or are marked as moved from this table.
//
// The calls of a batch prefetch the memory that they need. TestDirect and TestDirectWrites run
// calls beside a table that moves, and scripts_write_test.go has them lose their races.
type direct struct {
	items core.Regions
	flat  []uint64  // the items of all ranks, if they are in one piece
	pool  sync.Pool // of *directCalls
}

// lineSlots is how many slots a cache line has.
const lineSlots = 8

// findDirect finds out which parts of the map are directly addressable.
func (m *Map) findDirect() {
	m.batches.Regions, m.direct.items = core.NewRegions(m.slots), core.NewRegions(m.items)
	m.direct.pool.New = func() any { return new(directCalls) }
	if m.direct.items.Whole != nil {
		m.direct.flat = m.direct.items.Whole.Words
	}
	if m.batches.All {
		m.chunk = min(m.chunk, lineSlots) // several short gets take no longer than a long one
	}
}

// directCall is a call in progress: the slot that it examines.
type directCall struct {
	call  *Call
	index int // of the call in its batch
	hash  uint64
	slots []uint64 // of the rank, nil if not directly addressable
	at    int      // the slot among the words of these
	rank  int
	rest  int    // slots from this one to the last of the rank
	word  uint64 // of the slot
}

// startAtHome goes to the first slot that the key may have, and reports whether it is directly
// addressable.
func (m *Map) startAtHome(t *table, g *directCall) bool {
	g.hash = hashOf(g.call.Key)
	g.rank, g.at, g.rest = m.place(*t, m.slotAt(*t, g.hash, 0))
	g.slots = m.batches.Segments[g.rank]
	return g.slots != nil
}

// nextSlot goes to the next slot.
func (m *Map) nextSlot(t *table, g *directCall) {
	g.at += m.stride
	if g.rest--; g.rest > 0 {
		return
	}
	if g.rank++; g.rank == int(m.ranks) {
		g.rank = 0
	}
	g.slots = m.batches.Segments[g.rank]
	_, g.at, g.rest = m.place(*t, 0)
}

// findCandidate goes on to the first slot that has no key or may have the key of the call,
// beginning with the present one. It returns false where the machine has to make the call.
func (m *Map) findCandidate(t *table, g *directCall) bool {
	want := matchWord(g.hash)
	for range t.slots {
		if g.slots == nil {
			return false
		}
		g.word = atomic.LoadUint64(&g.slots[g.at])
		switch {
		case g.word&occupied == 0:
			return true
		case g.word&frozen != 0 && !passesFrozen.On():
			return false
		case g.word&matchMask == want:
			return true
		}
		m.nextSlot(t, g)
	}
	return false
}

// itemIn is the item of a word, nil if it does not exist or is not directly addressable.
func (m *Map) itemIn(word uint64) []uint64 {
	at, n := (word&itemMask)*unitWords, uint64(classWords(classOf(word)))
	items := m.direct.flat
	if items == nil {
		rank, off := m.arena.locate(word & itemMask)
		if rank >= int(m.ranks) {
			return nil
		}
		items, at = m.direct.items.Segments[rank], uint64(off)
	}
	if word&occupied == 0 || at+n > uint64(len(items)) {
		return nil
	}
	return items[at : at+n]
}

// maxReads is how often a slot is read whose item is not that of its word, before the call is
// left to the machine.
const maxReads = 64

// finish makes a call after findCandidate has found a slot. It returns false, and has changed
// nothing, where the machine has to make the call. A Get needs no w.
func (m *Map) finish(t *table, g *directCall, w *directWrite) bool {
	done := m.attempt(t, g, w)
	if w != nil && w.taken {
		w.taken = false
		if done && g.call.Done {
			m.arena.publish(w.mine)
		} else {
			m.arena.putBack(w.mine, g.hash)
		}
	}
	return done
}

// attempt is finish, but for what becomes of an item that it has taken.
func (m *Map) attempt(t *table, g *directCall, w *directWrite) bool {
	c := g.call
	for range maxReads {
		value, version := c.Value, Version(0)
		switch {
		case g.word&occupied == 0:
			if movedFrom(g.word) >= t.gen && !takesMovedForEmpty.On() {
				return false
			}
		case g.word&frozen != 0:
			return false
		default:
			it := m.itemIn(g.word)
			if it == nil {
				return false
			}
			found, whole, same := loadItem(c, g.word, it)
			if !whole {
				g.word = atomic.LoadUint64(&g.slots[g.at])
				continue
			}
			if !same {
				fingerprintCollision.Hit()
				if m.nextSlot(t, g); !m.findCandidate(t, g) {
					return false
				}
				continue
			}
			if g.word&removed == 0 {
				value, version = found, Version(identity(g.word))
			}
		}
		if !c.decide(version) {
			c.Value = value
			return true
		}
		if made, again := m.swap(t, g, w); !again {
			return made
		}
	}
	return false
}

// loadItem reads an item. whole reports whether it is the one that the word refers to, same
// whether its key is that of the call. value is that of the call; a Get has that of the item
// appended.
func loadItem(c *Call, word uint64, it []uint64) (value []byte, whole, same bool) {
	want := atomic.LoadUint64(&it[sealWord])
	lengths := atomic.LoadUint64(&it[lengthWord])
	keySize, valueSize, ok := splitLengths(lengths, len(it))
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
	value = c.Value
	var rest []byte // of the value; only a Get has room for it
	if at := len(value); c.Kind == Get {
		value = slices.Grow(value, valueSize)[:at+valueSize]
		rest = value[at:]
	}
	for i := range words {
		w := atomic.LoadUint64(&words[i])
		h = hashStep(h, w)
		rest = storeWord(rest, w)
	}
	return value, hashEnd(h, 1+wordsOf(keySize)+len(words)) == want || takesTorn.On(), same
}

// tryDirect makes a call, if it can.
func (m *Map) tryDirect(c *Call) bool {
	t := m.latestTable()
	g := directCall{call: c} // here, or the call would move to the heap
	if !m.startAtHome(&t, &g) || !m.findCandidate(&t, &g) {
		return false
	}
	if c.Kind == Get {
		return m.finish(&t, &g, nil)
	}
	p := m.direct.pool.Get().(*directCalls)
	done := m.finish(&t, &g, &p.write)
	m.direct.pool.Put(p)
	return done
}

const (
	maxDirectCalls = 32 // calls of a batch whose memory is prefetched together
	itemLines      = 3  // of an item
)

// directCalls is the working memory for the calls of a batch.
type directCalls struct {
	all   [maxDirectCalls]directCall
	lines [maxDirectCalls]*uint64
	write directWrite
}

// makeDirect makes those calls that it can, of the calls with the given indices, or of all for
// nil. The rest is appended to left; the memory that it needs is prefetched as well.
func (m *Map) makeDirect(calls []Call, indices, left []int) []int {
	n := len(indices)
	if indices == nil {
		n = len(calls)
	}
	p := m.direct.pool.Get().(*directCalls)
	for next := 0; next < n; {
		t := m.latestTable()
		group := 0
		for ; next < n && group < maxDirectCalls; next++ {
			g := &p.all[group]
			if g.index = next; indices != nil {
				g.index = indices[next]
			}
			g.call = &calls[g.index]
			if !m.startAtHome(&t, g) {
				left = append(left, g.index)
				continue
			}
			p.lines[group] = &g.slots[g.at]
			group++
		}
		left = m.makeGroup(p, p.all[:group], &t, left)
	}
	clear(p.all[:]) // it is kept, and the calls are not
	m.direct.pool.Put(p)
	return left
}

// makeGroup makes calls that are at their homes.
func (m *Map) makeGroup(p *directCalls, group []directCall, t *table, left []int) []int {
	memory.Prefetch(p.lines[:len(group)], 1)
	lines := p.lines[:0]
	for k := range group {
		g := &group[k]
		if !m.findCandidate(t, g) {
			g.slots = nil // which finish leaves to the machine
		} else if it := m.itemIn(g.word); it != nil {
			lines = append(lines, &it[0])
		}
	}
	memory.Prefetch(lines, itemLines)
	var made [kinds]uint64
	for k := range group {
		if g := &group[k]; g.slots != nil && m.finish(t, g, &p.write) {
			made[g.call.Kind]++
		} else {
			left = append(left, g.index)
		}
	}
	for kind, n := range made {
		if n > 0 {
			m.tally.Count(core.Stripe(), directAt(Kind(kind)), n)
		}
	}
	return left
}
