package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/ratio"
	"github.com/farhash/farhash/rma/local"
)

// place has a hole, and a float.
type place struct {
	Floor uint8
	At    [2]float64
}

type label string

// A typed map answers as a map of Go does, for all forms of keys and values.
func TestTyped(t *testing.T) {
	now := time.Date(2024, 2, 29, 1, 2, 3, 4, time.UTC)
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, 2, small(copies), func(m *Map) error {
			err := error(nil)
			if m.job.Rank() == 0 {
				err = errors.Join(
					likeMap(m, map[uint64]place{1: {2, [2]float64{3, -4}}, 1 << 63: {}}, 7,
						place{}),
					likeMap(m, map[place]uint8{{1, [2]float64{2}}: 3, {}: 4}, place{Floor: 9}, 5),
					likeMap(m, map[label]time.Time{"a": now, "long enough for a word": now}, "b",
						now.Add(1)),
					likeMap(m, map[time.Time]bool{now: true, now.Add(1): false}, now.Add(2), true),
					likeMap(m, map[int8]struct{}{-1: {}, 3: {}}, 4, struct{}{}))
			}
			return errors.Join(err, m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// likeMap puts what like has into an empty map, asks for it, and removes all. another is a key that
// like does not have, for a value.
func likeMap[K, V comparable](m *Map, like map[K]V, another K, value V) error {
	t, err := TypedOf[K, V](m)
	if err != nil {
		return err
	}
	var wrong []error
	expect := func(ok bool, what string, got ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("%T: %s: %v", like, what, got))
		}
	}
	for k, v := range like {
		expect(t.Store(k, value) == nil && t.Store(k, v) == nil, "Store", k, v)
	}
	for k, v := range like {
		got, found, err := t.Load(k)
		expect(got == v && found && err == nil, "Load", got, found, err)
		got, found, err = t.LoadOrStore(k, value)
		expect(got == v && found && err == nil, "LoadOrStore", got, found, err)
		got, found, err = t.Compute(k, func(old V, found bool) (V, bool) {
			expect(old == v && found, "Compute gives", old, found)
			return value, false
		})
		expect(got == v && found && err == nil, "Compute", got, found, err)
	}
	all := map[K]V{}
	for e, err := range t.All(context.Background()) {
		all[e.Key] = e.Value
		expect(err == nil, "All", err)
	}
	expect(maps.Equal(all, like), "All", all)
	var zero V
	got, found, err := t.Load(another)
	expect(got == zero && !found && err == nil, "Get of none", got, found, err)
	got, found, err = t.LoadOrStore(another, value)
	expect(got == value && !found && err == nil, "LoadOrStore of none", got, found, err)
	removed, err := t.Delete(another)
	expect(removed && err == nil, "Delete", removed, err)
	removed, err = t.Delete(another)
	expect(!removed && err == nil, "Delete of none", removed, err)
	got, found, err = t.Compute(another, func(old V, found bool) (V, bool) {
		expect(old == zero && !found, "Compute of none gives", old, found)
		return value, true
	})
	expect(got == value && !found && err == nil, "Compute of none", got, found, err)
	for k := range all {
		_, err := t.Delete(k)
		expect(err == nil, "Delete", err)
	}
	removed, err = t.Delete(another)
	expect(removed && err == nil, "Delete of what Compute has put", removed, err)
	return errors.Join(wrong...)
}

// Compute on the same keys by all ranks, and LoadOrStore of one, lose nothing.
func TestTypedTogether(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		const ranks, times = 3, 40
		goroutines := 8
		if e.Name == "sim" { // a rank is a goroutine
			goroutines = 1
		}
		var mu sync.Mutex
		puts, owners := map[int16]int{}, map[uint64]bool{}
		err := withMap(e, ranks, small(copies), func(m *Map) error {
			counters, err := TypedOf[int16, uint64](m)
			if err != nil {
				return err
			}
			errs := make([]error, goroutines)
			var wg sync.WaitGroup
			one := func(g int) {
				for i := range times {
					_, _, err := counters.Compute(int16(i%3), add)
					errs[g] = errors.Join(errs[g], err)
					id := uint64(m.job.Rank()*goroutines + g)
					owner, found, err := counters.LoadOrStore(7, id)
					errs[g] = errors.Join(errs[g], err)
					mu.Lock()
					if owners[owner] = true; !found {
						puts[7]++
					}
					mu.Unlock()
				}
			}
			for g := range goroutines - 1 {
				wg.Go(func() { one(g) })
			}
			one(goroutines - 1)
			wg.Wait()
			if err := m.job.Barrier(context.Background()); err != nil {
				return err
			}
			sum := uint64(0)
			for i := range int16(3) {
				n, _, err := counters.Load(i)
				errs[0] = errors.Join(errs[0], err)
				sum += n
			}
			if sum != uint64(ranks*goroutines*times) {
				errs[0] = errors.Join(errs[0], fmt.Errorf("%d of %d were counted", sum,
					ranks*goroutines*times))
			}
			return errors.Join(errs...)
		})
		if err != nil || puts[7] != 1 || len(owners) != 1 {
			t.Errorf("%v; the key of all was put %d times, by %v", err, puts[7], owners)
		}
	})
}

