package kv

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// item is memory for a key and value, and how often it has been used.
type item struct {
	number uint64 // unit, over all ranks
	use    uint64 // modulo 2^15
}

// nextUse is the item for its next use.
func (it item) nextUse() item {
	it.use = (it.use + 1) & useMask
	return it
}

// quarantine is how many free items of a class wait in a list before the first of them is used
// again, while there is other room. So it takes long until the word of an item is used again.
const quarantine = 64

// arena hands out this rank's items. The rank that takes an item out of the table marks it with
// the use that has ended; the arena reads the marks when it has no free item.
type arena struct {
	cells *rma.Cells
	first uint64 // number of this rank's first unit
	units uint64

	states    []atomic.Uint32 // by unit: a unitState
	divided   *atomic.Uint64  // units that belong to a class
	committed *atomic.Uint64  // units that have memory
	limited   atomic.Bool     // no more units get memory, as all have it or there is none
	lanes     [lanes]lane
	reserves  [classes]reserve

	shared  rma.Shared   // the job, where states, divided and committed are in windows; else nil
	member  uint64       // this process
	broken  *atomic.Bool // a fault has left lanes locked
	adopted int          // members whose items were taken over

	mu      sync.Mutex // of a collection of marks, and of what follows
	sweptAt uint64     // items handed out when the last sweep found nothing, 0 if none did
	taken   uint64     // slots that it found to have an item, of all ranks
	deadAt  int        // ranks then
	gone    uint64     // keys that this process had deleted then
	inVain  int        // calls since then for which a sweep was not due

	regroupAt uint64          // the unit where the next search for a run of free items begins
	late      map[uint64]bool // units whose item a sweep has found: a mark may still arrive there

	commit    func(off, words int) error // takes memory of this rank's items; nil: all is taken
	release   func() error               // gives the states back; nil: they are the heap's
	extending sync.Mutex                 // of a call of commit, and of what follows
	refused   error                      // why there was no memory, until whyNone
	clean     bool                       // the last collection of marks has found few
	from      uint64                     // the unit where the next collection of free items begins
}

// unitState is what a unit is: the first one of an item of this rank, or a later one.
//
//	| use: 15 | member: 10 | class: 5 | state: 2 |
//
// The member is the process that holds it, of a Shared job, and 0 for items that nobody holds.
type unitState uint32

func newUnitState(use uint64, class int, s itemState) unitState {
	return unitState(use<<17 | uint64(class)<<2 | uint64(s))
}

// heldBy is the state of an item that a member holds.
func heldBy(member, use uint64, class int) unitState {
	return newUnitState(use, class, heldItem) | unitState(member<<7)
}

func (u unitState) use() uint64      { return uint64(u >> 17) }
func (u unitState) member() uint64   { return uint64(u >> 7 & (rma.MaxMembers - 1)) }
func (u unitState) class() int       { return int(u >> 2 & (classes - 1)) }
func (u unitState) state() itemState { return itemState(u & 3) }

// itemState is where an item of this rank is.
type itemState uint8

const (
	innerUnit itemState = iota // it is not the first unit of one
	freeItem
	heldItem    // by a call, or its put has failed
	itemInTable // a slot refers to it, or did
)

// newArena makes an arena of so many units. They get memory when they are needed, by commit, and
// their states take none before either; without commit they have it.
func newArena(cells *rma.Cells, rank int, units uint64,
	commit func(off, words int) error) (*arena, error) {
	a := &arena{cells: cells, first: uint64(rank) * units, units: units, commit: commit,
		divided: new(atomic.Uint64), committed: new(atomic.Uint64), late: map[uint64]bool{}}
	a.openReserves()
	words := stateWords(units)
	if commit == nil {
		a.states = make([]atomic.Uint32, 2*words)
		a.committed.Store(units)
		a.limited.Store(true)
		return a, nil
	}
	block, err := memory.Reserve(words)
	if err != nil {
		return nil, fmt.Errorf("kv: states of items: %w", err)
	}
	a.states, a.release = statesIn(block.Words), block.Release
	return a, nil
}

// newSharedArena makes the arena of a Shared job. states and counts are of its windows; the first
// two lines of counts are the units divided and committed.
func newSharedArena(cells *rma.Cells, job rma.Shared, units uint64, states, counts []uint64,
	commit func(off, words int) error, broken *atomic.Bool) *arena {
	a := &arena{cells: cells, units: units, commit: commit, states: statesIn(states),
		divided: atomicAt(counts, 0), committed: atomicAt(counts, lineSlots), shared: job,
		member: uint64(job.Member()), broken: broken, late: map[uint64]bool{}}
	a.openReserves()
	return a
}

