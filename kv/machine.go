package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// op is a call as a step machine. Its steps have the names of DESIGN.md:
//
//	write    the item of a put; the first chunk is requested at the same time. An Add writes the
//	         item of a key that is not there
//	search   for the key in chunks of slots
//	compare  the key with the key of the item of a slot
//	store    the item of an Add, for another sum
//	swap     the word of the slot, and write the copy; when that loses, examine the word
//	confirm  that the slots examined were of this table, when no slot is empty
//
// The search follows slots that have moved to the next table. Work on more than one slot, such as
// moving a table, is left to the session, and the call is made again: see need.
//
// The last requests of a call, a copy or a mark for the owner of an item, are not waited for: the
// next call of this machine collects their results.
type op struct {
	m    *Map
	call *Call
	hash uint64
	step step
	path
	word     uint64 // that refers to the item of this call, 0 without one
	written  int64  // sum in the item of an Add
	reserved bool   // the item is for a key that is there
	old, new uint64 // what the compare-and-swap expects and stores
	need     need
	paid     uint64 // a table into which the call may put a new key while slots still move there

	flights   []rma.Handle // waited for
	unawaited []rma.Handle // not waited for
	result    uint64       // of the last flight
	chunk     rma.Buf
	there     rma.Buf // the item of a slot
	here      rma.Buf // the item of this call
	copy      rma.Buf
	mark      rma.Buf
	control   rma.Buf // the last state that this call knows

	rereads    int // of slots whose item has been used again
	roundTrips uint64
	lost       uint64 // compare-and-swaps
}

// path is how far the search for a key has come in a table.
type path struct {
	table   *table
	into    *table // where slots of this one have moved, if any has
	begin   uint64 // distance of the chunk from home, in slots
	n       int    // slots of the chunk
	at      int    // the slot examined
	again   bool   // it was read again, or lost to another call
	removed uint64 // slots of removed keys among those examined
	sentNs  int64  // when the chunk was requested, until it has come
	slow    bool   // a chunk has taken long
	sure    bool   // this was the table when all chunks had come
}

type step uint8

const (
	stepWrite step = iota + 1
	stepSearch
	stepCompare
	stepStore
	stepSwap
	stepConfirm
	stepEnd
)

// need is what a call needs before it can be made.
type need struct {
	call    int // its index
	what    whatNeeded
	table   *table
	slot    uint64 // whose part is to move, or that is to be thawed
	word    uint64 // that it had, of the key of the call
	removed uint64 // slots of removed keys
	class   int    // of an item
	all     bool   // all slots are to move, at once
}

type whatNeeded uint8

const (
	needNothing whatNeeded = iota
	needState              // the table is still there, which has no key for the call
	needThaw               // a slot whose key has arrived is no longer frozen
	needPart               // a part of a table has moved
	needMove               // a table that is moving has moved, or enough of it
	needRoom               // a table has an empty slot
	needItem               // an item of this rank is free
)

// maxRereads is how often a slot is read again whose item does not belong to its word, before the
// item is reported as broken.
const maxRereads = 1 << 20

// laterChunkFactor is how many times as long as the first chunk the later ones are: a search that
// needs a second chunk is among many occupied slots.
const laterChunkFactor = 4

// start begins a call, or makes it again.
func (o *op) start(c *Call) {
	o.call, o.hash, o.step = c, hashOf(c.Key), stepWrite
	o.word, o.need, o.rereads, o.roundTrips, o.lost = 0, need{}, 0, 0, 0
	c.Done, c.Err = false, nil
	o.searchLatest()
}

// searchLatest begins the search in the latest table that this rank knows.
func (o *op) searchLatest() {
	o.path = path{table: o.m.latest.Load()}
	o.control[0] = uint64(o.table.state())
}

