package spread

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

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// system is an initial set, and what follows, in a store.
type system struct {
	levels      int
	store       *symbolic.Store
	initial     symbolic.Node
	transitions []symbolic.Transition
	relations   []symbolic.Relation
}

func newSystem(t testing.TB, levels int) *system {
	s, err := symbolic.New(t.Context(), symbolic.Config{Levels: levels, MaxBytes: 8 << 20})
	must(t, err)
	return &system{levels: levels, store: s}
}

// vectors adds vectors to the initial set.
func (s *system) vectors(t testing.TB, all ...[]uint32) {
	for _, v := range all {
		n, err := s.store.Vector(v)
		must(t, err)
		s.initial, err = s.store.Union(s.initial, n)
		must(t, err)
		s.store.Hold(s.initial)
	}
}

func (s *system) transition(t testing.TB, steps ...symbolic.Step) {
	x, err := s.store.NewTransition(steps...)
	must(t, err)
	s.transitions = append(s.transitions, x)
}

// sums makes a system that begins with one vector and reaches all with the same sum of entries.
func sums(t testing.TB, levels int, sum uint32) *system {
	s := newSystem(t, levels)
	first := make([]uint32, levels)
	first[0] = sum
	s.vectors(t, first)
	for level := range levels {
		s.transition(t, symbolic.Step{Level: level, Need: 1, Change: -1},
			symbolic.Step{Level: (level + 1) % levels, Change: 1})
	}
	return s
}

// grid is all vectors of so many entries below n, from zeros on.
func grid(t testing.TB, levels, n int) *system {
	s := newSystem(t, levels)
	s.vectors(t, make([]uint32, levels))
	for level := range levels {
		list := symbolic.Empty
		for value := n - 1; value > 0; value-- {
			after, err := s.store.List(uint32(value), symbolic.Unit, symbolic.Empty)
			must(t, err)
			list, err = s.store.List(uint32(value-1), after, list)
			must(t, err)
		}
		s.relation(t, list, append(make([]symbolic.Access, level), symbolic.Change)...)
	}
	return s
}

// family is a net, with its places in their order, or those of equal remainder by four together: so
// a Kanban has few nodes, most of which become garbage.
func family(t testing.TB, name string, n int) *system {
	net, err := petri.Family(name, n)
	must(t, err)
	s := newSystem(t, len(net.Places))
	level := func(place int) int {
		if name == "kanban" {
			return place%4*4 + place/4
		}
		return place
	}
	first := make([]uint32, s.levels)
	for place, tokens := range net.Initial() {
		first[level(place)] = uint32(tokens)
	}
	s.vectors(t, first)
	for _, x := range net.Transitions {
		steps := map[int]symbolic.Step{}
		for _, a := range x.In {
			steps[a.Place] = symbolic.Step{Level: level(a.Place), Need: uint32(a.Weight),
				Change: -a.Weight}
		}
		for _, a := range x.Out {
			st := steps[a.Place]
			st.Level, st.Change = level(a.Place), st.Change+a.Weight
			steps[a.Place] = st
		}
		s.transition(t, slices.Collect(maps.Values(steps))...)
	}
	return s
}

// permutations are all permutations of so many entries, reached by exchanging adjacent ones.
func permutations(t testing.TB, n int) *system {
	s := newSystem(t, n)
	first := make([]uint32, n)
	for i := range first {
		first[i] = uint32(i)
	}
	s.vectors(t, first)
	pairs := symbolic.Empty
	for a := n - 1; a >= 0; a-- {
		list := symbolic.Empty // what (a, becomes, b, becomes) has after a
		for b := n - 1; b >= 0; b-- {
			if b == a {
				continue
			}
			after := symbolic.Unit
			for _, value := range []int{a, b} {
				var err error
				after, err = s.store.List(uint32(value), after, symbolic.Empty)
				must(t, err)
			}
			var err error
			list, err = s.store.List(uint32(b), after, list)
			must(t, err)
		}
		var err error
		pairs, err = s.store.List(uint32(a), list, pairs)
		must(t, err)
		s.store.Hold(pairs)
	}
	for level := range n - 1 {
		s.relation(t, pairs, append(make([]symbolic.Access, level), symbolic.Change,
			symbolic.Change)...)
	}
	return s
}

func (s *system) relation(t testing.TB, vectors symbolic.Node, access ...symbolic.Access) {
	r, err := s.store.NewRelation(vectors, access)
	must(t, err)
	s.relations = append(s.relations, r)
}

