package kv

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

// Calls over memory that this rank addresses directly: its own and the memory of ranks of its host.
// They take the steps of DESIGN.md without a queue, and are left to the machine, which has nothing
// to undo, where they meet a slot of a table that moves, memory that is not addressable, no empty
// slot or no free item.
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
	m.latest.Store(m.table(m.latest.Load().gen, m.latest.Load().shape)) // with its memory
	m.gradualSlots = math.MaxUint64
	if m.batches.All {
		m.chunk = min(m.chunk, lineSlots) // several short gets take no longer than a long one
		m.gradualSlots = gradualSlots
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
	g.slots = m.batches.Segments.Of(g.rank)
	return g.slots != nil
}

// othersIn is how many slots of a line, from the first on, have other keys. Nobody can predict it,
// so it is found out without branches where there is assembly. Then the processor goes on with
// later calls while it waits for the line.
func othersIn(line *[lineSlots]uint64, want uint64) int {
	if hasKernel {
		return kernelOthersIn(line, want)
	}
	return portableOthersIn(line, want)
}

// portableOthersIn is othersIn without assembly.
func portableOthersIn(line *[lineSlots]uint64, want uint64) int {
	for i := range line {
		word := atomic.LoadUint64(&line[i])
		if word&occupied == 0 || word&frozen != 0 || word&matchMask == want {
			return i
		}
	}
	return lineSlots
}

// skip goes to a later slot of the same line, of a table without copies.
func (g *directCall) skip(slots int) {
	g.past += uint64(slots)
	g.at += slots
	g.rest -= slots
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
	g.slots = m.batches.Segments.Of(g.rank)
	_, g.at, g.rest = t.place(0)
}

// search finds the first slot that has no key or may have the key of the call, beginning with the
// present one, or after it where that has another key. It returns false where the machine has to
// make the call.
func (m *Map) search(t *table, g *directCall) bool {
	want := matchWord(g.hash)
	if g.past == 0 && !g.other && m.stride == 1 && g.slots != nil {
		n := othersIn((*[lineSlots]uint64)(g.slots[g.at:]), want)
		g.other = n == lineSlots
		g.skip(min(n, lineSlots-1))
	}
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
		items, at = m.regions.Segments.Of(rank), uint64(off)
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
	if c.Kind == Put { // it stores in any case, and writes while it waits for the other item
		if mine = m.takeDirect(l, g); mine == 0 {
			return false
		}
		m.writeDirect(l, mine, c)
	}
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
				if mine = m.takeDirect(l, g); mine == 0 {
					break
				}
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

// takeDirect takes an item for a call out of a lane that is locked. It returns the word for it, 0
// where the machine has to look into all lanes, and for marks.
func (m *Map) takeDirect(l *lane, g *directCall) (word uint64) {
	class := g.call.class()
	it, ok := m.arena.takeFrom(l, class)
	if !ok {
		return 0
	}
	return newWord(g.hash, class, it)
}

// writeDirect writes the item of a word, to which no slot refers.
func (m *Map) writeDirect(l *lane, word uint64, c *Call) {
	var sum [counterSize]byte
	room := l.roomFor(classOf(word))
	n := writeItem(room, word, c.Key, c.stored(&sum))
	rank, off := m.arena.locate(itemOf(word).number)
	memory.StoreWords(m.regions.Segments.Of(rank)[off:], room[:n])
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
		m.markDirect(old)
	}
}

// markDirect tells the owner of an item that a use of it has ended. The item was read, so its
// memory is addressable.
func (m *Map) markDirect(it item) {
	rank, off := m.arena.locate(it.number)
	atomic.StoreUint64(&m.regions.Segments.Of(rank)[off+markWord], markOf(it))
}

