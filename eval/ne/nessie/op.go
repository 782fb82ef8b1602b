package nessie

import (
	"bytes"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// op is one attempt at an operation as a step machine: NE's functions, cut where they wait. A
// step is called when everything posted by the one before is done; it posts what can be
// under way together (NE 4), and returns the next.
type op struct {
	t       *Table
	next    step
	flights []flight
	outcome outcome
	err     error // of the engine, or a FullError
	trips   uint64

	key   []byte
	value []byte // to write; a read appends to it
	found bool   // a read has found the key, a delete has taken out an item of it

	p, s uint64 // slots: primary and secondary; of a migration source and destination
	i, j uint64 // what they have
	x, y uint64 // what was seen later
	a, b content
	hasB bool // b is what j refers to

	mine  item // the item of this operation
	n     uint64
	taken bool // there is one,
	sent  bool // it is written,
	at    uint64
	old   uint64 // and in slot at, where this was

	expect uint64 // by finish
	path   []link // of a chain
	links  int    // that it may have

	atOnce transaction
	moves  uint64 // keys that a transaction has moved for a write

	itemA, itemB, here, flag, marks rma.Buf
	marked                          int    // marks under way
	body                            []byte // room for what an item says
}

// step is a part of a protocol between two waits; nil is the end.
type step func(o *op, q rma.Queue) step

// flight is an operation in flight, and where its result goes.
type flight struct {
	h      rma.Handle
	to     *uint64 // may be nil
	atOnce bool    // it stands for a transaction
}

// outcome is how an attempt has ended.
type outcome uint8

const (
	done      outcome = iota
	retry             // another client was at the same slots
	bothTaken         // a write finds other keys in both slots, a and b
	blocked           // a migration finds its destination taken, or a chain no end
)

// queueDepth is how many operations are in flight at most.
const queueDepth = 8

func newOp(t *Table, q rma.Queue) (*op, error) {
	o := &op{t: t, links: mostLinks}
	for _, b := range []struct {
		buf   *rma.Buf
		words int
	}{{&o.itemA, t.arena.words}, {&o.itemB, t.arena.words}, {&o.here, t.arena.words},
		{&o.flag, 1}, {&o.marks, 2}} {
		var err error
		if *b.buf, err = q.Alloc(b.words); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// start prepares the machine for an attempt. An item that it has not used stays its own.
func (o *op) start(first step, p, s uint64) {
	o.next, o.p, o.s = first, p, s
	o.outcome, o.err, o.hasB, o.old, o.moves = done, nil, false, 0, 0
	o.path = o.path[:0]
}

// Step is one step of the protocol. An error of the engine is kept in err.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	for {
		if h := o.settle(q); h != rma.NoHandle {
			return h, nil
		}
		if o.err != nil { // who knows what has become of the item
			o.next, o.taken = nil, false
		}
		if o.next == nil {
			return rma.NoHandle, nil
		}
		o.next = o.next(o, q)
		if n := len(o.flights); n > 0 {
			o.trips++
			return o.flights[n-1].h, nil
		}
	}
}

// settle takes results, and returns a handle to wait for while there is one.
func (o *op) settle(q rma.Queue) rma.Handle {
	for n := len(o.flights) - 1; n >= 0; n-- {
		f := o.flights[n]
		if !q.Done(f.h) {
			return f.h
		}
		o.flights = o.flights[:n]
		seen, err := q.Value(f.h)
		if err != nil && o.err == nil {
			o.err = fmt.Errorf("kv: %w", err)
		}
		if f.atOnce && err == nil {
			seen = o.transacted()
		}
		if f.to != nil {
			*f.to = seen
		}
	}
	o.marked = 0
	return rma.NoHandle
}

// cas compares and swaps a slot; seen is then what the slot had.
func (o *op) cas(q rma.Queue, slot, old, word uint64, seen *uint64) {
	if o.t.shared != nil {
		o.transact(q, swap(slot, old, word))
		o.flights[len(o.flights)-1].to = seen
		return
	}
	rank, off := o.t.place(slot)
	h := q.CompareAndSwap(o.t.slots, rank, off, old, word)
	o.flights = append(o.flights, flight{h: h, to: seen})
}

// readSlot reads a slot by compare-and-swap, as all access to the index is (NE 3).
func (o *op) readSlot(q rma.Queue, slot uint64, seen *uint64) { o.cas(q, slot, 0, 0, seen) }

// get reads the item of a word.
func (o *op) get(q rma.Queue, word uint64, into rma.Buf) {
	it := itemOf(word)
	if rank, off := o.t.arena.locate(it); rank < o.t.job.Size() {
		o.flights = append(o.flights, flight{h: q.Get(into, o.t.items, rank, off)})
		return
	}
	o.err = fmt.Errorf("kv: a slot holds %#x, which refers to no item", word)
}

// is compares an item that was read with the key of this operation.
func (o *op) is(c *content) bool { return bytes.Equal(c.key, o.key) }

// again ends the attempt.
func (o *op) again() step {
	o.outcome = retry
	return nil
}

// take sees to it that there is an item with a key and value, flag off, on its way to the
// memory of this rank.
func (o *op) take(q rma.Queue, key, value []byte) bool {
	if !o.taken {
		it, ok, err := o.t.arena.take()
		if o.err = err; err == nil && !ok {
			o.err = &FullError{Items: true, Slots: o.t.total}
		}
		if o.err != nil {
			return false
		}
		o.mine, o.n, o.taken, o.sent = it, it.word(), true, false
	}
	if !o.sent {
		o.sent = true
		n := fill(o.here, &o.body, o.n, key, value)
		if o.t.cfg.Transactions {
			o.here[flagWord] = o.here[sealWord]
		}
		rank, off := o.t.arena.locate(o.mine)
		o.flights = append(o.flights, flight{h: q.Put(o.here[:n], o.t.items, rank, off)})
	}
	return true
}

// release frees an item that was taken out of the table: another rank's by a mark for its owner.
func (o *op) release(q rma.Queue, word uint64) {
	if empty(word) {
		return
	}
	it := itemOf(word)
	if o.t.arena.mine(it) {
		o.t.arena.give(it.again())
		return
	}
	mark := o.marks[o.marked : o.marked+1]
	o.marked++
	mark[0] = it.use | marked
	rank, off := o.t.arena.locate(it)
	o.flights = append(o.flights, flight{h: q.Put(mark, o.t.items, rank, off+markWord)})
}
