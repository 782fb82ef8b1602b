package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// tree makes a set of trees and closes it after use.
func tree(t *testing.T, ranks, words, stateBits int, use func(job rma.Job, v *treeSet) error) {
	t.Helper()
	err := local.Run(ranks, func(job rma.Job) error {
		v, err := newTreeSet(t.Context(), job, set.Config{Buckets: 1 << 13}, words, stateBits)
		if err != nil {
			return err
		}
		defer v.close()
		return use(job, v)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// However long a state is, its parts are all of it: bits that the model does not count as well.
// Of those that it counts half are in each half of the parts.
func TestTreeParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for words := 1; words <= maxTreeWords; words++ {
		low := 64*(words-1) + 1
		for _, stateBits := range []int{low, low + rng.IntN(64), 64 * words} {
			tree(t, 1, words, stateBits, func(_ rma.Job, v *treeSet) error {
				state, again := make([]uint64, words), make([]uint64, words)
				parts := make([]uint64, v.parts)
				for range 20 {
					for i := range state {
						state[i] = rng.Uint64()
					}
					v.split(state, parts)
					v.join(parts, again)
					if !slices.Equal(state, again) {
						t.Fatalf("%d words, %d bits: %x becomes %x", words, stateBits, state, again)
					}
				}
				clear(state)
				used := [2]int{}
				for bit := range stateBits {
					state[bit/64] = 1 << (bit % 64)
					v.split(state, parts)
					at := slices.IndexFunc(parts, func(p uint64) bool { return p != 0 })
					used[at*2/v.parts]++
					state[bit/64] = 0
				}
				if d := used[0] - used[1]; d < -1 || d > 1 {
					t.Errorf("%d words: %d bits are divided as %d", words, stateBits, used)
				}
				return nil
			})
		}
	}
}

// Equal states have equal roots on all ranks, though these know other nodes, and other states
// have other ones. A root gives its state back.
func TestTreeRoots(t *testing.T) {
	const n, words = 3000, 5
	tree(t, 3, words, 64*words, func(job rma.Job, v *treeSet) error {
		rng := rand.New(rand.NewPCG(3, 4)) // the same states on each rank
		for _, size := range []uint64{1 << 16, 1 << 17} {
			if err := v.nodes.grow(t.Context(), size); err != nil {
				return err
			}
			states, again := make([]uint64, n*words), make([]uint64, n*words)
			for i := range states {
				states[i] = rng.Uint64N(3) << rng.IntN(64)
			}
			results, tasks := make([]set.Result, n), make([]uint64, n)
			if err := v.insert(states, results, tasks); err != nil {
				return err
			}
			if err := v.load(t.Context(), tasks, again); err != nil {
				return err
			}
			if !slices.Equal(states, again) {
				t.Errorf("rank %d: the roots do not give the states back", job.Rank())
			}
			byRoot := map[uint64][words]uint64{}
			distinct := map[[words]uint64]bool{}
			for i, task := range tasks {
				state := [words]uint64(states[i*words:])
				if other, ok := byRoot[task]; ok && other != state {
					t.Fatalf("rank %d: %x and %x have one root", job.Rank(), state, other)
				}
				byRoot[task], distinct[state] = state, true
			}
			if len(byRoot) != len(distinct) {
				t.Errorf("rank %d: %d states have %d roots", job.Rank(), len(distinct), len(byRoot))
			}
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
			if err := v.check(t.Context()); err != nil {
				return err
			}
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Where the nodes have no room no state is inserted, and the node table is the one to grow.
func TestTreeNodesFull(t *testing.T) {
	tree(t, 1, 2, 128, func(_ rma.Job, v *treeSet) error {
		const n = 1 << 12
		states := make([]uint64, 2*n)
		for i := range states {
			states[i] = uint64(i) * 0x9E3779B97F4A7C15
		}
		results, tasks := make([]set.Result, n), make([]uint64, n)
		if err := v.insert(states, results, tasks); err == nil || v.full() != 1 {
			t.Errorf("8192 nodes in %d slots: %v, table %d is full",
				v.nodes.s.Config().Capacity, err, v.full())
		}
		inserted := 0
		for _, r := range results {
			if r == set.Inserted {
				inserted++
			}
		}
		if have, err := v.s.Len(t.Context()); err != nil || have != uint64(inserted) ||
			inserted == n {
			t.Errorf("%d inserted, the set has %d, %v", inserted, have, err)
		}
		if err := v.nodes.grow(t.Context(), 1<<15); err != nil {
			return err
		}
		again, all := slices.Clone(results), 0
		if err := v.insert(states, again, tasks); err != nil || v.full() != 0 {
			t.Errorf("after growth: %v, table %d is full", err, v.full())
		}
		for i, r := range again {
			if want := results[i]; want == set.Inserted && r == set.Found || r == set.Inserted {
				all++
			}
		}
		if all != n {
			t.Errorf("%d of %d states were inserted once", all, n)
		}
		return nil
	})
}

// The tables take what they say, however often they grow.
func TestTreeBytes(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		tree(t, ranks, 3, 150, func(_ rma.Job, v *treeSet) error {
			if v.bytesFor(v.buckets()) != firstTreeBytes(v.buckets(), ranks) && ranks == 1 {
				t.Errorf("%d bytes, not %d", v.bytesFor(v.buckets()),
					firstTreeBytes(v.buckets(), ranks))
			}
			for i := range 4 {
				table := v.tables()[i%2]
				if err := table.grow(t.Context(), table.buckets()/2*3); err != nil {
					return err
				}
				nodes := 8*v.nodes.buckets() + 8*v.nodes.s.Config().Capacity
				want := 8*v.buckets() + nodes + uint64(ranks)*treeBytes
				said := v.bytesFor(v.buckets())
				if said < want || said > want+want/50 ||
					said != v.nodes.bytesFor(v.nodes.buckets()) {
					t.Errorf("%d ranks: %d bytes said, of nodes %d, %d taken", ranks, said,
						v.nodes.bytesFor(v.nodes.buckets()), want)
				}
				if v.keptBytes()+8*v.buckets() != said ||
					v.nodes.keptBytes()+8*v.nodes.buckets() > said {
					t.Errorf("%d ranks: %d and %d are kept of %d", ranks, v.keptBytes(),
						v.nodes.keptBytes(), said)
				}
			}
			return nil
		})
	}
}
