package kv

import (
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
)

// direct is the memory of a map that this rank addresses directly: its own, and that of ranks of
// its host. A call works on it without a queue:
//
//	slots   from home on, in the latest table that this rank knows: an empty one ends the
//	        search, and where the fingerprint matches the item is read
//	item    its words are loaded, then its seal and the slot once more; if one of them has
//	        changed the item has been used again, and the slot is read again
//
// An item is written before a slot refers to it, and again only when none does. So what was read
// is whole if the slot did not change meanwhile. The seal, which takes longer to compute than all
// else, is not verified. As for a compare-and-swap the word must not come again during the call,
// 32,768 uses of the item later. The seal shows nearly all of these cases too.
//
// What changes the map goes on so (direct_write.go):
//
//	item    is written into this rank's memory before a slot refers to it
//	swap    a compare-and-swap of the slot; when it loses, the slot is examined again
//	copy    is written behind the swap; should the slot change meanwhile, its seal is not
//	        that of the word
//
// They have locked a lane of the arena (lane.go).
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
	flat  []uint64 // the items of all ranks, if they are in one piece
}

// lineSlots is how many slots a cache line has.
const lineSlots = 8

// findDirect finds out which parts of the map are directly addressable.
func (m *Map) findDirect() {
	m.batches.Regions, m.direct.items = core.NewRegions(m.slots), core.NewRegions(m.items)
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
	g.rank, g.at, g.rest = t.place(t.slotAt(g.hash, 0))
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
	_, g.at, g.rest = t.place(0)
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
		case g.word&frozen != 0:
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
			m.arena.putBackTo(w.lane, w.mine)
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
			if movedFrom(g.word) >= t.gen {
				return false
			}
		case g.word&frozen != 0:
			return false
		default:
			it := m.itemIn(g.word)
			if it == nil {
				return false
			}
			found, same, whole := loadItem(c, it)
			if now := atomic.LoadUint64(&g.slots[g.at]); now != g.word || !whole {
				g.word = now
				continue
			}
			if !same {
				// mark: another key with the same fingerprint
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

// loadItem reads an item as far as the call needs it. same reports whether its key is that of the
// call; then value is that of the call, and a Get has that of the item appended. They hold if whole
// is true, and if the slot has not changed.
func loadItem(c *Call, it []uint64) (value []byte, same, whole bool) {
	seal := atomic.LoadUint64(&it[sealWord])
	keySize, valueSize, ok := splitLengths(atomic.LoadUint64(&it[lengthWord]), len(it))
	if !ok {
		return nil, false, false
	}
	// mark: a direct call has begun to read an item
	value = c.Value
	if same = holdsKey(it, keySize, c.Key); same && c.Kind == Get {
		at := len(value)
		value = slices.Grow(value, valueSize)[:at+valueSize]
		loadBytes(value[at:], it[headWords+wordsOf(keySize):])
	}
	return value, same, atomic.LoadUint64(&it[sealWord]) == seal
}

// holdsKey is hasKey for an item that others may write meanwhile.
func holdsKey(it []uint64, keySize int, key []byte) bool {
	if keySize != len(key) {
		return false
	}
	for i := range wordsOf(keySize) {
		if atomic.LoadUint64(&it[headWords+i]) != wordAt(key, i) {
			return false
		}
	}
	return true
}

// tryDirect makes a call, if it can.
func (m *Map) tryDirect(c *Call) bool {
	t := m.latest.Load()
	group := [1]directCall{{call: c}} // here, or the call would move to the heap
	g := &group[0]
	if !m.startAtHome(t, g) || !m.findCandidate(t, g) {
		return false
	}
	if c.Kind == Get {
		if it := m.itemIn(g.word); it != nil { // its loads wait for each other otherwise
			first := [1]*uint64{&it[0]}
			memory.Prefetch(first[:], itemLines)
		}
		return m.finish(t, g, nil)
	}
	l := m.directLane(g.hash)
	w := directWrite{lane: l}
	m.prefetchItems(l, group[:])
	done := m.finish(t, g, &w)
	if done {
		l.made[c.Kind]++
	}
	l.mu.Unlock()
	m.tidy(&w)
	return done
}

const (
	maxDirectCalls = 32 // calls of a batch whose memory is prefetched together
	itemLines      = 3  // of an item
)

// directCalls is the working memory for the calls of a batch.
type directCalls struct {
	all   [maxDirectCalls]directCall
	homes [maxDirectCalls]*uint64
	items [2 * maxDirectCalls]*uint64 // that are read or written whole
	lines [3 * maxDirectCalls]*uint64 // of items, and of the arena
}

// directLane locks a lane for direct calls.
func (m *Map) directLane(hash uint64) *lane {
	l := m.arena.lane(hash)
	if l.calls == nil {
		l.calls = new(directCalls)
	}
	return l
}

// makeDirect makes those calls that it can, of the calls with the given indices, or of all for
// nil. The rest is appended to left; the memory that it needs is prefetched as well.
func (m *Map) makeDirect(calls []Call, indices, left []int) []int {
	n := len(indices)
	if indices == nil {
		n = len(calls)
	}
	for next := 0; next < n; {
		t := m.latest.Load()
		l := m.directLane(uint64(next))
		p := l.calls
		group := 0
		for ; next < n && group < maxDirectCalls; next++ {
			g := &p.all[group]
			if g.index = next; indices != nil {
				g.index = indices[next]
			}
			g.call = &calls[g.index]
			if !m.startAtHome(t, g) {
				left = append(left, g.index)
				continue
			}
			p.homes[group] = &g.slots[g.at]
			group++
		}
		w := directWrite{lane: l}
		left = m.makeGroup(p.all[:group], t, &w, left)
		clear(p.all[:group]) // it is kept, and the calls are not
		l.mu.Unlock()
		m.tidy(&w)
	}
	return left
}

// makeGroup makes calls that are at their homes.
func (m *Map) makeGroup(group []directCall, t *table, w *directWrite, left []int) []int {
	l := w.lane
	memory.Prefetch(l.calls.homes[:len(group)], 1)
	for k := range group {
		if g := &group[k]; !m.findCandidate(t, g) {
			g.slots = nil // which finish leaves to the machine
		}
	}
	m.prefetchItems(l, group)
	for k := range group {
		g := &group[k]
		if g.slots == nil {
			left = append(left, g.index)
			continue
		}
		g.word = atomic.LoadUint64(&g.slots[g.at]) // calls before it may have changed it
		if !m.finish(t, g, w) {
			left = append(left, g.index)
			continue
		}
		l.made[g.call.Kind]++
	}
	return left
}

// prefetchItems prefetches what calls need that have their candidates.
func (m *Map) prefetchItems(l *lane, group []directCall) {
	items, lines := l.calls.items[:0], l.calls.lines[:0]
	var puts [classes]int
	for k := range group {
		g := &group[k]
		if g.slots == nil {
			continue
		}
		it := m.itemIn(g.word)
		if g.call.Kind == Get {
			if it != nil {
				items = append(items, &it[0])
			}
			continue
		}
		if it != nil {
			lines = append(lines, &it[0])
			if old := itemOf(g.word); m.arena.owns(old) {
				lines = append(lines, m.arena.stateLine(old))
			}
		}
		if c := g.call; c.Kind.puts() {
			class := classFor(itemWords(len(c.Key), len(c.Value)))
			if mine, ok := l.free[class].peek(puts[class]); ok {
				_, off := m.arena.locate(mine.number)
				items = append(items, &m.direct.items.Segments[m.job.Rank()][off])
				lines = append(lines, m.arena.stateLine(mine))
			}
			puts[class]++
		}
	}
	memory.Prefetch(items, itemLines)
	memory.Prefetch(lines, 1)
}
