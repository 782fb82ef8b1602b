package kv

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// mover has the slots of a part of a table move, one after the other, as a step machine. It
// works with the buffers of an op that has ended.
//
//	empty     swapped for moved
//	occupied  frozen, and its item read at the same time, so that its key is known; then
//	removed   swapped for moved, and its item is free; else
//	item      read, if it was not of the word
//	chunk     of the next table: search for the key, as an op does
//	place     if it is not there, the word is put into the empty slot, still frozen
//	swap      the slot is swapped for moved
//	thaw      the word in the next table is thawed, which nobody waits for
//
// Any mover may take any of these steps at any time, several at the same time.
type mover struct {
	*op
	dummy    Call // stands in for the call of the op
	stage    stage
	from     *table
	part     int
	first    uint64   // slot that moves
	words    []uint64 // of the slots that move
	i        int      // the slot that moves
	key      []byte   // that it has, in its item, which the op keeps
	value    []byte
	tooLate  bool   // the table has moved already
	withItem bool   // the item is read while the slot is frozen
	marking  bool   // a mark may be on its way
	mustThaw bool   // the word in the next table is to be thawed
	doneWord uint64 // what slot i becomes when its key is in the next table
}

// stage is what a mover waits for.
type stage uint8

const (
	stageStart stage = iota
	stagePart
	stageSlots
	stageSwap
	stageItem
	stageChunk
	stageCompare
	stagePlace
	stageEnd
)

// start begins with n slots of a part of a table, from slot at of the part.
func (v *mover) start(o *op, from, into *table, part int, at, n uint64) {
	rank, in := uint64(part)/from.parts, uint64(part)%from.parts*o.m.partLen()
	*v = mover{op: o, from: from, part: part, first: rank*from.perRank + in + at,
		words: append(v.words[:0], make([]uint64, n)...), doneWord: movedWord(from.gen, into.shape)}
	o.call, o.table, o.rereads = &v.dummy, into, 0
}

// Step is one step. An error of the engine ends the mover and is kept in its call.
func (v *mover) Step(q rma.Queue) (rma.Handle, error) {
	for v.stage != stageEnd {
		if h := v.advance(q); h != rma.NoHandle {
			return h, nil
		}
	}
	return rma.NoHandle, nil
}

// advance takes the current stage, and returns a handle to wait for or NoHandle.
func (v *mover) advance(q rma.Queue) rma.Handle {
	if v.stage == stageStart || v.stage == stageSlots && (v.marking || len(v.unawaited) > 2) {
		if h := v.collect(q, &v.unawaited, false); h != rma.NoHandle {
			return h
		}
		v.marking = false // buffers can be used again
	}
	if h := v.collect(q, &v.flights, true); h != rma.NoHandle {
		return h
	}
	if v.dummy.Err != nil {
		return v.end()
	}
	switch v.stage {
	case stageSwap, stagePlace:
		return v.swapped(q)
	case stageStart:
		return v.getSlots(q)
	case stagePart:
		for i := range v.words[v.i:] {
			v.words[v.i+i] = v.chunk[i*v.m.stride]
		}
	case stageItem:
		return v.takeItem(q)
	case stageChunk:
		return v.findKey(q)
	case stageCompare:
		return v.compareItem(q)
	}
	return v.freezeSlots(q)
}

// end ends the mover.
func (v *mover) end() rma.Handle {
	v.stage = stageEnd
	return rma.NoHandle
}

// endLate ends the mover, as the table has moved already.
func (v *mover) endLate() rma.Handle {
	// mark: a slot is to move when all have
	v.tooLate = true
	return v.end()
}

