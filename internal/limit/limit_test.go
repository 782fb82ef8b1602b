package limit

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/guard"
)

// Every place is swapped or read exactly once, whatever the length.
func TestEveryPlaceOnce(t *testing.T) {
	for _, n := range []int{0, 1, aheadWords, aheadWords + 1, 2*pieceWords + aheadWords + 7} {
		flat, places := make([]uint64, 1<<13), make([]uint64, n)
		for i := range places {
			places[i] = uint64(i)
		}
		Swaps(flat, places)
		for i, word := range flat {
			if want := uint64(i + 1); i < n && word != want || i >= n && word != 0 {
				t.Fatalf("n=%d: word %d is %d", n, i, word)
			}
		}
		if got, want := Reads(flat, places), uint64(n)*uint64(n+1)/2; got != want {
			t.Errorf("n=%d: the words read add up to %d, want %d", n, got, want)
		}
	}
}

// TestPlacesEndWithMemory: nothing after the last place is read, nor after the words.
func TestPlacesEndWithMemory(t *testing.T) {
	for _, n := range []int{1, aheadWords, aheadWords + 1, pieceWords + aheadWords,
		3 * pieceWords} {
		flat, places := guard.Slice[uint64](t, n), guard.Slice[uint64](t, n)
		for i := range places {
			places[i] = uint64(n - 1 - i)
		}
		Swaps(flat, places)
		if got, want := Reads(flat, places), uint64(n)*uint64(n+1)/2; got != want {
			t.Errorf("n=%d: the words read add up to %d, want %d", n, got, want)
		}
	}
}
