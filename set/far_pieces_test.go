package set

import "testing"

// Where batches are shipped a rank leaves the pieces of memory that it cannot address to the owner,
// unless the call is a small one of its own.
func TestPiecesOfOthersAreLeftToThem(t *testing.T) {
	small := counts{inserted: 1, longest: longSearch}
	large := counts{inserted: 2 * pieceBuckets / movedPerItem, longest: longSearch}
	for _, call := range []struct {
		name   string
		engine engine
		counts counts
		served bool
		moves  bool // the piece of rank 1
	}{
		{"large batch", engineHosts, large, false, false},
		{"small batch", engineHosts, small, false, true},
		{"request", engineHosts, small, true, false},
		{"large batch in memory", engineDirect, large, false, true},
		{"hidden memory", engineCarriers, large, false, false},
	} {
		t.Run(call.name, func(t *testing.T) {
			m := movingWords(t, call.engine)
			for key := range movingBuckets / 2 {
				_, err := m.insert(0, key)
				must(t, err)
			}
			tables := []*table{m.spaces[0].oldest.Load(), m.spaces[1].oldest.Load()}
			for _, table := range tables {
				table.progress.raise(growthWanted)
			}
			left := func(rank int) int {
				unmoved, err := tables[0].marks.unmoved(nil, rank, 1, 0)
				must(t, err)
				return len(unmoved)
			}
			for range 3 {
				c := call.counts
				tables[0].tend(&c, true, call.served)
			}
			if left(0) != 0 || left(1) == 0 != call.moves {
				t.Errorf("rank 0 has left %d pieces of its own and %d of rank 1", left(0), left(1))
			}
			c := large
			tables[1].tend(&c, true, true)
			if left(1) != 0 {
				t.Error("rank 1 has left its own piece")
			}
			for key := range movingBuckets / 2 {
				if there, err := m.contains(1, key); err != nil || !there {
					t.Errorf("key %d is missing: %v", key, err)
				}
			}
			must(t, m.check())
		})
	}
}
