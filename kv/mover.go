package kv

import (
	"fmt"

	"github.com/farhash/farhash/rma"
)

// mover has the slots of a part of a table move, one after the other, as a step machine. It
// works with the buffers of an op that has ended.
//
//	empty     swapped for moved
//	occupied  frozen; then, if the table is still moving
//	removed   swapped for moved, and its item is free; else
//	item      read, so that its key is known
//	chunk     of the next table: look for the key, as an op does
//	place     if it is not there, the word is put into the empty slot, still frozen
//	swap      the slot for moved
//	thaw      the word in the next table is thawed, which nobody waits for
//
// Anyone may take any of these steps at any time, many at once.
type mover struct {
	*op
	dummy Call // which the op believes to make
	stage stage
	from  table
	part  int
	first uint64   // slot of the part
	words []uint64 // of the part
	i     int      // the slot that moves
	key   []byte   // that it has
	value []byte
	ended bool
	late  bool   // the table is empty already
	fresh bool   // the word in the next table is to be thawed
	gone  uint64 // what slot i becomes when its key is in the next table
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
	stageOther
	stagePlace
	stageEnd
)

// partSlots is how many slots a part of a table has, or fewer with short chunks.
const partSlots = 64

// partLen is how many slots a part has.
func (m *Map) partLen() uint64 { return uint64(min(partSlots, longer*m.cfg.Chunk)) }

// partsOf is how many parts a table has. None has slots of two ranks.
func (m *Map) partsOf(t table) int {
	return int((t.n + m.partLen() - 1) / m.partLen() * m.ranks)
}

// partAt is the part that a slot belongs to.
func (m *Map) partAt(t table, slot uint64) int {
	perRank := (t.n + m.partLen() - 1) / m.partLen()
	return int(slot/t.n*perRank + slot%t.n/m.partLen())
}

// start readies the mover for a part of a table.
func (v *mover) start(o *op, from, into table, part int) {
	m := o.m
	perRank := (from.n + m.partLen() - 1) / m.partLen()
	rank, in := uint64(part)/perRank, uint64(part)%perRank*m.partLen()
	*v = mover{op: o, from: from, part: part, first: rank*from.n + in, key: v.key,
		value: v.value, words: append(v.words[:0], make([]uint64, min(m.partLen(), from.n-in))...),
		gone: movedWord(from.gen, into.size)}
	o.call, o.table, o.again, o.counts = &v.dummy, into, 0, counts{}
}

// Step is one step. An error of the engine ends the mover and is kept in its call.
func (v *mover) Step(q rma.Queue) (rma.Handle, error) {
	for v.stage != stageEnd {
		if h := v.advance(q); h != rma.NoHandle {
			v.counts.roundTrips++
			return h, nil
		}
	}
	return rma.NoHandle, nil
}

// advance does what the stage asks for, and returns a handle to wait for or NoHandle.
func (v *mover) advance(q rma.Queue) rma.Handle {
	if v.stage == stageSwap || v.stage == stagePlace {
		return v.swapped(q)
	}
	if v.stage == stageStart || v.stage == stageSlots { // the buffers of left are used again
		if h := v.settle(q, &v.left, false); h != rma.NoHandle {
			return h
		}
	}
	if h := v.settle(q, &v.flights, true); h != rma.NoHandle {
		return h
	}
	if v.dummy.Err != nil {
		return v.end()
	}
	switch v.stage {
	case stageStart:
		rank, off, _ := v.m.place(v.from, v.first)
		return v.get(q, stagePart, v.chunk[:len(v.words)*v.m.stride], v.m.slots, rank, off)
	case stagePart:
		for i := range v.words {
			v.words[i] = v.chunk[i*v.m.stride]
		}
	case stageReread:
		v.words[v.i] = v.chunk[0]
	case stageRemoved:
		if state(v.control[0]).gen() > v.from.gen && !unasked.On() {
			return v.comesLate()
		}
		return v.swapSlot(q, v.gone)
	case stageItem:
		if state(v.control[0]).gen() > v.from.gen {
			return v.comesLate()
		}
		return v.source(q)
	case stageOther:
		return v.other(q)
	case stageChunk:
		return v.seek(q)
	}
	return v.slots(q)
}

