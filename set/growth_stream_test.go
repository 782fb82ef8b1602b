package set

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// grownStream runs operations on a set that grows, and holds the answers against a map.
type grownStream struct {
	*stream
	largest uint64 // buckets
}

// TestGrowthStreams runs random streams on sets that grow, on every engine.
func TestGrowthStreams(t *testing.T) {
	for _, bytes := range []int{0, 7, 16, 100, anyLength} {
		grown := 0
		rapid.Check(t, func(t *rapid.T) {
			data := rapid.SliceOfN(rapid.Byte(), 100, 400).Draw(t, "stream")
			src := &source{data}
			s := decodeShape(src, bytes)
			s.on(engine(rapid.IntRange(0, int(allEngines)-1).Draw(t, "engine")))
			more, err := runGrownStream(s, src)
			if err != nil {
				t.Fatal(err)
			}
			if more {
				grown++
			}
		})
		if grown == 0 {
			t.Errorf("elements of %d bytes: no set has grown", bytes)
		}
	}
}

// FuzzGrowth is TestGrowthStreams for streams that the fuzzer makes.
func FuzzGrowth(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		src := &source{data[:min(len(data), 300)]}
		s := decodeShape(src, []int{0, 7, 16, 100, anyLength}[src.next()%5])
		_, err := runGrownStream(s, src)
		must(t, err)
	})
}

// runGrownStream reports whether the set has grown.
func runGrownStream(s shape, src *source) (grown bool, err error) {
	s.cfg.MaxBytes = 1 << 16 // of 256 elements all fit
	jobs, stop := startRanks(s.engine, s.ranks, uint64(len(src.data)))
	st := &grownStream{stream: &stream{shape: s, jobs: jobs, stored: map[int]bool{}}}
	defer func() { err = errors.Join(err, stop(), os.RemoveAll(st.dir)) }()
	if st.ranks, err = subjectsOf(jobs, s); err != nil {
		return false, err
	}
	for number := 0; len(src.data) > 0; number++ {
		if err := st.operation(src); err != nil {
			return false, fmt.Errorf("operation %d on %+v: %w", number, s, err)
		}
	}
	if err := st.verify(); err != nil {
		return false, fmt.Errorf("at the end, on %+v: %w", s, err)
	}
	return st.largest > s.cfg.Buckets, onAll(len(jobs), func(rank int) error {
		return st.ranks[rank].close()
	})
}

func (st *grownStream) operation(src *source) error {
	code, subject := src.next(), st.ranks[src.next()%len(st.ranks)]
	switch code % 10 {
	case 0, 1, 2:
		return st.insert(subject, []int{src.next()}, true)
	case 3, 4:
		return st.insert(subject, takeIDs(src), false)
	case 5:
		return st.contains(subject, []int{src.next()}, true)
	case 6, 7:
		return st.contains(subject, takeIDs(src), false)
	case 8:
		return st.verify()
	}
	first := src.next() % 9
	switch {
	case first == 7:
		return st.save()
	case first == 8 && st.saved != nil:
		maps.Copy(st.stored, st.saved)
		return onAll(len(st.ranks), func(rank int) error { return st.ranks[rank].load(st.file()) })
	}
	keep := func(id int) bool { return id%6 >= first }
	err := onAll(len(st.ranks), func(rank int) error { return st.ranks[rank].collect(keep) })
	maps.DeleteFunc(st.stored, func(id int, _ bool) bool { return !keep(id) })
	return err
}

// insert inserts elements. A new one is inserted once, also if the batch has it twice.
func (st *grownStream) insert(s subject, ids []int, single bool) error {
	results, _, err := s.findOrPut(ids, single)
	if err != nil {
		return err
	}
	st.largest = max(st.largest, s.table().newest().buckets)
	inserted := map[int]int{}
	for i, id := range ids {
		switch {
		case results[i] == Inserted && !st.stored[id]:
			inserted[id]++
		case results[i] != Found:
			return fmt.Errorf("element %d (stored: %v): %v", id, st.stored[id], results[i])
		}
	}
	for _, id := range ids {
		if !st.stored[id] && inserted[id] != 1 {
			return fmt.Errorf("new element %d was inserted %d times", id, inserted[id])
		}
	}
	for id := range inserted {
		st.stored[id] = true
	}
	return nil
}

// verify checks all tables, and compares what iterations and counts give with the map.
func (st *grownStream) verify() error {
	err := checkRanks(st.jobs, func(rank int, ctx context.Context) error {
		return st.ranks[rank].check(ctx)
	})
	if err != nil {
		return err
	}
	var there []int
	for _, s := range st.ranks {
		ids, err := s.local()
		if err != nil {
			return err
		}
		there = append(there, ids...)
		n, _, err := s.size()
		if err != nil {
			return err
		}
		if n != uint64(len(st.stored)) {
			return fmt.Errorf("Len is %d, of %d elements", n, len(st.stored))
		}
	}
	slices.Sort(there)
	if want := slices.Sorted(maps.Keys(st.stored)); !slices.Equal(there, want) {
		return fmt.Errorf("there are %v, not %v", there, want)
	}
	return nil
}

// Used counts the buckets of the table that another rank has come to.
func TestUsedAfterGrowth(t *testing.T) {
	jobs, stop := startRanks(engineHidden, 2, 1)
	sets, err := newSets(jobs, Config{Buckets: 64, MaxBytes: 1 << 16})
	must(t, err)
	for word := uint64(0); sets[0].Config().Buckets == 64; word++ {
		_, err := sets[0].FindOrPut(word)
		must(t, err)
	}
	n, err := sets[1].Len(t.Context())
	must(t, err)
	used, err := sets[1].Used(t.Context())
	must(t, err)
	if want := float64(n) / float64(sets[0].Config().Buckets); used != want {
		t.Errorf("%v of the buckets are used, not %v", used, want)
	}
	must(t, sets[0].Close(), sets[1].Close(), stop())
}
