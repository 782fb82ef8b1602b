package symbolic

import (
	"maps"
	"slices"
	"testing"
)

// plain is a relation as a list of vectors.
type plain struct {
	access  []Access
	vectors [][]uint32
}

// after adds the vectors that follow v by one vector of a relation.
func (p *plain) after(all vectors, v vector, entries []uint32, level int) {
	if level == len(p.access) {
		all[v] = true
		return
	}
	switch p.access[level] {
	case Read:
		if v[level] != entries[0] {
			return
		}
		entries = entries[1:]
	case Write:
		v[level] = entries[0]
		entries = entries[1:]
	case Change:
		if v[level] != entries[0] {
			return
		}
		v[level] = entries[1]
		entries = entries[2:]
	}
	p.after(all, v, entries, level+1)
}

// image is the vectors that follow those of a set.
func (p *plain) image(from vectors) vectors {
	all := vectors{}
	for v := range from {
		for _, entries := range p.vectors {
			p.after(all, v, entries, 0)
		}
	}
	return all
}

// relation is a random relation on a few values, plain and as the store has it.
func (t *tester) relation(largest int) (plain, Relation) {
	t.Helper()
	var p plain
	entries := 0
	for range t.rng.IntN(levels + 1) {
		a := Access(t.rng.IntN(int(put)))
		p.access = append(p.access, a)
		if a != Keep {
			entries++
		}
		if a == Change {
			entries++
		}
	}
	for range t.rng.IntN(largest + 1) {
		v := make([]uint32, entries)
		for i := range v {
			v[i] = t.rng.Uint32N(3)
		}
		p.vectors = append(p.vectors, v)
	}
	return p, t.add(p)
}

// add adds a relation to the store.
func (t *tester) add(p plain) Relation {
	t.Helper()
	held := maps.Clone(t.s.roots)
	var n Node
	t.calm(func() { n = t.listOf(slices.SortedFunc(slices.Values(p.vectors), slices.Compare)) })
	t.s.roots = held
	r, err := t.s.NewRelation(n, p.access)
	must(t, err)
	return r
}

// listOf is the set of vectors of any length, which are sorted, as a node that is held.
func (t *tester) listOf(sorted [][]uint32) Node {
	t.Helper()
	if len(sorted) == 0 {
		return Empty
	}
	if len(sorted[0]) == 0 {
		return Unit
	}
	rest := slices.IndexFunc(sorted, func(v []uint32) bool { return v[0] != sorted[0][0] })
	if rest < 0 {
		rest = len(sorted)
	}
	var below [][]uint32
	for _, v := range sorted[:rest] {
		below = append(below, v[1:])
	}
	return t.held(t.s.List(sorted[0][0], t.listOf(below), t.listOf(sorted[rest:])))
}

// small is a random set of vectors of small values.
func (t *tester) small(n int) (vectors, Node) {
	all := vectors{}
	for range t.rng.IntN(n + 1) {
		all[vector{t.rng.Uint32N(3), t.rng.Uint32N(3), t.rng.Uint32N(3), t.rng.Uint32N(3)}] = true
	}
	var node Node
	t.calm(func() { node = t.held(t.nodeOf(all), nil) })
	return all, node
}

// TestRelation compares images and preimages under random relations with plain sets.
func TestRelation(t *testing.T) {
	forPaces(t, 12, func(t *tester) {
		a, na := t.small(20)
		b, nb := t.small(20)
		p, r := t.relation(12)
		after := p.image(a)
		n, err := t.s.Image(na, r)
		t.is("image", n, err, after)
		n, err = t.s.ImageUnion(na, r, nb)
		t.is("image and union", n, err, after.with(b))
		n, err = t.s.Preimage(na, r, nb)
		t.is("preimage", n, err, b.filter(func(v vector) bool {
			return len(a.both(p.image(vectors{v: true}))) > 0
		}))
		n, err = t.s.StuckBy(na, []Relation{r})
		t.is("stuck", n, err, a.filter(func(v vector) bool {
			return len(p.image(vectors{v: true})) == 0
		}))
		t.rng.Shuffle(len(p.access), func(i, j int) {
			p.access[i], p.access[j] = p.access[j], p.access[i]
		})
		n, err = t.s.Image(na, t.add(p))
		t.is("image by the same entries at other levels", n, err, p.image(a))
	})
}

// is compares as same does, and collects no garbage for that.
func (t *tester) is(what string, n Node, err error, want vectors) {
	t.Helper()
	t.calm(func() { t.same(what, n, err, want) })
}

// calm runs what collects garbage only as the store itself does.
func (t *tester) calm(run func()) {
	pace := t.s.pace
	t.s.pace, t.s.next = 0, firstCollect
	run()
	if t.s.pace = pace; pace > 0 {
		t.s.next = t.s.nodes() + pace
		t.s.counted.Store(t.s.nodes())
		for _, w := range t.s.workers {
			w.left = 0
		}
	}
}

// both is the vectors that two sets have.
func (all vectors) both(others vectors) vectors {
	return all.filter(func(v vector) bool { return others[v] })
}

// TestReachBy compares all strategies with a search one vector at a time: first by some relations,
// then, in the same store, by all.
func TestReachBy(t *testing.T) {
	forPaces(t, 12, func(t *tester) {
		from, node := t.small(3)
		var all []plain
		var by []Relation
		for range 1 + t.rng.IntN(4) {
			p, r := t.relation(4)
			all, by = append(all, p), append(by, r)
		}
		for _, count := range []int{(len(all) + 1) / 2, len(all)} {
			want := maps.Clone(from)
			for before := -1; before != len(want); {
				before = len(want)
				for _, p := range all[:count] {
					want = want.with(p.image(want))
				}
			}
			for _, strategy := range Strategies() {
				n, err := t.s.ReachBy(node, by[:count], strategy)
				t.is(string(strategy), n, err, want)
			}
		}
	})
}

// TestRelationRefused: relations that make no sense are errors.
func TestRelationRefused(t *testing.T) {
	x := newTester(t, Config{}, 1)
	one := x.held(x.s.List(1, Unit, Empty))
	two := x.held(x.s.List(0, one, Empty))
	_, order := x.s.List(1, Unit, one)
	_, unit := x.s.List(0, Unit, Unit)
	_, levels := x.s.NewRelation(one, make([]Access, 5))
	_, entries := x.s.NewRelation(two, []Access{Read})
	_, access := x.s.NewRelation(one, []Access{put})
	_, strategy := x.s.ReachBy(one, nil, "none")
	for i, err := range []error{order, unit, levels, entries, access, strategy} {
		if err == nil {
			t.Errorf("call %d succeeds", i)
		}
	}
	if n, err := x.s.List(3, Empty, one); err != nil || n != one {
		t.Errorf("a list with an entry that nothing follows is %d, %v", n, err)
	}
}