// Step takes the next step. An error of the engine ends the call and is kept in it.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if o.step == stepWrite {
		if h := o.collect(q, &o.unawaited, false); h != rma.NoHandle {
			return h, nil
		}
	}
	for o.step != stepEnd {
		if h := o.advance(q); h != rma.NoHandle {
			o.roundTrips++
			return h, nil
		}
	}
	return rma.NoHandle, nil
}

// advance takes the present step, when its results are there. It returns a handle to wait for, or
// NoHandle when there is more to do at once.
func (o *op) advance(q rma.Queue) rma.Handle {
	if h := o.collect(q, &o.flights, true); h != rma.NoHandle {
		return h
	}
	if o.call.Err != nil {
		return o.end()
	}
	switch o.step {
	case stepWrite:
		return o.write(q)
	case stepSearch:
		return o.search(q)
	case stepCompare:
		return o.compare(q)
	case stepStore:
		return o.store(q)
	case stepSwap:
		return o.swapped(q)
	}
	return o.confirm(q)
}

// write writes the item of a put, and begins the search.
func (o *op) write(q rma.Queue) rma.Handle {
	o.call.Sum = o.call.Delta // of a key that is not there
	if o.call.Kind.puts() && !o.writeItem(q) {
		return rma.NoHandle
	}
	return o.getChunk(q)
}

// writeItem writes the item of the call, a new one if it has none. It returns false, and has ended
// the call, if there is none.
func (o *op) writeItem(q rma.Queue) bool {
	c, class := o.call, o.call.class()
	if o.word == 0 {
		if !o.enlarge(q, &o.here, classWords(class)) {
			o.end()
			return false
		}
		if !o.takeItem(class) {
			return false
		}
	}
	o.written = c.Sum
	var sum [counterSize]byte
	n := writeItem(o.here[:classWords(class)], o.word, c.Key, c.stored(&sum))
	rank, off := o.m.arena.locate(itemOf(o.word).number)
	o.flights = append(o.flights, q.Put(o.here[:n], o.m.items, rank, off))
	return true
}

// takeItem takes an item of a class for the call: if none is free one that is reserved for a key
// that is there. It returns false, and has ended the call, if there is none.
func (o *op) takeItem(class int) bool {
	a := o.m.arena
	mine, ok := a.takeListed(class, o.hash)
	if o.reserved = false; !ok {
		mine, ok = a.takeReserved(class)
		o.reserved = ok
	}
	if !ok {
		if mine, ok, o.call.Err = a.take(class, o.hash); o.call.Err != nil {
			o.end()
			return false
		}
	}
	if !ok {
		o.suspend(need{what: needItem, class: class})
		return false
	}
	o.word = newWord(o.hash, class, mine)
	return true
}

// getChunk requests the chunk of slots at begin, in parts where it crosses into another rank's
// memory.
func (o *op) getChunk(q rma.Queue) rma.Handle {
	m := o.m
	n := uint64(m.chunk)
	if o.begin > 0 {
		n *= laterChunkFactor
	}
	o.n, o.at, o.step = int(min(n, o.table.slots-o.begin)), 0, stepSearch
	if !m.batches.All {
		o.sentNs = m.nowNs()
	}
	var last rma.Handle
	for done := 0; done < o.n; {
		rank, off, rest := o.table.place(o.table.slotAt(o.hash, o.begin+uint64(done)))
		n := min(o.n-done, rest)
		last = o.get(q, o.chunk[done*m.stride:(done+n)*m.stride], m.slots, rank, off)
		done += n
	}
	return last
}