// get asks for words.
func (v *mover) get(q rma.Queue, then stage, dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	v.stage = then
	v.flights = append(v.flights, q.Get(dst, w, rank, off))
	return v.flights[0]
}

// end ends the mover.
func (v *mover) end() rma.Handle {
	v.left = append(v.left, v.flights...)
	v.flights = v.flights[:0]
	v.stage = stageEnd
	return rma.NoHandle
}

// comesLate ends the mover, as the table is empty already.
func (v *mover) comesLate() rma.Handle {
	late.Hit()
	v.late = true
	return v.end()
}

// slots does what the slots from i on need.
func (v *mover) slots(q rma.Queue) rma.Handle {
	gen := v.from.gen
	for ; v.i < len(v.words); v.i++ {
		word := v.words[v.i]
		switch {
		case word&occupied == 0 && movedFrom(word) == gen:
			continue
		case word&occupied == 0 && movedFrom(word) < gen:
			return v.swapSlot(q, v.gone|wasEmpty)
		case word&occupied == 0, word&frozen != 0 && frozenWhen(word, gen) == later:
			return v.comesLate()
		case !unfrozen.On() && (word&frozen == 0 || frozenWhen(word, gen) == earlier):
			return v.swapSlot(q, freeze(word, gen))
		}
		// The table may have moved before this slot was frozen, and have it in a later one.
		h := v.get(q, stageRemoved, v.control, v.m.control, 0, 0)
		if word&removed == 0 {
			h = v.fetch(q, word, v.here, stageItem)
		}
		return h
	}
	v.ended = true
	return v.end()
}

// swapSlot swaps the word of slot i.
func (v *mover) swapSlot(q rma.Queue, word uint64) rma.Handle {
	rank, off, _ := v.m.place(v.from, v.first+uint64(v.i))
	v.stage, v.old, v.new = stageSwap, v.words[v.i], word
	v.swap = q.CompareAndSwap(v.m.slots, rank, off, v.old, word)
	return v.swap
}

// fetch asks for the item that a word refers to.
func (v *mover) fetch(q rma.Queue, word uint64, buf rma.Buf, then stage) rma.Handle {
	rank, off := v.m.arena.locate(itemOf(word).number)
	if rank >= int(v.m.ranks) || classOf(word) > v.m.cfg.largest() {
		v.dummy.Err = fmt.Errorf("kv: a slot holds %#x, which refers to no item", word)
		return v.end()
	}
	return v.get(q, then, buf[:classWords(classOf(word))], v.m.items, rank, off)
}

// source takes the item of slot i, and looks for its key in the next table.
func (v *mover) source(q rma.Queue) rma.Handle {
	word := v.words[v.i]
	it := v.here[:classWords(classOf(word))]
	thawed, keySize, valueSize, ok := whole(word, it)
	rank, off, _ := v.m.place(v.from, v.first+uint64(v.i))
	if !ok { // the slot has moved meanwhile
		if v.again++; v.again > againMax {
			v.dummy.Err = fmt.Errorf("kv: slot %#x refers to an item that is broken", word)
			return v.end()
		}
		return v.get(q, stageReread, v.chunk[:v.m.stride], v.m.slots, rank, off)
	}
	v.word = thawed
	v.hash = hashKey(it[headWords:headWords+wordsOf(keySize)], keySize)
	v.key = unpack(v.key[:0], it[headWords:], keySize)
	v.value = unpack(v.value[:0], it[headWords+wordsOf(keySize):], valueSize)
	if movesFirst.On() {
		v.left = append(v.left, q.CompareAndSwap(v.m.slots, rank, off, word, v.gone))
	}
	v.at(v.table)
	v.stage = stageChunk
	return v.request(q)
}

