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
	if !unversioned.On() {
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
	next  uint64 // unit not yet given to a class
	free  [classes][]item
	known []owned // every item that was ever handed out
}

// owned is an item of this rank.
type owned struct {
	item  item
	class uint8
}

// locate is the rank and offset of an item.
func (a *arena) locate(number uint64) (rank, off int) {
	return int(number / a.units), int(number%a.units) * unitWords
}

// take returns a free item, ok false when there is none. Its use is the one to come.
func (a *arena) take(class int) (it item, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := uint64(1) << class
	if len(a.free[class]) <= quarantine && a.next+size <= a.units {
		it = item{number: a.first + a.next}
		a.next += size
		a.known = append(a.known, owned{item: it, class: uint8(class)})
		return it, true, nil
	}
	if len(a.free[class]) == 0 {
		if err := a.sweep(); err != nil {
			return item{}, false, err
		}
	}
	if len(a.free[class]) == 0 {
		return item{}, false, nil
	}
	it = a.free[class][0]
	a.free[class] = a.free[class][1:]
	return it, true, nil
}

// give takes back an item of this rank: its use has ended, or never began.
func (a *arena) give(class int, it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free[class] = append(a.free[class], it.again())
}

// put takes back an item whose use has not begun: no slot has referred to it.
func (a *arena) put(class int, it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free[class] = append(a.free[class], it)
}

// mine tells whether an item is this rank's.
func (a *arena) mine(it item) bool {
	return it.number >= a.first && it.number < a.first+a.units
}

// markOf is the mark of an item whose use has ended. No item begins with it.
func markOf(it item) uint64 { return it.use | 1<<32 }

// collected is set in a mark when the owner has seen it.
const collected = 1 << 33

// sweep looks for items that others have marked.
func (a *arena) sweep() error {
	for i := range a.known {
		o := &a.known[i]
		rank, off := a.locate(o.item.number)
		mark, err := a.cells.Load(context.Background(), rank, off+markWord)
		if err != nil {
			return err
		}
		if mark != 0 && mark&collected == 0 {
			use := mark & useMask
			mark |= collected
			if err := a.cells.Store(context.Background(), rank, off+markWord, mark); err != nil {
				return err
			}
			a.free[o.class] = append(a.free[o.class], item{o.item.number, use}.again())
			swept.Hit()
		}
	}
	return nil
}
