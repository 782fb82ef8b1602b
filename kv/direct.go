package kv

import (
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
)

// Calls over memory that this rank addresses directly: its own and the memory of ranks of its host.
// They take the steps of doc.go without a queue, and are left to the machine, which has nothing to
// undo, where they meet a slot of a table that moves, memory that is not addressable, no empty slot
// or no free item.
//
// An item is written before a slot refers to it, and again only when none does. So what was read of
// it is whole if the slot did not change while it was read. Its seal, which takes longer to compute
// than all else, is not verified. As for a compare-and-swap the word must not come again during the
// call, 32,768 uses of the item later. A seal that has changed shows nearly all of these cases too.
//
// A slot that is read again and has another key by then is of a later table. All slots after it
// then either have the key as it is now, or are marked as moved from this table.

// findDirect finds out which parts of the map are directly addressable.
func (m *Map) findDirect() {
	m.batches.Regions, m.regions = core.NewRegions(m.slots), core.NewRegions(m.items)
	if m.regions.Whole != nil {
		m.flat = m.regions.Whole.Words
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
	past  uint64 // slots from home to this one
	word  uint64 // of the slot
	stale bool   // the slot is to be read again
	other bool   // it has another key
}

// startAtHome goes to the first slot that the key may have, and reports whether it is directly
// addressable.
func (m *Map) startAtHome(t *table, g *directCall) bool {
	g.hash, g.past, g.other = hashOf(g.call.Key), 0, false
	g.rank, g.at, g.rest = t.place(t.slotAt(g.hash, 0))
	g.slots = m.batches.Segments[g.rank]
	return g.slots != nil
}

// nextSlot goes to the next slot.
func (m *Map) nextSlot(t *table, g *directCall) {
	g.past++
	g.other = false
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

// search finds the first slot that has no key or may have the key of the call, beginning with the
// present one, or after it where that has another key. It returns false where the machine has to
// make the call.
func (m *Map) search(t *table, g *directCall) bool {
	want := matchWord(g.hash)
	for range t.slots {
		if g.other {
			m.nextSlot(t, g)
		}
		if g.slots == nil {
			return false
		}
		g.word, g.stale = atomic.LoadUint64(&g.slots[g.at]), false
		switch {
		case g.word&occupied == 0:
			return true
		case g.word&frozen != 0:
			return false
		case g.word&matchMask == want:
			return true
		}
		g.other = true
	}
	return false
}

// itemIn is the item of a word, nil if it does not exist or is not directly addressable.
func (m *Map) itemIn(word uint64) []uint64 {
	at, n := (word&itemMask)*unitWords, uint64(classWords(classOf(word)))
	items := m.flat
	if items == nil {
		rank, off := m.arena.locate(word & itemMask)
		if rank >= int(m.ranks) {
			return nil
		}
		items, at = m.regions.Segments[rank], uint64(off)
	}
	if word&occupied == 0 || at+n > uint64(len(items)) {
		return nil
	}
	return items[at : at+n]
}

// maxReads is how often a slot is read whose item does not belong to its word, and how often one is
// swapped, before the call is left to the machine.
const maxReads = 64

// compare compares the key with the key of the item of the slot, and finds the slot that has it, or
// the empty one where it would be. It returns the version of the key, 0 if it is not there; a Get
// has the value then, and an Add the old one. ok is false where the machine has to make the call.
func (m *Map) compare(t *table, g *directCall) (version Version, old counter, ok bool) {
	c := g.call
	for range maxReads {
		if (g.stale || g.other) && !m.search(t, g) {
			break
		}
		if g.word&occupied == 0 {
			return 0, old, movedFrom(g.word) < t.gen
		}
		it := m.itemIn(g.word)
		if it == nil {
			break
		}
		value, old, same, whole := loadItem(c, it)
		switch now := atomic.LoadUint64(&g.slots[g.at]); {
		case now != g.word || !whole:
			g.stale = true
		case !same:
			// mark: another key with the same fingerprint
			g.other = true
		case g.word&removed != 0:
			return 0, old, true
		default:
			if c.Kind == Get {
				c.Value = value
			}
			return Version(g.word), old, true
		}
	}
	return 0, old, false
}

// finish makes a call whose search has come to a slot. It reports false, and has changed nothing,
// where the machine has to. The lane is locked; a Get needs none.
func (m *Map) finish(t *table, g *directCall, l *lane) (made bool) {
	c, mine := g.call, uint64(0)
	for range maxReads {
		version, old, ok := m.compare(t, g)
		if !ok {
			break
		}
		if made = !c.decide(version, old); made {
			break
		}
		word := g.word | removed
		if c.Kind.puts() {
			written := mine != 0
			if !written {
				it, ok := m.arena.takeFrom(l, c.class())
				if !ok { // the machine looks into all lanes, and for marks
					break
				}
				mine = newWord(g.hash, c.class(), it)
			}
			if !written || c.Kind == Add { // to which the call that has won has added
				m.writeDirect(l, mine, c)
			}
			word = mine
		}
		// mark: a direct write is about to swap its slot
		if atomic.CompareAndSwapUint64(&g.slots[g.at], g.word, word) {
			m.swapped(g, l, word)
			return true
		}
		// mark: a compare-and-swap loses
		g.stale = true
	}
	if mine != 0 {
		m.arena.giveBackTo(l, itemOf(mine))
	}
	return made
}

// writeDirect writes the item of a word, to which no slot refers.
func (m *Map) writeDirect(l *lane, word uint64, c *Call) {
	var sum [counterSize]byte
	room := l.roomFor(classOf(word))
	n := writeItem(room, word, c.Key, c.stored(&sum))
	rank, off := m.arena.locate(itemOf(word).number)
	memory.StoreWords(m.regions.Segments[rank][off:], room[:n])
}

// swapped ends a call that has swapped its slot for a word: it writes the copy, and gives the item
// that was there back. Should the slot change first, the seal of the copy does not fit its word.
func (m *Map) swapped(g *directCall, l *lane, word uint64) {
	c := g.call
	c.Done, c.Version, c.Err = true, 0, nil
	// mark: a direct write has swapped its slot
	if !c.Kind.puts() {
		return
	}
	c.Version = Version(word)
	var sum [counterSize]byte
	if value := c.stored(&sum); m.cfg.copied(c.Key, value) {
		var pair [copyWords]uint64
		writeCopy(pair[:], word, c.Key, value)
		memory.StoreWords(g.slots[g.at+1:], pair[:])
	}
	if g.word&occupied == 0 && g.past >= m.farFromHome() {
		l.farHash = g.hash | 1
	}
	if old, theirs := m.arena.replaced(l, g.word, word); theirs {
		rank, off := m.arena.locate(old.number) // it was read, so its memory is addressable
		atomic.StoreUint64(&m.regions.Segments[rank][off+markWord], markOf(old))
	}
}

// direct makes a single call, if it can. It keeps no part of the call, whose key and value may be
// on the stack of a typed call.
func (m *Map) direct(c *Call) (made bool) {
	t := m.latest.Load()
	group := [1]directCall{{call: c}} // here, or the call would move to the heap
	g := &group[0]
	if !m.startAtHome(t, g) || !m.search(t, g) {
		return false
	}
	var l *lane
	var lines [5]*uint64
	if c.Kind != Get {
		l = m.arena.lane(g.hash)
		m.prefetchItems(l, group[:], lines[:0:2], lines[2:2])
	} else if it := m.itemIn(g.word); it != nil { // its loads wait for each other otherwise
		lines[0] = &it[0]
		memory.Prefetch(lines[:1], itemLines)
	}
	made = m.finish(t, g, l)
	if l == nil {
		return made
	}
	if made {
		l.made[c.Kind]++
	}
	m.unlock(l)
	return made
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

// unlock unlocks a lane, and has the table moved if a key was put far from its home.
func (m *Map) unlock(l *lane) {
	far := l.farHash
	l.farHash = 0
	l.mu.Unlock()
	if far == 0 {
		return
	}
	_ = m.withSession(func(s *session) error {
		s.farHash = far
		s.maintain()
		return nil
	})
}

// directBatch makes those calls that it can, of the calls with the given indices, or of all for
// nil. The rest is appended to left; the memory that it needs is prefetched as well.
func (m *Map) directBatch(calls []Call, indices, left []int) []int {
	n := len(indices)
	if indices == nil {
		n = len(calls)
	}
	for next := 0; next < n; {
		t := m.latest.Load()
		l := m.arena.lane(uint64(next))
		if l.calls == nil {
			l.calls = new(directCalls)
		}
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
		left = m.directGroup(p.all[:group], t, l, left)
		clear(p.all[:group]) // it is kept, and the calls are not
		m.unlock(l)
	}
	return left
}

// directGroup makes calls that are at their homes.
func (m *Map) directGroup(group []directCall, t *table, l *lane, left []int) []int {
	memory.Prefetch(l.calls.homes[:len(group)], 1)
	for k := range group {
		if g := &group[k]; !m.search(t, g) {
			g.slots = nil // left to the machine
		}
	}
	m.prefetchItems(l, group, l.calls.items[:0], l.calls.lines[:0])
	for k := range group {
		g := &group[k]
		made := false
		if g.slots != nil {
			g.stale = k > 0 // calls before it may have changed it
			made = m.finish(t, g, l)
		}
		if made {
			l.made[g.call.Kind]++
		} else {
			left = append(left, g.index)
		}
	}
	return left
}

// prefetchItems prefetches what calls need that have their candidates. There is room for two items
// and three lines of each call.
func (m *Map) prefetchItems(l *lane, group []directCall, items, lines []*uint64) {
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
			class := c.class()
			if mine, ok := l.free[class].peek(puts[class]); ok {
				_, off := m.arena.locate(mine.number)
				items = append(items, &m.regions.Segments[m.job.Rank()][off])
				lines = append(lines, m.arena.stateLine(mine))
			}
			puts[class]++
		}
	}
	memory.Prefetch(items, itemLines)
	memory.Prefetch(lines, 1)
}

// stateLine is where the state of an item of this rank is, for a prefetch.
func (a *arena) stateLine(it item) *uint64 {
	return (*uint64)(unsafe.Pointer(&a.states[(it.number-a.first)&^1]))
}
