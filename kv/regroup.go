package kv

import "context"

// A unit keeps its use whatever item it belongs to, so that no word comes again sooner when items
// are divided anew. An item is given up and made by a swap of the state of its first unit, in this
// order:
//
//	hold    all free items of the run, as a call holds one that it takes
//	join    the first units of all but the first item become inner units
//	resize  the first item gets its new class
//	make    the first units of the other new items become free
//
// So at no time do two items overlap. If a process of a Shared job ends in between, units belong to
// no item, and are lost; others take over the items that it held.

// maxRegrouped is how many items are made at a time.
const maxRegrouped = 64

// regroup makes items of a class out of free ones of others that are beside each other. It is for
// an arena all of whose units are divided: else pairs of another size than those before would find
// no room, however many of these were deleted. It reports whether it has made some. The caller has
// locked a.mu.
func (a *arena) regroup(class int, hash uint64) (some bool, err error) {
	to := a.lane(hash)
	defer to.mu.Unlock()
	units := a.divided.Load()
	made := 0
	for seen := uint64(0); seen < units && made < maxRegrouped; {
		if a.regroupAt >= units {
			a.regroupAt = 0
		}
		run, length := a.freeRun(a.regroupAt, units, class, maxRegrouped-made)
		if length >= classUnits(class) && a.holdRun(run, to) {
			// mark: free items of one class become items of another
			n, err := a.divideRun(run, length, class, maxRegrouped-made, to)
			if made += n; err != nil {
				return made > 0, err
			}
		}
		step := max(length, 1)
		a.regroupAt += step
		seen += step
	}
	return made > 0, nil
}

// freeItemAt is a free item as it was when a run was looked for.
type freeItemAt struct {
	unit  uint64
	state unitState
}

// freeRun finds free items that lie beside each other, from a unit on. It stops at a unit where
// none begins, or when their units are enough for the items of a class. length is how many units
// they have.
func (a *arena) freeRun(unit, end uint64, class, items int) (run []freeItemAt, length uint64) {
	for unit < end && length < uint64(items)*classUnits(class) {
		u := a.load(unit)
		if u.state() != freeItem || u.class() == class || len(run) > 0 && a.late[unit] {
			break
		}
		run = append(run, freeItemAt{unit, u})
		length += classUnits(u.class())
		unit += classUnits(u.class())
	}
	return run, length
}

// holdRun holds the items of a run, or none: others may have taken or regrouped some since.
func (a *arena) holdRun(run []freeItemAt, to *lane) bool {
	for i, r := range run {
		if a.change(r.unit, r.state, heldBy(a.member, r.state.use(), r.state.class())) {
			continue
		}
		// mark: an item of a run was taken meanwhile
		for _, r := range run[:i] {
			a.free(r.unit, r.state.use(), r.state.class(), to)
		}
		return false
	}
	return true
}

// divideRun divides the units of a run, whose items the caller holds. It makes items of a class,
// most at most, and then items that are as large as the rest allows. n is how many of the class it
// has made.
func (a *arena) divideRun(run []freeItemAt, length uint64, class, most int, to *lane) (n int,
	err error) {
	first, use := run[0].unit, run[0].state.use()
	for _, r := range run[1:] {
		a.states[r.unit].Store(uint32(newUnitState(r.state.use(), onceFirst, innerUnit)))
	}
	// mark: the items of a run have become units of its first one
	a.states[first].Store(uint32(heldBy(a.member, use, class)))
	// mark: the first item of a run has another class
	for unit, end := first+classUnits(class), first+length; unit < end; {
		now := class
		if n++; n >= most || classUnits(class) > end-unit {
			now = classWithin(end - unit)
		}
		if err := a.unmark(unit); err != nil {
			return 0, err
		}
		a.free(unit, a.load(unit).use(), now, to)
		// mark: an item is made of units of a run
		unit += classUnits(now)
	}
	a.free(first, use, class, to)
	return n + 1, nil
}

// onceFirst is the class of inner units that were first ones. So they differ from units that are
// not divided yet, which divide takes.
const onceFirst = 1

// free makes a unit the first one of a free item.
func (a *arena) free(unit, use uint64, class int, to *lane) {
	a.states[unit].Store(uint32(newUnitState(use, class, freeItem)))
	to.free[class].push(item{number: a.first + unit, use: use})
}

// unmark clears the mark of an item that begins where another one had its key or value.
func (a *arena) unmark(unit uint64) error {
	rank, off := a.locate(a.first + unit)
	return a.cells.Store(context.Background(), rank, off+markWord, 0)
}

// classWithin is the largest class whose items have up to so many units, which are one or more.
func classWithin(units uint64) int {
	class := classes - 1
	for classUnits(class) > units {
		class--
	}
	return class
}