// get is Get. If the memory of all ranks is in one piece, and the key is in the line of its home or
// nowhere, get does alone the work of search and compare. It has so few instructions and stores
// that the processor begins the next get while this one waits for memory. getUsual makes all other
// calls.
func (m *Map) get(key, dst []byte, onStack bool) (value []byte, v Version, ok bool, err error) {
	t, hash := m.latest.Load(), hashOf(key)
	home, _ := bits.Mul64(hash, t.homes)
	if lines := t.perRank / lineSlots; home >= lines {
		home = home/lines*(m.areas*m.cfg.MaxSlots/m.ranks/lineSlots) + home%lines
	}
	if home >= uint64(len(t.lines)) || uint(len(key)-1) >= uint(m.cfg.MaxKey) {
		return m.getUsual(key, dst, onStack)
	}
	line := &t.lines[home]
	slot := othersIn(line, matchWord(hash))
	if slot == lineSlots {
		return m.getUsual(key, dst, onStack)
	}
	word := atomic.LoadUint64(&line[slot])
	if word&occupied == 0 && movedFrom(word) < t.gen {
		return dst, 0, false, nil
	}
	at, n := word&itemMask*unitWords, uint64(classWords(classOf(word)))
	if word&(matchMask|frozen) != matchWord(hash) || at+n > uint64(len(m.flat)) ||
		n > maxShortItem {
		return m.getUsual(key, dst, onStack)
	}
	it := unsafe.Pointer(&m.flat[at]) // no slice, whose bounds would be checked each time
	if n > unitWords {                // or these lines would be waited for after the first
		atomic.LoadUint64(wordOf(it, unitWords))
		if n > 2*unitWords {
			atomic.LoadUint64(wordOf(it, 2*unitWords))
		}
	}
	sealed := atomic.LoadUint64(wordOf(it, sealWord))
	head := uint64(shortHead + core.WordsOf(len(key)))
	size := int(8*(n-head) - sealed&maxRest)
	if sealed>>keyAt&maxShortKey != uint64(len(key)) || head > n || size < 0 ||
		!hasKey(unsafe.Slice(wordOf(it, shortHead), head-shortHead), len(key), key) {
		return m.getUsual(key, dst, onStack)
	}
	// mark: a single get has begun to read an item
	if value = dst; cap(dst)-len(dst) < size {
		value = slices.Grow(dst, size)
	}
	value = value[:len(dst)+size]
	switch { // without a value, a pointer to it might point beyond all items
	case size == 0:
	case loadsInOrder:
		copy(value[len(dst):], unsafe.Slice((*byte)(unsafe.Pointer(wordOf(it, head))), size))
	default:
		loadBytes(value[len(dst):], unsafe.Slice(wordOf(it, head), n-head))
	}
	switch {
	case atomic.LoadUint64(&line[slot]) != word,
		atomic.LoadUint64(wordOf(it, sealWord)) != sealed:
		return m.getUsual(key, dst, onStack)
	case word&removed != 0:
		return dst, 0, false, nil
	}
	return value, Version(word), true, nil
}

// wordOf is a word of an item.
func wordOf(it unsafe.Pointer, i uint64) *uint64 { return (*uint64)(unsafe.Add(it, i*8)) }

// getUsual is get by the steps that all calls take.
func (m *Map) getUsual(key, dst []byte, onStack bool) (value []byte, v Version, ok bool,
	err error) {
	c := Call{Kind: Get, Key: key, Value: dst}
	err = m.one(&c, onStack)
	return c.Value, c.Version, c.Done, err
}

// direct makes a single call, if it can. It keeps no part of the call, whose key and value may be
// on the stack of a typed call.
func (m *Map) direct(c *Call) (made bool) {
	t, g := m.latest.Load(), directCall{call: c}
	if !m.startAtHome(t, &g) {
		return false
	}
	if c.Kind == Get {
		if !m.search(t, &g) {
			return false
		}
		m.prefetchOld(&g) // its loads wait for each other otherwise
		return m.finish(t, &g, nil)
	}
	home := [1]*uint64{&g.slots[g.at]}
	memory.Prefetch(home[:], 1)
	l := m.arena.lane(g.hash)
	m.prefetchNew(l, c, 0)
	if m.search(t, &g) {
		m.prefetchOld(&g)
		made = m.finish(t, &g, l)
	}
	if made {
		l.made[c.Kind]++
	}
	if far := unlock(l); far != 0 {
		m.keepRoom(far)
	}
	return made
}

// A call of a batch takes three steps: it goes to its home, finds its candidate, and is finished.
// Each step prefetches what the next one needs. Between two steps of a call others take theirs, so
// many that their lines arrive, and so few that the processor can wait for all of them.
const (
	callsBetween = 8
	callsInAll   = 32  // in progress, at least 2*callsBetween+1: a power of two
	callsOfLane  = 256 // that a lane is locked for
	itemLines    = 3   // of an item that are prefetched
)

// directCalls are the calls of a batch that are in progress.
type directCalls [callsInAll]directCall