// search examines the slots of the chunk.
func (o *op) search(q rma.Queue) rma.Handle {
	if o.sentNs != 0 {
		o.slow = o.m.isSlow(o.m.nowNs()-o.sentNs) || o.slow
		o.sentNs = 0
	}
	if o.outdated() {
		return o.getChunk(q)
	}
	for ; o.at < o.n; o.at, o.again = o.at+1, false {
		slot := o.chunk[o.at*o.m.stride : (o.at+1)*o.m.stride]
		word := slot[0]
		switch means := meaningOf(word, o.hash, o.table.gen); means {
		case slotEmpty:
			return o.absent(q)
		case slotLater:
			return o.getState(q, stepSearch)
		case slotMoved, slotClosed:
			if o.into == nil {
				o.into = o.m.table(o.table.gen+1, shape(word&shapeMask))
			}
			if means == slotClosed {
				return o.follow(q)
			}
			continue
		case slotMatch:
			key, value, ok := readCopy(slot, o.hash)
			if !ok {
				o.step = stepCompare
				return o.getItem(q, word, &o.there)
			}
			if bytes.Equal(key, o.call.Key) {
				return o.found(q, word, value)
			}
		}
		if o.again {
			return o.searchAgain(q)
		}
		o.removed += word / removed & 1
	}
	o.begin += uint64(o.n)
	switch {
	case o.begin < o.table.slots:
		return o.getChunk(q)
	case o.into != nil:
		return o.follow(q)
	}
	return o.getState(q, stepConfirm) // slots examined may have been of a later table
}

// searchAgain begins the search again, as a slot has another key that was read before, when it may
// have had the key of the call. Then the table has moved, and the slots after it were read earlier
// than this one.
func (o *op) searchAgain(q rma.Queue) rma.Handle {
	// mark: a slot has another key when it is read again
	o.searchLatest()
	return o.getChunk(q)
}

// follow continues the search in the table that slots of this one have moved to. It requests the
// state at the same time, to find out whether all have moved.
func (o *op) follow(q rma.Queue) rma.Handle {
	// mark: a key is searched for in the next table
	o.path = path{table: o.into}
	o.get(q, o.control, o.m.control, 0, 0)
	return o.getChunk(q)
}

// getState requests the state of the map.
func (o *op) getState(q rma.Queue, then step) rma.Handle {
	o.n, o.at, o.step = 0, 0, then
	return o.get(q, o.control, o.m.control, 0, 0)
}

// outdated reports whether the table has moved, by the last state that this call knows. Then the
// search begins again in the later one.
func (o *op) outdated() bool {
	now := state(o.control[0])
	o.m.learn(now)
	if now.gen() <= o.table.gen {
		return false
	}
	// mark: a table has moved on by the time it is read
	o.path = path{table: o.m.table(now.gen(), now.shape())}
	return true
}

// confirm ends the search of a table without an empty slot.
func (o *op) confirm(q rma.Queue) rma.Handle {
	if o.outdated() {
		return o.getChunk(q)
	}
	o.sure = true
	return o.absent(q)
}

// mixed reports whether the slots examined may be of two tables, one in the memory of the other: an
// empty one of this table, and those before it of a later one, read when the table had moved twice.
// Over a network a chunk comes sooner than that, or is slow: to move twice takes messages too, one
// after the other. Over memory whoever reads may not have been running.
func (o *op) mixed() bool {
	return !o.sure && o.begin+uint64(o.at) > 0 && (o.slow || o.m.batches.All)
}

// mayPut reports whether the call puts its key if that is not there. Its compare-and-swap then
// shows that the empty slot is still of this table.
func (o *op) mayPut() bool {
	c := *o.call
	return c.decide(0, counter{})
}

// isSlow reports whether a chunk has taken more than three times as long as the fastest one. A
// table that moves twice takes four times as long, if all hosts are as far from each other.
func (m *Map) isSlow(tookNs int64) bool {
	fastest := m.chunkNs.Load()
	if fastest == 0 || tookNs < fastest {
		m.chunkNs.CompareAndSwap(fastest, tookNs)
		return fastest == 0
	}
	return tookNs > 3*fastest
}

// nowNs is the time, of the simulated cluster where the map is in one.
func (m *Map) nowNs() int64 {
	if clock, ok := m.job.(interface{ NowNs() int64 }); ok {
		return clock.NowNs()
	}
	return time.Since(begun).Nanoseconds()
}

var begun = time.Now()

