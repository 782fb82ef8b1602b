package symbolic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
)

// levels is the length of the vectors of tests.
const levels = 4

type vector [levels]uint32

type vectors map[vector]bool

// tester compares a store with plain sets of vectors.
type tester struct {
	*testing.T
	s   *Store
	rng *rand.Rand
}

func newTester(t *testing.T, cfg Config, seed uint64) *tester {
	t.Helper()
	cfg.Levels = levels
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 16 << 20
	}
	s, err := New(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return &tester{t, s, rand.New(rand.NewPCG(seed, 1))}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// value is small, or needs all bits of an entry.
func (t *tester) value() uint32 {
	large := []uint32{1 << 27, 1<<28 - 1, 1 << 28, 1<<28 + 1, math.MaxUint32}
	if t.rng.IntN(10) == 0 {
		return large[t.rng.IntN(len(large))]
	}
	return t.rng.Uint32N(4)
}

// random is a set of up to n vectors, and the same as a node, which is held.
func (t *tester) random(n int) (vectors, Node) {
	t.Helper()
	all, node := vectors{}, Empty
	for range t.rng.IntN(n + 1) {
		v := vector{t.value(), t.value(), t.value(), t.value()}
		all[v] = true
		one, err := t.s.Vector(v[:])
		must(t, err)
		node = t.held(t.s.Union(node, one))
	}
	return all, node
}

// held is the result of an operation, from now on a root.
func (t *tester) held(n Node, err error) Node {
	t.Helper()
	must(t, err)
	t.s.Hold(n)
	return n
}

// nodeOf makes a set of vectors in another order than random.
func (t *tester) nodeOf(all vectors) Node {
	t.Helper()
	n := Empty
	for _, v := range slices.SortedFunc(maps.Keys(all), func(a, b vector) int {
		return -slices.Compare(a[:], b[:])
	}) {
		t.s.Hold(n)
		one, err := t.s.Vector(v[:])
		must(t, err)
		t.s.Release(n)
		n, err = t.s.Union(n, one)
		must(t, err)
	}
	return n
}

// same fails unless a node is the set that is expected.
func (t *tester) same(what string, n Node, err error, want vectors) {
	t.Helper()
	must(t, err)
	t.s.Hold(n)
	defer t.s.Release(n)
	got := vectors{}
	var last []uint32
	for v := range t.s.All(n) {
		if last != nil && slices.Compare(last, v) >= 0 {
			t.Fatalf("%s: %v is after %v", what, v, last)
		}
		last = slices.Clone(v)
		got[vector(v)] = true
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%s: %d vectors, not %d", what, len(got), len(want))
	}
	count, err := t.s.Count(n)
	must(t, err)
	if count.Cmp(big.NewInt(int64(len(want)))) != 0 {
		t.Fatalf("%s: Count is %v, not %d", what, count, len(want))
	}
	if other := t.nodeOf(want); other != n {
		t.Fatalf("%s: another node has the same vectors", what)
	}
	if example := t.s.Example(n); len(want) > 0 != (example != nil) ||
		example != nil && !want[vector(example)] {
		t.Fatalf("%s: Example is %v", what, example)
	}
}

// adds is a step that needs an entry, and adds to it.
func adds(level int, need uint32, change int64) Step {
	return Step{Level: level, Need: need, Change: change}
}

// steps are of a random transition.
func (t *tester) steps() (steps []Step) {
	for _, level := range t.rng.Perm(levels)[:1+t.rng.IntN(levels)] {
		need := t.rng.Uint32N(3)
		st := adds(level, need, t.rng.Int64N(3)-min(1, int64(need)))
		if t.rng.IntN(4) == 0 {
			st.Below = t.rng.Uint32N(5) // may be need or less
		}
		if t.rng.IntN(4) == 0 {
			st.Set, st.Change = true, t.rng.Int64N(4)
		}
		steps = append(steps, st)
	}
	return steps
}

func (t *tester) transition(steps []Step) Transition {
	t.Helper()
	x, err := t.s.NewTransition(steps...)
	must(t, err)
	return x
}

// enabled reports whether steps can be taken from v.
func enabled(v vector, steps []Step) bool {
	return !slices.ContainsFunc(steps, func(s Step) bool {
		return v[s.Level] < s.Need || s.Below > 0 && v[s.Level] >= s.Below
	})
}

// before are the vectors that steps lead from to v, with entries up to high.
func before(v vector, steps []Step, high []uint32) (all []vector) {
	all = []vector{v}
	for _, s := range steps {
		var more []vector
		for _, u := range all {
			if !s.Set {
				u[s.Level] = uint32(int64(u[s.Level]) - s.Change)
				more = append(more, u)
				continue
			}
			for value := range high[s.Level] + 1 {
				u[s.Level] = value
				more = append(more, u)
			}
		}
		all = more
	}
	return slices.DeleteFunc(all, func(u vector) bool {
		w, _ := fired(u, steps)
		return w != v || !enabled(u, steps)
	})
}

// fired is v after the steps; ok is false where an entry would be too large.
func fired(v vector, steps []Step) (after vector, ok bool) {
	for _, s := range steps {
		sum := int64(v[s.Level]) + s.Change
		if s.Set {
			sum = s.Change
		}
		if sum > math.MaxUint32 {
			return v, false
		}
		v[s.Level] = uint32(sum)
	}
	return v, true
}

// filter is the vectors for which keep is true.
func (all vectors) filter(keep func(vector) bool) vectors {
	some := vectors{}
	for v := range all {
		if keep(v) {
			some[v] = true
		}
	}
	return some
}

func (all vectors) with(others vectors) vectors {
	sum := maps.Clone(all)
	maps.Copy(sum, others)
	return sum
}

// paces are how often tests collect garbage: as the store does, for each node, for some.
var paces = []uint64{0, 1, 3}

// forPaces runs a test for all paces and so many seeds, or more if that is quick: with one
// goroutine, with several, and with a mirrored one, whose tasks no other takes.
func forPaces(t *testing.T, seeds int, test func(t *tester)) {
	for _, c := range []struct {
		name       string
		goroutines int
		mirrored   bool
	}{{"1 goroutine", 1, false}, {"3 goroutines", 3, false}, {"mirrored", 3, true}} {
		for _, pace := range paces {
			t.Run(fmt.Sprint(c.name, ", pace ", pace), func(t *testing.T) {
				count := replay.Often(seeds, seeds) / ((c.goroutines + 1) / 2)
				if pace == 0 {
					count *= 12 // they take little time
				}
				for seed := range uint64(count) {
					x := newTester(t, Config{pace: pace, Goroutines: c.goroutines,
						eager: !c.mirrored}, seed)
					x.s.workers[0].mirrored = c.mirrored
					test(x)
				}
			})
		}
	}
}

// TestOperations compares the operations on random sets with plain sets of vectors.
func TestOperations(t *testing.T) {
	forPaces(t, 6, func(t *tester) {
		a, na := t.random(30)
		b, nb := t.random(30)
		n, err := t.s.Union(na, nb)
		t.same("union", n, err, a.with(b))
		n, err = t.s.Intersect(na, nb)
		t.same("intersection", n, err, a.filter(func(v vector) bool { return b[v] }))
		n, err = t.s.Minus(na, nb)
		t.same("minus", n, err, a.filter(func(v vector) bool { return !b[v] }))
		t.same("operand", na, nil, a)
	})
}

// TestFire compares what transitions make of sets, and of sets that lead to them. Where an entry
// would be too large that is an error; the vectors without such an entry are fired again.
func TestFire(t *testing.T) {
	forPaces(t, 6, func(t *tester) {
		a, na := t.random(30)
		b, nb := t.random(30)
		steps := t.steps()
		x := t.transition(steps)
		fits := a.filter(func(v vector) bool {
			_, ok := fired(v, steps)
			return ok
		})
		if some := a.filter(func(v vector) bool {
			return enabled(v, steps) && !fits[v]
		}); len(some) > 0 {
			if _, err := t.s.Fire(na, x); !errors.Is(err, ErrValue) {
				t.Fatalf("an entry becomes too large, and Fire says %v", err)
			}
		}
		a, na = fits, t.held(t.nodeOf(fits), nil)
		can, after := a.filter(func(v vector) bool { return enabled(v, steps) }), vectors{}
		for v := range can {
			w, _ := fired(v, steps)
			after[w] = true
		}
		n, err := t.s.Fire(na, x)
		t.same("fire", n, err, after)
		n, err = t.s.FireUnion(na, x, nb)
		t.same("fire and union", n, err, after.with(b))
		high, lead := []uint32{2, 1, 3, 2}, vectors{}
		for v := range after {
			for _, u := range before(v, steps, high) {
				lead[u] = true
			}
		}
		back, err := t.s.Reversed(x, high)
		must(t.T, err)
		n, err = t.s.Fire(t.held(t.s.Fire(na, x)), back)
		t.same("predecessors", n, err, lead)
		n, err = t.s.Disabled(na, x)
		t.same("disabled", n, err, a.filter(func(v vector) bool { return !can[v] }))
	})
}

// TestBlocked: a transition whose entry can never be large and small enough leads nowhere, and back
// from nowhere.
func TestBlocked(t *testing.T) {
	x := newTester(t, Config{}, 1)
	all, high := vectors{}, []uint32{3, 3, 3, 3}
	for value := range uint32(4) {
		all[vector{value}] = true
	}
	n := x.held(x.nodeOf(all), nil)
	for need := range uint32(4) {
		for below := range uint32(4) {
			for _, set := range []bool{false, true} {
				steps := []Step{{Need: need, Below: below, Change: -int64(need), Set: set}}
				if set {
					steps[0].Change = 1
				}
				there := x.transition(steps)
				back, err := x.s.Reversed(there, high)
				must(t, err)
				after, lead := vectors{}, vectors{}
				for v := range all {
					if w, _ := fired(v, steps); enabled(v, steps) {
						after[w] = true
					}
					for _, u := range before(v, steps, high) {
						lead[u] = true
					}
				}
				to, err := x.s.Fire(n, there)
				x.same("there", to, err, after)
				from, err := x.s.Fire(n, back)
				x.same("back", from, err, lead)
			}
		}
	}
}

// TestFilters compares weighted sums, the largest entries, and what is stuck.
func TestFilters(t *testing.T) {
	forPaces(t, 6, func(t *tester) {
		a, na := t.random(40)
		weights := map[int]int64{t.rng.IntN(levels): t.rng.Int64N(7) - 3,
			t.rng.IntN(levels): t.rng.Int64N(7) - 3}
		sum := func(v vector) (sum int64) {
			for level, w := range weights {
				sum += w * int64(v[level])
			}
			return sum
		}
		t.nearest(na, a)
		constant, largest := t.rng.Int64N(7)-3, int64(math.MinInt64)
		low, high := make([]uint32, levels), make([]uint32, levels)
		n := 0
		for v := range a {
			largest = max(largest, sum(v)+constant)
			for level := range low {
				if n++; n <= levels {
					low[level] = v[level]
				}
				low[level], high[level] = min(low[level], v[level]), max(high[level], v[level])
			}
		}
		node, err := t.s.AtMost(na, weights, constant)
		t.same("at most", node, err, a.filter(func(v vector) bool { return sum(v) <= constant }))
		least, most, err := t.s.Extremes(na)
		must(t, err)
		if !slices.Equal(least, low) || !slices.Equal(most, high) {
			t.Fatalf("Extremes are %v and %v, not %v and %v", least, most, low, high)
		}
		if got, err := t.s.Largest(na, weights, constant); (err == nil) != (len(a) > 0) ||
			err == nil && got != largest {
			t.Fatalf("Largest is %d with error %v, not %d", got, err, largest)
		}
		all, many := [][]Step{t.steps(), t.steps(), t.steps()}, []Transition(nil)
		firings := int64(0)
		for _, steps := range all {
			many = append(many, t.transition(steps))
			for v := range a {
				if enabled(v, steps) {
					firings++
				}
			}
		}
		node, err = t.s.Stuck(na, many)
		t.same("stuck", node, err, a.filter(func(v vector) bool {
			return !slices.ContainsFunc(all, func(s []Step) bool { return enabled(v, s) })
		}))
		got, err := t.s.Firings(na, many, 1<<20)
		must(t, err)
		if got == nil || got.Int64() != firings {
			t.Fatalf("Firings is %v, not %d", got, firings)
		}
		got, err = t.s.Firings(na, many, 1)
		must(t, err)
		if got != nil && len(a) > 0 {
			t.Fatal("Firings takes one step")
		}
	})
}

// TestReach compares all strategies with an explicit search, on random nets that keep or lose
// tokens: first with a part of the transitions, then, in the same store, with all.
func TestReach(t *testing.T) {
	forPaces(t, 12, func(t *tester) {
		from, nodes := vectors{}, Empty
		for range 1 + t.rng.IntN(2) {
			v := vector{t.rng.Uint32N(4), t.rng.Uint32N(4), t.rng.Uint32N(2), t.rng.Uint32N(3)}
			from[v] = true
			one, err := t.s.Vector(v[:])
			must(t.T, err)
			nodes = t.held(t.s.Union(nodes, one))
		}
		var all [][]Step
		var many []Transition
		for range 2 {
			for range 1 + t.rng.IntN(3) {
				all = append(all, t.moves())
				many = append(many, t.transition(all[len(all)-1]))
			}
			want := search(from, all)
			for _, strategy := range Strategies() {
				n, err := t.s.Reach(nodes, many, strategy)
				t.same(string(strategy), n, err, want)
			}
		}
	})
}

// moves are steps that move a token, and may need or lose others, or need that there are few.
func (t *tester) moves() []Step {
	at := t.rng.Perm(levels)
	steps := []Step{adds(at[0], 1+t.rng.Uint32N(2), -1), adds(at[1], t.rng.Uint32N(2), 1)}
	switch t.rng.IntN(6) {
	case 0, 1, 2:
		steps = append(steps, adds(at[2], 1, -t.rng.Int64N(2)))
	case 3, 4:
		left := t.rng.Uint32N(3)
		steps = append(steps, Step{Level: at[2], Need: left, Change: int64(left), Set: true})
	}
	if t.rng.IntN(3) == 0 {
		steps[t.rng.IntN(len(steps))].Below = 2 + t.rng.Uint32N(3)
	}
	return steps
}

// search is what is reachable, found one vector at a time.
func search(from vectors, all [][]Step) vectors { return searchWithin(from, all, nil) }

// searchWithin is search that does not leave a set, where that is not nil.
func searchWithin(from vectors, all [][]Step, within vectors) vectors {
	found, pending := maps.Clone(from), slices.Collect(maps.Keys(from))
	for len(pending) > 0 {
		v := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, steps := range all {
			if !enabled(v, steps) {
				continue
			}
			if w, _ := fired(v, steps); !found[w] && (within == nil || within[w]) {
				found[w] = true
				pending = append(pending, w)
			}
		}
	}
	return found
}

// TestCollect: what is held stays, what is not goes, and a node that is held twice is released
// twice.
func TestCollect(t *testing.T) {
	x := newTester(t, Config{}, 1)
	a, na := x.random(200)
	_, nb := x.random(200)
	must(t, x.s.Collect())
	x.same("held", na, nil, a)
	both := x.s.Stats().Nodes
	x.s.Hold(na)
	x.s.Release(nb)
	x.s.Release(na)
	for n := range x.s.roots {
		if n != na {
			delete(x.s.roots, n)
		}
	}
	must(t, x.s.Collect())
	size, err := x.s.Size(na)
	must(t, err)
	if st := x.s.Stats(); st.Nodes != uint64(size) || st.Nodes >= both {
		t.Errorf("%d nodes are left of %d; the set has %d", st.Nodes, both, size)
	}
	x.same("held", na, nil, a)
	x.s.Release(na)
	must(t, x.s.Collect())
	if st := x.s.Stats(); st.Nodes != 0 {
		t.Errorf("%d nodes are left", st.Nodes)
	}
}

// TestRoots: a collection within an operation keeps what is held, what is on the stack, the entries
// of open rows, and what the next node needs.
func TestRoots(t *testing.T) {
	x := newTester(t, Config{}, 1)
	var nodes [5]Node
	for i := range nodes {
		v := uint32(10 * i)
		one, err := x.s.Vector([]uint32{v, v + 1, v + 2, v + 3})
		must(t, err)
		nodes[i] = one
	}
	x.s.Hold(nodes[0])
	_, err := x.s.do(func(w *worker) Node {
		w.push(nodes[1])
		r := w.openRow()
		r.entries = append(r.entries, rowEntry{down: nodes[2]})
		w.collectKeeping(nodes[3], nodes[4])
		return Empty
	})
	must(t, err)
	if n := x.s.Stats().Nodes; n != uint64(len(nodes)*levels) {
		t.Fatalf("%d nodes are left of %d", n, len(nodes)*levels)
	}
}

// TestFull: a set that does not fit is an error, and what was held before it stays.
func TestFull(t *testing.T) {
	for _, goroutines := range []int{1, 3} {
		t.Run(fmt.Sprint(goroutines, " goroutines"), func(t *testing.T) { testFull(t, goroutines) })
	}
}

func testFull(t *testing.T, goroutines int) {
	x := newTester(t, Config{MaxBytes: MinBytes, Goroutines: goroutines, eager: true}, 1)
	a, na := x.random(50)
	from, err := x.s.Vector(make([]uint32, levels))
	must(t, err)
	x.s.Hold(from)
	var grow []Transition
	for level := range levels {
		grow = append(grow, x.transition([]Step{adds(level, 0, 1), adds((level+1)%levels, 0, 3)}))
	}
	alone := x.transition([]Step{adds(levels-1, 0, 1)})
	_, err = x.s.Reach(from, []Transition{alone}, Saturation)
	if full := (*FullError)(nil); !errors.As(err, &full) {
		t.Errorf("an endless list gives %v", err)
	}
	_, err = x.s.Reach(from, grow, Saturation)
	if full := (*FullError)(nil); !errors.As(err, &full) || full.Nodes < MinBytes/64 {
		t.Fatalf("an endless set gives %v", err)
	}
	for i := uint32(0); x.s.Stats().Collections == 0; i++ { // sets that nobody holds make room
		_, err := x.s.Vector(slices.Repeat([]uint32{i}, levels))
		must(t, err)
	}
	x.same("held", na, nil, a)
	must(t, x.s.elements.Check(t.Context()))
	if st := x.s.Stats(); st.Bytes > MinBytes || st.Collections == 0 {
		t.Errorf("%+v with %d bytes", st, MinBytes)
	}
}

// TestRefused: errors, after which the store can be used.
func TestRefused(t *testing.T) {
	for _, cfg := range []Config{{}, {Levels: 2, MaxBytes: 100}} {
		if _, err := New(t.Context(), cfg); err == nil {
			t.Errorf("New accepts %+v", cfg)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := New(ctx, Config{Levels: 1, MaxBytes: MinBytes, deepest: 100})
	must(t, err)
	list := [2]Node{}
	for v := range uint32(300) {
		one, err := s.Vector([]uint32{300 - v})
		must(t, err)
		list[v%2], err = s.Union(one, list[v%2])
		must(t, err)
	}
	_, long := s.Vector(make([]uint32, 2))
	_, deep := s.Union(list[0], list[1])
	_, none := s.NewTransition()
	_, level := s.NewTransition(Step{Level: 1})
	_, twice := s.NewTransition(Step{}, Step{})
	_, negative := s.NewTransition(Step{Need: 1, Change: -2})
	_, set := s.NewTransition(Step{Need: 1, Change: -1, Set: true})
	sets, err := s.NewTransition(Step{Set: true})
	must(t, err)
	back, err := s.Reversed(sets, []uint32{7})
	must(t, err)
	_, again := s.Reversed(back, []uint32{7})
	_, weight := s.AtMost(list[0], map[int]int64{0: math.MaxInt64}, 0)
	_, least := s.Largest(list[0], map[int]int64{0: math.MinInt64}, 0)
	_, other := s.Largest(list[0], map[int]int64{1: 1}, 0)
	_, strategy := s.Reach(list[0], nil, "none")
	for i, err := range []error{long, none, level, twice, negative, set, again, weight, least,
		other, strategy} {
		if err == nil {
			t.Errorf("call %d succeeds", i)
		}
	}
	if !errors.Is(deep, errDepth) {
		t.Errorf("a deep operation says %v", deep)
	}
	ended := errors.New("that is enough")
	cancel(ended)
	for s.crew.signal.Load() == 0 { // AfterFunc runs at once, in a goroutine
		_, _ = s.Count(list[0])
	}
	if _, err := s.Union(list[0], list[1]); !errors.Is(err, ended) {
		t.Errorf("after the end: %v", err)
	}
	must(t, s.Close())
	if _, err := s.Union(Empty, Empty); !errors.Is(err, rma.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// nearest fails unless Nearest is as near as a vector of a set can be.
func (t *tester) nearest(n Node, of vectors) {
	t.Helper()
	to := make([]uint32, t.s.Levels())
	for i := range to {
		to[i] = t.rng.Uint32N(6)
	}
	distance := func(v []uint32) (sum int) {
		for i := range v {
			sum += max(int(v[i])-int(to[i]), int(to[i])-int(v[i]))
		}
		return sum
	}
	least := math.MaxInt
	for v := range of {
		least = min(least, distance(v[:]))
	}
	v, err := t.s.Nearest(n, to, 1<<20)
	must(t, err)
	if (v == nil) != (len(of) == 0) || v != nil && (distance(v) != least || !t.s.Has(n, v)) {
		t.Fatalf("%v is nearest to %v, and another one has the distance %d", v, to, least)
	}
	if v, err := t.s.Nearest(n, to, 1); v != nil || err != nil {
		t.Fatalf("of two nodes or more %v is nearest, with error %v", v, err)
	}
	if _, err := t.s.Nearest(n, to[1:], 1); err == nil {
		t.Fatal("a short vector has a nearest one")
	}
}

// A cache grows when half of its entries were replaced. A large one does when all were, where most
// lookups find a result, and else less and later. It has a largest size.
func TestCacheGrows(t *testing.T) {
	for _, x := range []struct {
		entries, replaced int
		found             bool
		times             int
	}{
		{firstEntries, firstEntries / 2, false, 4}, {slowEntries / 4, slowEntries / 8, true, 4},
		{slowEntries, slowEntries, true, 4}, {4 * slowEntries, 4 * slowEntries, true, 4},
		{slowEntries, 4 * slowEntries, false, 2},
	} {
		c := cache{entries: make([]entry, x.entries), most: x.entries * 8}
		enough := uint64(x.replaced)
		if c.growth(enough, x.found) != 1 || c.growth(enough+1, x.found) != x.times {
			t.Errorf("%d entries do not grow %d times after %d replaced ones", x.entries, x.times,
				x.replaced)
		}
		if c.most = x.entries; c.growth(2*enough, x.found) != 1 {
			t.Errorf("%d entries grow to more than the largest size", x.entries)
		}
	}
}

// TestFingerprints: results are found after they have taken the place of others, while others come
// whose fingerprints are in the same word, and in a larger cache.
func TestFingerprints(t *testing.T) {
	s := newTester(t, Config{}, 1).s
	w := s.workers[0]
	var keys []key // two for each of eight entries
	for b := uint64(0); len(keys) < 16; b++ {
		k := keyOf(opFire, 2, b, 0)
		if at := k.hash & uint64(len(w.entries)-1); at == uint64(len(keys)%8) {
			keys = append(keys, k)
		}
	}
	for i, k := range keys {
		w.put(&k, Node(i+1))
	}
	if w.replaced != 8 {
		t.Errorf("%d results were replaced, not 8", w.replaced)
	}
	for range 2 {
		for i, k := range keys {
			if i < 8 {
				wants(t, w, k, Empty)
			} else {
				wants(t, w, k, Node(i+1))
			}
		}
		s.growCache(4)
	}
}
