package kv

import (
	"fmt"

	"github.com/farhash/farhash/rma"
)

// op is a call as a step machine:
//
//	start    write the item; get the first chunk of slots
//	chunk    search for the key; where a slot may have it, get its item
//	item     compare the key; go on, or it is found
//	swap     compare-and-swap of the slot, and its copy; when that loses, examine the word
//
// It goes on in the next table where slots have moved. Work on more than one slot, such as
// moving a table, it leaves to the session, and is started again: see need.
//
// The last requests of a call, a copy or a mark for the owner of an item, are not waited for: the
// next call of this machine collects their results.
type op struct {
	m    *Map
	call *Call
	hash uint64

	phase     phase
	flights   []rma.Handle // waited for
	unawaited []rma.Handle // not waited for
	result    uint64       // of the last flight

	table table
	chunk rma.Buf
	begin uint64 // distance of the chunk from home, in slots
	n     int    // slots in it
	next  int    // the one examined

	into           table  // where slots of the table have moved, if any has
	movingGen      uint64 // the last generation of which this was found, 0 for none
	incomplete     bool   // not all slots may have moved into the table
	changed        bool   // the present slot was read again
	checked        bool   // all slots were examined, and the state was requested since
	removed        uint64 // slots of removed keys among those examined
	stateRequested bool   // the state is requested
	control        rma.Buf
	need           need

	there rma.Buf // the item of a slot
	here  rma.Buf // the item of this call
	copy  rma.Buf
	mark  rma.Buf

	mine     item
	taken    bool   // mine is this call's
	sent     bool   // and may be in a slot
	copySent bool   // or its copy may
	word     uint64 // that refers to it
	old      uint64 // what the compare-and-swap expects
	new      uint64 // and stores

	rereads    int // reads of a slot whose item has been used again
	roundTrips uint64
	lost       uint64 // compare-and-swaps
}

type phase uint8

const (
	phaseStart phase = iota
	phaseChunk
	phaseItem
	phaseSwap
	phaseEnd
)

// need is what a call needs before it can be made.
type need struct {
	call    int // its index
	what    whatNeeded
	table   table
	slot    uint64 // whose part is to move
	removed uint64 // slots of removed keys
}

type whatNeeded uint8

const (
	needNothing whatNeeded = iota
	needPart               // a part of a table has moved
	needMove               // all of a table that is moving has moved
	needRoom               // a table has an empty slot
	needItem               // an item of this rank is free
)

// maxRereads is how often a slot is read again whose item is not that of its word, before the
// item is reported as broken.
const maxRereads = 1 << 20

// laterChunkFactor is how many times as long as the first chunk the ones behind it are: a search
// that needs a second chunk is among many occupied slots.
const laterChunkFactor = 4

// start readies the machine for a call, or to make it again.
func (o *op) start(c *Call) {
	o.call = c
	o.hash = hashOf(c.Key)
	o.phase, o.rereads, o.need = phaseStart, 0, need{}
	o.startIn(o.m.latestTable())
	o.movingGen, o.incomplete, o.stateRequested = 0, false, false
	o.taken, o.sent, o.copySent, o.roundTrips, o.lost = false, false, false, 0, 0
	c.Done, c.Err = false, nil
}

// Step is one step of the protocol. An error of the engine ends the call and is kept in it.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if o.phase == phaseStart {
		if h := o.collect(q, &o.unawaited, false); h != rma.NoHandle {
			return h, nil
		}
	}
	for o.phase != phaseEnd {
		if h := o.advance(q); h != rma.NoHandle {
			o.roundTrips++
			return h, nil
		}
	}
	return rma.NoHandle, nil
}

// collect takes results, and returns a handle to wait for while there is one. report stores the
// first error in the call.
func (o *op) collect(q rma.Queue, flights *[]rma.Handle, report bool) rma.Handle {
	for len(*flights) > 0 {
		last := (*flights)[len(*flights)-1]
		if !q.Done(last) {
			return last
		}
		*flights = (*flights)[:len(*flights)-1]
		result, err := q.Value(last)
		if o.result = result; err != nil && report && o.call.Err == nil {
			o.call.Err = fmt.Errorf("kv: %w", err)
		}
	}
	return rma.NoHandle
}

// get requests words, which are waited for.
func (o *op) get(q rma.Queue, to rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h := q.Get(to, w, rank, off)
	o.flights = append(o.flights, h)
	return h
}

// getItem requests the item that a word refers to.
func (o *op) getItem(q rma.Queue, word uint64, to rma.Buf) rma.Handle {
	rank, off, n := o.m.locateItem(word)
	if n == 0 {
		o.call.Err = fmt.Errorf("kv: a slot holds %#x, which refers to no item", word)
		return rma.NoHandle
	}
	return o.get(q, to[:n], o.m.items, rank, off)
}

