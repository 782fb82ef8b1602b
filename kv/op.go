package kv

import (
	"bytes"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// op is a call as a step machine:
//
//	start    write the item; get the first chunk of slots
//	chunk    look for the key; where a slot may be it, get its item
//	item     compare; go on, or it is found
//	swap     compare-and-swap of the slot, and its copy; when that loses, look again
//
// What comes last, a copy or a mark for the owner of an item, is not waited for: the next
// call of this machine settles it.
type op struct {
	m    *Map
	call *Call
	hash uint64

	phase   phase
	flights []rma.Handle // waited for
	left    []rma.Handle // not waited for
	swap    rma.Handle

	chunk rma.Buf
	begin uint64 // distance of the chunk from home, in slots
	n     int    // slots in it
	next  int    // the one looked at

	there rma.Buf // an item of another
	here  rma.Buf // the item of this call
	copy  rma.Buf
	mark  rma.Buf

	mine  item
	class int
	taken bool   // mine is this call's
	sent  bool   // and may be in a slot
	word  uint64 // that refers to it
	old   uint64 // what the compare-and-swap expects

	again  int // reads of a slot whose item has been used again
	counts counts
}

type phase uint8

const (
	phaseStart phase = iota
	phaseChunk
	phaseItem
	phaseSwap
	phaseEnd
)

// againMax is how often a slot is read again whose item does not fit before it is taken
// for broken.
const againMax = 1 << 20

// longer is how much more than the first chunk the ones behind it are: who needs a second one
// is in a crowd.
const longer = 4

// start readies the machine for a call.
func (o *op) start(c *Call) {
	o.call = c
	var key [8]uint64
	words := key[:]
	if n := wordsOf(len(c.Key)); n > len(words) {
		words = make([]uint64, n)
	}
	o.hash = hashKey(words[:pack(words, c.Key)], len(c.Key))
	o.phase, o.begin, o.next, o.again = phaseStart, 0, 0, 0
	o.taken, o.sent, o.counts = false, false, counts{}
	c.Done, c.Err = false, nil
}

// Step is one step of the protocol. An error of the engine ends the call and is kept in it.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if o.phase == phaseStart {
		if h := o.settle(q, &o.left, false); h != rma.NoHandle {
			return h, nil
		}
	}
	for o.phase != phaseEnd {
		if h := o.advance(q); h != rma.NoHandle {
			o.counts.roundTrips++
			return h, nil
		}
	}
	return rma.NoHandle, nil
}

// settle takes results, and returns a handle to wait for while there is one.
func (o *op) settle(q rma.Queue, flights *[]rma.Handle, tell bool) rma.Handle {
	for len(*flights) > 0 {
		last := (*flights)[len(*flights)-1]
		if !q.Done(last) {
			return last
		}
		*flights = (*flights)[:len(*flights)-1]
		if _, err := q.Value(last); err != nil && tell && o.call.Err == nil {
			o.call.Err = fmt.Errorf("kv: %w", err)
		}
	}
	return rma.NoHandle
}