// checkCounts makes sure that the counts of a Shared job are possible, as a crash of the host may
// have damaged them.
func (a *arena) checkCounts() error {
	divided, committed := a.divided.Load(), a.committed.Load()
	if divided > committed || committed > a.units {
		return fmt.Errorf("kv: the map is damaged: of %d units %d have memory and %d are divided",
			a.units, committed, divided)
	}
	return nil
}

// stateWords is the words of the states of so many units: whole ones, which are prefetched.
func stateWords(units uint64) int { return int((units + 1) / 2) }

// statesIn is memory as states, two in a word.
func statesIn(words []uint64) []atomic.Uint32 {
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
}

// atomicAt is a word of memory.
func atomicAt(words []uint64, at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&words[at]))
}

// close gives the states back. It may be called on nil.
func (a *arena) close() error {
	if a == nil || a.release == nil {
		return nil
	}
	a.states = nil
	return a.release()
}

// locate is the rank and offset of an item.
func (a *arena) locate(number uint64) (rank, off int) {
	return int(number / a.units), int(number%a.units) * unitWords
}

func (a *arena) load(unit uint64) unitState { return unitState(a.states[unit].Load()) }

// change changes the state of a unit, if it is still the old one.
func (a *arena) change(unit uint64, old, now unitState) bool {
	return a.states[unit].CompareAndSwap(uint32(old), uint32(now))
}

// take returns a free item for a key of this hash, ok false when there is none. Its use is the one
// to come. The caller has locked no lane.
func (a *arena) take(class int, hash uint64) (it item, ok bool, err error) {
	for pass, more := 0, true; more || pass < 2; pass++ { // another one may have collected some
		if it, ok = a.takeListed(class, hash); ok {
			return it, true, nil
		}
		if more, err = a.collect(class, hash); err != nil {
			return item{}, false, err
		}
	}
	return item{}, false, nil
}

// takeListed is take of the items that are known to be free, or have not been used yet.
func (a *arena) takeListed(class int, hash uint64) (it item, ok bool) {
	for more := true; more && !ok; more = !ok && a.extend(class) {
		l := a.lane(hash)
		it, ok = a.takeFrom(l, class)
		l.mu.Unlock()
		for i := 0; i < lanes && !ok; i++ {
			l = &a.lanes[i]
			a.lock(l)
			it, ok = a.takeFrom(l, class)
			l.mu.Unlock()
		}
	}
	return it, ok
}

// takeFrom takes an item out of a lane that is locked, or a new one.
func (a *arena) takeFrom(l *lane, class int) (it item, ok bool) {
	free := &l.free[class]
	for !ok && free.len() > quarantine {
		it, ok = a.hold(free.pop(), class)
	}
	if !ok {
		a.fillReserve(class, l)
		it, ok = a.divide(class)
	}
	for !ok && free.len() > 0 && a.limited.Load() {
		it, ok = a.hold(free.pop(), class)
	}
	if ok {
		l.handedOut++
	}
	return it, ok
}

// hold takes a free item. It fails where another process of a Shared job was faster.
func (a *arena) hold(it item, class int) (item, bool) {
	free := newUnitState(it.use, class, freeItem)
	return it, a.change(it.number-a.first, free, heldBy(a.member, it.use, class))
}

// divide gives the next units to a class, as one item that is held, if there are enough. The state
// of the item is written first, so that nothing is lost if the process ends before it has moved the
// end: another one moves it.
func (a *arena) divide(class int) (it item, ok bool) {
	for {
		unit := a.divided.Load()
		if unit+classUnits(class) > a.committed.Load() {
			return item{}, false
		}
		if u := a.load(unit); u != 0 {
			// mark: another call has taken the next units, and not moved the end
			a.divided.CompareAndSwap(unit, unit+classUnits(u.class()))
			continue
		}
		if a.change(unit, 0, heldBy(a.member, 0, class)) {
			a.divided.CompareAndSwap(unit, unit+classUnits(class))
			return item{number: a.first + unit}, true
		}
	}
}

// stepUnits is how many units get memory in one step: 2 MiB, a large page.
const stepUnits = 1 << 15