// freezeSlots freezes slot i, and passes slots that need no request.
func (v *mover) freezeSlots(q rma.Queue) rma.Handle {
	gen := v.from.gen
	for ; v.i < len(v.words); v.i++ {
		word := v.words[v.i]
		switch {
		case word&occupied == 0 && movedFrom(word) == gen:
			continue
		case word&occupied == 0 && movedFrom(word) < gen:
			return v.swapSlot(q, v.doneWord|wasEmpty)
		case word&occupied == 0, word&frozen != 0 && compareFrozen(word, gen) > 0:
			v.dummy.Err = fmt.Errorf("kv: slot %d of table %d, which moves, has %#x of a later one",
				v.first+uint64(v.i), gen, word)
			return v.end()
		case word&frozen == 0 || compareFrozen(word, gen) < 0:
			h := v.swapSlot(q, freeze(word, gen))
			if v.withItem = word&removed == 0; v.withItem {
				h = v.getItem(q, word, &v.here)
			}
			return h
		}
		if word&removed != 0 {
			return v.swapSlot(q, v.doneWord)
		}
		v.stage = stageItem
		return v.getItem(q, word, &v.here)
	}
	return v.end()
}

// getSlots requests the slots of the part from slot i on.
func (v *mover) getSlots(q rma.Queue) rma.Handle {
	v.stage = stagePart
	rank, off, _ := v.from.place(v.first + uint64(v.i))
	return v.get(q, v.chunk[:(len(v.words)-v.i)*v.m.stride], v.m.slots, rank, off)
}

// swapSlot swaps the word of slot i.
func (v *mover) swapSlot(q rma.Queue, word uint64) rma.Handle {
	v.stage = stageSwap
	return v.compareAndSwap(q, v.from, v.first+uint64(v.i), v.words[v.i], word)
}

// takeItem takes the item of slot i, and begins the search for its key in the next table.
func (v *mover) takeItem(q rma.Queue) rma.Handle {
	word := v.words[v.i]
	thawed, key, value, ok := v.checkItem(word, v.here)
	switch {
	case !ok && v.withItem: // it was read before the slot was frozen
		v.stage, v.withItem = stageSlots, false
		return rma.NoHandle
	case !ok: // the slot has moved
		return v.getSlots(q)
	}
	v.withItem = false
	v.key, v.value = key, value
	v.word, v.hash = thawed, hashOf(key)
	v.path = path{table: v.table}
	v.stage = stageChunk
	return v.getChunk(q)
}

// findKey searches for the key, or an empty slot, in the next table.
func (v *mover) findKey(q rma.Queue) rma.Handle {
	for ; v.at < v.n; v.at++ {
		word := v.chunk[v.at*v.m.stride]
		switch {
		case word&occupied == 0 && movedFrom(word) < v.table.gen:
			return v.place(q, word)
		case word&occupied == 0,
			word&frozen != 0 && compareFrozen(word, v.table.gen) >= 0:
			return v.endLate() // as the next table moves, all of this one has
		case !mayMatch(word, v.hash):
			continue
		case identity(thaw(word, v.hash)) == v.word:
			// mark: a slot has been copied by the time it is to be
			v.mustThaw = word == freeze(v.word, v.from.gen)
			return v.swapSlot(q, v.doneWord)
		}
		v.stage = stageCompare
		return v.getItem(q, word, &v.there)
	}
	if v.begin += uint64(v.n); v.begin >= v.table.slots {
		return v.endLate() // or there is no room: confirmLate reads the state and finds out
	}
	return v.getChunk(q)
}

// compareItem compares the key with the key of an item in the next table.
func (v *mover) compareItem(q rma.Queue) rma.Handle {
	word := v.chunk[v.at*v.m.stride]
	_, key, _, ok := v.checkItem(word, v.there)
	v.stage = stageChunk
	if !ok { // it has been used again, and the slot has changed
		return v.getChunk(q)
	}
	if !bytes.Equal(key, v.key) {
		v.at++
		return rma.NoHandle
	}
	v.mustThaw = false
	return v.swapSlot(q, v.doneWord)
}

// place puts the word into a slot of the next table. It stays frozen until the old slot has
// moved: a late call that takes the next table for an earlier one must not change it before.
func (v *mover) place(q rma.Queue, old uint64) rma.Handle {
	word := freeze(v.word, v.from.gen)
	v.stage = stagePlace
	h := v.compareAndSwap(q, v.table, v.slot(), old, word)
	v.putCopy(q, v.table, v.slot(), v.word, v.key, v.value)
	return h
}

