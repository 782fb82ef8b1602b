package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farhash/farhash/internal/testkit/ratio"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// place has a hole, and a float.
type place struct {
	Floor uint8
	At    [2]float64
}

type label string

// A typed cache with room for all answers as a map of Go does, for all forms of keys and values.
func TestTyped(t *testing.T) {
	now := time.Date(2024, 2, 29, 1, 2, 3, 4, time.UTC)
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		cfg.Buckets = 1 << 10
		err := e.Run(2, func(job rma.Job) error {
			return errors.Join(
				likeMap(job, cfg, map[uint64]place{1: {2, [2]float64{3, -4}}, 1 << 63: {}},
					place{}),
				likeMap(job, cfg, map[place]uint8{{1, [2]float64{2}}: 3, {}: 4}, 5),
				likeMap(job, cfg, map[[9]byte][3]uint16{{1}: {2}, {8: 1}: {}}, [3]uint16{7}),
				likeMap(job, cfg, map[label]time.Time{"": now, "just as long as goes": now},
					now.Add(1)),
				likeMap(job, cfg, map[time.Time]string{now: "", now.Add(1): "?"}, "!"))
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// likeMap has one rank put what like has into a cache, ask for it, and remove all.
func likeMap[K, V comparable](job rma.Job, cfg Config, like map[K]V, value V) error {
	ctx := context.Background()
	var zero V
	switch any(zero).(type) {
	case string, time.Time:
		cfg.KeySize, cfg.ValueSize = 24, 24
	}
	t, err := NewTyped[K, V](ctx, job, cfg)
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
		if job.Rank() > 0 {
			break
		}
		got, found, err := t.Load(k)
		expect(got == zero && !found && err == nil, "Get of none", got, found, err)
		r, err := t.Store(k, value)
		expect(r == Inserted && err == nil, "Store", r, err)
		r, err = t.Update(k, func(old V, found bool) (V, bool) {
			expect(old == value && found, "Update gives", old, found)
			return zero, false
		})
		expect(r == Unchanged && err == nil, "Update without", r, err)
		r, err = t.Update(k, func(V, bool) (V, bool) { return v, true })
		expect(r == Updated && err == nil, "Update", r, err)
		got, found, err = t.Load(k)
		expect(got == v && found && err == nil, "Load", got, found, err)
	}
	all := map[K]V{}
	for e, err := range t.All(ctx) {
		all[e.Key] = e.Value
		expect(err == nil, "All", err)
	}
	expect(maps.Equal(all, like) || job.Rank() > 0, "All", all)
	for k := range like {
		if job.Rank() > 0 {
			break
		}
		removed, err := t.Delete(k)
		expect(removed && err == nil, "Delete", removed, err)
		removed, err = t.Delete(k)
		expect(!removed && err == nil, "Delete of none", removed, err)
	}
	wrong = append(wrong, t.Cache().CheckAll(ctx), t.Cache().Close())
	return errors.Join(wrong...)
}

// typedOf is a cache in the memory of the test.
func typedOf[K, V any](t testing.TB, cfg Config) *Typed[K, V] {
	t.Helper()
	job := local.Single()
	cfg.Buckets = 1 << 14
	c, err := NewTyped[K, V](context.Background(), job, cfg)
	must(t, err)
	t.Cleanup(func() {
		must(t, c.Cache().Check(context.Background()), c.Cache().Close(), job.Close())
	})
	return c
}

// What types and a cache cannot do together is an error that says what to change.
func TestTypedWrong(t *testing.T) {
	c := typedOf[[8]byte, string](t, Config{ValueSize: 12})
	says := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := c.Store([8]byte{}, "123456789")
	says(err, "cache: a value: a string of 9 bytes; this cache takes up to 8: make KeySize or Val")
	_, err = TypedOf[[7]byte, string](c.Cache())
	says(err, "cache: KeySize is 8, and a key of type [7]uint8 has 7 bytes; make a cache with 7, "+
		"or")
	_, err = TypedOf[uint64, uint64](c.Cache())
	says(err, "cache: ValueSize is 12, and a value of type uint64 has 8 bytes; make a cache with 8")
	ctx := context.Background()
	_, err = NewTyped[uint64, []byte](ctx, c.Cache().job, Config{Buckets: 1})
	says(err, "ValueSize is 0, and a value of type []uint8 takes its bytes and 4 more; set it to 4")
	_, err = NewTyped[uint64, uint64](ctx, c.Cache().job, Config{Buckets: 1, KeySize: 9})
	says(err, "KeySize is 9")
	_, err = NewTyped[*int, uint64](ctx, c.Cache().job, Config{Buckets: 1})
	says(err, "cache: the key: *int is a *int")
	_, err = NewTyped[int, struct{ M map[int]int }](ctx, c.Cache().job, Config{Buckets: 1})
	says(err, "cache: the value: struct { M map[int]int }.M is a map")

	if _, err := c.Store([8]byte{}, "12345678"); err != nil {
		t.Error(err)
	}
	numbers, err := TypedOf[uint64, [12]byte](c.Cache())
	must(t, err)
	_, err = numbers.Store(1, [12]byte{9, 1, 1, 1, 1})
	must(t, err)
	_, _, err = c.Load([8]byte{1})
	says(err, "cache: a value: what was found is no string: give the cache one type alone")
	for _, e := range c.All(ctx) {
		err = e
	}
	says(err, "what was found is no string")
}

// Calls with types of fixed size allocate nothing.
func TestTypedAllocations(t *testing.T) {
	c := typedOf[place, [3]uint32](t, Config{})
	i := 0
	count := func(what string, call func()) {
		t.Helper()
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	next := func() place { i++; return place{Floor: uint8(i)} }
	count("Store", func() { _, _ = c.Store(next(), [3]uint32{1}) })
	count("Load", func() { _, _, _ = c.Load(next()) })
	count("Update", func() {
		_, _ = c.Update(next(), func(v [3]uint32, _ bool) ([3]uint32, bool) { return v, true })
	})
	count("Delete", func() { _, _ = c.Delete(next()) })
}

// Of calls at the same time one computes. A call that panics leaves it to another.
func TestMemoize(t *testing.T) {
	for _, panics := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			const callers = 10
			c := typedOf[uint64, uint64](t, Config{})
			calls, gate := 0, make(chan struct{})
			square := Memoize(c, func(n uint64) (uint64, error) {
				calls++
				<-gate
				if calls <= panics {
					panic("it panics")
				}
				return n * n, nil
			})
			results := make(chan uint64, callers)
			for range callers {
				go func() {
					defer func() {
						if recover() != nil {
							results <- 0
						}
					}()
					v, err := square(7)
					must(t, err)
					results <- v
				}()
			}
			for range panics + 1 {
				synctest.Wait() // one computes, the others wait for it
				gate <- struct{}{}
			}
			got := map[uint64]int{}
			for range callers {
				got[<-results]++
			}
			if got[0] != panics || got[49] != callers-panics || calls != panics+1 {
				t.Errorf("%v after %d calls, of which %d panic", got, calls, panics)
			}
			if v, err := square(7); v != 49 || err != nil || calls != panics+1 {
				t.Errorf("%d, %v, %d calls", v, err, calls)
			}
			if v, found, err := c.Load(7); v != 49 || !found || err != nil {
				t.Errorf("%d, %v, %v", v, found, err)
			}
		})
	}
}

