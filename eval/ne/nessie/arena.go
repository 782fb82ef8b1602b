package nessie

import (
	"context"
	"sync"

	"github.com/farhash/farhash/rma"
)

// arena hands out this rank's items, those that have been free for longest first. Who takes the
// item of another out of the table marks it with the use that has ended; the owner reads
// the marks when it has no free item.
type arena struct {
	cells *rma.Cells
	first uint64 // number of this rank's first item
	count uint64
	words int // of an item

	mu   sync.Mutex
	next uint64 // not yet used
	free []item
}

// locate is the rank and offset of an item.
func (a *arena) locate(it item) (rank, off int) {
	return int(it.number / a.count), int(it.number%a.count) * a.words
}

// mine reports whether an item is this rank's.
func (a *arena) mine(it item) bool {
	return it.number >= a.first && it.number < a.first+a.count
}

// take returns a free item, ok false when there is none. Its use is the one to come.
func (a *arena) take() (it item, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.free) == 0 && a.next < a.count {
		it = item{number: a.first + a.next}
		a.next++
		return it, true, nil
	}
	if len(a.free) == 0 {
		if err := a.sweep(); err != nil {
			return item{}, false, err
		}
	}
	if len(a.free) == 0 {
		return item{}, false, nil
	}
	it = a.free[0]
	a.free = a.free[1:]
	return it, true, nil
}

// give takes back an item of this rank that is in no slot.
func (a *arena) give(it item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, it)
}

// marked is set in marks, which are else the use that has ended.
const marked = 1 << 32

// sweep finds items that others have marked.
func (a *arena) sweep() error {
	ctx := context.Background()
	for n := range a.next {
		it := item{number: a.first + n}
		rank, off := a.locate(it)
		mark, err := a.cells.Load(ctx, rank, off+markWord)
		if err == nil && mark != 0 {
			err = a.cells.Store(ctx, rank, off+markWord, 0)
			it.use = mark & useMask
			a.free = append(a.free, it.again())
			// mark: an item that another rank has marked is found
		}
		if err != nil {
			return err
		}
	}
	return nil
}
