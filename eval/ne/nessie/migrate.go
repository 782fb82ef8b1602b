package nessie

import (
	"bytes"
	"slices"

	"github.com/farhash/farhash/rma"
)

// NE 3.4, Algorithm 2: the key moves from p to s. Only an item that is valid is copied, and a
// copy that is of no use is taken back.

func (o *op) migrate(q rma.Queue) step {
	o.readSlot(q, o.p, &o.i)
	return (*op).migrateSource
}

func (o *op) migrateSource(q rma.Queue) step {
	if empty(o.i) {
		return nil
	}
	o.get(q, o.i, o.itemA)
	return (*op).migrateCopy
}

func (o *op) migrateCopy(q rma.Queue) step {
	o.a.read(o.itemA, o.i)
	switch {
	case !o.a.whole:
		// mark: an item does not fit its hash
		return o.again()
	case !o.is(&o.a):
		return o.again()
	case !o.a.valid && !o.t.cfg.Literal:
		// mark: an item is not valid
		return o.again()
	case !o.take(q, o.a.key, o.a.value):
		return nil
	}
	o.cas(q, o.s, 0, o.n, &o.j)
	return (*op).migrateTried
}

func (o *op) migrateTried(q rma.Queue) step {
	switch {
	case o.j == 0:
		return o.migratePlaced(q)
	case !empty(o.j):
		o.outcome = blocked
		return nil
	}
	// mark: an empty slot has a version
	o.cas(q, o.s, o.j, o.n, &o.x)
	return (*op).migrateTriedAgain
}

func (o *op) migrateTriedAgain(q rma.Queue) step {
	if o.x != o.j {
		return o.again()
	}
	return o.migratePlaced(q)
}

func (o *op) migratePlaced(q rma.Queue) step {
	o.at = o.s
	o.cas(q, o.p, o.i, o.t.cleared(o.i), &o.x)
	return (*op).migrateCleared
}

func (o *op) migrateCleared(q rma.Queue) step {
	if o.x != o.i {
		return o.undo(q)
	}
	o.old = o.i
	return o.publish(q)
}

// link is a key of a chain: it could make room in its slot if the next one did in its.
type link struct {
	slot uint64
	key  []byte
}

// mostLinks is how long a chain may be.
const mostLinks = 256

// walk follows the chain from slot p: each key has one other slot, so there is one chain. It is
// done when it comes to an empty slot.
func (o *op) walk(q rma.Queue) step {
	o.readSlot(q, o.p, &o.i)
	return (*op).walked
}

func (o *op) walked(q rma.Queue) step {
	if empty(o.i) {
		return nil
	}
	seen := func(l link) bool { return l.slot == o.p }
	if len(o.path) == o.links || slices.ContainsFunc(o.path, seen) {
		o.outcome = blocked
		return nil
	}
	o.get(q, o.i, o.itemA)
	return (*op).walkOn
}

func (o *op) walkOn(q rma.Queue) step {
	o.a.read(o.itemA, o.i)
	if !o.a.valid {
		return o.again()
	}
	o.path = append(o.path, link{o.p, bytes.Clone(o.a.key)})
	o.p = o.t.other(o.a.key, o.p)
	return o.walk(q)
}
