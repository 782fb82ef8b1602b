package explore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// tree makes a set of trees whose tables may take so many bytes each, and closes it after use.
func tree(t *testing.T, ranks, words, stateBits int, limit uint64,
	use func(job rma.Job, v *treeSet) error) {
	t.Helper()
	err := local.Run(ranks, func(job rma.Job) error {
		cfg := set.Config{Buckets: 1 << 10, MaxBytes: limit}
		v, err := newTreeSet(t.Context(), job, cfg, cfg, words, stateBits)
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
			tree(t, 1, words, stateBits, 1<<20, func(_ rma.Job, v *treeSet) error {
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
	tree(t, 3, words, 64*words, 4<<20, func(job rma.Job, v *treeSet) error {
		rng := rand.New(rand.NewPCG(3, 4)) // the same states on each rank
		for range 2 {
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

// Where the nodes have no room no state is inserted, and those that were stay.
func TestTreeNodesFull(t *testing.T) {
	tree(t, 1, 2, 128, 1<<16, func(_ rma.Job, v *treeSet) error {
		const n = 1 << 12
		states := make([]uint64, 2*n)
		for i := range states {
			states[i] = uint64(i) * 0x9E3779B97F4A7C15
		}
		results, tasks := make([]set.Result, n), make([]uint64, n)
		var full *set.FullError
		if err := v.insert(states, results, tasks); !errors.As(err, &full) {
			t.Errorf("8192 nodes in %d slots: %v", v.nodes.Config().Capacity, err)
		}
		inserted := slices.Index(results, set.Full)
		if have, err := v.s.Len(t.Context()); err != nil || have != uint64(inserted) ||
			slices.Contains(results[inserted:], set.Inserted) {
			t.Errorf("%d inserted, the set has %d, %v", inserted, have, err)
		}
		again, found := states[:2*inserted], results[:inserted]
		if err := v.insert(again, found, tasks); err != nil ||
			slices.ContainsFunc(found, func(r set.Result) bool { return r != set.Found }) {
			t.Errorf("states were lost: %v", err)
		}
		return nil
	})
}
