package kv

import (
	"context"
	"sync"

	"github.com/farhash/farhash/rma"
)

// item is a place for a key and value, and how often it has been used.
type item struct {
	number uint64 // unit, over all ranks
	use    uint64 // modulo 2^15
}

// again is the item for its next use.
func (it item) again() item {
	if !unversioned.On() && !(sticks.On() && it.use == 7) {
		it.use = (it.use + 1) & useMask
	}
	return it
}

// quarantine is how many free items of a class wait before the first of them is used again,
// while there is other room: so that the word of an item takes long to come again.
const quarantine = 64

// arena hands out this rank's items. Who takes an item out of the table marks it with the
// use that has ended; the arena looks for marks when it runs dry.
type arena struct {
	window rma.Window
	cells  *rma.Cells
	first  uint64 // number of this rank's first unit
	units  uint64

	mu    sync.Mutex
	known []owned // by unit, those that were given to a class
	free  [classes][]item
	takes uint64 // items handed out
	swept uint64 // of them when the last sweep was in vain, 0 if none was
	dead  int    // ranks then
}

// owned is what a unit is: the first one of an item of this rank, or a later one.
type owned struct {
	use   uint16
	class uint8
	where where
}

// where is an item of this rank.
type where uint8

const (
	inside where = iota // it is not the first unit of one
	free
	held    // by a call, or nobody knows
	inTable // a slot refers to it, or did
)

// locate is the rank and offset of an item.
func (a *arena) locate(number uint64) (rank, off int) {
	return int(number / a.units), int(number%a.units) * unitWords
}

// take returns a free item, ok false when there is none. Its use is the one to come.
func (a *arena) take(class int) (it item, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.free[class]) <= quarantine && a.divide(class) {
		it = item{number: a.first + uint64(len(a.known)) - 1<<class}
	} else {
		if len(a.free[class]) == 0 {
			if err := a.collect(); err != nil || len(a.free[class]) == 0 {
				return item{}, false, err
			}
		}
		it = a.free[class][0]
		a.free[class] = a.free[class][1:]
	}
	a.known[it.number-a.first].where = held
	a.takes++
	return it, true, nil
}

// divide gives the next units to a class, as one item, and reports whether there were enough.
func (a *arena) divide(class int) bool {
	size := 1 << class
	if len(a.known)+size > int(a.units) {
		return false
	}
	a.known = append(a.known, make([]owned, size)...)
	a.known[len(a.known)-size] = owned{class: uint8(class), where: free}
	return true
}

// is tells whether a use of an item of this rank has not ended. The caller holds the lock.
func (a *arena) is(it item) (*owned, bool) {
	o := &a.known[it.number-a.first]
	return o, o.where > free && uint64(o.use) == it.use
}

// give takes back an item of this rank whose use has ended, unless that is known.
func (a *arena) give(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, is := a.is(it); is || givesTwice.On() {
		a.release(it, o)
	}
}

// release has an item whose use has ended wait for the next one. The caller holds the lock.
func (a *arena) release(it item, o *owned) {
	it = it.again()
	o.use, o.where = uint16(it.use), free
	a.free[o.class] = append(a.free[o.class], it)
}

// put takes back an item whose use has not begun: no slot has referred to it.
func (a *arena) put(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := &a.known[it.number-a.first]
	o.where = free
	a.free[o.class] = append(a.free[o.class], it)
}

// publish says that an item is in the table. It may have been taken out of it already.
func (a *arena) publish(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, is := a.is(it); is || revives.On() {
		o.where = inTable
	}
}

// mine tells whether an item is this rank's.
func (a *arena) mine(it item) bool {
	return it.number >= a.first && it.number < a.first+a.units
}

// markOf is the mark of an item whose use has ended. No item begins with it.
func markOf(it item) uint64 { return it.use | 1<<32 }

// collect looks for items that others have marked. A mark may be late, and of an earlier use.
// The caller holds the lock.
func (a *arena) collect() error {
	for unit := range a.known {
		o := &a.known[unit]
		if o.where <= free {
			continue
		}
		it := item{number: a.first + uint64(unit), use: uint64(o.use)}
		rank, off := a.locate(it.number)
		mark, err := a.cells.Load(context.Background(), rank, off+markWord)
		if err != nil {
			return err
		}
		if mark == markOf(it) || anyMark.On() && mark != 0 {
			a.release(it, o)
			collected.Hit()
		}
	}
	return nil
}