// incomplete reports whether slots may still be moving into the table.
func (o *op) incomplete() bool { return o.table.gen > state(o.control[0]).gen() }

// foundMoving is the last generation that the search has found moving, 0 for none.
func (o *op) foundMoving() uint64 {
	switch {
	case o.into != nil:
		return o.table.gen
	case o.incomplete():
		return o.table.gen - 1
	}
	return 0
}

// compare compares the key with the key of the item of the slot.
func (o *op) compare(q rma.Queue) rma.Handle {
	word := o.chunk[o.at*o.m.stride]
	_, key, value, ok := o.checkItem(word, o.there)
	switch {
	case !ok:
		// mark: an item has been used again by the time it is read
		o.again, o.step = true, stepSearch
		rank, off, _ := o.table.place(o.slot())
		return o.get(q, o.chunk[o.at*o.m.stride:(o.at+1)*o.m.stride], o.m.slots, rank, off)
	case bytes.Equal(key, o.call.Key):
		return o.found(q, word, value)
	case o.again:
		return o.searchAgain(q)
	}
	// mark: another key with the same fingerprint
	o.removed += word / removed & 1
	o.at, o.step = o.at+1, stepSearch
	return rma.NoHandle
}

// found decides about a key that has its slot. The value is used by a Get or an Add.
func (o *op) found(q rma.Queue, word uint64, value []byte) rma.Handle {
	c, version := o.call, Version(0)
	if word&removed == 0 {
		version = Version(thaw(word, o.hash))
	}
	if !c.decide(version, counterOf(value)) {
		if c.Done {
			c.Value = append(c.Value, value...)
		}
		o.giveBack() // also where the call has an error
		return o.end()
	}
	if word&frozen != 0 {
		switch compareFrozen(word, o.table.gen) {
		case 0:
			// mark: a write finds its key frozen
			return o.suspend(need{what: needPart, table: o.table, slot: o.slot()})
		case 1:
			return o.getState(q, stepSearch)
		}
		// mark: a write changes a key that has just arrived
		return o.suspend(need{what: needThaw, table: o.table, slot: o.slot(), word: word})
	}
	if c.Kind == Delete {
		return o.swap(q, thaw(word, o.hash)|removed)
	}
	return o.store(q)
}

// absent decides about a key that is in no slot of the table. The search has ended at an empty one,
// or has examined all.
func (o *op) absent(q rma.Queue) rma.Handle {
	switch {
	case o.into != nil && o.call.Kind == Get:
		return o.follow(q)
	case o.into != nil: // nobody may put the key here while it is changed in the next table
		return o.swap(q, movedWord(o.table.gen, o.into.shape)|wasEmpty)
	case o.mixed() && !o.mayPut():
		// mark: slots may be of two tables
		return o.suspend(need{what: needState, table: o.table})
	case !o.call.decide(0, counter{}):
		return o.end()
	case o.reserved:
		// mark: a reserved item is not for a new key
		return o.suspend(need{what: needItem, class: o.call.class()})
	case o.incomplete() && (o.paid != o.table.gen || o.at == o.n || o.begin >= o.m.farFromHome()):
		// what moves comes first, so that there is room for it
		return o.suspend(need{what: needMove, all: o.paid == o.table.gen})
	case o.at == o.n:
		return o.suspend(need{what: needRoom, table: o.table, removed: o.removed})
	case o.incomplete():
		// mark: a new key comes into a table while slots still move there
	}
	return o.store(q)
}

// store swaps the slot for the item of the call, when that has the sum of an Add. After a swap that
// has lost that is another item, as a copy with the word of the first one may be in the slot.
func (o *op) store(q rma.Queue) rma.Handle {
	if o.call.Kind != Add || o.written == o.call.Sum {
		return o.swap(q, o.word)
	}
	if o.lost > 0 {
		// mark: an Add that has lost its swap takes another item
		o.giveBack()
	}
	o.step = stepStore
	o.writeItem(q)
	return rma.NoHandle // it is waited for in the next step
}

