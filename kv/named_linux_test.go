package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// named is the path of a map in memory for one test.
func named(t *testing.T) string {
	t.Helper()
	return filepath.Join(lab.TempFolder(t), "map")
}

// open opens a map that the test closes.
func open(t *testing.T, path string, cfg Config) *Map {
	t.Helper()
	m, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// A map keeps what was put while nobody has it open. Its configuration comes from the file, and one
// that differs is refused.
func TestOpen(t *testing.T) {
	path := named(t)
	m, err := Open(path, Config{MaxKey: 100, MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	const keys = 100000 // the table moves
	for i := range keys {
		if _, err := m.Put(numbered(i), numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, Config{})
	if cfg := again.Config(); cfg.MaxKey != 100 || cfg.MaxBytes != 64<<20 {
		t.Errorf("the configuration is %+v", cfg)
	}
	n, err := again.Len(t.Context())
	if err != nil || n != keys {
		t.Errorf("there are %d keys, %v", n, err)
	}
	if err := again.Check(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = Open(path, Config{MaxKey: 99})
	if err == nil || !strings.Contains(err.Error(), "bytes of the longest key differ") {
		t.Errorf("another configuration: %v", err)
	}
	open(t, path, Config{MaxKey: 100})
}

// What was filled in is legal when the map is opened again.
func TestOpenAgain(t *testing.T) {
	for _, cfg := range []Config{{}, {Bytes: 1 << 12}, {Bytes: 1 << 20}, {MaxBytes: 1<<24 + 1},
		{Slots: 100, Bytes: 1 << 12}, {Slots: 8, MaxBytes: 1 << 23}} {
		path := named(t)
		first := open(t, path, cfg)
		again := open(t, path, Config{})
		open(t, path, cfg)
		if first.Config() != again.Config() {
			t.Errorf("%+v: %+v, then %+v", cfg, first.Config(), again.Config())
		}
	}
}

// Several openings are like several processes: each has lanes of its own. What one has given back
// others use, so that none is full while there are free items.
func TestOpenShares(t *testing.T) {
	const keys = 800
	path := named(t)
	cfg := Config{Slots: 1 << 10, Bytes: 64 * keys * 3 / 2, MaxKey: 8, MaxValue: 8}
	first, second := open(t, path, cfg), open(t, path, Config{})
	for round := range 20 {
		for o, m := range []*Map{first, second, second, first} {
			for i := range keys {
				if _, err := m.Put(numbered(i), numbered(round)); err != nil {
					t.Fatal(round, o, i, err)
				}
			}
			if err := m.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An opening takes items that another one has given back.
func TestTakesItemsOfOthers(t *testing.T) {
	returned.Claim(t)
	const keys, spare = 800, 100
	path := named(t)
	cfg := Config{Slots: 1 << 11, Bytes: 64 * (3*keys + spare), MaxKey: 8, MaxValue: 100}
	first, second := open(t, path, cfg), open(t, path, Config{})
	put := func(m *Map, i, size int) {
		if _, err := m.Put(numbered(i), make([]byte, size)); err != nil {
			t.Fatal(i, size, err)
		}
	}
	for _, size := range []int{8, 80} { // one unit, then two
		for i := range keys {
			put(first, i, size)
		}
	}
	for i := range 2 * spare {
		put(second, keys+i, 8)
	}
	if err := second.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Many openings count up the same keys at the same time, while the table grows.
func TestOpenCounts(t *testing.T) {
	const openings, counts, keys = 8, 500, 7
	path := named(t)
	open(t, path, Config{Slots: 8, MaxSlots: 1 << 14, Bytes: 1 << 20, MaxKey: 8, MaxValue: 8})
	var wg sync.WaitGroup
	for o := range openings {
		m := open(t, path, Config{})
		wg.Go(func() {
			for n := range counts {
				if err := oneMore(m, numbered(n%keys)); err != nil {
					t.Error(err)
					return
				}
				if _, err := m.Put(numbered(o<<16+n+keys), numbered(n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	m := open(t, path, Config{})
	sum := uint64(0)
	for i := range keys {
		value, _, _, err := m.Get(numbered(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum += binary.LittleEndian.Uint64(value)
	}
	n, err := m.Len(t.Context())
	if err := errors.Join(err, m.Check(t.Context())); err != nil || sum != openings*counts ||
		n != keys+openings*counts {
		t.Errorf("%d counts and %d keys, %v", sum, n, err)
	}
}

// oneMore counts up the value of a key.
func oneMore(m *Map, key []byte) error {
	for {
		value, version, _, err := m.Get(key, nil)
		if err != nil {
			return err
		}
		n := uint64(0)
		if version != 0 {
			n = binary.LittleEndian.Uint64(value)
		}
		_, done, err := m.CompareAndPut(key, numbered(int(n+1)), version)
		if done || err != nil {
			return err
		}
	}
}

// closeAsKilled closes a map as if its process was killed.
func closeAsKilled(t *testing.T, m *Map) {
	t.Helper()
	m.fault.Flag().Store(true)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// fillUp puts keys until the map is full.
func fillUp(t *testing.T, m *Map) {
	t.Helper()
	for full, i := (*FullError)(nil), 1000; ; i++ {
		if _, err := m.Put(numbered(i), nil); errors.As(err, &full) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// What a process has in reserve is free when it has ended.
func TestReserveIsLeft(t *testing.T) {
	const units = 1 << 14 // one of which is kept
	path := named(t)
	m := open(t, path, Config{Slots: 2 * units, Bytes: units * unitBytes, MaxKey: 8, MaxValue: 8})
	for range 3 {
		other, err := Open(path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.Put(numbered(0), nil)
		if err := errors.Join(err, other.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range units - m.arena.wanted(0) {
		if _, err := m.Put(numbered(i), nil); err != nil {
			t.Fatal(i, err)
		}
	}
}

// A table moves on though a process was killed that held all areas.
func TestKilledHoldsNothing(t *testing.T) {
	path := named(t)
	m := open(t, path, Config{Slots: 64, Bytes: 32 * 64, MaxKey: 8, MaxValue: 8})
	killed, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holdAll(killed); err != nil {
		t.Fatal(err)
	}
	closeAsKilled(t, killed)
	if err := errors.Join(moveTable(m, 0), m.Check(t.Context())); err != nil {
		t.Error(err)
	}
	if held, err := m.held(t.Context()); held != 0 || err != nil {
		t.Errorf("%#x is held: %v", held, err)
	}
}

// The item of a process that was killed before it had moved the end of the items is found.
func TestKilledBeforeEndMoved(t *testing.T) {
	path := named(t)
	old := open(t, path, Config{Slots: 64, Bytes: 32 * 64, MaxKey: 8, MaxValue: 8})
	killed, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Put(numbered(1), nil); err != nil {
		t.Fatal(err)
	}
	a := killed.arena
	unit := a.divided.Load()
	if !a.change(unit, 0, heldBy(a.member, 0, 0)) {
		t.Fatal("the next unit is taken")
	}
	closeAsKilled(t, killed)
	if _, err := old.arena.adopt(old.adoptFrom); err != nil {
		t.Fatal(err)
	}
	if u := old.arena.load(unit); u.state() != itemInTable {
		t.Errorf("unit %d is in state %d", unit, u.state())
	}
}

// A put moves the end of the items for one that has not yet.
func TestEndIsMovedForOthers(t *testing.T) {
	endNotMoved.Claim(t)
	m := open(t, named(t), Config{Slots: 64, Bytes: 32 * 64, MaxKey: 8, MaxValue: 8})
	if _, err := m.Put(numbered(1), nil); err != nil {
		t.Fatal(err)
	}
	unit := m.arena.divided.Load()
	if !m.arena.change(unit, 0, heldBy(m.arena.member, 0, 0)) {
		t.Fatal("the next unit is taken")
	}
	if _, err := m.Put(numbered(2), nil); err != nil {
		t.Fatal(err)
	}
	if end := m.arena.divided.Load(); end != unit+2 {
		t.Errorf("the items end at unit %d, want %d", end, unit+2)
	}
}

// What a process inherits and does not look for is left to others when it ends.
func TestInheritedIsLeft(t *testing.T) {
	path := named(t)
	old := open(t, path, Config{Slots: 64, Bytes: 32 * 64, MaxKey: 8, MaxValue: 8})
	killed, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := killed.arena.take(0, 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	fillUp(t, old)
	if _, err := holdAll(killed); err != nil {
		t.Fatal(err)
	}
	closeAsKilled(t, killed)
	others := func(word uint64) { // as if as many as there can be had left something
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for m := 2; m < rma.MaxMembers; m++ {
			_, writeErr := f.WriteAt(numbered(int(word)), 4096+int64(m)*8)
			err = errors.Join(err, writeErr)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	others(1)
	heir, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !heir.shared.Inherits() || heir.shared.Member() != 1 {
		t.Fatalf("member %d inherits %v", heir.shared.Member(), heir.shared.Inherits())
	}
	if held, err := heir.held(t.Context()); held != 0 || err != nil {
		t.Errorf("%#x is held: %v", held, err)
	}
	if err := heir.Close(); err != nil {
		t.Fatal(err)
	}
	others(0)
	if _, err := old.Put(numbered(1), nil); err != nil {
		t.Error("an item is lost:", err)
	}
}

// Check finds items in the table that the arena does not know: what it knows may be older after a
// power failure.
func TestCheckFindsFreeItems(t *testing.T) {
	m := open(t, named(t), Config{Slots: 64, Bytes: 64 * 64, MaxKey: 8, MaxValue: 8})
	if _, err := m.Put(numbered(1), nil); err != nil {
		t.Fatal(err)
	}
	a := m.arena
	state, end := a.load(0), a.divided.Load()
	for what, change := range map[string]func(){
		"a free item":   func() { a.states[0].Store(uint32(newUnitState(0, 0, freeItem))) },
		"another use":   func() { a.states[0].Store(uint32(newUnitState(1, 0, itemInTable))) },
		"another class": func() { a.states[0].Store(uint32(newUnitState(0, 1, itemInTable))) },
		"an early end":  func() { a.divided.Store(0) },
	} {
		if err := m.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		change()
		err := m.Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), "that others may take") {
			t.Errorf("%s: %v", what, err)
		}
		a.states[0].Store(uint32(state))
		a.divided.Store(end)
	}
}

// A typed map with a name has the sizes of its types, and allocates nothing.
func TestOpenTyped(t *testing.T) {
	path := named(t)
	m, err := OpenTyped[uint64, [2]int32](path, Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Map().Close()
	if err := m.Store(1, [2]int32{3, 4}); err != nil {
		t.Fatal(err)
	}
	again, err := OpenTyped[uint64, [2]int32](path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Map().Close()
	if v, found, err := again.Load(1); v != [2]int32{3, 4} || !found || err != nil {
		t.Errorf("%v, found %v, %v", v, found, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = again.Load(1) }); n >= 1 &&
		!memory.RaceEnabled {
		t.Errorf("Load allocates %v times", n)
	}
	if _, err := OpenTyped[string, int64](path, Config{}); err != nil {
		t.Errorf("a type of any length: %v", err)
	}
	if _, err := OpenTyped[[9]byte, int64](path, Config{}); err == nil {
		t.Error("a longer type was accepted")
	}
}

// openCutOff opens a map that has one key, and cuts its file off.
func openCutOff(t *testing.T) (path string, m *Map) {
	t.Helper()
	path = named(t)
	m = open(t, path, Config{MaxBytes: 16 << 20})
	if _, err := m.Put(numbered(1), numbered(2)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	return path, m
}

// A single get that finds the file cut off fails, and so do all later ones.
func TestGetCutOff(t *testing.T) {
	_, m := openCutOff(t)
	for range 2 {
		_, _, ok, err := m.Get(numbered(1), nil)
		if ok || err == nil || !strings.Contains(err.Error(), "was cut off") {
			t.Errorf("Get: %v, %v", ok, err)
		}
	}
}

// A file that is cut off makes calls fail, also those that wait for a lane.
func TestCutOff(t *testing.T) {
	path, m := openCutOff(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if _, err := m.Put(numbered(i), nil); err == nil ||
				!strings.Contains(err.Error(), "was cut off") {
				t.Errorf("Put: %v", err)
			}
		})
	}
	wg.Wait()
	_, _, _, getErr := m.Get(numbered(1), nil)
	for what, err := range map[string]error{"Get": getErr, "Check": m.Check(context.Background()),
		"Batch": m.Batch([]Call{{Kind: Get, Key: numbered(1)}})} {
		if err == nil || !strings.Contains(err.Error(), "was cut off") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := Open(path, Config{})
	if err == nil {
		t.Error("a file that was cut off was opened")
	}
	if err := Remove(path); err == nil {
		t.Errorf("%s was removed though it is none", path)
	}
}

// A map whose control words are damaged, as after a crash of the host, is not opened.
func TestDamagedControl(t *testing.T) {
	for name, damage := range map[string]func(m *Map){
		"area":      func(m *Map) { m.control.Words(0)[0] = uint64(stateMoving) },
		"divided":   func(m *Map) { m.arena.divided.Store(m.arena.committed.Load() + 1) },
		"committed": func(m *Map) { m.arena.committed.Store(m.arena.units + 1) },
	} {
		path := named(t)
		m := open(t, path, Config{Slots: 64, Bytes: 32 * 64, MaxKey: 8, MaxValue: 8})
		damage(m)
		if other, err := Open(path, Config{}); err == nil {
			t.Errorf("%s: it is opened", name)
			_ = other.Close()
		}
		if err := m.Check(t.Context()); name == "area" && err == nil {
			t.Errorf("%s: Check finds nothing", name)
		}
	}
}
