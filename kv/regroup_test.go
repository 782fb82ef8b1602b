package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma/local"
)

// TestOtherSizes: a map whose memory pairs of one size have taken has room for pairs of another one
// when they are deleted, smaller or larger, in items of odd sizes too.
func TestOtherSizes(t *testing.T) {
	regrouped.Claim(t)
	const units = 1 << 10
	cfg := Config{Slots: 2 * units, MaxSlots: 2 * units, Bytes: units * unitBytes, MaxKey: 8,
		MaxValue: 40 * unitBytes}
	for _, e := range append(engines[:2:2], reserving...) {
		for ranks := range 2 {
			err := withMap(e, ranks+1, cfg, func(m *Map) error {
				base := 0
				for _, size := range []int{8, 200, 1, 400, 60, 2000, 200, 8} {
					if err := fillWith(m, base, size); err != nil {
						return err
					}
					base += units
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s, %d ranks: %v", e.Name, ranks+1, err)
			}
		}
	}
}

// fillWith has rank 0 put pairs from a number on until there is no item. The last rank deletes
// them. Collective.
func fillWith(m *Map, base, size int) error {
	ctx, rank := context.Background(), m.job.Rank()
	most := int(m.arena.units / classUnits(classFor(itemWords(8, size))))
	if rank == 0 {
		n := 0
		var full *FullError
		for refused := 0; refused < maxInVain+2 && n < most; { // another rank has deleted
			_, err := m.Put(numbered(base+n), make([]byte, size))
			switch {
			case err == nil:
				n++
			case errors.As(err, &full) && full.Items:
				refused++
			default:
				return err
			}
		}
		// Some items are in reserve, and some units remain.
		if n < most*7/8-maxReserve/8 {
			return fmt.Errorf("%d pairs of %d bytes where %d items fit", n, size, most)
		}
		if err := errors.Join(m.Check(ctx), overlap(m.arena)); err != nil {
			return err
		}
	}
	if err := m.job.Barrier(ctx); err != nil {
		return err
	}
	for n := 0; n < most && rank == m.job.Size()-1; n++ {
		if _, err := m.Delete(numbered(base + n)); err != nil {
			return err
		}
	}
	return m.job.Barrier(ctx)
}

// overlap looks for items of an arena that have a unit in common.
func overlap(a *arena) error {
	end := uint64(0)
	for unit := range a.divided.Load() {
		u := a.load(unit)
		if u.state() == innerUnit {
			continue
		}
		if unit < end {
			return fmt.Errorf("unit %d begins an item, and an item before it ends at %d", unit, end)
		}
		end = unit + classUnits(u.class())
	}
	return nil
}

// Items overlap at no step, so that a process may end at any of them.
func TestRegroupInOrder(t *testing.T) {
	mark.Need(t)
	m := ofUnits(t, 64)
	for _, step := range []*mark.Mark{runJoined, runResized, runDivided} {
		step.Claim(t)
		step.Intercept(t, func() {
			if err := overlap(m.arena); err != nil {
				t.Errorf("%v: %v", step, err)
			}
		})
	}
	for _, class := range []int{0, 4, 1, classFor(24 * unitWords), 2, 6, 0} {
		takeAll(t, m.arena, class)
	}
}

// ofUnits is a map of one rank that has so many units of items, and no reserve.
func ofUnits(t *testing.T, units uint64) *Map {
	t.Helper()
	job := local.Single()
	t.Cleanup(func() { _ = job.Close() })
	m, err := New(t.Context(), job, Config{Slots: 8, MaxKey: 8, Bytes: units * unitBytes,
		MaxValue: int(units * unitBytes / 2)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// takeAll takes all items of a class, as many as fit, and gives them back. Each has a use that none
// of this number has had.
func takeAll(t *testing.T, a *arena, class int) {
	t.Helper()
	var held []item
	for {
		it, ok, err := a.take(class, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		held = append(held, it)
	}
	if err := overlap(a); err != nil {
		t.Error(err)
	}
	if most := int(a.units / classUnits(class)); len(held) != most {
		t.Errorf("%d items of class %d, where %d fit", len(held), class, most)
	}
	for _, it := range held {
		a.publish(it)
		a.giveBack(it, 0)
	}
}

// A unit never has the same use twice, whatever items it begins: else a word would come again.
func TestUsesOfRegrouped(t *testing.T) {
	m := ofUnits(t, 48)
	had := map[item]bool{}
	for _, class := range []int{0, 2, 0, 5, 1, 0, 3, 0} {
		var held []item
		for {
			it, ok, err := m.arena.take(class, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if had[it] {
				t.Errorf("class %d: unit %d has use %d again", class, it.number, it.use)
			}
			had[it] = true
			held = append(held, it)
		}
		for _, it := range held {
			m.arena.publish(it)
			m.arena.giveBack(it, 0)
		}
	}
}

// Goroutines that take items of many classes never have the same unit, and none is lost.
func TestItemsOfManyClasses(t *testing.T) {
	const units, goroutines, rounds = 96, 8, 3000
	m := ofUnits(t, units)
	a := m.arena
	owners := make([]struct {
		sync.Mutex
		by int
	}, units)
	own := func(it item, class, from, to int) {
		for unit := it.number; unit < it.number+classUnits(class); unit++ {
			o := &owners[unit]
			o.Lock()
			if o.by != from {
				t.Errorf("unit %d belongs to %d, not to %d", unit, o.by, from)
			}
			o.by = to
			o.Unlock()
		}
	}
	type holding struct {
		item
		class int
	}
	var group sync.WaitGroup
	for g := 1; g <= goroutines; g++ {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(g)))
			var held []holding
			giveOne := func() {
				h := held[len(held)-1]
				held = held[:len(held)-1]
				own(h.item, h.class, g, 0)
				a.publish(h.item)
				a.giveBack(h.item, rng.Uint64())
			}
			for range rounds {
				class := []int{0, 0, 1, 2, 4, 9, 16}[rng.IntN(7)]
				it, ok, err := a.take(class, rng.Uint64())
				if err != nil {
					t.Error(err)
				} else if ok {
					own(it, class, 0, g)
					held = append(held, holding{it, class})
				}
				for len(held) > 0 && rng.IntN(3) > 0 {
					giveOne()
				}
			}
			for len(held) > 0 {
				giveOne()
			}
		})
	}
	group.Wait()
	takeAll(t, a, 0)
}

// What is held of a run is given back when another call has taken an item of it.
func TestRunIsTaken(t *testing.T) {
	runTaken.Claim(t)
	m := ofUnits(t, 8)
	takeAll(t, m.arena, 0)
	run, length := m.arena.freeRun(0, 8, 1, 4)
	if len(run) != 8 || length != 8 {
		t.Fatalf("a run of %d items, %d units", len(run), length)
	}
	taken, ok := m.arena.hold(item{number: 2, use: m.arena.load(2).use()}, 0)
	if !ok {
		t.Fatal("an item is not free")
	}
	if run, _ := m.arena.freeRun(0, 8, 1, 4); len(run) != 2 {
		t.Errorf("%d items are free before one that is not", len(run))
	}
	l := m.arena.lane(0)
	held := m.arena.holdRun(run, l)
	l.mu.Unlock()
	if held {
		t.Error("a run is held, of which another call has an item")
	}
	m.arena.publish(taken)
	m.arena.giveBack(taken, 0)
	takeAll(t, m.arena, 0)
}

// A run is not held when another process has regrouped its items: free ones of other classes begin
// at the same units.
func TestRunIsRegrouped(t *testing.T) {
	m := ofUnits(t, 8)
	a := m.arena
	takeAll(t, a, 0)
	run, _ := a.freeRun(0, 8, 1, 4)
	if some, err := a.regroup(1, 0); !some || err != nil {
		t.Fatal(some, err)
	}
	l := a.lane(0)
	held := a.holdRun(run, l)
	l.mu.Unlock()
	if held {
		t.Error("a run is held whose items are others by now")
	}
	takeAll(t, a, 1)
}

// A unit that was the first of an item is never taken for one that is not divided yet: a call that
// has read the end long ago would take it.
func TestRegroupedAreDivided(t *testing.T) {
	m := ofUnits(t, 8)
	a := m.arena
	takeAll(t, a, 7)
	if some, err := a.regroup(0, 0); !some || err != nil { // items that nobody has used
		t.Fatal(some, err)
	}
	if some, err := a.regroup(1, 0); !some || err != nil {
		t.Fatal(some, err)
	}
	for unit := range a.units {
		if a.load(unit) == 0 {
			t.Errorf("unit %d is as if it was not divided", unit)
		}
	}
}

// A mark that arrives late must not change a key or value: where one may still arrive no item has
// a unit within.
func TestLateMarkBeginsItem(t *testing.T) {
	m := ofUnits(t, 8)
	takeAll(t, m.arena, 0)
	m.arena.late[3] = true
	for want := 3; ; want-- { // units 0 and 1, 3 and 4, 5 and 6
		it, ok, err := m.arena.take(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if want != 0 {
				t.Errorf("%d items of two units are missing", want)
			}
			break
		}
		if it.number == 2 {
			t.Error("an item has a unit within where a mark may arrive")
		}
	}
}

// A sweep remembers where a mark may arrive late.
func TestSweptMayBeMarked(t *testing.T) {
	m := ofUnits(t, 8)
	it, ok, err := m.arena.take(0, 0)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	m.arena.publish(it)
	if found, _, _, err := m.sweep(t.Context()); found != 1 || err != nil {
		t.Fatal(found, err)
	}
	if !m.arena.late[it.number] {
		t.Error("a mark may arrive in a unit that items may have within")
	}
}

// What was a key or value is not taken for a mark of a new item.
func TestNewItemIsUnmarked(t *testing.T) {
	err := withMap(engines[1], 2, Config{Slots: 64, MaxSlots: 64, Bytes: 8 * unitBytes, MaxKey: 8,
		MaxValue: 400}, func(m *Map) error {
		if m.job.Rank() > 0 {
			return m.job.Barrier(context.Background())
		}
		a := m.arena
		it, ok, err := a.take(7, 0) // all units
		if !ok || err != nil {
			return fmt.Errorf("%v, %w", ok, err)
		}
		for unit := range a.units { // a value that looks like marks of every use
			rank, off := a.locate(it.number + unit)
			if err := a.cells.Store(context.Background(), rank, off, markOf(item{})); err != nil {
				return err
			}
		}
		a.publish(it)
		a.giveBack(it, 0)
		for n := range a.units {
			if _, ok, err := a.take(0, 0); !ok || err != nil {
				return fmt.Errorf("item %d: %v, %w", n, ok, err)
			}
		}
		if it, ok, err := a.take(0, 0); ok || err != nil {
			return fmt.Errorf("item %d is held, and taken again: %w", it.number, err)
		}
		return m.job.Barrier(context.Background())
	})
	if err != nil {
		t.Error(err)
	}
}

// Check finds items that overlap.
func TestCheckFindsOverlap(t *testing.T) {
	m := ofUnits(t, 64)
	for i := range 2 {
		if _, err := m.Put(numbered(i), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	c := checker{m: m, items: map[uint64]string{0: "a", 1: "b"},
		units: map[uint64]uint64{0: 2, 1: 3}}
	c.overlaps()
	if err := c.faults.Err(); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Error(err)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