func add(old uint64, _ bool) (uint64, bool) { return old + 1, true }

// typedOf is a map in the memory of the test.
func typedOf[K, V any](t testing.TB, cfg Config) *Typed[K, V] {
	t.Helper()
	job := local.Single()
	typed, err := NewTyped[K, V](context.Background(), job, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(typed.Map().Check(context.Background()), typed.Map().Close(),
			job.Close()); err != nil {
			t.Error(err)
		}
	})
	return typed
}

// When another call changes the key, Compute asks again, with what is there by then.
func TestComputeAgain(t *testing.T) {
	m := typedOf[string, uint64](t, Config{})
	changes := []func() error{func() error { return m.Store("key", 10) },
		func() error { _, err := m.Delete("key"); return err },
		func() error { return m.Store("key", 20) }, func() error { return m.Store("other", 1) }}
	var asked []string
	now, found, err := m.Compute("key", func(old uint64, found bool) (uint64, bool) {
		asked = append(asked, fmt.Sprint(old, found))
		if err := changes[len(asked)-1](); err != nil {
			t.Fatal(err)
		}
		return old + 1, true
	})
	if now != 21 || !found || err != nil {
		t.Errorf("%d, %v, %v", now, found, err)
	}
	if got := strings.Join(asked, ", "); got != "0 false, 10 true, 0 false, 20 true" {
		t.Errorf("asked with %s", got)
	}
	if now, _, err := m.Load("key"); now != 21 || err != nil {
		t.Errorf("%d, %v", now, err)
	}
}

// What a type and a map cannot do together is an error that says what to change.
func TestTypedWrong(t *testing.T) {
	m := typedOf[[8]byte, uint8](t, Config{Slots: 64, Bytes: 1 << 20, MaxValue: 100}).Map()
	if cfg := m.Config(); cfg.MaxKey != 8 || cfg.MaxValue != 100 {
		t.Errorf("MaxKey %d, MaxValue %d", cfg.MaxKey, cfg.MaxValue)
	}
	says := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := TypedOf[[9]byte, uint8](m)
	says(err, "kv: a key of type [9]uint8 has 9 bytes, and this map takes up to 8; make MaxKey")
	_, err = TypedOf[uint8, [13]float64](m)
	says(err, "a value of type [13]float64 has 104 bytes, and this map takes up to 100; make MaxV")
	_, err = TypedOf[struct{ next *int }, int](m)
	says(err, "kv: the key: struct { next *int }.next is a *int")
	_, err = TypedOf[int, map[int]int](m)
	says(err, "kv: the value: map[int]int is a map")
	_, err = NewTyped[int, chan int](context.Background(), m.job, Config{})
	says(err, "chan int")
	_, err = NewTyped[[9]byte, int](context.Background(), m.job, Config{MaxKey: 4})
	says(err, "takes up to 4")

	texts, err := TypedOf[string, string](m)
	if err != nil {
		t.Fatal(err)
	}
	says(texts.Store("", "x"), "a key of 0 bytes")
	says(texts.Store("123456789", "x"), "a key of 9 bytes")
	if err := texts.Store("12345678", "long"); err != nil {
		t.Fatal(err)
	}
	others, err := TypedOf[string, uint16](m)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = others.Load("12345678")
	says(err, "kv: a value: 4 bytes are no uint16, which has 2")
	_, _, err = others.Compute("12345678", func(uint16, bool) (uint16, bool) {
		t.Error("a value of another type is computed with")
		return 0, false
	})
	says(err, "4 bytes are no uint16")
	for _, err = range others.All(context.Background()) {
	}
	says(err, "4 bytes are no uint16")
	type three struct {
		N uint8 `bits:"3"`
	}
	small, err := TypedOf[three, three](m)
	if err != nil {
		t.Fatal(err)
	}
	says(small.Store(three{8}, three{}), "kv: a key: kv.three.N is 8")
	says(small.Store(three{}, three{9}), "kv: a value: kv.three.N is 9")
}

