package set

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/ratio"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

type place struct {
	X, Y  int16
	Level uint8 `bits:"3"`
	ok    bool
}

type wide struct {
	A, B uint64
	C    int8
}

// checkTyped inserts different elements of a type, one of them twice.
func checkTyped[K comparable](t *testing.T, job rma.Job, keys ...K) {
	s, err := NewTyped[K](t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	half, results := len(keys)/2, make([]Result, len(keys))
	for _, key := range keys[:half] {
		if r, err := s.FindOrPut(key); r != Inserted || err != nil {
			t.Errorf("%v: %v, %v", key, r, err)
		}
	}
	if found, err := s.Contains(keys[half]); found || err != nil {
		t.Errorf("%v: found %v, %v", keys[half], found, err)
	}
	if err := s.FindOrPutBatch(keys, results); err != nil {
		t.Error(err)
	}
	for i, r := range results {
		if want := i >= half; r == Inserted != want {
			t.Errorf("%v: %v", keys[i], r)
		}
	}
	if found, err := s.Contains(keys[0]); !found || err != nil {
		t.Errorf("%v: found %v, %v", keys[0], found, err)
	}
	if err := s.ContainsBatch(keys, results); err != nil || slices.Contains(results, NotFound) {
		t.Errorf("ContainsBatch: %v, %v", results, err)
	}
	var all []K
	for key, err := range s.All(t.Context()) {
		if err != nil || slices.Contains(all, key) || !slices.Contains(keys, key) {
			t.Errorf("All has %v, %v", key, err)
		}
		all = append(all, key)
	}
	n, err := s.Len(t.Context())
	if err != nil || n != uint64(len(keys)) || len(all) != len(keys) {
		t.Errorf("%d elements, %d in All, of %d: %v", n, len(all), len(keys), err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Each type is inserted once, found and read back, whichever set it makes, with and without direct
// memory.
func TestTyped(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		job := local.SingleWith(local.Options{Hidden: hidden})
		checkTyped(t, job, uint32(0), 1, math.MaxUint32)
		checkTyped(t, job, int64(0), -1, math.MinInt64, math.MaxInt64)
		checkTyped(t, job, uint64(1)<<63, 0, math.MaxUint64)
		checkTyped(t, job, 0.0, 1.5, math.Inf(1))
		checkTyped(t, job, place{}, place{X: -1}, place{Y: -1}, place{Level: 7}, place{ok: true})
		checkTyped(t, job, wide{}, wide{A: 1}, wide{B: 1}, wide{C: -1})
		checkTyped(t, job, "", "a", "b", strings.Repeat("long", 100))
		checkTyped(t, job, time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC(), time.Unix(3, 0).UTC())
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A batch that searches inserts nothing.
func TestTypedBatchOfOthers(t *testing.T) {
	job := local.Single()
	defer job.Close()
	s, err := NewTyped[string](t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	results := make([]Result, 1)
	for range 2 {
		if err := s.ContainsBatch([]string{"a"}, results); err != nil || results[0] != NotFound {
			t.Errorf("%v, %v", results, err)
		}
	}
}

// What a set cannot hold is an error that names it.
func TestTypedWrong(t *testing.T) {
	job := local.Single()
	defer job.Close()
	_, err := NewTyped[map[int]int](t.Context(), job, Config{})
	if err == nil || !strings.Contains(err.Error(), "map") {
		t.Errorf("a map: %v", err)
	}
	_, err = NewTyped[[5000]byte](t.Context(), job, Config{})
	if err == nil || !strings.Contains(err.Error(), "ElementBytes") {
		t.Errorf("5000 bytes: %v", err)
	}
	s, err := NewTyped[place](t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.FindOrPut(place{Level: 8})
	batchErr := s.FindOrPutBatch([]place{{}, {Level: 8}}, make([]Result, 2))
	for _, err := range []error{err, batchErr} {
		if err == nil || !strings.Contains(err.Error(), "Level") {
			t.Errorf("a number that its tag does not allow: %v", err)
		}
	}
}

// Of goroutines that insert the same elements one inserts each.
func TestTypedTogether(t *testing.T) {
	job := local.Single()
	defer job.Close()
	s, err := NewTyped[wide](t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	inserted := 0
	for range 4 {
		wg.Go(func() {
			for i := range uint64(1000) {
				r, err := s.FindOrPut(wide{A: i, B: i * i})
				if err != nil {
					t.Error(err)
				}
				if r == Inserted {
					mu.Lock()
					inserted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if inserted != 1000 {
		t.Errorf("%d inserted, of 1000", inserted)
	}
}

// Calls of types of fixed size allocate nothing.
func TestTypedAllocations(t *testing.T) {
	if testing.CoverMode() != "" || memory.RaceEnabled {
		t.Skip("instrumented code allocates")
	}
	job := local.Single()
	defer job.Close()
	few, err := NewTyped[place](t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer few.Close()
	many, err := NewTyped[wide](t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	i := uint64(0)
	for what, call := range map[string]func(){
		"FindOrPut of a word": func() { i++; _, _ = few.FindOrPut(place{X: int16(i)}) },
		"Contains of a word":  func() { _, _ = few.Contains(place{X: int16(i)}) },
		"FindOrPut":           func() { i++; _, _ = many.FindOrPut(wide{A: i}) },
		"Contains":            func() { _, _ = many.Contains(wide{A: i}) },
	} {
		if n := testing.AllocsPerRun(1000, call); n >= 1 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// BenchmarkTyped compares typed calls with others.
func BenchmarkTyped(b *testing.B) {
	const n = 1 << 16
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	words, err := NewTyped[uint32](ctx, job, Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer words.Close()
	elements, err := NewTyped[[2]uint64](ctx, job, Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer elements.Close()
	ratio.Bench(b, "word", n, func(i uint64) { _, _ = words.FindOrPut(uint32(i)) },
		func(i uint64) { _, _ = words.words.FindOrPut(i) })
	key := make([]byte, 16)
	ratio.Bench(b, "element", n, func(i uint64) { _, _ = elements.FindOrPut([2]uint64{i, i}) },
		func(i uint64) {
			key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)
			_, _ = elements.bytes.FindOrPut(key)
		})
}