// extend takes memory for a step of units, which no lane has for an item of a class. It reports
// whether to look again: there is more, or items in quarantine are to be used. It takes none where
// many items are free, as others have marked them. When there was none it does not try again
// before whyNone.
func (a *arena) extend(class int) bool {
	if a.limited.Load() {
		return false
	}
	a.extending.Lock()
	defer a.extending.Unlock()
	from, end := a.committed.Load(), a.divided.Load()+classUnits(class)
	if end <= from || a.limited.Load() {
		return true
	}
	if !a.clean && a.manyMarked(class) {
		// mark: items that others have marked are used before memory is taken
		return false
	}
	a.clean = false
	to := min(roundUp(end, stepUnits), a.units)
	if to > from {
		a.refused = a.commit(int(from)*unitWords, int(to-from)*unitWords)
	}
	if a.refused == nil {
		raise(a.committed, to)
	}
	a.limited.Store(a.refused != nil || end > to || to == a.units)
	return true
}

// raise makes a word at least n.
func raise(word *atomic.Uint64, n uint64) {
	for seen := word.Load(); seen < n; seen = word.Load() {
		word.CompareAndSwap(seen, n)
	}
}

// manyMarked reports whether one of 8 of a sample of items is marked, though it is not known to be
// free; of a Shared job, whether it is free and of a class.
func (a *arena) manyMarked(class int) bool {
	const samples = 64
	used, marked := 0, 0
	units := a.divided.Load()
	for i := range uint64(samples) {
		unit := units / samples * i
		for unit < units && a.load(unit).state() == innerUnit {
			unit++
		}
		if unit >= units {
			continue
		}
		u := a.load(unit)
		if u.state() == freeItem && a.shared == nil {
			continue
		}
		used++
		if a.shared != nil {
			if u.state() == freeItem && u.class() == class {
				marked++
			}
			continue
		}
		it := item{number: a.first + unit, use: u.use()}
		if is, err := a.isMarked(it); err == nil && is {
			marked++
		}
	}
	return marked > used/shareDivisor
}

// isMarked reports whether another rank has marked an item of this rank.
func (a *arena) isMarked(it item) (bool, error) {
	rank, off := a.locate(it.number)
	mark, err := a.cells.Load(context.Background(), rank, off+markWord)
	return mark == markOf(it), err
}

// whyNone is why units that are needed got no memory, or nil. The next call that needs some tries
// again.
func (a *arena) whyNone() (err error) {
	a.extending.Lock()
	defer a.extending.Unlock()
	if err = a.refused; err != nil {
		a.refused = nil
		a.limited.Store(false)
	}
	return err
}

// replaced records, in a lane that is locked, that a slot has the word now in place of old. It
// returns the item of old if that is of another rank, which is to be told.
func (a *arena) replaced(l *lane, old, now uint64) (it item, theirs bool) {
	a.publish(itemOf(now))
	if old&occupied == 0 {
		return item{}, false
	}
	if it = itemOf(old); !a.owns(it) {
		return it, true
	}
	a.giveBackTo(l, it)
	return it, false
}

// inUse reports whether a use of an item of this rank has not ended.
func (a *arena) inUse(it item) (unitState, bool) {
	u := a.load(it.number - a.first)
	return u, u.state() > freeItem && u.use() == it.use
}

// has reports whether the item that a word refers to is in use, as far as this rank knows.
func (a *arena) has(word uint64) bool {
	it := itemOf(word)
	if it.number+classUnits(classOf(word)) > a.divided.Load() {
		return false
	}
	u, inUse := a.inUse(it)
	return inUse && u.class() == classOf(word)
}

// giveBack takes back an item of this rank whose use has ended, unless it has been taken back.
func (a *arena) giveBack(it item, hash uint64) {
	l := a.lane(hash)
	a.giveBackTo(l, it)
	l.mu.Unlock()
}

// giveBackTo is giveBack to a lane that is locked.
func (a *arena) giveBackTo(l *lane, it item) {
	for {
		u, inUse := a.inUse(it)
		if !inUse || a.recycle(it, u, l) {
			return
		}
	}
}

// recycle adds an item whose use has ended to the reserve, or to a lane that is locked. It returns
// false, and has done nothing, if the item's state has changed.
func (a *arena) recycle(it item, u unitState, to *lane) bool {
	it = it.nextUse()
	class, unit := u.class(), it.number-a.first
	if r := &a.reserves[class]; r.few.Load() {
		held := heldBy(a.member, it.use, class)
		if !a.change(unit, u, held) {
			return false
		}
		if r.put(it, a.wanted(class)) {
			return true
		}
		u = held // others have filled it
	}
	if !a.change(unit, u, newUnitState(it.use, class, freeItem)) {
		return false
	}
	to.free[class].push(it)
	return true
}