// swapped takes the result of a compare-and-swap.
func (v *mover) swapped(q rma.Queue) rma.Handle {
	seen, won := v.result, v.result == v.old
	switch {
	case v.stage == stagePlace && won:
		v.mustThaw = true
		return v.swapSlot(q, v.doneWord)
	case v.stage == stagePlace:
		v.chunk[v.at*v.m.stride], v.stage = seen, stageChunk
		return rma.NoHandle
	case won:
		v.words[v.i] = v.new
		if v.withItem {
			return v.takeItem(q)
		}
		v.thaw(q)
	default:
		v.words[v.i], v.withItem = seen, false
	}
	v.stage = stageSlots
	return rma.NoHandle
}

// thaw follows when this mover has swapped the word of slot i: it gives the item of a removed
// key back, or thaws the word in the next table.
func (v *mover) thaw(q rma.Queue) {
	if v.new != v.doneWord {
		return
	}
	v.collect(q, &v.unawaited, false) // what has ended: of the slot before
	if v.old&removed != 0 {
		v.marking = true
		v.release(q, v.old)
	} else if v.mustThaw {
		rank, off, _ := v.table.place(v.slot())
		v.unawaited = append(v.unawaited, q.CompareAndSwap(v.m.slots, rank, off,
			freeze(v.word, v.from.gen), v.word))
	}
}

// directMover moves slots over memory that this process addresses: it takes the steps of a mover
// without a queue. What it meets elsewhere it leaves to a mover.
type directMover struct {
	m          *Map
	from, into *table
	doneWord   uint64
	key, value []byte // of the slot that moves; the value only if a slot has a copy of it
	copied     bool   // a slot has a copy of them
}

// outcome is how far slots have moved.
type outcome uint8

const (
	allMoved outcome = iota
	someLeft         // to a mover
	tooLate          // the table has moved already
)

// itemsAhead is how many slots before its turn the item of a slot is prefetched.
const itemsAhead = 8

// movePart moves the slots of a part.
func (d *directMover) movePart(part int) outcome {
	m, result := d.m, allMoved
	rank, in := part/int(d.from.parts), uint64(part)%d.from.parts*m.partLen()
	slots, n := m.batches.Segments.Of(rank), int(m.slotsOf(d.from, part))
	if slots == nil {
		return someLeft
	}
	_, off, _ := d.from.place(in)
	for i := range n + itemsAhead {
		if i < n {
			if it := m.itemIn(atomic.LoadUint64(&slots[off+i*m.stride])); it != nil {
				lines := [1]*uint64{&it[0]}
				memory.Prefetch(lines[:], 1)
			}
		}
		if i < itemsAhead {
			continue
		}
		switch d.moveSlot(&slots[off+(i-itemsAhead)*m.stride]) {
		case someLeft:
			result = someLeft
		case tooLate:
			return tooLate
		}
	}
	return result
}

