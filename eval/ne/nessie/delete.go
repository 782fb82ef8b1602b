package nessie

import "github.com/farhash/farhash/rma"

// NE 3.2. Where NE has finish expect 0 in the secondary slot, this expects what was seen there:
// else no key could be deleted whose secondary slot belongs to another.

func (o *op) delete(q rma.Queue) step {
	o.readSlot(q, o.s, &o.j)
	return (*op).deleteSecondary
}

func (o *op) deleteSecondary(q rma.Queue) step {
	if empty(o.j) {
		return o.deleteOn(q)
	}
	o.get(q, o.j, o.itemB)
	return (*op).deleteSecond
}

func (o *op) deleteSecond(q rma.Queue) step {
	o.b.read(o.itemB, o.j)
	switch {
	case !o.b.whole:
		// mark: an item does not fit its hash
		return o.again()
	case !o.is(&o.b):
		return o.deleteOn(q)
	}
	o.cas(q, o.s, o.j, o.t.cleared(o.j), &o.x)
	return (*op).deletedSecond
}

func (o *op) deletedSecond(q rma.Queue) step {
	if o.x != o.j {
		return o.again()
	}
	o.found = true
	o.release(q, o.j)
	o.j = o.t.cleared(o.j)
	return o.deleteOn(q)
}

func (o *op) deleteOn(q rma.Queue) step {
	o.readSlot(q, o.p, &o.i)
	return (*op).deletePrimary
}

func (o *op) deletePrimary(q rma.Queue) step {
	if empty(o.i) {
		return o.finishDelete(q)
	}
	o.get(q, o.i, o.itemA)
	return (*op).deleteFirst
}

func (o *op) deleteFirst(q rma.Queue) step {
	o.a.read(o.itemA, o.i)
	switch {
	case !o.a.whole:
		// mark: an item does not fit its hash
		return o.again()
	case !o.is(&o.a):
		return o.finishDelete(q)
	}
	o.cas(q, o.p, o.i, o.t.cleared(o.i), &o.x)
	return (*op).deletedFirst
}

func (o *op) deletedFirst(q rma.Queue) step {
	if o.x != o.i {
		return o.again()
	}
	o.found = true
	o.release(q, o.i)
	return o.finishDelete(q)
}

func (o *op) finishDelete(q rma.Queue) step {
	o.cas(q, o.s, o.j, o.j, &o.x)
	return (*op).finishedDelete
}

func (o *op) finishedDelete(rma.Queue) step {
	if o.x != o.j {
		return o.again()
	}
	return nil
}