// checkItem is verify for an item as got. If it fails too often the item is broken.
func (o *op) checkItem(word uint64, it []uint64) (thawed uint64, keySize, valueSize int, ok bool) {
	thawed, keySize, valueSize, ok = verify(word, it[:classWords(classOf(word))])
	if !ok {
		if o.rereads++; o.rereads > maxRereads {
			o.call.Err = fmt.Errorf("kv: slot %#x refers to an item that is broken", word)
		}
	}
	return thawed, keySize, valueSize, ok
}

// swap posts a compare-and-swap of a slot, whose result is waited for.
func (o *op) swap(q rma.Queue, t table, slot, old, word uint64) rma.Handle {
	rank, off, _ := t.place(slot)
	o.old, o.new = old, word
	h := q.CompareAndSwap(o.m.slots, rank, off, old, word)
	o.flights = append(o.flights, h)
	return h
}

// putCopy puts the copy of a pair into a slot, for its word, and does not wait. It reports whether
// it does: not all pairs have a copy, and the buffer may be in use.
func (o *op) putCopy(q rma.Queue, t table, slot, word uint64, key, value []byte) bool {
	if !o.m.cfg.copied(key, value) || o.collect(q, &o.unawaited, false) != rma.NoHandle {
		return false
	}
	writeCopy(o.copy, word, key, value)
	rank, off, _ := t.place(slot)
	o.unawaited = append(o.unawaited, q.Put(o.copy, o.m.slots, rank, off+1))
	return true
}

// advance carries out the current phase. It returns a handle to wait for, or NoHandle when
// there is more to do at once.
func (o *op) advance(q rma.Queue) rma.Handle {
	if h := o.collect(q, &o.flights, true); h != rma.NoHandle {
		return h
	}
	switch {
	case o.call.Err != nil:
		return o.end()
	case o.phase == phaseChunk:
		return o.examine(q)
	case o.phase == phaseItem:
		return o.compare(q)
	case o.phase == phaseSwap:
		return o.swapped(q)
	case !o.call.Kind.puts() || o.prepare(q):
		return o.request(q)
	case o.call.Err != nil:
		return o.end()
	}
	return o.suspend(need{what: needItem})
}

// prepare writes the item of this call, false if there is none.
func (o *op) prepare(q rma.Queue) bool {
	c := o.call
	class := classFor(itemWords(len(c.Key), len(c.Value)))
	var err error
	if o.mine, o.taken, err = o.m.arena.take(class, o.hash); err != nil || !o.taken {
		c.Err = err
		return false
	}
	o.word = newWord(o.hash, class, o.mine)
	n := writeItem(o.here, o.word, c.Key, c.Value)
	rank, off := o.m.arena.locate(o.mine.number)
	o.flights = append(o.flights, q.Put(o.here[:n], o.m.items, rank, off))
	return true
}

// giveBack gives the item of a word that is in no slot any more back to its owner.
func (o *op) giveBack(q rma.Queue, word uint64) {
	if word&occupied == 0 {
		return
	}
	it := itemOf(word)
	if o.m.arena.owns(it) {
		o.m.arena.giveBack(it, o.hash)
		return
	}
	rank, off := o.m.arena.locate(it.number)
	o.mark[0] = markOf(it)
	o.unawaited = append(o.unawaited, q.Put(o.mark, o.m.items, rank, off+markWord))
}

// end ends the call. An item that no slot can refer to is kept for the next one.
func (o *op) end() rma.Handle {
	switch { // after an error the engine may still write the item, or the word
	case !o.taken || o.call.Err != nil:
	case o.sent:
		o.m.arena.publish(o.mine)
	case o.copySent: // a copy with its word may be in a slot
		o.m.arena.giveBack(o.mine, o.hash)
	default:
		o.m.arena.putBack(o.mine, o.hash)
	}
	o.phase = phaseEnd
	return rma.NoHandle
}

// suspend stops the machine: the call is to be made again when it has what it needs.
func (o *op) suspend(n need) rma.Handle {
	o.need = n
	return o.end()
}

// farFromHome reports whether a call that has put a new key has found its slot far from home.
func (o *op) farFromHome() bool {
	return o.call.Done && o.sent && o.old&occupied == 0 && o.begin >= o.m.farFromHome()
}

// farFromHome is how many slots behind its home a new key is far from it: the chunks of two gets.
func (m *Map) farFromHome() uint64 { return uint64(m.cfg.Chunk) * (1 + laterChunkFactor) }
