package direct

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/system/memory"
)

// UnitBytes is the size of a huge page.
const UnitBytes = memory.UnitBytes

// Units takes the memory of a reserved window, each unit once. Goroutines may share it.
type Units struct {
	// what the memory is for, and take, which takes the memory of [begin, end) bytes: whole
	// units, the last one of the window excepted.
	what string
	size int // of all bytes
	take func(begin, end int) error

	mu      sync.Mutex
	taken   []atomic.Bool // by unit
	checked uint64        // bytes of others that a check has found room for
}

// aheadBytes is how much a check looks for beyond what is needed: it reads files of the kernel, and
// takes a good part of the time of a unit.
const aheadBytes = 32 * UnitBytes

// NewUnits returns the units of sizeBytes bytes.
func NewUnits(what string, sizeBytes int, take func(begin, end int) error) *Units {
	return &Units{what: what, size: sizeBytes, take: take,
		taken: make([]atomic.Bool, (sizeBytes+UnitBytes-1)/UnitBytes)}
}

// Commit takes the units of [begin, end) bytes that have not been taken.
func (u *Units) Commit(begin, end int) error {
	last := (end + UnitBytes - 1) / UnitBytes
	if u.next(begin/UnitBytes, last) == last {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	missing := uint64(0)
	for unit := u.next(begin/UnitBytes, last); unit < last; unit = u.next(unit+1, last) {
		missing += UnitBytes
	}
	if err := u.check(missing); err != nil {
		return err
	}
	for unit := u.next(begin/UnitBytes, last); unit < last; unit = u.next(unit+1, last) {
		at := unit * UnitBytes
		if err := u.take(at, min(at+UnitBytes, u.size)); err != nil {
			return fmt.Errorf("%s: %w", u.what, err)
		}
		u.taken[unit].Store(true)
	}
	return nil
}

// next is the first unit from one on that has not been taken, end if there is none.
func (u *Units) next(from, end int) int {
	for from < end && u.taken[from].Load() {
		from++
	}
	return from
}

// check makes sure that there is memory for so many bytes, with as much to spare, up to 256 MiB:
// another rank may be taking memory at this moment.
func (u *Units) check(sizeBytes uint64) error {
	if sizeBytes <= u.checked {
		u.checked -= sizeBytes
		return nil
	}
	u.checked = 0
	spare := min(sizeBytes, 256<<20)
	if memory.Check(sizeBytes+max(spare, aheadBytes), u.what) == nil {
		u.checked = aheadBytes
		return nil
	}
	return memory.Check(sizeBytes+spare, u.what)
}
