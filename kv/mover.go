package kv

import "github.com/farhash/farhash/rma"

// mover has the slots of a part of a table move, one after the other, as a step machine. It
// works with the buffers of an op that has ended.
//
//	empty     swapped for moved
//	occupied  frozen; then, if the table is still moving
//	removed   swapped for moved, and its item is free; else
//	item      read, so that its key is known
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
	from     table
	part     int
	first    uint64   // slot of the part
	words    []uint64 // of the part
	i        int      // the slot that moves
	key      []byte   // that it has
	value    []byte
	tooLate  bool   // the table has moved already
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
	stageRemoved
	stageItem
	stageReread
	stageChunk
	stageCompare
	stagePlace
	stageEnd
)

// maxPartSlots is how many slots a part of a table has, or fewer with short chunks.
const maxPartSlots = 64

// partLen is how many slots a part has.
func (m *Map) partLen() uint64 { return uint64(min(maxPartSlots, laterChunkFactor*m.cfg.Chunk)) }

// partAt is the part that a slot belongs to.
func (m *Map) partAt(t table, slot uint64) int {
	return int(slot/t.perRank*t.parts + slot%t.perRank/m.partLen())
}

// partsLeft is how many parts of a table are left to move, as far as this rank knows. No part has
// slots of two ranks.
func (m *Map) partsLeft(t table) int {
	return m.moves.begin(t.gen, int(t.parts*m.ranks), m.job.Rank(), m.job.Size())
}

// start readies the mover for a part of a table.
func (v *mover) start(o *op, from, into table, part int) {
	m := o.m
	rank, in := uint64(part)/from.parts, uint64(part)%from.parts*m.partLen()
	*v = mover{op: o, from: from, part: part, first: rank*from.perRank + in, key: v.key,
		value: v.value, words: append(v.words[:0],
			make([]uint64, min(m.partLen(), from.perRank-in))...),
		doneWord: movedWord(from.gen, into.size)}
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

// advance carries out the current stage, and returns a handle to wait for or NoHandle.
func (v *mover) advance(q rma.Queue) rma.Handle {
	if v.stage == stageStart || v.stage == stageSlots { // their buffers are used again
		if h := v.collect(q, &v.unawaited, false); h != rma.NoHandle {
			return h
		}
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
		rank, off, _ := v.from.place(v.first)
		v.stage = stagePart
		return v.get(q, v.chunk[:len(v.words)*v.m.stride], v.m.slots, rank, off)
	case stagePart:
		for i := range v.words {
			v.words[i] = v.chunk[i*v.m.stride]
		}
	case stageReread:
		v.words[v.i] = v.chunk[0]
	case stageRemoved:
		if state(v.control[0]).gen() > v.from.gen {
			return v.endLate()
		}
		return v.swapSlot(q, v.doneWord)
	case stageItem:
		if state(v.control[0]).gen() > v.from.gen {
			return v.endLate()
		}
		return v.takeItem(q)
	case stageCompare:
		return v.compareItem(q)
	case stageChunk:
		return v.findKey(q)
	}
	return v.advanceSlots(q)
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

// advanceSlots goes on with slot i, and with the next ones that need no request.
func (v *mover) advanceSlots(q rma.Queue) rma.Handle {
	gen := v.from.gen
	for ; v.i < len(v.words); v.i++ {
		word := v.words[v.i]
		switch {
		case word&occupied == 0 && movedFrom(word) == gen:
			continue
		case word&occupied == 0 && movedFrom(word) < gen:
			return v.swapSlot(q, v.doneWord|wasEmpty)
		case word&occupied == 0, word&frozen != 0 && compareFrozen(word, gen) > 0:
			return v.endLate()
		case word&frozen == 0 || compareFrozen(word, gen) < 0:
			return v.swapSlot(q, freeze(word, gen))
		}
		// The table may have moved before this slot was frozen, and have it in a later one.
		h := v.get(q, v.control, v.m.control, 0, 0)
		if v.stage = stageRemoved; word&removed == 0 {
			v.stage = stageItem
			h = v.getItem(q, word, v.here)
		}
		return h
	}
	return v.end()
}

// swapSlot swaps the word of slot i.
func (v *mover) swapSlot(q rma.Queue, word uint64) rma.Handle {
	v.stage = stageSwap
	return v.swap(q, v.from, v.first+uint64(v.i), v.words[v.i], word)
}

// takeItem takes the item of slot i, and begins the search for its key in the next table.
func (v *mover) takeItem(q rma.Queue) rma.Handle {
	word := v.words[v.i]
	thawed, keySize, valueSize, ok := v.checkItem(word, v.here)
	rank, off, _ := v.from.place(v.first + uint64(v.i))
	if !ok { // the slot has moved meanwhile
		v.stage = stageReread
		return v.get(q, v.chunk[:v.m.stride], v.m.slots, rank, off)
	}
	v.word = thawed
	v.key = unpack(v.key[:0], v.here[headWords:], keySize)
	v.hash = hashOf(v.key)
	v.value = unpack(v.value[:0], v.here[headWords+wordsOf(keySize):], valueSize)
	v.startIn(v.table)
	v.stage = stageChunk
	return v.request(q)
}

// findKey searches for the key, or an empty slot, in the next table.
func (v *mover) findKey(q rma.Queue) rma.Handle {
	for ; v.next < v.n; v.next++ {
		word := v.chunk[v.next*v.m.stride]
		switch {
		case word&occupied == 0 && movedFrom(word) < v.table.gen:
			return v.placeWord(q, word)
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
		return v.getItem(q, word, v.there)
	}
	if v.begin += uint64(v.n); v.begin >= v.table.slots {
		return v.endLate() // or there is no room: confirmLate reads the state and finds out
	}
	return v.request(q)
}

// compareItem compares the key with that of an item in the next table.
func (v *mover) compareItem(q rma.Queue) rma.Handle {
	word := v.chunk[v.next*v.m.stride]
	_, keySize, _, ok := v.checkItem(word, v.there)
	v.stage = stageChunk
	if !ok { // it has been used again, and the slot has changed
		return v.request(q)
	}
	if !hasKey(v.there, keySize, v.key) {
		v.next++
		return rma.NoHandle
	}
	v.mustThaw = false
	return v.swapSlot(q, v.doneWord)
}

// placeWord puts the word into a slot of the next table. It stays frozen until the old slot has
// moved: a late call that takes the next table for an earlier one must not change it before.
func (v *mover) placeWord(q rma.Queue, old uint64) rma.Handle {
	word := freeze(v.word, v.from.gen)
	v.stage = stagePlace
	h := v.swap(q, v.table, v.slot(), old, word)
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
		v.chunk[v.next*v.m.stride], v.stage = seen, stageChunk
		return rma.NoHandle
	case won:
		v.words[v.i] = v.new
		v.cleanUp(q)
	default:
		v.words[v.i] = seen
	}
	v.stage = stageSlots
	return rma.NoHandle
}

// cleanUp follows when this mover has swapped the word of slot i: it gives the item of a removed
// key back, or thaws the word in the next table.
func (v *mover) cleanUp(q rma.Queue) {
	if v.new != v.doneWord {
		return
	}
	if v.old&removed != 0 {
		v.giveBack(q, v.old)
	} else if v.mustThaw {
		rank, off, _ := v.table.place(v.slot())
		v.unawaited = append(v.unawaited, q.CompareAndSwap(v.m.slots, rank, off,
			freeze(v.word, v.from.gen), v.word))
	}
}