// A result that was put between the search of a call and its turn to compute is not computed again.
func TestMemoizeLate(t *testing.T) {
	c := typedOf[uint64, uint64](t, Config{})
	m := memo[uint64, uint64]{t: c, running: map[string]*running[uint64]{},
		fn: func(uint64) (uint64, error) { return 0, errors.New("it computes again") }}
	_, err := c.Store(7, 49)
	must(t, err)
	r := &running[uint64]{ended: make(chan struct{})}
	m.run("7", 7, r)
	if r.value != 49 || r.err != nil || !r.returned {
		t.Errorf("%d, %v, %v", r.value, r.err, r.returned)
	}
}

// Errors are not kept. The calls that wait get the error and the value of the one that computes.
func TestMemoizeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := typedOf[label, uint64](t, Config{KeySize: 8})
		failure, calls, gate := errors.New("no result"), 0, make(chan struct{})
		compute := Memoize(c, func(label) (uint64, error) {
			calls++
			<-gate
			return uint64(calls), failure
		})
		results := make(chan error, 3)
		for range cap(results) {
			go func() {
				v, err := compute("a")
				if v != 1 {
					err = fmt.Errorf("value %d, %w", v, err)
				}
				results <- err
			}()
		}
		synctest.Wait()
		close(gate)
		for range cap(results) {
			if err := <-results; err != failure {
				t.Error(err)
			}
		}
		if v, err := compute("a"); v != 2 || err != failure {
			t.Errorf("%d, %v", v, err)
		}
		failure = nil
		for range 2 {
			if v, err := compute("a"); v != 3 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
		}
		if _, err := compute("longer"); err == nil || calls != 3 {
			t.Errorf("error %v after %d calls", err, calls)
		}
	})
}

// An error of the cache is returned.
func TestMemoizeClosed(t *testing.T) {
	job := local.Single()
	c, err := NewTyped[uint64, uint64](context.Background(), job, Config{Buckets: 8})
	must(t, err)
	calls := 0
	same := Memoize(c, func(n uint64) (uint64, error) {
		calls++
		return n, c.Cache().Close()
	})
	if v, err := same(5); v != 5 || !errors.Is(err, rma.ErrClosed) {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := same(5); !errors.Is(err, rma.ErrClosed) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	must(t, job.Close())
}

// BenchmarkTyped reports how much longer typed calls take than untyped ones.
func BenchmarkTyped(b *testing.B) {
	type pair struct{ A, B uint64 }
	t := typedOf[uint64, pair](b, Config{})
	c, key, value := t.Cache(), make([]byte, 8), make([]byte, 16)
	const n = 1 << 12
	sum := uint64(0)
	ratio.Bench(b, "Store", n, func(i uint64) { _, _ = t.Store(i, pair{i, i}) }, func(i uint64) {
		binary.LittleEndian.PutUint64(key, i)
		binary.LittleEndian.PutUint64(value, i)
		binary.LittleEndian.PutUint64(value[8:], i)
		_, _ = c.Put(key, value)
	})
	ratio.Bench(b, "Load", n, func(i uint64) {
		p, _, _ := t.Load(i)
		sum += p.A
	}, func(i uint64) {
		binary.LittleEndian.PutUint64(key, i)
		_, _ = c.Get(key, value)
		sum += binary.LittleEndian.Uint64(value)
	})
}