// random is a random system: with transitions that keep the sum of a vector, or with relations.
func random(t testing.TB, rng *rand.Rand) *system {
	levels := 1 + rng.IntN(5)
	s, moves := newSystem(t, levels), levels > 1 && rng.IntN(2) == 0
	vector := func(n int) []uint32 {
		v := make([]uint32, n)
		for i := range v {
			if v[i] = rng.Uint32N(3); !moves && rng.IntN(30) == 0 {
				v[i] += 1 << 30 // its high bits are in the second word of a node
			}
		}
		return v
	}
	for range 1 + rng.IntN(3) {
		s.vectors(t, vector(levels))
	}
	for range rng.IntN(6) {
		if !moves {
			break
		}
		at := rng.Perm(levels)
		steps := []symbolic.Step{{Level: at[0], Need: 1, Change: -1}, {Level: at[1], Change: 1}}
		if levels > 2 {
			steps = append(steps, symbolic.Step{Level: at[2], Need: rng.Uint32N(2),
				Below: rng.Uint32N(3), Set: rng.IntN(3) == 0})
		}
		s.transition(t, steps...)
	}
	if moves {
		return s
	}
	for range rng.IntN(5) {
		access, entries := make([]symbolic.Access, levels), 0
		for i := range access {
			access[i] = symbolic.Access(rng.IntN(4))
			entries += [...]int{0, 1, 1, 2}[access[i]]
		}
		of, err := symbolic.New(t.Context(), symbolic.Config{Levels: max(entries, 1),
			MaxBytes: 1 << 20})
		must(t, err)
		all, list := symbolic.Empty, symbolic.Empty
		for range rng.IntN(6) {
			v, err := of.Vector(vector(max(entries, 1)))
			must(t, err)
			all, err = of.Union(all, v)
			must(t, err)
		}
		if entries > 0 {
			list = copied(t, of, s.store, all)
		}
		must(t, of.Close())
		s.relation(t, list, access...)
	}
	return s
}

// copied is a set of a store in another one.
func copied(t testing.TB, from, to *symbolic.Store, n symbolic.Node) symbolic.Node {
	known := map[symbolic.Node]uint64{symbolic.Empty: empty, symbolic.Unit: unit}
	must(t, eachNode(from, n, known, func(c cell) (uint64, error) {
		n, err := to.List(c.value, symbolic.Node(c.down), symbolic.Node(c.right))
		return uint64(n), err
	}))
	return symbolic.Node(known[n])
}

// answer is what one rank's store finds.
func (s *system) answer(t testing.TB) (vectors *big.Int, nodes int) {
	all, err := s.initial, error(nil)
	if len(s.transitions) > 0 {
		all, err = s.store.Reach(all, s.transitions, symbolic.Loops)
	} else if len(s.relations) > 0 {
		all, err = s.store.ReachBy(all, s.relations, symbolic.Loops)
	}
	must(t, err)
	s.store.Hold(all)
	vectors, err = s.store.Count(all)
	must(t, err)
	nodes, err = s.store.Size(all)
	must(t, err)
	return vectors, nodes
}

// find is what a rank finds with all ranks. The store is of all ranks of this process, and they
// only read it.
func (s *system) find(ctx context.Context, job rma.Job, cfg Config) (c *Counted, st Stats,
	err error) {
	cfg.Levels, cfg.MaxBytes = s.levels, uint64(job.Size())*MinBytes
	d, err := New(ctx, job, cfg)
	if err != nil {
		return nil, st, err
	}
	defer func() { st, err = d.Stats(), errors.Join(err, d.Close()) }()
	d.AddTransitions(s.store, s.transitions...)
	if err := d.AddRelations(s.store, s.relations...); err != nil {
		return nil, st, err
	}
	from, err := d.Import(s.store, s.initial)
	if err != nil {
		return nil, st, err
	}
	all, err := d.Reach(ctx, from)
	if err != nil {
		return nil, st, err
	}
	c, err = d.Count(ctx, all)
	return c, st, err
}

func total(all []uint64) (sum uint64) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// check compares what ranks find with what one rank's store does.
func (s *system) check(t testing.TB, what string, run func(int, func(rma.Job) error) error,
	ranks int, cfg Config, use func(c *Counted, st Stats)) {
	t.Helper()
	vectors, nodes := s.answer(t)
	must(t, run(ranks, func(job rma.Job) error {
		c, st, err := s.find(t.Context(), job, cfg)
		if err != nil {
			return fmt.Errorf("%s, %d ranks: %w", what, ranks, err)
		}
		if c.Vectors.Cmp(vectors) != 0 || total(c.Nodes) != uint64(nodes) {
			t.Errorf("%s: rank %d of %d finds %v vectors and %v nodes, not %v and %d", what,
				job.Rank(), ranks, c.Vectors, c.Nodes, vectors, nodes)
		}
		if use != nil && job.Rank() == 0 {
			use(c, st)
		}
		return nil
	}))
}

