package nessie

import "github.com/farhash/farhash/rma"

// NE 5.1: the protocol with transactions. Items stay as they are; the slots of a key are at one
// rank and change together. So no key is ever in two slots, no item has to be published, nothing
// is checked in the end, and a key moves without a copy. A transaction compares the words that its
// decision rests on with those in the slots. An empty slot needs no version then. An item does:
// who reads it has to know whether it is still the one that the slot refers to.

// transact changes some of the key's slots together; x is then 1 if it was done, else 0. What
// the slots had is in seen. One transaction of an operation is in flight at a time.
//
// No engine changes several words at one moment. So the slots are in memory that the ranks share,
// and what goes to the rank of the slots is a compare-and-swap of 0 for 0. It takes the time of
// a round trip, and fails where the engine has it fail. The transaction takes effect when it is
// posted or when its answer is taken, at random: then a rank that dies or loses a link
// in between may have changed the slots or not.
func (o *op) transact(q rma.Queue, changes ...change) {
	o.atOnce.changes = append(o.atOnce.changes[:0], changes...)
	o.atOnce.late = o.t.shared.takesEffectLate()
	if !o.atOnce.late {
		o.t.shared.carryOut(&o.atOnce)
	}
	rank, off := o.t.place(changes[0].slot)
	h := q.CompareAndSwap(o.t.slots, rank, off, 0, 0)
	o.flights = append(o.flights, flight{h: h, to: &o.x, atOnce: true})
}

// transacted ends the transaction in flight and returns its result. A transaction of one slot is a
// compare-and-swap: its result is what the slot had.
func (o *op) transacted() uint64 {
	t := &o.atOnce
	if t.late {
		o.t.shared.carryOut(t)
	}
	switch {
	case len(t.changes) == 1:
		return t.changes[0].seen
	case t.agreed:
		return 1
	}
	return 0
}

// items reads the items of both slots, and continues.
func (o *op) items(q rma.Queue, on step) step {
	o.i, o.j = o.atOnce.changes[0].seen, o.atOnce.changes[1].seen
	if !empty(o.i) {
		o.get(q, o.i, o.itemA)
	}
	if !empty(o.j) {
		o.get(q, o.j, o.itemB)
	}
	return on
}

// readItems takes the items as they came, and reports in which slot the key is. It is not ok if
// an item has been used again since.
func (o *op) readItems() (inP, inS, ok bool) {
	ok = true
	if !empty(o.i) {
		o.a.read(o.itemA, o.i)
		ok = o.a.whole
	}
	if !empty(o.j) {
		o.b.read(o.itemB, o.j)
		ok = ok && o.b.whole
	}
	if !ok {
		// mark: an item does not fit its hash
		return false, false, false
	}
	return !empty(o.i) && o.is(&o.a), !empty(o.j) && o.is(&o.b), true
}

// readSlots reads both slots at one moment.
func (o *op) readSlots(q rma.Queue, on step) step {
	o.transact(q, swap(o.p, 0, 0), swap(o.s, 0, 0))
	return on
}

func (o *op) readAtOnce(q rma.Queue) step { return o.readSlots(q, (*op).readBoth) }

func (o *op) readBoth(q rma.Queue) step { return o.items(q, (*op).readEither) }

func (o *op) readEither(rma.Queue) step {
	inP, inS, ok := o.readItems()
	switch {
	case !ok:
		return o.again()
	case inP:
		o.value, o.found = append(o.value, o.a.value...), true
	case inS:
		o.value, o.found = append(o.value, o.b.value...), true
	}
	return nil
}

func (o *op) deleteAtOnce(q rma.Queue) step { return o.readSlots(q, (*op).deleteBoth) }

func (o *op) deleteBoth(q rma.Queue) step { return o.items(q, (*op).deleteEither) }

func (o *op) deleteEither(q rma.Queue) step {
	inP, inS, ok := o.readItems()
	switch {
	case !ok:
		return o.again()
	case inP:
		o.old = o.i
		o.transact(q, swap(o.p, o.i, 0), swap(o.s, o.j, o.j))
	case inS:
		o.old = o.j
		o.transact(q, swap(o.p, o.i, o.i), swap(o.s, o.j, 0))
	default:
		return nil
	}
	return (*op).deletedEither
}

func (o *op) deletedEither(q rma.Queue) step {
	if o.x == 0 {
		return o.again()
	}
	o.found = true
	o.release(q, o.old)
	return nil
}

// writeAtOnce writes the item and puts it into p, if both slots are empty.
func (o *op) writeAtOnce(q rma.Queue) step {
	if !o.take(q, o.key, o.value) {
		return nil
	}
	o.transact(q, swap(o.p, 0, o.n), swap(o.s, 0, 0))
	return (*op).writeBoth
}

func (o *op) writeBoth(q rma.Queue) step {
	if o.x == 1 {
		return o.published(q)
	}
	return o.items(q, (*op).writeEither)
}

// writeEither puts the item into the slot that has the key, or else into an empty one, or has the
// key in p make room.
func (o *op) writeEither(q rma.Queue) step {
	inP, inS, ok := o.readItems()
	switch {
	case !ok:
		return o.again()
	case inP || !inS && empty(o.i):
		o.old = o.i
		o.transact(q, swap(o.p, o.i, o.n), swap(o.s, o.j, o.j))
	case inS || empty(o.j):
		o.old = o.j
		o.transact(q, swap(o.p, o.i, o.i), swap(o.s, o.j, o.n))
	default:
		o.transact(q, swap(o.p, o.i, o.n), swap(o.s, o.j, o.j),
			swap(o.t.other(o.a.key, o.p), 0, o.i))
		return (*op).writeMoved
	}
	return (*op).written
}

func (o *op) written(q rma.Queue) step {
	if o.x == 0 {
		return o.again()
	}
	o.release(q, o.old)
	return o.published(q)
}

// writeMoved has the key in s make room, where the one in p cannot.
func (o *op) writeMoved(q rma.Queue) step {
	if next := o.movedOr(q); next != nil || o.outcome != bothTaken {
		return next
	}
	o.outcome = done
	o.transact(q, swap(o.p, o.i, o.i), swap(o.s, o.j, o.n), swap(o.t.other(o.b.key, o.s), 0, o.j))
	return (*op).movedOr
}

// movedOr ends a write for which a key had to move: it has, or its other slot is taken, or the
// slots of the write have changed.
func (o *op) movedOr(q rma.Queue) step {
	switch {
	case o.x == 1:
		o.moves++
		return o.published(q)
	case o.atOnce.changes[0].seen == o.i && o.atOnce.changes[1].seen == o.j:
		o.outcome = bothTaken
		return nil
	}
	return o.again()
}

// moveAtOnce moves the key from p to s: a part of a chain.
func (o *op) moveAtOnce(q rma.Queue) step { return o.readSlots(q, (*op).moveBoth) }

func (o *op) moveBoth(q rma.Queue) step { return o.items(q, (*op).moveEither) }

func (o *op) moveEither(q rma.Queue) step {
	inP, _, ok := o.readItems()
	switch {
	case !ok:
		return o.again()
	case empty(o.i):
		return nil
	case !inP:
		return o.again()
	case !empty(o.j):
		o.outcome = blocked
		return nil
	}
	o.transact(q, swap(o.p, o.i, 0), swap(o.s, 0, o.i))
	return (*op).movedEither
}

func (o *op) movedEither(rma.Queue) step {
	if o.x == 0 {
		return o.again()
	}
	return nil
}
