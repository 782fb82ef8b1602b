package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// What is dropped has been kept before, or is the initial state, and nothing before the index
// changes. States that come again at once are dropped.
func TestRecent(t *testing.T) {
	for _, words := range []int{1, 2, 5, 100} {
		if err := testRecent(words); err != nil {
			t.Errorf("%d words: %v", words, err)
		}
	}
}

func testRecent(words int) error {
	initial := make([]uint64, words)
	r := newRecent(64, initial)
	known := map[[2]uint64]bool{{}: true}
	key := func(state []uint64) [2]uint64 { return [2]uint64{state[0], state[words-1]} }
	dropped := 0
	for range 1000 {
		begin := make([]uint64, 2*words)
		states := slices.Clone(begin)
		for range 10 {
			state := make([]uint64, words)
			state[words-1], state[0] = rand.Uint64N(2), rand.Uint64N(300)
			states = append(states, state...)
		}
		given := slices.Clone(states)
		kept := r.drop(states, len(begin))
		if !slices.Equal(kept[:len(begin)], begin) {
			return errors.New("what was there before has changed")
		}
		kept = kept[len(begin):]
		dropped += 10 - len(kept)/words
		for state := range slices.Chunk(given[len(begin):], words) {
			if len(kept) > 0 && slices.Equal(kept[:words], state) {
				known[key(state)], kept = true, kept[words:]
			} else if !known[key(state)] {
				return fmt.Errorf("%v is dropped and was never kept", state)
			}
		}
		if len(kept) > 0 {
			return fmt.Errorf("%v were not given", kept)
		}
		last := given[len(given)-words:]
		if again := r.drop(slices.Clone(last), 0); len(again) > 0 {
			return fmt.Errorf("%v is kept twice in a row", last)
		}
	}
	if dropped == 0 {
		return errors.New("nothing was dropped")
	}
	return nil
}
