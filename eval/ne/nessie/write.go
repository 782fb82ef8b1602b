package nessie

import "github.com/farhash/farhash/rma"

// NE 3.3, Algorithm 1; i and j are what it calls so. Where both slots have items, both are
// read at once: what NE 4 calls pipelining.

func (o *op) write(q rma.Queue) step {
	if !o.take(q, o.key, o.value) {
		return nil
	}
	o.cas(q, o.p, 0, o.n, &o.i)
	o.readSlot(q, o.s, &o.j)
	return (*op).tried
}

func (o *op) tried(q rma.Queue) step {
	switch {
	case o.i == 0:
		return o.primary(q)
	case empty(o.i): // and it has a version, which is known now
		// mark: an empty slot has a version
		return o.replace(q)
	}
	o.get(q, o.i, o.itemA)
	if o.hasB = !empty(o.j); o.hasB {
		o.get(q, o.j, o.itemB)
	}
	return (*op).compared
}

func (o *op) compared(q rma.Queue) step {
	o.a.read(o.itemA, o.i)
	switch {
	case !o.a.whole:
		// mark: an item does not fit its hash
		return o.again()
	case !o.is(&o.a):
		return o.secondary(q)
	}
	return o.replace(q)
}

// replace puts the item into the primary slot in place of what was seen there.
func (o *op) replace(q rma.Queue) step {
	o.cas(q, o.p, o.i, o.n, &o.x)
	return (*op).replaced
}

func (o *op) replaced(q rma.Queue) step {
	if o.x != o.i {
		return o.again()
	}
	return o.primary(q)
}

// primary is PRIMARY_WRITE: the item is in p, which was i. The secondary slot must not have the
// key as well.
func (o *op) primary(q rma.Queue) step {
	o.at, o.old = o.p, o.i
	switch {
	case empty(o.j):
		return o.finish(q, o.s, o.j)
	case o.hasB:
		return o.primarySecond(q)
	}
	o.get(q, o.j, o.itemB)
	return (*op).primarySecond
}

func (o *op) primarySecond(q rma.Queue) step {
	o.b.read(o.itemB, o.j)
	switch {
	case !o.b.whole:
		// mark: an item does not fit its hash
		return o.undo(q)
	case !o.is(&o.b):
		return o.finish(q, o.s, o.j)
	}
	// mark: a key is cleared from its secondary slot
	o.cas(q, o.s, o.j, o.t.cleared(o.j), &o.x)
	return (*op).primaryAlone
}

func (o *op) primaryAlone(q rma.Queue) step {
	if o.x != o.j {
		return o.undo(q)
	}
	o.release(q, o.j)
	return o.finish(q, o.p, o.n)
}

// secondary is SECONDARY_WRITE: p has another key.
func (o *op) secondary(q rma.Queue) step {
	if o.hasB {
		o.b.read(o.itemB, o.j)
		switch {
		case !o.b.whole:
			// mark: an item does not fit its hash
			return o.again()
		case !o.is(&o.b):
			o.outcome = bothTaken
			return nil
		}
	}
	o.cas(q, o.s, o.j, o.n, &o.x)
	return (*op).secondaryPlaced
}

func (o *op) secondaryPlaced(q rma.Queue) step {
	if o.x != o.j {
		return o.again()
	}
	o.at, o.old = o.s, o.j
	return o.finish(q, o.p, o.i)
}

// finish checks that a slot has what it should, and makes the item valid.
func (o *op) finish(q rma.Queue, slot, word uint64) step {
	o.expect = word
	o.cas(q, slot, word, word, &o.x)
	return (*op).finished
}

func (o *op) finished(q rma.Queue) step {
	if o.x != o.expect {
		return o.undo(q)
	}
	return o.publish(q)
}

// publish makes the item valid. What it has replaced is free.
func (o *op) publish(q rma.Queue) step {
	rank, off := o.t.arena.locate(o.mine)
	o.flag[0] = o.here[sealWord]
	o.flights = append(o.flights, flight{h: q.Put(o.flag, o.t.items, rank, off+flagWord)})
	o.release(q, o.old)
	return (*op).published
}

func (o *op) published(rma.Queue) step {
	o.taken = false
	return nil
}

// undo takes the item out again: "the modification is rolled back" (NE 1). As written, the item
// stays, "active and invalid" (NE 3), and the next attempt has another.
func (o *op) undo(q rma.Queue) step {
	if o.t.cfg.Literal {
		o.taken = false
		o.release(q, o.old)
		return o.again()
	}
	back := o.old
	if empty(back) {
		back = o.t.cleared(o.n)
	}
	o.cas(q, o.at, o.n, back, &o.x)
	return (*op).undone
}

func (o *op) undone(q rma.Queue) step {
	o.taken = false
	if o.x == o.n {
		// mark: a swap is taken back
		o.t.arena.give(o.mine.again())
	} else { // another has taken it out, and marks it for this rank
		// mark: a swap cannot be taken back
		o.release(q, o.old)
	}
	return o.again()
}