// TestReach compares with one rank's store, on all engines.
func TestReach(t *testing.T) {
	for _, e := range lab.Engines() {
		for _, ranks := range []int{1, 2, 5} {
			sums(t, 5, 6).check(t, e.Name+" sums", e.Run, ranks, Config{}, nil)
			family(t, "philosophers", 3).check(t, e.Name+" philosophers", e.Run, ranks, Config{},
				nil)
			permutations(t, 4).check(t, e.Name+" permutations", e.Run, ranks, Config{}, nil)
			grid(t, 5, 4).check(t, e.Name+" grid", e.Run, ranks, Config{}, nil)
		}
	}
}

// TestRandom compares random systems, with garbage collected and answers forgotten all the time.
func TestRandom(t *testing.T) {
	for seed := range uint64(replay.Often(60, 600)) {
		rng := rand.New(rand.NewPCG(seed, 51))
		s := random(t, rng)
		cfg := Config{pace: rng.IntN(20), collect: rng.Uint64N(30)}
		if rng.IntN(2) == 0 {
			cfg.requestsBytes = 8 << 10
		}
		engines := lab.Engines()
		e := engines[rng.IntN(len(engines))]
		s.check(t, fmt.Sprintf("seed %d, %s", seed, e.Name), e.Run, 1+rng.IntN(4), cfg, nil)
		must(t, s.store.Close())
	}
}

// TestShares: each rank has 1.1 of its part of the nodes at most.
func TestShares(t *testing.T) {
	s := family(t, "philosophers", 6)
	for _, ranks := range []int{2, 3} {
		s.check(t, "philosophers", local.Run, ranks, Config{}, func(c *Counted, _ Stats) {
			if most := slices.Max(c.Nodes) * 10 * uint64(ranks); most > 11*total(c.Nodes) {
				t.Errorf("of %d ranks: %v nodes", ranks, c.Nodes)
			}
		})
	}
}

// TestCollects: with room for few nodes garbage is collected, and with room for few answers some
// are forgotten.
func TestCollects(t *testing.T) {
	s := family(t, "kanban", 8)
	for _, ranks := range []int{1, 3} {
		s.check(t, "few nodes", local.Run, ranks, Config{nodeBytes: 160 << 10, pace: 16},
			func(_ *Counted, st Stats) {
				if st.Collections == 0 {
					t.Errorf("%d ranks: no garbage was collected", ranks)
				}
			})
		s.check(t, "few answers", local.Run, ranks, Config{requestsBytes: 192 << 10},
			func(_ *Counted, st Stats) {
				if st.Forgotten == 0 || st.Collections > 0 {
					t.Errorf("%d ranks: %+v", ranks, st)
				}
			})
	}
}

// TestGarbage: the memory of garbage is used again all the time, and nothing that is still needed
// is taken for garbage.
func TestGarbage(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, pace := range []int{5, 40} {
			cfg := Config{nodeBytes: 64 << 10, pace: pace, collect: 50}
			s := family(t, "kanban", 7)
			s.check(t, "kanban", local.Run, ranks, cfg, func(_ *Counted, st Stats) {
				if st.Collections < 5 {
					t.Errorf("%d ranks, pace %d: %+v", ranks, pace, st)
				}
			})
		}
	}
}

// fails has all ranks fail, by their number with an error that is accepts.
func (s *system) fails(t *testing.T, cfg Config, ctx func(rank int) context.Context,
	is func(rank int, err error) bool) {
	t.Helper()
	for _, ranks := range []int{1, 2, 3} {
		must(t, local.Run(ranks, func(job rma.Job) error {
			_, _, err := s.find(ctx(job.Rank()), job, cfg)
			if !is(job.Rank(), err) {
				t.Errorf("rank %d of %d: %v", job.Rank(), ranks, err)
			}
			return nil
		}))
	}
}

// TestFull: when the memory is full all ranks say so.
func TestFull(t *testing.T) {
	s := family(t, "kanban", 8)
	for _, cfg := range []Config{{nodeBytes: 16 << 10}, {requestsBytes: 2 << 10}} {
		s.fails(t, cfg, func(int) context.Context { return t.Context() },
			func(rank int, err error) bool {
				full := (*symbolic.FullError)(nil)
				return errors.As(err, &full) && full.Nodes > 0 && full.MaxBytes > 0 &&
					full.Cause != nil
			})
	}
}

