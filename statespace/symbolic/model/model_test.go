package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/symbolic"
)

const integers = 3

type state [integers]uint32

// system is a model as plain sets.
type system struct {
	initial map[state]bool
	after   []func(state) []state // by relation
}

// reachable is all reachable states, and how many of them no state follows.
func (s *system) reachable() (all map[state]bool, deadlocks int) {
	all = maps.Clone(s.initial)
	for pending := slices.Collect(maps.Keys(all)); len(pending) > 0; {
		st, next := pending[0], 0
		pending = pending[1:]
		for _, after := range s.after {
			for _, n := range after(st) {
				if next++; !all[n] {
					all[n] = true
					pending = append(pending, n)
				}
			}
		}
		if next == 0 {
			deadlocks++
		}
	}
	return all, deadlocks
}

// states are up to so many random ones, sorted.
func states(rng *rand.Rand, n int, below uint32) (all []state) {
	for range 1 + rng.IntN(n) {
		all = append(all, state{rng.Uint32N(below), rng.Uint32N(below), rng.Uint32N(below)})
	}
	slices.SortFunc(all, func(a, b state) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

func setOf(all []state) map[state]bool {
	set := map[state]bool{}
	for _, s := range all {
		set[s] = true
	}
	return set
}

// largeValue is an entry of whose bits both words of a node have some.
const largeValue = 1<<28 | 1

// randomLDD is a random model and its file.
func randomLDD(rng *rand.Rand) (system, []byte) {
	var f lddWriter
	first := states(rng, 3, 3)
	s := system{initial: setOf(first)}
	f.int(integers, -1)
	var vectors [][]entry
	for _, st := range first {
		var v []entry
		for _, value := range st {
			v = append(v, entry{value: value})
		}
		vectors = append(vectors, v)
	}
	f.diagram(vectors)
	count := rng.IntN(4)
	f.int(count)
	var relations [][][]entry
	for range count {
		levels := [2][]int{}
		entries := 0
		for level := range integers {
			for kind := range levels {
				if rng.IntN(2) == 0 {
					levels[kind] = append(levels[kind], level)
					entries++
				}
			}
		}
		f.int(len(levels[0]), len(levels[1]))
		f.int(levels[0]...)
		f.int(levels[1]...)
		vectors := randomVectors(rng, entries, rng.IntN(2))
		relations = append(relations, vectors)
		s.after = append(s.after, func(st state) (next []state) {
			for _, v := range vectors {
				if n, ok := follow(st, v, levels); ok {
					next = append(next, n)
				}
			}
			return next
		})
	}
	for _, r := range relations {
		f.diagram(r)
	}
	f.int(0)
	return s, f.Bytes()
}

// randomVectors are sorted as in diagrams, with so many entries and an action label or none.
func randomVectors(rng *rand.Rand, entries, labels int) (vectors [][]entry) {
	for range rng.IntN(6) {
		v := make([]entry, entries+labels)
		for i := range v {
			if v[i] = (entry{value: rng.Uint32N(3)}); rng.IntN(9) == 0 {
				v[i].value = largeValue
			}
			if i < entries && rng.IntN(4) == 0 {
				v[i] = entry{copy: true}
			}
		}
		vectors = append(vectors, v)
	}
	byEntries := func(a, b []entry) int {
		return slices.CompareFunc(a, b, func(a, b entry) int {
			if a.copy != b.copy {
				return map[bool]int{true: -1, false: 1}[a.copy]
			}
			return cmp.Compare(a.value, b.value)
		})
	}
	slices.SortFunc(vectors, byEntries)
	return slices.CompactFunc(vectors, slices.Equal)
}

// follow is a state after one vector of a relation that reads and writes these levels.
func follow(st state, v []entry, levels [2][]int) (state, bool) {
	after := st
	for level := range integers {
		if slices.Contains(levels[0], level) {
			if !v[0].copy && v[0].value != st[level] {
				return st, false
			}
			v = v[1:]
		}
		if slices.Contains(levels[1], level) {
			if !v[0].copy {
				after[level] = v[0].value
			}
			v = v[1:]
		}
	}
	return after, true
}

const bits = 2 // of an integer in the models of randomBDD

// assignment is the bits of a state, the highest of each integer first.
func assignment(st state) (a []bool) {
	for _, v := range st {
		for bit := bits - 1; bit >= 0; bit-- {
			a = append(a, v>>bit&1 != 0)
		}
	}
	return a
}

// randomBDD is a random model and its file.
func randomBDD(rng *rand.Rand) (system, []byte) {
	var f bddWriter
	first := states(rng, 3, 1<<bits)
	s := system{initial: setOf(first)}
	f.int(integers, bits, 1)
	var variables []uint32
	for i := range integers * bits {
		variables = append(variables, uint32(2*i))
	}
	var initial [][]bool
	for _, st := range first {
		initial = append(initial, assignment(st))
	}
	roots := []edge{f.set(variables, initial), integers, f.all(variables)}
	f.diagrams(roots...)
	count := rng.IntN(3)
	f.int(count)
	for range count {
		kept := rng.IntN(integers) // the relation has the other two integers
		var pairs []uint32
		for i := range integers * bits {
			if i/bits != kept {
				pairs = append(pairs, uint32(2*i), uint32(2*i+1))
			}
		}
		from, to := states(rng, 6, 1<<bits), states(rng, 6, 1<<bits)
		n := min(len(from), len(to))
		var steps [][]bool
		for i := range n {
			var step []bool
			a, b := assignment(from[i]), assignment(to[i])
			for j := range a {
				if j/bits != kept {
					step = append(step, a[j], b[j])
				}
			}
			steps = append(steps, append(step, rng.IntN(2) == 0)) // an action label
		}
		label := uint32(2 * integers * bits)
		root := f.set(append(slices.Clone(pairs), label), steps)
		f.diagrams(root, f.all(pairs))
		s.after = append(s.after, func(st state) (next []state) {
			for i := range n {
				a, b := from[i], to[i]
				a[kept], b[kept] = st[kept], st[kept]
				if a == st {
					next = append(next, b)
				}
			}
			return next
		})
	}
	return s, f.Bytes()
}

// TestExplore compares random models of both formats with a search one state at a time.
func TestExplore(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, file := randomLDD(rng)
		if seed%2 == 1 {
			s, file = randomBDD(rng)
		}
		m, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if m.Integers != integers || m.Groups != len(s.after) {
			t.Fatalf("seed %d: %+v", seed, m)
		}
		all, deadlocks := s.reachable()
		for _, strategy := range append(symbolic.Strategies(), "") {
			res, err := Explore(t.Context(), m, Options{MaxBytes: 4 << 20, Strategy: strategy,
				Deadlocks: true})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, strategy, err)
			}
			if res.States.Int64() != int64(len(all)) || res.Deadlocks.Int64() != int64(deadlocks) {
				t.Fatalf("seed %d, %s: %v states, %v deadlocks; not %d, %d", seed, strategy,
					res.States, res.Deadlocks, len(all), deadlocks)
			}
		}
	}
}

// TestLoadRefused: a store of other vectors, and one that has ended.
func TestLoadRefused(t *testing.T) {
	_, file := randomLDD(rand.New(rand.NewPCG(1, 1)))
	m, err := Read(bytes.NewReader(file), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("that is enough")
	cancel(ended)
	for _, strategy := range []symbolic.Strategy{symbolic.Loops, ""} {
		_, err = Explore(ctx, m, Options{MaxBytes: 4 << 20, Strategy: strategy})
		if !errors.Is(err, ended) {
			t.Errorf("after the end, strategy %q: %v", strategy, err)
		}
	}
	s, err := symbolic.New(t.Context(), symbolic.Config{Levels: integers + 1, MaxBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := m.Load(s); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("a store of %d levels: %v", integers+1, err)
	}
}
