package kv

import (
	"context"
	"sync"

	"github.com/farhash/farhash/rma"
)

// item is memory for a key and value, and how often it has been used.
type item struct {
	number uint64 // unit, over all ranks
	use    uint64 // modulo 2^15
}

// nextUse is the item for its next use.
func (it item) nextUse() item {
	if !unversioned.On() && !(useSticks.On() && it.use == 7) {
		it.use = (it.use + 1) & useMask
	}
	return it
}

// quarantine is how many free items of a class wait before the first of them is used again,
// while there is other room. So it takes long until the word of an item is used again.
const quarantine = 64

// arena hands out this rank's items. The rank that takes an item out of the table marks it with
// the use that has ended; the arena reads the marks when it has no free item.
type arena struct {
	window rma.Window
	cells  *rma.Cells
	first  uint64 // number of this rank's first unit
	units  uint64

	mu         sync.Mutex
	unitStates []unitState // by unit, those that belong to a class
	free       [classes][]item
	handedOut  uint64 // items handed out
	sweptAt    uint64 // handedOut when the last sweep found nothing, 0 if none did
	deadAt     int    // ranks then
}

// unitState is what a unit is: the first one of an item of this rank, or a later one.
type unitState struct {
	use   uint16
	class uint8
	state itemState
}

// itemState is where an item of this rank is.
type itemState uint8

const (
	innerUnit itemState = iota // it is not the first unit of one
	freeItem
	heldItem    // by a call, or its put has failed
	itemInTable // a slot refers to it, or did
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
		it = item{number: a.first + uint64(len(a.unitStates)) - 1<<class}
	} else {
		if len(a.free[class]) == 0 {
			if err := a.collectMarked(); err != nil || len(a.free[class]) == 0 {
				return item{}, false, err
			}
		}
		it = a.free[class][0]
		a.free[class] = a.free[class][1:]
	}
	a.unitStates[it.number-a.first].state = heldItem
	a.handedOut++
	return it, true, nil
}

// divide gives the next units to a class, as one item, and reports whether there were enough.
func (a *arena) divide(class int) bool {
	size := 1 << class
	if len(a.unitStates)+size > int(a.units) {
		return false
	}
	a.unitStates = append(a.unitStates, make([]unitState, size)...)
	a.unitStates[len(a.unitStates)-size] = unitState{class: uint8(class), state: freeItem}
	return true
}

// inUse reports whether a use of an item of this rank has not ended. The caller holds the lock.
func (a *arena) inUse(it item) (*unitState, bool) {
	o := &a.unitStates[it.number-a.first]
	return o, o.state > freeItem && uint64(o.use) == it.use
}

// giveBack takes back an item of this rank whose use has ended, unless it has been taken back.
func (a *arena) giveBack(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, inUse := a.inUse(it); inUse || givesTwice.On() {
		a.recycle(it, o)
	}
}

// recycle adds an item whose use has ended to the free ones. The caller holds the lock.
func (a *arena) recycle(it item, o *unitState) {
	it = it.nextUse()
	o.use, o.state = uint16(it.use), freeItem
	a.free[o.class] = append(a.free[o.class], it)
}

// putBack takes back an item whose use has not begun: no slot has referred to it.
func (a *arena) putBack(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := &a.unitStates[it.number-a.first]
	o.state = freeItem
	a.free[o.class] = append(a.free[o.class], it)
}

// publish records that an item is in the table. It may have been taken out of it already.
func (a *arena) publish(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, inUse := a.inUse(it); inUse || revives.On() {
		o.state = itemInTable
	}
}

// owns reports whether an item is this rank's.
func (a *arena) owns(it item) bool {
	return it.number >= a.first && it.number < a.first+a.units
}

// markOf is the mark of an item whose use has ended. No item begins with it.
func markOf(it item) uint64 { return it.use | 1<<32 }

// collectMarked takes back items that others have marked. A mark may arrive late, and be of an
// earlier use. The caller holds the lock.
func (a *arena) collectMarked() error {
	for unit := range a.unitStates {
		o := &a.unitStates[unit]
		if o.state <= freeItem {
			continue
		}
		it := item{number: a.first + uint64(unit), use: uint64(o.use)}
		rank, off := a.locate(it.number)
		mark, err := a.cells.Load(context.Background(), rank, off+markWord)
		if err != nil {
			return err
		}
		if mark == markOf(it) || anyMark.On() && mark != 0 {
			a.recycle(it, o)
			collected.Hit()
		}
	}
	return nil
}