// publish records that an item is in the table. It may have been taken out of it already.
func (a *arena) publish(it item) {
	if u, inUse := a.inUse(it); inUse {
		a.change(it.number-a.first, u, newUnitState(u.use(), u.class(), itemInTable))
	}
}

// owns reports whether an item is this rank's.
func (a *arena) owns(it item) bool {
	return it.number >= a.first && it.number < a.first+a.units
}

// markOf is the mark of an item whose use has ended. No item begins with it.
func markOf(it item) uint64 { return it.use | 1<<32 }

// collect finds items of other ranks' or processes' making that are free, or else, where memory has
// run out, makes some of a class out of others. It reports whether there are some.
func (a *arena) collect(class int, hash uint64) (some bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shared != nil {
		some = a.collectFree(class, hash)
	} else {
		some, err = a.collectMarked(hash)
	}
	if some || err != nil || !a.limited.Load() {
		return some, err
	}
	return a.regroup(class, hash)
}

// maxCollected is how many free items are collected at a time.
const maxCollected = 1 << 12

// collectFree collects items of a class that processes of a Shared job have given back. They may be
// in lanes of those as well: the first who takes one has it.
func (a *arena) collectFree(class int, hash uint64) bool {
	to := a.lane(hash)
	defer to.mu.Unlock()
	found, units := 0, a.divided.Load()
	for n := uint64(0); n < units && found < maxCollected; n++ {
		if a.from++; a.from >= units {
			a.from = 0
		}
		if u := a.load(a.from); u.state() == freeItem && u.class() == class {
			// mark: an item that another process has given back is found
			to.free[class].push(item{number: a.from, use: u.use()})
			found++
		}
	}
	a.isClean(found == 0)
	return found > 0
}

// isClean notes whether the last collection has found few items.
func (a *arena) isClean(clean bool) {
	a.extending.Lock()
	defer a.extending.Unlock()
	a.clean = clean
}

// adopt calls adoptFrom for members that have ended, so that a sweep finds what they held. It
// reports how many members that were, since the beginning.
func (a *arena) adopt(adoptFrom func(member int)) (members int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.shared.Adopt(func(member int) error {
		adoptFrom(member)
		return nil
	})
	return a.adopted, err
}

// adoptFrom adopts the items of one member: they may be in the table or not. It moves the end
// first, which the member may not have done for its last one.
func (a *arena) adoptFrom(member uint64) {
	if end := a.divided.Load(); end < a.committed.Load() && a.load(end) != 0 {
		a.divided.CompareAndSwap(end, end+classUnits(a.load(end).class()))
	}
	for unit := range a.divided.Load() {
		u := a.load(unit)
		if u.state() == heldItem && u.member() == member {
			a.change(unit, u, newUnitState(u.use(), u.class(), itemInTable))
		}
	}
	a.adopted++
}

// collectMarked takes back items that others have marked, and reports whether there are some. A
// mark may arrive late, and be of an earlier use.
func (a *arena) collectMarked(hash uint64) (some bool, err error) {
	to := a.lane(hash)
	defer to.mu.Unlock()
	found, units := uint64(0), a.divided.Load()
	defer func() { a.isClean(found < max(1, units/shareDivisor)) }()
	for unit := range units {
		u := a.load(unit)
		if u.state() <= freeItem {
			continue
		}
		it := item{number: a.first + unit, use: u.use()}
		marked, err := a.isMarked(it)
		if err != nil {
			return found > 0, err
		}
		if marked && a.recycle(it, u, to) {
			// mark: an item that another rank has marked is found
			found += classUnits(u.class())
		}
	}
	return found > 0, nil
}