// swap swaps the word of the slot, and writes the copy at the same time. If it loses, the seal of
// the copy does not fit the word that won.
func (o *op) swap(q rma.Queue, word uint64) rma.Handle {
	o.step = stepSwap
	h := o.compareAndSwap(q, o.table, o.slot(), o.chunk[o.at*o.m.stride], word)
	if word == o.word {
		var sum [counterSize]byte
		o.putCopy(q, o.table, o.slot(), word, o.call.Key, o.call.stored(&sum))
	}
	return h
}

// swapped takes the result of the swap.
func (o *op) swapped(q rma.Queue) rma.Handle {
	if o.result != o.old {
		// mark: a compare-and-swap loses
		o.lost++
		q.Stats().Retries++
		o.chunk[o.at*o.m.stride] = o.result
		o.again, o.step = o.old&occupied != 0, stepSearch
		return rma.NoHandle
	}
	if o.new&occupied == 0 {
		// mark: a write closes the old table after a slot that has moved
		return o.follow(q)
	}
	c := o.call
	if c.Done, c.Version = true, 0; c.Kind != Delete {
		c.Version = Version(o.word)
		o.release(q, o.old)
	}
	return o.end()
}

// release gives the item of a word that is in no slot any more back to its owner.
func (o *op) release(q rma.Queue, word uint64) {
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
	o.step = stepEnd
	switch { // after an error the engine may still write the item, or the word
	case o.word == 0 || o.call.Err != nil:
	case o.call.Done:
		o.m.arena.publish(itemOf(o.word))
	default:
		o.giveBack()
	}
	return rma.NoHandle
}

// giveBack gives the item of this call back, to be used again with another word: a copy with this
// one may be in a slot.
func (o *op) giveBack() {
	if o.word != 0 {
		o.m.arena.giveBack(itemOf(o.word), o.hash)
		o.word = 0
	}
}

// suspend stops the machine: the call is made again when it has what it needs.
func (o *op) suspend(n need) rma.Handle {
	o.need = n
	return o.end()
}

// farFromHome reports whether a call that has put a new key has found its slot far from home.
func (o *op) farFromHome() bool {
	return o.call.Done && o.word != 0 && o.old&occupied == 0 && o.begin >= o.m.farFromHome()
}

// farFromHome is how many slots from its home a new key is far from it: the chunks of two gets.
func (m *Map) farFromHome() uint64 { return uint64(m.cfg.Chunk) * (1 + laterChunkFactor) }

// slot is the number of the slot examined.
func (o *op) slot() uint64 { return o.table.slotAt(o.hash, o.begin+uint64(o.at)) }

// get requests words, which are waited for.
func (o *op) get(q rma.Queue, to rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h := q.Get(to, w, rank, off)
	o.flights = append(o.flights, h)
	return h
}

// enlarge makes a buffer that is too short for so many words longer. It returns false, and the call
// has the error, if that cannot be done. The buffer before is the queue's until it is closed.
func (o *op) enlarge(q rma.Queue, b *rma.Buf, words int) bool {
	if len(*b) >= words {
		return true
	}
	longer, err := q.Alloc(words)
	if err != nil {
		o.call.Err = fmt.Errorf("kv: %w", err)
		return false
	}
	*b = longer
	return true
}

// getItem requests the item that a word refers to.
func (o *op) getItem(q rma.Queue, word uint64, to *rma.Buf) rma.Handle {
	rank, off, n := o.m.locateItem(word)
	if n == 0 {
		o.call.Err = fmt.Errorf("kv: a slot holds %#x, which refers to no item", word)
		return rma.NoHandle
	}
	if !o.enlarge(q, to, n) {
		return rma.NoHandle
	}
	return o.get(q, (*to)[:n], o.m.items, rank, off)
}