// TestEnds: when the context of a rank ends all ranks do.
func TestEnds(t *testing.T) {
	that := errors.New("that is enough")
	ended, cancel := context.WithCancelCause(t.Context())
	s := sums(t, 12, 14)
	must(t, local.Run(2, func(job rma.Job) error {
		d, err := New(t.Context(), job, Config{Levels: s.levels, MaxBytes: 2 * MinBytes, pace: 1})
		if err != nil {
			return err
		}
		d.AddTransitions(s.store, s.transitions...)
		from, err := d.Import(s.store, s.initial)
		if err != nil {
			return err
		}
		ctx := t.Context()
		if job.Rank() == 1 {
			cancel(that)
			ctx = ended
		}
		peer := (*rma.PeerError)(nil)
		for _, call := range []func() error{
			func() error { _, err := d.Reach(ctx, from); return err },
			func() error { _, err := d.Count(ctx, from); return err },
		} {
			err := call()
			if job.Rank() == 1 && !errors.Is(err, that) ||
				job.Rank() == 0 && (!errors.As(err, &peer) || peer.Rank != 1) {
				t.Errorf("rank %d: %v", job.Rank(), err)
			}
		}
		return d.Close()
	}))
}

// TestRefused: entries of more than 32 bits, and configurations.
func TestRefused(t *testing.T) {
	s := newSystem(t, 2)
	s.vectors(t, []uint32{math.MaxUint32, 3})
	s.transition(t, symbolic.Step{Level: 0, Change: 1})
	s.fails(t, Config{}, func(int) context.Context { return t.Context() },
		func(_ int, err error) bool {
			peer := (*rma.PeerError)(nil)
			return errors.Is(err, symbolic.ErrValue) || errors.As(err, &peer)
		})
	for _, cfg := range []Config{{}, {Levels: 1, MaxBytes: 2*MinBytes - 1}} {
		must(t, local.Run(2, func(job rma.Job) error {
			if _, err := New(t.Context(), job, cfg); err == nil {
				t.Errorf("rank %d takes %+v", job.Rank(), cfg)
			}
			return nil
		}))
	}
	must(t, local.Run(1, func(job rma.Job) error {
		d, err := New(t.Context(), job, Config{Levels: 3, MaxBytes: MinBytes})
		if err != nil {
			return err
		}
		if _, err := d.Import(s.store, s.initial); err == nil {
			t.Error("a set of other vectors is taken")
		}
		for _, n := range []Node{Node(empty), Node(unit)} {
			all, err := d.Reach(t.Context(), n)
			must(t, err)
			c, err := d.Count(t.Context(), all)
			must(t, err)
			if all != n || c.Vectors.Uint64() != uint64(n) {
				t.Errorf("of node %d: %d, %v", n, all, c.Vectors)
			}
		}
		return d.Close()
	}))
}

// TestSimplify: all orders of a first term.
func TestSimplify(t *testing.T) {
	for _, c := range []struct{ terms, want []uint64 }{
		{[]uint64{same, 7}, []uint64{same, 7}},
		{[]uint64{same, 7, same, 7}, []uint64{same, 7}},
		{[]uint64{same, 7, same, 5, same, 7, same, 9, fires, 2, fires, 2, fires, 3},
			[]uint64{same, 5, same, 7, same, 9, fires, 2, fires, 3}},
		{[]uint64{same, 3, fires, 2}, []uint64{same, 3, fires, 2}},
	} {
		if got := simplify(slices.Clone(c.terms)); !slices.Equal(got, c.want) {
			t.Errorf("%v becomes %v", c.terms, got)
		}
	}
}

// TestExchange: words of any number reach their rank, from all at the same time, many times.
func TestExchange(t *testing.T) {
	for _, e := range lab.Engines() {
		for _, ranks := range []int{1, 2, 4} {
			must(t, e.Run(ranks, func(job rma.Job) error {
				x, err := newExchange(t.Context(), job)
				if err != nil {
					return err
				}
				words := func(from, to, round int) (words []uint64) {
					n := []int{0, 3, x.part, 2*x.part + 1}[(from+2*to+round)%4]
					for i := range n {
						words = append(words, uint64(from)<<40|uint64(to)<<32|uint64(round<<24|i))
					}
					return words
				}
				out, in := make([][]uint64, ranks), make([][]uint64, ranks)
				for round := range 8 {
					for to := range out {
						out[to] = words(job.Rank(), to, round)
					}
					sum, err := x.run(out, in, notes{1, uint64(job.Rank())})
					if err != nil {
						return err
					}
					if n := uint64(ranks); sum != (notes{n, n * (n - 1) / 2}) {
						t.Errorf("%s: the notes add up to %v", e.Name, sum)
					}
					for from := range in {
						if !slices.Equal(in[from], words(from, job.Rank(), round)) {
							t.Errorf("%s: rank %d has got %d words from %d in round %d", e.Name,
								job.Rank(), len(in[from]), from, round)
						}
					}
				}
				return x.close()
			}))
		}
	}
}
