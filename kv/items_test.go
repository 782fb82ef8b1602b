package kv

import (
	"errors"
	"fmt"
	"slices"
)

// versionsDiffer: no put of a key gives it a version that it has had, also when its items are
// used again and again. Who compares and puts would take another value for the one it has read.
func versionsDiffer() error {
	return overMemory(func(m *Map, key []byte) error {
		had := map[Version]int{}
		for n := range 20 * int(m.arena.units) {
			v, err := m.Put(key, []byte("new"))
			if before, again := had[v]; again {
				err = errors.Join(err, fmt.Errorf("puts %d and %d give version %d", before, n, v))
			}
			if err != nil {
				return err
			}
			had[v] = n
		}
		return nil
	})
}

// usesDiffer: the word of an item comes again only when it has had all.
func usesDiffer() error {
	seen := make([]bool, useMask+1)
	for it := (item{}); !seen[it.use]; it = it.nextUse() {
		seen[it.use] = true
	}
	if missing := slices.Index(seen, false); missing >= 0 {
		return fmt.Errorf("an item never has use %d", missing)
	}
	return nil
}

// everySequence has the arena of a map go through all sequences of what can happen to one item
// and to two: it never hands out an item that a call holds or a slot refers to, nor one with a
// use that it has had in the table.
func everySequence() error {
	for units := 1; units <= 2; units++ {
		cfg := Config{Slots: 8, Bytes: uint64(units * unitWords * 8), MaxKey: 8,
			MaxValue: 8}
		err := withMap(engines[0], 1, cfg, func(m *Map) error { return tryNext(m, nil) })
		if err != nil {
			return fmt.Errorf("of %d items: %w", units, err)
		}
	}
	return nil
}

const maxEvents = 7

// tryNext tries all events that can follow some events, and all that can follow those.
func tryNext(m *Map, before []event) error {
	for e := range events {
		all := append(slices.Clip(before), e)
		possible, err := runEvents(m, all)
		if err == nil && possible && len(all) < maxEvents {
			err = tryNext(m, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// event is something that happens to an item, the oldest or latest of its state.
type event int

const (
	isTaken     event = iota // by a call
	isPutBack                // the call needs it no more
	isPublished              // a slot refers to it, and the call says so
	isOutBefore              // it is out of the table, and taken back, before the call says so
	isGiven                  // this rank has taken it out of the table
	isMarked                 // another one has
	isGivenLate              // that it is out comes again
	isMarkedOld              // a mark of an earlier use comes late
	sweepBegins
	sweepWalks // over every slot
	sweepEnds  // after that
	events
)

// expectation is what the test knows of the items.
type expectation struct {
	m           *Map
	held, there []item // by calls, and in slots
	out         []item // of the table, with the use that has ended
	marked      int    // of those, by another rank; a sweep may find them
	swept       uses
	sweep       event // the last one of a sweep under way, or 0
}

// runEvents runs a sequence, possible unless its last event makes no sense.
func runEvents(m *Map, all []event) (possible bool, err error) {
	a := m.arena
	m.arena, _ = newArena(a.cells, m.job.Rank(), a.units, nil)
	b := expectation{m: m}
	for _, e := range all {
		if possible, err = b.happens(e); err != nil {
			return true, fmt.Errorf("events %v: %w", all, err)
		}
	}
	return possible, nil
}

func (b *expectation) happens(e event) (possible bool, err error) {
	a := b.m.arena
	switch {
	case e == isTaken:
		return b.take()
	case e == sweepBegins && b.sweep == 0:
		b.swept, b.sweep = a.published(), e
	case e == sweepWalks && b.sweep == sweepBegins:
		b.walk()
	case e == sweepEnds && b.sweep != 0:
		if b.sweep == sweepBegins {
			b.walk()
		}
		b.sweep = 0
		if n := a.recover(b.swept); n > b.marked {
			return true, fmt.Errorf("a sweep finds %d items that nobody has lost", n)
		}
	case e == isPutBack && len(b.held) > 0:
		a.giveBack(last(&b.held), 0)
	case e == isPublished && len(b.held) > 0:
		it := last(&b.held)
		a.publish(it)
		b.there = append(b.there, it)
	case e == isOutBefore && len(b.held) > 0:
		it := last(&b.held)
		a.giveBack(it, 0)
		a.publish(it)
		b.out = append(b.out, it)
	case (e == isGiven || e == isMarked) && len(b.there) > 0:
		it := last(&b.there)
		b.out = append(b.out, it)
		if e == isGiven {
			a.giveBack(it, 0)
		} else {
			*b.mark(it) = markOf(it)
			b.marked++
		}
	case e == isGivenLate && len(b.out) > 0:
		a.giveBack(b.out[0], 0)
	case e == isMarkedOld && len(b.out) > 0:
		*b.mark(b.out[0]) = markOf(b.out[0])
	default:
		return false, nil
	}
	return true, nil
}

// walk has a sweep read every slot.
func (b *expectation) walk() {
	for _, it := range b.there {
		b.swept.remove(it.number-b.m.arena.first, it.use)
	}
	b.sweep = sweepWalks
}

// take has a call take an item, if there is one.
func (b *expectation) take() (ok bool, err error) {
	it, ok, err := b.m.arena.take(0, 0)
	if err != nil || !ok {
		return false, err
	}
	for _, other := range slices.Concat(b.held, b.there) {
		if it.number == other.number {
			return true, fmt.Errorf("item %d is handed out, and is in use", it.number)
		}
	}
	if slices.Contains(b.out, it) {
		return true, fmt.Errorf("use %d of item %d comes again", it.use, it.number)
	}
	*b.mark(it) = 0 // as who writes the item does
	b.held = append(b.held, it)
	return true, nil
}

// mark is where the mark of an item is.
func (b *expectation) mark(it item) *uint64 {
	_, off := b.m.arena.locate(it.number)
	return &b.m.items.Words(0)[off+markWord]
}

// last takes the last item of some.
func last(items *[]item) item {
	it := (*items)[len(*items)-1]
	*items = (*items)[:len(*items)-1]
	return it
}
