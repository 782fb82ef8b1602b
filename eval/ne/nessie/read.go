package nessie

import "github.com/farhash/farhash/rma"

// NE 3.1. A key that is not found was not there, if neither slot has changed between the first
// read and the last.

func (o *op) read(q rma.Queue) step {
	o.readSlot(q, o.p, &o.i)
	return (*op).readPrimary
}

func (o *op) readPrimary(q rma.Queue) step {
	if empty(o.i) {
		return o.readOn(q)
	}
	o.get(q, o.i, o.itemA)
	return (*op).readFirst
}

func (o *op) readFirst(q rma.Queue) step {
	o.a.read(o.itemA, o.i)
	return o.readItem(q, &o.a, (*op).readOn)
}

// readItem answers if an item has the key, and continues if it has another.
func (o *op) readItem(q rma.Queue, c *content, on step) step {
	switch {
	case !c.whole:
		// mark: an item does not fit its hash
		return o.again()
	case !o.is(c):
		return on(o, q)
	case !c.valid:
		// mark: an item is not valid
		return o.again()
	}
	o.value, o.found = append(o.value, c.value...), true
	return nil
}

func (o *op) readOn(q rma.Queue) step {
	o.readSlot(q, o.s, &o.j)
	return (*op).readSecondary
}

func (o *op) readSecondary(q rma.Queue) step {
	if empty(o.j) {
		return o.readCheck(q)
	}
	o.get(q, o.j, o.itemB)
	return (*op).readSecond
}

func (o *op) readSecond(q rma.Queue) step {
	o.b.read(o.itemB, o.j)
	return o.readItem(q, &o.b, (*op).readCheck)
}

func (o *op) readCheck(q rma.Queue) step {
	if o.t.cfg.Literal {
		return nil
	}
	o.cas(q, o.p, o.i, o.i, &o.x)
	o.cas(q, o.s, o.j, o.j, &o.y)
	return (*op).readChecked
}

func (o *op) readChecked(rma.Queue) step {
	if o.x != o.i || o.y != o.j {
		return o.again()
	}
	return nil
}
