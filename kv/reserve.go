package kv

import (
	"sync"
	"sync/atomic"
)

// A key that is there needs a new item when its value changes, before the old one is free. So each
// process keeps a few items that only keys get which are there: a full map takes them still.

// maxReserve is how many items of a class a process keeps, if they are few of all: one of
// reserveShare units, or of sharedReserveShare where processes share the items.
const (
	maxReserve         = 64
	reserveShare       = 1 << 10
	sharedReserveShare = 1 << 14
)

// reserve is items of a class, which the process holds.
type reserve struct {
	few   atomic.Bool // there are fewer than wanted
	mu    sync.Mutex
	items []item
}

// openReserves has the reserves ask for items.
func (a *arena) openReserves() {
	for class := range a.reserves {
		a.reserves[class].few.Store(a.wanted(class) > 0)
	}
}

// wanted is how many items the reserve of a class should have.
func (a *arena) wanted(class int) int {
	share := uint64(reserveShare)
	if a.shared != nil {
		share = sharedReserveShare
	}
	return int(min(maxReserve, a.units/share/classUnits(class)))
}

// put adds an item that the process holds, if there are fewer than wanted.
func (r *reserve) put(it item, wanted int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.items) >= wanted {
		return false
	}
	r.items = append(r.items, it)
	r.few.Store(len(r.items) < wanted)
	return true
}

// takeReserved takes an item for a key that is there.
func (a *arena) takeReserved(class int) (it item, ok bool) {
	r := &a.reserves[class]
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.items)
	if n == 0 {
		return item{}, false
	}
	it, r.items = r.items[n-1], r.items[:n-1]
	r.few.Store(true)
	return it, true
}

// fillReserve divides units for a reserve, while any have memory. The lane is locked.
func (a *arena) fillReserve(class int, l *lane) {
	for r := &a.reserves[class]; r.few.Load(); {
		it, ok := a.divide(class)
		if !ok {
			return
		}
		if !r.put(it, a.wanted(class)) { // others have filled it
			a.change(it.number-a.first, heldBy(a.member, it.use, class),
				newUnitState(it.use, class, freeItem))
			l.free[class].push(it)
			return
		}
	}
}

// closeReserves leaves what a process keeps to the others that share the items.
func (a *arena) closeReserves() {
	if a == nil || a.shared == nil {
		return
	}
	for class := range a.reserves {
		r := &a.reserves[class]
		for _, it := range r.items {
			a.change(it.number, heldBy(a.member, it.use, class),
				newUnitState(it.use, class, freeItem))
		}
		r.items = nil
		r.few.Store(false)
	}
}
