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
	swap      rma.Handle

	table table
	chunk rma.Buf
	begin uint64 // distance of the chunk from home, in slots
	n     int    // slots in it
	next  int    // the one examined

	into           table  // where slots of the table have moved
	sawMoved       bool   // a slot examined has moved
	movingGen      uint64 // the last generation of which this was found, 0 for none
	followed       bool   // the table is not the first one searched
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

	rereads int // reads of a slot whose item has been used again
	counts  counts
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
	o.movingGen, o.followed, o.incomplete, o.stateRequested = 0, false, false, false
	o.taken, o.sent, o.copySent, o.counts = false, false, false, counts{}
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
			o.counts.roundTrips++
			o.counts.phases[o.phase]++
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
		if _, err := q.Value(last); err != nil && report && o.call.Err == nil {
			o.call.Err = fmt.Errorf("kv: %w", err)
		}
	}
	return rma.NoHandle
}

// advance carries out the current phase. It returns a handle to wait for, or NoHandle when
// there is more to do at once.
func (o *op) advance(q rma.Queue) rma.Handle {
	switch o.phase {
	case phaseStart:
		if o.call.Kind.puts() && !o.prepare(q) {
			if o.call.Err != nil {
				return o.end(q)
			}
			return o.suspend(q, need{what: needItem})
		}
		return o.request(q)
	case phaseSwap:
		return o.swapped(q)
	}
	if h := o.collect(q, &o.flights, true); h != rma.NoHandle {
		return h
	}
	if o.call.Err != nil {
		return o.end(q)
	}
	if o.phase == phaseItem {
		return o.compare(q)
	}
	return o.examine(q)
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
	n := writeItem(o.here, c.Key, c.Value)
	o.here[sealWord] = seal(o.word, o.here, n)
	rank, off := o.m.arena.locate(o.mine.number)
	flights := &o.flights
	if tooEarly.On() { // nobody waits for it
		flights = &o.unawaited
	}
	*flights = append(*flights, q.Put(o.here[:n], o.m.items, rank, off))
	if o.copies() {
		writeCopy(o.copy, o.word, c.Key, c.Value)
	}
	return true
}

// copies reports whether the pair of this call has a copy in its slot.
func (o *op) copies() bool {
	return o.m.cfg.Copies && len(o.call.Key)+len(o.call.Value) <= copySize
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
func (o *op) end(q rma.Queue) rma.Handle {
	o.unawaited = append(o.unawaited, o.flights...)
	o.flights = o.flights[:0]
	switch { // after an error the engine may still write the item, or the word
	case !o.taken || o.call.Err != nil:
	case o.sent:
		o.m.arena.publish(o.mine)
	case o.copySent && !keepsUse.On(): // a copy with its word may be in a slot
		o.m.arena.giveBack(o.mine, o.hash)
	default:
		o.m.arena.putBack(o.mine, o.hash)
	}
	o.phase = phaseEnd
	return rma.NoHandle
}

// suspend stops the machine: the call is to be made again when it has what it needs.
func (o *op) suspend(q rma.Queue, n need) rma.Handle {
	o.need = n
	return o.end(q)
}

// farFromHome reports whether a call that has put a new key has found its slot far from home.
func (o *op) farFromHome() bool {
	return o.m.grows() && o.call.Done && o.sent && o.old&occupied == 0 &&
		o.begin >= o.m.farFromHome()
}

// farFromHome is how many slots behind its home a new key is far from it: the chunks of two gets.
func (m *Map) farFromHome() uint64 { return uint64(m.cfg.Chunk) * (1 + laterChunkFactor) }