// checkItem is verify for an item as got. If it fails too often the item is broken.
func (o *op) checkItem(word uint64, it []uint64) (thawed uint64, key, value []byte, ok bool) {
	thawed, key, value, ok = verify(word, it[:classWords(classOf(word))])
	if !ok {
		if o.rereads++; o.rereads > maxRereads {
			o.call.Err = fmt.Errorf("kv: slot %#x refers to an item that is broken", word)
		}
	}
	return thawed, key, value, ok
}

// compareAndSwap posts a swap of a slot, whose result is waited for.
func (o *op) compareAndSwap(q rma.Queue, t *table, slot, old, word uint64) rma.Handle {
	rank, off, _ := t.place(slot)
	o.old, o.new = old, word
	h := q.CompareAndSwap(o.m.slots, rank, off, old, word)
	o.flights = append(o.flights, h)
	return h
}

// putCopy puts the copy of a pair into a slot, for its word, and does not wait. Not all pairs have
// a copy, and it does nothing while the buffer is in use.
func (o *op) putCopy(q rma.Queue, t *table, slot, word uint64, key, value []byte) {
	if !o.m.cfg.copied(key, value) || o.collect(q, &o.unawaited, false) != rma.NoHandle {
		return
	}
	writeCopy(o.copy, word, key, value)
	rank, off, _ := t.place(slot)
	o.unawaited = append(o.unawaited, q.Put(o.copy, o.m.slots, rank, off+1))
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

// session is a queue with step machines, for one batch at a time.
type session struct {
	q         rma.Queue
	ops       []op
	movers    []mover // they use the ops when these have ended
	chunk     rma.Buf // for the slots of a sample
	m         *Map
	slots     core.Slots
	calls     []Call // of the batch
	counts    Counts
	needs     []need
	order     []int     // of the calls, where a part is made at a time
	movingGen uint64    // the last generation that calls have found moving, 0 for none
	met       int       // calls that have, of those that help
	farHash   uint64    // hash of a new key far from home, 0 for none
	moved     rma.Stats // of other queues, on which it has had slots move
	held      []hold    // of areas that requests in flight may change
	told      bool      // another rank has said that nearly all of its slots are taken
	answering bool      // it answers a request, and leaves what takes all ranks to who has sent it
}

// Close gives back the queue, and then what it holds.
func (s *session) Close() error {
	err := s.q.Close()
	for _, h := range s.held {
		err = errors.Join(err, h.release())
	}
	s.held = nil
	return err
}

// firstItemRoom is how many words a buffer for an item has before it needs more.
const firstItemRoom = 64

// session returns one that nobody uses.
func (m *Map) session() (*session, error) {
	if s, ok, err := m.pool.Take(); ok || err != nil {
		return s, err
	}
	return m.newSession(m.cfg.Depth, laterChunkFactor*m.cfg.Chunk/lineSlots+1)
}

// newSession makes one with some machines, for tables of which a chunk is in some pieces at most.
func (m *Map) newSession(machines, pieces int) (*session, error) {
	// An item, a copy, a mark and the state may be in flight together with a chunk in pieces; of a
	// mover two swaps beside its item, or a copy and two swaps beside a chunk.
	q, err := m.job.NewQueue(machines*(5+pieces) + sampleRuns)
	if err != nil {
		return nil, err
	}
	s := &session{q: q, m: m, ops: make([]op, machines), slots: core.NewSlots(machines)}
	if s.chunk, err = q.Alloc(sampleRuns * sampleSlots * m.stride); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	itemRoom := min(classWords(m.cfg.largest()), firstItemRoom)
	for i := range s.ops {
		o := &s.ops[i]
		o.m = m
		for _, b := range []struct {
			buf   *rma.Buf
			words int
		}{{&o.chunk, laterChunkFactor * m.cfg.Chunk * m.stride},
			{&o.there, itemRoom}, {&o.here, itemRoom},
			{&o.copy, copyWords}, {&o.mark, 1}, {&o.control, 1}} {
			if *b.buf, err = q.Alloc(b.words); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
	}
	return s, nil
}

// withSession calls fn with a session that nobody uses, and counts its requests. After an error of
// fn requests may still be in flight.
func (m *Map) withSession(fn func(s *session) error) error {
	s, err := m.session()
	if err != nil {
		return err
	}
	before := *s.q.Stats()
	s.counts, s.movingGen, s.met, s.farHash, s.moved = Counts{}, 0, 0, 0, rma.Stats{}
	s.answering = false
	err = fn(s)
	s.counts.Queues = s.q.Stats().Since(before)
	s.counts.Queues.Add(s.moved)
	m.tally.Add(core.Stripe(), &s.counts)
	s.calls = nil
	m.pool.Give(s, err != nil)
	return err
}

// queued makes the calls with the given indices, or all for nil, through a queue. If that is
// aborted all these calls have the error, and may have been made.
func (m *Map) queued(calls []Call, indices []int, answering bool) {
	err := m.withSession(func(s *session) error {
		s.calls, s.answering = calls, answering
		return s.run(indices)
	})
	if err == nil {
		return
	}
	for _, i := range indices {
		calls[i].Err = err
	}
	for i := 0; indices == nil && i < len(calls); i++ {
		calls[i].Err = err
	}
}

// run makes the calls with the given indices, or all for nil. It makes as many at a time as a table
// that may grow has room for, and has it move in between.
func (s *session) run(indices []int) error {
	n, m := len(indices), s.m
	if indices == nil {
		n = len(s.calls)
	}
	for begin := 0; begin < n; {
		end, t := n, m.latest.Load()
		if m.filledTogether(t) {
			end = min(n, begin+max(len(s.ops), m.partCalls()))
		}
		part := indices
		if part == nil && end-begin < n {
			s.order = slices.Grow(s.order[:0], n)
			for i := range n {
				s.order = append(s.order, i)
			}
			indices = s.order
		}
		if indices != nil {
			part = indices[begin:end]
		}
		if err := s.runPart(part); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// runPart makes the calls with the given indices, or all for nil. It does what they need and makes
// them again, until all are made.
func (s *session) runPart(indices []int) error {
	m := s.m
	s.pay(0)
	for {
		s.needs = s.needs[:0]
		err := s.slots.Drive(context.Background(), s.q, len(s.calls), indices, len(s.ops), s)
		if err == nil {
			err = s.q.Submit() // requests that nobody waits for
		}
		if err != nil {
			return err
		}
		if len(s.needs) == 0 {
			break
		}
		indices = s.satisfy(s.needs)
	}
	if s.farHash == 0 && len(s.calls) > 1 && !s.answering && m.isCrowded() {
		s.farHash = crowdedHash
	}
	if s.met > 0 || s.farHash != 0 && !s.answering {
		s.maintain()
		s.met, s.movingGen, s.farHash = 0, 0, 0
	}
	return nil
}

// Turn has writes of one key take turns.
func (s *session) Turn(call int) (hash uint64, ok bool) {
	c := &s.calls[call]
	return hashOf(c.Key), c.Kind != Get
}

// Start begins a call.
func (s *session) Start(machine, call int) rma.Op {
	o := &s.ops[machine]
	o.start(&s.calls[call])
	return o
}

// Finish records how a call has ended.
func (s *session) Finish(machine, call int) {
	o := &s.ops[machine]
	k := &s.counts.Kinds[o.call.Kind]
	k.RoundTrips += o.roundTrips
	k.Lost += o.lost
	if o.need.what == needNothing {
		k.Calls++
	} else {
		o.need.call = call
		s.needs = append(s.needs, o.need)
	}
	moving := o.foundMoving()
	helps := o.call.Kind != Get || o.table.slots >= o.m.gradualSlots
	if moving > 0 && helps && o.paid != o.table.gen && o.need.what != needMove {
		s.movingGen, s.met = max(s.movingGen, moving), s.met+1
	}
	if o.farFromHome() {
		s.farHash = o.hash | 1
	}
}
