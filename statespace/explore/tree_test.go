package explore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// tree makes a set of trees whose tables may take so many bytes each, and closes it after use.
func tree(t *testing.T, ranks, words, stateBits int, limit uint64,
	use func(job rma.Job, v *treeSet) error) {
	t.Helper()
	anyTree(t, ranks, words, stateBits, false, limit, use)
}

// anyTree is tree, or the same for states that end in zeros.
func anyTree(t *testing.T, ranks, words, stateBits int, padded bool, limit uint64,
	use func(job rma.Job, v *treeSet) error) {
	t.Helper()
	err := local.Run(ranks, func(job rma.Job) error {
		cfg := set.Config{Buckets: 1 << 10, MaxBytes: limit}
		all, err := newVisited(t.Context(), job, EncodingTree, words, stateBits, padded, cfg, cfg)
		if err != nil {
			return err
		}
		defer all.close()
		return use(job, all.(*treeSet))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// However long a state is, its parts are all of it: bits that the model does not count as well.
// Of those that it counts half are in each half of the parts.
func TestTreeParts(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 9
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for words := 1; words <= maxTreeWords; words += step {
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
	testRoots(t, 3000, 5, false)
}

// The same holds for states that end in zeros, of all lengths.
func TestPaddedRoots(t *testing.T) {
	n := 1200
	if invariant.Enabled || testing.Short() {
		n = 300
	}
	for _, words := range []int{2, 3, 4, 5, 8, 9, 33, 64, 100, 512} {
		testRoots(t, n, words, true)
	}
}

func testRoots(t *testing.T, n, words int, padded bool) {
	t.Helper()
	use := func(job rma.Job, v *treeSet) error {
		rng := rand.New(rand.NewPCG(3, 4)) // the same states on each rank
		for range 2 {
			states, again := make([]uint64, n*words), make([]uint64, n*words)
			for i := range states {
				states[i] = rng.Uint64N(3) << rng.IntN(64)
			}
			for i := 0; padded && i < n; i++ {
				if state := states[i*words:][:words]; i%3 == 0 {
					clear(state[min(words, 1<<rng.IntN(10)):]) // just a tree of fewer levels
				} else {
					clear(state[rng.IntN(words+1):])
				}
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
			byRoot, distinct := map[uint64]string{}, map[string]bool{}
			for i, task := range tasks {
				state := string(bytesOf(states[i*words:][:words]))
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
	}
	anyTree(t, 3, words, 64*words, padded, 64<<20, use)
}

// A state that ends in zeros takes no more nodes than one of a shorter tree.
func TestPaddedNodes(t *testing.T) {
	count := func(words int) (nodes uint64) {
		anyTree(t, 1, words, 64*words, true, 4<<20, func(_ rma.Job, v *treeSet) error {
			const n = 1000
			states := make([]uint64, n*words)
			for i := range n {
				states[i*words], states[i*words+1] = uint64(i+1)<<40, uint64(i+1)<<20
			}
			err := v.insert(states, make([]set.Result, n), make([]uint64, n))
			nodes, _ = v.nodes.Len(t.Context())
			return err
		})
		return nodes
	}
	// Two parts of each state; of a tree for 8 words two levels; and a zero at each level.
	if few, many := count(2), count(512); few > 2001 || many > 4009 {
		t.Errorf("%d and %d nodes", few, many)
	}
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