// moveSlot moves one slot.
func (d *directMover) moveSlot(slot *uint64) outcome {
	m, gen := d.m, d.from.gen
	for range maxReads {
		// An empty slot is swapped for moved, another one is frozen.
		word := atomic.LoadUint64(slot)
		switch {
		case word&occupied == 0 && movedFrom(word) == gen:
			return allMoved
		case word&occupied == 0 && movedFrom(word) < gen:
			if atomic.CompareAndSwapUint64(slot, word, d.doneWord|wasEmpty) {
				return allMoved
			}
			continue
		case word&occupied == 0, word&frozen != 0 && compareFrozen(word, gen) > 0:
			return someLeft // the mover says that it is damaged
		case word&frozen == 0 || compareFrozen(word, gen) < 0:
			if !atomic.CompareAndSwapUint64(slot, word, freeze(word, gen)) {
				continue
			}
			word = freeze(word, gen)
		}
		it := m.itemIn(word)
		if it == nil {
			return someLeft
		}
		// The item of a removed key is free when its slot has moved.
		if word&removed != 0 {
			if atomic.CompareAndSwapUint64(slot, word, d.doneWord) {
				if it := itemOf(word); m.arena.owns(it) {
					m.arena.giveBack(it, it.number)
				} else {
					m.markDirect(it)
				}
				return allMoved
			}
			continue
		}
		// The key is read. It is whole if the slot still refers to its item then.
		// mark: a direct mover begins to read a key
		if !d.readPair(it) || atomic.LoadUint64(slot) != word {
			continue
		}
		// mark: a direct mover has read a key
		// The word is placed, and thawed when the slot has moved: until then a late call, which
		// takes the next table for an earlier one, must not change it.
		hash := hashOf(d.key)
		thawed := thaw(word, hash)
		there, mustThaw, result := d.place(thawed, hash)
		if result != allMoved {
			return result
		}
		// mark: a direct mover has placed a word
		if !atomic.CompareAndSwapUint64(slot, word, d.doneWord) {
			continue
		}
		// mark: a direct mover has moved a slot
		if mustThaw {
			atomic.CompareAndSwapUint64(there, freeze(thawed, gen), thawed)
		}
		return allMoved
	}
	return someLeft
}

// readPair reads the key of an item, and the value if slots have copies of such pairs. It returns
// false if the item is not whole.
func (d *directMover) readPair(it []uint64) bool {
	keySize, valueSize, head, ok := sizesOf(atomic.LoadUint64(&it[sealWord]), it)
	if !ok {
		return false
	}
	d.key = append(d.key[:0], make([]byte, keySize)...)
	loadBytes(d.key, it[head:])
	if d.copied = d.m.cfg.Copies && keySize+valueSize <= copySize; d.copied {
		d.value = append(d.value[:0], make([]byte, valueSize)...)
		loadBytes(d.value, it[head+core.WordsOf(keySize):])
	}
	return true
}

// place finds or puts a word, of the key that was read, in the next table. If that was moved it
// returns the slot where the word is, and whether it is to be thawed there.
func (d *directMover) place(word, hash uint64) (there *uint64, mustThaw bool, _ outcome) {
	m, t, g := d.m, d.into, directCall{hash: hash}
	arriving := freeze(word, d.from.gen)
	g.rank, g.at, g.rest = t.place(t.slotAt(hash, 0))
	g.slots = m.batches.Segments.Of(g.rank)
	for reads := 0; g.past < t.slots; reads++ {
		if g.slots == nil || reads == maxReads {
			return nil, false, someLeft
		}
		there = &g.slots[g.at]
		seen := atomic.LoadUint64(there)
		switch {
		case seen&occupied == 0 && movedFrom(seen) < t.gen:
			if !atomic.CompareAndSwapUint64(there, seen, arriving) {
				continue
			}
			if d.copied {
				var pair [copyWords]uint64
				writeCopy(pair[:], word, d.key, d.value)
				memory.StoreWords(g.slots[g.at+1:], pair[:])
			}
			return there, true, allMoved
		case seen&occupied == 0, seen&frozen != 0 && compareFrozen(seen, t.gen) >= 0:
			return nil, false, tooLate // as the next table moves, all of this one has
		case mayMatch(seen, hash) && identity(thaw(seen, hash)) == word:
			return there, seen == arriving, allMoved
		case mayMatch(seen, hash):
			it := m.itemIn(seen)
			if it == nil {
				return nil, false, someLeft
			}
			keySize, _, head, ok := sizesOf(atomic.LoadUint64(&it[sealWord]), it)
			same := ok && hasKey(it[head:], keySize, d.key)
			if atomic.LoadUint64(there) != seen {
				continue
			}
			if same { // it was copied, and changed since
				return there, false, allMoved
			}
		}
		m.nextSlot(t, &g)
		reads = 0
	}
	return nil, false, tooLate // or there is no room: confirmLate reads the state and finds out
}