// advance does what the phase asks for. It returns a handle to wait for, or NoHandle when
// there is more to do at once.
func (o *op) advance(q rma.Queue) rma.Handle {
	switch o.phase {
	case phaseStart:
		if o.call.Kind.puts() && !o.prepare(q) {
			return o.end(q)
		}
		return o.request(q)
	case phaseSwap:
		return o.swapped(q)
	}
	if h := o.settle(q, &o.flights, true); h != rma.NoHandle {
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
	o.class = classFor(itemWords(len(c.Key), len(c.Value)))
	var err error
	if o.mine, o.taken, err = o.m.arena.take(o.class); err != nil || !o.taken {
		if c.Err = err; err == nil {
			c.Err = &FullError{Items: true, Slots: o.m.total}
		}
		return false
	}
	o.word = newWord(o.hash, o.class, o.mine)
	n := writeItem(o.here, c.Key, c.Value)
	o.here[sealWord] = seal(o.word, o.here, n)
	rank, off := o.m.arena.locate(o.mine.number)
	flights := &o.flights
	if tooEarly.On() { // nobody waits for it
		flights = &o.left
	}
	*flights = append(*flights, q.Put(o.here[:n], o.m.items, rank, off))
	if o.copies() {
		clear(o.copy)
		var pair [copySize]byte
		copy(pair[copy(pair[:], c.Key):], c.Value)
		pack(o.copy[1:], pair[:])
		o.copy[0] = sealCopy(o.word, o.copy[1:], len(c.Key), len(c.Value))
	}
	return true
}

// copies tells whether the pair of this call has a copy in its slot.
func (o *op) copies() bool {
	return o.m.cfg.Copies && len(o.call.Key)+len(o.call.Value) <= copySize
}

// request asks for the chunk of slots at begin, in parts where it crosses into another
// rank's memory.
func (o *op) request(q rma.Queue) rma.Handle {
	m := o.m
	n := uint64(m.cfg.Chunk)
	if o.begin > 0 {
		n *= longer
	}
	o.n, o.next, o.phase = int(min(n, m.total-o.begin)), 0, phaseChunk
	for done := 0; done < o.n; {
		rank, off, rest := m.place(m.slotAt(o.hash, o.begin+uint64(done)))
		n := min(o.n-done, rest)
		part := o.chunk[done*m.stride : (done+n)*m.stride]
		o.flights = append(o.flights, q.Get(part, m.slots, rank, off))
		done += n
	}
	return o.flights[len(o.flights)-1]
}

// reread asks for the slot that is looked at.
func (o *op) reread(q rma.Queue) rma.Handle {
	m := o.m
	o.phase = phaseChunk
	rank, off, _ := m.place(m.slotAt(o.hash, o.begin+uint64(o.next)))
	part := o.chunk[o.next*m.stride : (o.next+1)*m.stride]
	o.flights = append(o.flights, q.Get(part, m.slots, rank, off))
	return o.flights[0]
}

// examine looks for the key from slot next on.
func (o *op) examine(q rma.Queue) rma.Handle {
	m, look := o.m, lookFor(o.hash)
	for ; o.next < o.n; o.next++ {
		slot := o.chunk[o.next*m.stride : (o.next+1)*m.stride]
		word := slot[0]
		if word == 0 {
			return o.absent(q, true)
		}
		if word&lookMask != look {
			continue
		}
		if m.cfg.Copies {
			var room [copySize]byte
			if key, value, ok := readCopy(slot, &room); ok {
				o.counts.copies++
				if !bytes.Equal(key, o.call.Key) {
					continue
				}
				return o.found(q, word, value)
			}
			staled.Hit()
		}
		rank, off := m.arena.locate(itemOf(word).number)
		if rank >= int(m.ranks) || classOf(word) > m.cfg.largest() {
			o.call.Err = fmt.Errorf("kv: a slot holds %#x, which refers to no item", word)
			return o.end(q)
		}
		o.phase = phaseItem
		o.flights = append(o.flights,
			q.Get(o.there[:classWords(classOf(word))], m.items, rank, off))
		return o.flights[0]
	}
	o.begin += uint64(o.n)
	if o.begin >= m.total {
		return o.absent(q, false)
	}
	return o.request(q)
}

// compare looks at the item that slot next refers to.
func (o *op) compare(q rma.Queue) rma.Handle {
	word := o.chunk[o.next*o.m.stride]
	it := o.there[:classWords(classOf(word))]
	keySize, valueSize, ok := sizes(it)
	if !ok || seal(word, it, itemWords(keySize, valueSize)) != it[sealWord] && !unsealed.On() {
		recycled.Hit()
		o.counts.recycled++
		if o.again++; o.again > againMax {
			o.call.Err = fmt.Errorf("kv: slot %#x refers to an item that is broken", word)
			return o.end(q)
		}
		return o.reread(q)
	}
	key := unpack(nil, it[headWords:], keySize)
	if !bytes.Equal(key, o.call.Key) && !unkeyed.On() {
		stranger.Hit()
		o.next++
		o.phase = phaseChunk
		return rma.NoHandle
	}
	if o.call.Kind == Get && word&removed == 0 {
		return o.found(q, word, unpack(nil, it[headWords+wordsOf(keySize):], valueSize))
	}
	return o.found(q, word, nil)
}

// found goes on where the key has its slot. The value is only what a Get wants.
func (o *op) found(q rma.Queue, word uint64, value []byte) rma.Handle {
	c := o.call
	there := word&removed == 0
	version := Version(0)
	if there {
		version = Version(identity(word))
	}
	switch c.Kind {
	case Get:
		c.Done, c.Version = there, version
		if there {
			c.Value = append(c.Value, value...)
		}
		return o.end(q)
	case Delete:
		if !there {
			c.Version = 0
			return o.end(q)
		}
		if empties.On() {
			return o.exchange(q, word, 0)
		}
		return o.exchange(q, word, word|removed)
	case PutIfAbsent:
		if there {
			c.Version = version
			return o.end(q)
		}
	case CompareAndPut:
		if c.Version != version {
			c.Version = version
			return o.end(q)
		}
	}
	return o.exchange(q, word, o.word)
}

// absent goes on where the key is in no slot: at an empty one, or all have been looked at.
func (o *op) absent(q rma.Queue, empty bool) rma.Handle {
	c := o.call
	switch {
	case c.Kind == CompareAndPut && c.Version != 0, !c.Kind.puts():
		c.Version = 0
		return o.end(q)
	case !empty:
		h := o.end(q) // the item goes back: there is no error of the engine
		c.Err = &FullError{Slots: o.m.total}
		return h
	}
	return o.exchange(q, 0, o.word)
}

// exchange swaps the word of slot next, and writes the copy at the same time. Should the swap
// be lost, the copy's seal does not fit the word that won.
func (o *op) exchange(q rma.Queue, old, word uint64) rma.Handle {
	m := o.m
	rank, off, _ := m.place(m.slotAt(o.hash, o.begin+uint64(o.next)))
	o.old, o.phase, o.sent = old, phaseSwap, word == o.word
	o.swap = q.CompareAndSwap(m.slots, rank, off, old, word)
	if o.sent && o.copies() {
		if h := o.settle(q, &o.left, false); h == rma.NoHandle {
			o.left = append(o.left, q.Put(o.copy, m.slots, rank, off+1))
		}
	}
	return o.swap
}

// swapped takes the result of the compare-and-swap.
func (o *op) swapped(q rma.Queue) rma.Handle {
	if !q.Done(o.swap) {
		return o.swap
	}
	c := o.call
	seen, err := q.Value(o.swap)
	if err != nil {
		c.Err = fmt.Errorf("kv: %w", err)
		return o.end(q)
	}
	if seen != o.old {
		lost.Hit()
		o.counts.lost++
		q.Stats().Retries++
		o.sent = false
		o.chunk[o.next*o.m.stride] = seen
		o.phase = phaseChunk
		return rma.NoHandle
	}
	c.Done, c.Version = true, 0
	if o.sent {
		c.Version = Version(identity(o.word))
		o.release(q, o.old)
	} else if freesDeleted.On() || empties.On() {
		o.release(q, o.old)
	}
	return o.end(q)
}

// release gives the item of a word that is in no slot any more back to its owner.
func (o *op) release(q rma.Queue, word uint64) {
	if word == 0 {
		return
	}
	it := itemOf(word)
	if o.m.arena.mine(it) {
		o.m.arena.give(classOf(word), it)
		return
	}
	rank, off := o.m.arena.locate(it.number)
	o.mark[0] = markOf(it)
	o.left = append(o.left, q.Put(o.mark, o.m.items, rank, off+markWord))
}

// end ends the call. An item that no slot can refer to is kept for the next one.
func (o *op) end(q rma.Queue) rma.Handle {
	o.left = append(o.left, o.flights...)
	o.flights = o.flights[:0]
	if o.taken && !o.sent && o.call.Err == nil {
		o.m.arena.put(o.class, o.mine)
	}
	o.phase = phaseEnd
	return rma.NoHandle
}