// Goroutines begin with small stacks, which move while keys and values are on them.
func TestTypedStacks(t *testing.T) {
	m := typedOf[[40]uint64, [64]uint64](t, Config{})
	errs := make(chan error, 1000)
	for i := range uint64(cap(errs)) {
		go func() {
			key, value := [40]uint64{0: i, 39: i}, [64]uint64{0: i, 63: i + 1}
			err := m.Store(key, value)
			got, found, getErr := m.Load(key)
			if !found || got != value {
				err = fmt.Errorf("%d became %d, %d, found %v", i, got[0], got[63], found)
			}
			errs <- errors.Join(err, getErr)
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Calls with types of fixed size allocate nothing.
func TestTypedAllocations(t *testing.T) {
	m := typedOf[uint64, place](t, Config{})
	i := uint64(0)
	count := func(what string, call func()) {
		t.Helper()
		for range 100 {
			call()
		}
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	next := func() uint64 { i++; return i % 64 }
	count("Store", func() { _ = m.Store(next(), place{}) })
	count("Load", func() { _, _, _ = m.Load(next()) })
	count("LoadOrStore", func() { _, _, _ = m.LoadOrStore(next(), place{}) })
	count("Compute", func() {
		_, _, _ = m.Compute(next(), func(p place, _ bool) (place, bool) {
			p.Floor++
			return p, true
		})
	})
	count("Delete", func() { _, _ = m.Delete(next()) })
}

// BenchmarkTyped reports how much longer typed calls take than untyped ones.
func BenchmarkTyped(b *testing.B) {
	type pair struct{ A, B uint64 }
	t := typedOf[uint64, pair](b, Config{})
	m, key, value := t.Map(), make([]byte, 8), make([]byte, 16)
	const n = 1 << 12
	for i := range uint64(n) {
		_ = t.Store(i, pair{i, i})
	}
	sum := uint64(0)
	ratio.Bench(b, "Load", n, func(i uint64) {
		p, _, _ := t.Load(i)
		sum += p.A
	}, func(i uint64) {
		binary.LittleEndian.PutUint64(key, i)
		value, _, _, _ = m.Get(key, value[:0])
		sum += binary.LittleEndian.Uint64(value)
	})
	ratio.Bench(b, "Store", n, func(i uint64) { _ = t.Store(i, pair{i, i}) }, func(i uint64) {
		binary.LittleEndian.PutUint64(key, i)
		binary.LittleEndian.PutUint64(value, i)
		binary.LittleEndian.PutUint64(value[8:], i)
		_, _ = m.Put(key, value)
	})
}

// A Load of a key that was removed returns the zero value, though its slot still has an item.
func TestTypedLoadOfRemoved(t *testing.T) {
	m := typedOf[uint64, uint64](t, Config{})
	err := m.Store(1, 7)
	_, e := m.Delete(1)
	if err = errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	if value, found, err := m.Load(1); value != 0 || found || err != nil {
		t.Errorf("a key that was removed has %d, %v, %v", value, found, err)
	}
}