// seek looks for the key, or an empty slot, in the next table.
func (v *mover) seek(q rma.Queue) rma.Handle {
	for ; v.next < v.n; v.next++ {
		word := v.chunk[v.next*v.m.stride]
		switch {
		case word&occupied == 0 && movedFrom(word) < v.table.gen:
			return v.put(q, word)
		case word&occupied == 0, word&frozen != 0 && frozenWhen(word, v.table.gen) != earlier:
			return v.comesLate() // as the next table moves, all of this one has
		case !mayBe(word, v.hash):
			continue
		case identity(thaw(word, v.hash)) == v.word:
			twice.Hit()
			v.fresh = word == freeze(v.word, v.from.gen)
			return v.swapSlot(q, v.gone)
		}
		return v.fetch(q, word, v.there, stageOther)
	}
	if v.begin += uint64(v.n); v.begin >= v.table.all {
		return v.comesLate() // or there is an error: who reads the state finds out
	}
	return v.request(q)
}

// other compares the key with that of an item in the next table.
func (v *mover) other(q rma.Queue) rma.Handle {
	word := v.chunk[v.next*v.m.stride]
	it := v.there[:classWords(classOf(word))]
	thawed, keySize, _, ok := whole(word, it)
	v.stage = stageChunk
	if !ok { // it has been used again, and the slot has changed
		return v.request(q)
	}
	if !hasKey(it, keySize, v.key) {
		v.next++
		return rma.NoHandle
	}
	if copiesOver.On() && identity(thawed) != v.word {
		return v.put(q, word)
	}
	v.fresh = false
	return v.swapSlot(q, v.gone)
}

// put places the word into a slot of the next table. It stays frozen until the old slot has
// moved: nobody is to change it before, who takes the next table for an earlier one.
func (v *mover) put(q rma.Queue, old uint64) rma.Handle {
	m := v.m
	rank, off, _ := m.place(v.table, v.slot())
	v.stage, v.old, v.new = stagePlace, old, freeze(v.word, v.from.gen)
	if thawed.On() {
		v.new = v.word
	}
	v.swap = q.CompareAndSwap(m.slots, rank, off, old, v.new)
	if m.cfg.Copies && len(v.key)+len(v.value) <= copySize && len(v.left) == 0 {
		writeCopy(v.copy, v.word, v.key, v.value)
		v.left = append(v.left, q.Put(v.copy, m.slots, rank, off+1))
	}
	return v.swap
}

// swapped takes the result of a compare-and-swap.
func (v *mover) swapped(q rma.Queue) rma.Handle {
	if !q.Done(v.swap) {
		return v.swap
	}
	seen, err := q.Value(v.swap)
	if err != nil {
		v.dummy.Err = fmt.Errorf("kv: %w", err)
		return v.end()
	}
	won := seen == v.old
	switch {
	case v.stage == stagePlace && won:
		v.fresh = true
		return v.swapSlot(q, v.gone)
	case v.stage == stagePlace:
		v.chunk[v.next*v.m.stride], v.stage = seen, stageChunk
		return rma.NoHandle
	case won:
		v.words[v.i] = v.new
		v.moved(q)
	default:
		v.words[v.i] = seen
		if loses.On() {
			v.i++
		}
	}
	v.stage = stageSlots
	return rma.NoHandle
}

// moved clears up when this mover has swapped the word of slot i.
func (v *mover) moved(q rma.Queue) {
	if v.new != v.gone {
		return
	}
	v.counts.moved++
	if v.old&removed != 0 {
		v.release(q, v.old)
	} else if v.fresh {
		rank, off, _ := v.m.place(v.table, v.slot())
		v.left = append(v.left, q.CompareAndSwap(v.m.slots, rank, off,
			freeze(v.word, v.from.gen), v.word))
	}
}