// unlock unlocks a lane, and returns the hash of a key that was put far from its home, or 0.
func unlock(l *lane) (farHash uint64) {
	farHash, l.farHash = l.farHash, 0
	l.mu.Unlock()
	return farHash
}

// keepRoom has the table move if it is nearly full, as a key far from home makes it seem.
func (m *Map) keepRoom(farHash uint64) {
	_ = m.withSession(func(s *session) error {
		s.farHash = farHash
		s.maintain()
		return nil
	})
}

// directBatch makes those calls that it can, of the calls with the given indices, or of all for
// nil. The rest is appended to left; the memory that it needs is prefetched as well. It keeps room
// in the table, except for calls that this rank answers.
func (m *Map) directBatch(calls []Call, indices, left []int, answering bool) []int {
	n := len(indices)
	if indices == nil {
		n = len(calls)
	}
	size := m.partCalls()
	for next := 0; next < n; next += size {
		l := m.arena.lane(uint64(next))
		if l.calls == nil {
			l.calls = new(directCalls)
		}
		left = m.directPart(calls, indices, next, min(next+size, n), l, left)
		clear(l.calls[:]) // it is kept, and the calls are not
		farHash := unlock(l)
		switch {
		case answering:
		case farHash != 0:
			m.keepRoom(farHash)
		case m.isCrowded():
			m.keepRoom(crowdedHash)
		}
	}
	return left
}

// directPart is directBatch for some of the calls, with a lane that is locked.
func (m *Map) directPart(calls []Call, indices []int, begin, end int, l *lane,
	left []int) []int {
	t := m.latest.Load()
	var puts [classes]int // that have their candidates
	for i := begin; i < end+2*callsBetween; i++ {
		if i < end {
			g := &l.calls[i%callsInAll]
			if g.index = i; indices != nil {
				g.index = indices[i]
			}
			g.call = &calls[g.index]
			if m.startAtHome(t, g) {
				home := [1]*uint64{&g.slots[g.at]}
				memory.Prefetch(home[:], 1)
			}
		}
		if k := i - callsBetween; k >= begin && k < end {
			if g := &l.calls[k%callsInAll]; m.search(t, g) {
				m.prefetchOld(g)
				if c := g.call; c.Kind.puts() {
					m.prefetchNew(l, c, puts[c.class()])
					puts[c.class()]++
				}
			} else {
				g.slots = nil // left to the machine
			}
		}
		if k := i - 2*callsBetween; k >= begin {
			g := &l.calls[k%callsInAll]
			made := g.slots != nil
			if made && g.call.Kind.puts() {
				puts[g.call.class()]--
			}
			if made = made && m.finish(t, g, l); made {
				l.made[g.call.Kind]++
			} else {
				left = append(left, g.index)
			}
		}
	}
	return left
}

// prefetchOld prefetches what a call needs that has its candidate: of its item a Get reads all, a
// write the key; it may give the item back.
func (m *Map) prefetchOld(g *directCall) {
	it := m.itemIn(g.word)
	if it == nil {
		return
	}
	if g.call.Kind == Get {
		lines := [1]*uint64{&it[0]}
		memory.Prefetch(lines[:], min(itemLines, len(it)/unitWords))
		return
	}
	lines := [2]*uint64{&it[0], &it[0]}
	if old := itemOf(g.word); m.arena.owns(old) {
		lines[1] = m.arena.stateLine(old)
	}
	memory.Prefetch(lines[:], 1)
}

// prefetchNew prefetches the item that a call is about to write when so many others have taken
// theirs.
func (m *Map) prefetchNew(l *lane, c *Call, after int) {
	if !c.Kind.puts() {
		return
	}
	words := itemWords(len(c.Key), c.valueSize())
	if mine, ok := l.free[classFor(words)].peek(after); ok {
		_, off := m.arena.locate(mine.number)
		lines := [2]*uint64{&m.regions.Segments.Of(m.job.Rank())[off], m.arena.stateLine(mine)}
		memory.Prefetch(lines[:1], min(itemLines, (words+unitWords-1)/unitWords))
		memory.Prefetch(lines[1:], 1)
	}
}

// stateLine is where the state of an item of this rank is, for a prefetch.
func (a *arena) stateLine(it item) *uint64 {
	return (*uint64)(unsafe.Pointer(&a.states[(it.number-a.first)&^1]))
}