// hasFree reports whether take may find an item of a class now: another call or process may have
// given one back since it found none.
func (a *arena) hasFree(class int) (bool, error) {
	if a.shared != nil {
		return a.collect(class, 0)
	}
	for i := range a.lanes {
		l := &a.lanes[i]
		a.lock(l)
		n := l.free[class].len()
		l.mu.Unlock()
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}

// uses has, by unit, the uses, plus 1, of items for which no slot was found yet, or 0.
type uses []uint16

// remove removes a use that a slot refers to.
func (u uses) remove(unit, use uint64) {
	if unit < uint64(len(u)) && uint64(u[unit]) == use+1 {
		u[unit] = 0
	}
}

// published is the uses of items in the table. A slot that refers to one of them does so until
// the use ends, or moves to the next table. So a walk over the tables, one after the other, finds
// a slot of each use that has not ended.
func (a *arena) published() uses {
	u := make(uses, a.divided.Load())
	for unit := range u {
		state := a.load(uint64(unit))
		if state.state() == itemInTable {
			u[unit] = uint16(state.use()) + 1
		}
	}
	return u
}

// recover takes back the items that are still published and for which the walk found no slot.
func (a *arena) recover(lost uses) (found int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	to := a.lane(0)
	defer to.mu.Unlock()
	for unit, use := range lost {
		u := a.load(uint64(unit))
		it := item{number: a.first + uint64(unit), use: u.use()}
		if use != 0 && u.state() == itemInTable && u.use() == uint64(use-1) &&
			a.recycle(it, u, to) {
			// mark: an item without a mark is found
			if a.shared == nil {
				a.late[uint64(unit)] = true
			}
			found++
		}
	}
	return found
}

// maxInVain is how many calls a sweep that has found nothing may refuse. Keys may have been deleted
// since, by any rank.
const maxInVain = 64

// due reports whether a sweep may find something: no sweep has found nothing yet, or since then
// many items were handed out, or keys deleted, another rank has died, or many calls were refused.
func (a *arena) due(dead int, gone uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	many := max(1, a.taken/shareDivisor)
	switch {
	case a.sweptAt == 0, a.handedOut()-a.sweptAt >= many, a.deadAt != dead:
		return true
	case gone-a.gone >= max(1, many/shareDivisor), a.inVain == maxInVain:
		return true
	}
	a.inVain++
	return false
}

// sweptNothing records that a sweep has found nothing, and the slots that it found to be taken.
func (a *arena) sweptNothing(dead int, gone, taken uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweptAt, a.taken, a.deadAt, a.gone, a.inVain = a.handedOut(), taken, dead, gone, 0
}

// unswept reports whether items were adopted that a sweep may still find.
func (a *arena) unswept() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.adopted > 0 && (a.sweptAt == 0 || a.deadAt != a.adopted)
}

// handedOut is how many items were handed out.
func (a *arena) handedOut() (n uint64) {
	for i := range a.lanes {
		l := &a.lanes[i]
		l.mu.Lock()
		n += l.handedOut
		l.mu.Unlock()
	}
	return n
}

// lanes is how many lanes there are, so that goroutines of one rank rarely wait for each other.
const lanes = 16

// lane is what direct calls work with, and free items, for one goroutine at a time. So a call that
// changes the map, or up to 256 calls of a batch, take one lock for all that they do in this rank.
//
// Who has locked a lane waits for no other lane, and for nothing that takes one. arena.mu comes
// before the lanes.
type lane struct {
	mu        sync.Mutex
	free      [classes]itemQueue
	handedOut uint64        // items handed out
	made      [kinds]uint64 // direct calls
	calls     *directCalls  // nil until there is a batch
	room      []uint64      // for these to make an item
	farHash   uint64        // of a new key far from home, 0 for none
	_         [8]uint64
}

// roomFor is room to make an item of a class.
func (l *lane) roomFor(class int) []uint64 {
	l.room = slices.Grow(l.room, classWords(class))
	return l.room[:classWords(class)]
}

// lane locks one that no other goroutine has locked, where there is one: one that has it may not
// be running. With assertions the first choice depends on the key alone, so that what a seed does
// can be repeated.
func (a *arena) lane(hash uint64) *lane {
	if !invariant.Enabled {
		hash = core.Stripe()
	}
	for i := range uint64(lanes) {
		if l := &a.lanes[(hash+i)%lanes]; l.mu.TryLock() {
			return l
		}
	}
	l := &a.lanes[hash%lanes]
	a.lock(l)
	return l
}

// lock locks a lane. In a map whose file was cut off a call may have ended while it had one locked.
func (a *arena) lock(l *lane) {
	if a.broken == nil {
		l.mu.Lock()
		return
	}
	for !l.mu.TryLock() {
		if a.broken.Load() {
			panic(core.ErrFault)
		}
		runtime.Gosched()
	}
}

// itemQueue is free items, in the order in which they came.
type itemQueue struct {
	items []item
	head  int // the first one
}

func (q *itemQueue) len() int { return len(q.items) - q.head }

// pop takes the first one out of a queue that is not empty.
func (q *itemQueue) pop() item {
	q.head++
	return q.items[q.head-1]
}

// peek is the item that is popped after so many others, if it is taken out of the queue then.
func (q *itemQueue) peek(after int) (it item, ok bool) {
	if q.len() <= quarantine+after {
		return item{}, false
	}
	return q.items[q.head+after], true
}

func (q *itemQueue) push(it item) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 { // there is room in front
		q.items, q.head = q.items[:copy(q.items, q.items[q.head:])], 0
	}
	q.items = append(q.items, it)
}
