package limit

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/internal/testkit/guard"
)

// Every place is swapped or read exactly once, whatever the length.
func TestEveryPlaceOnce(t *testing.T) {
	for _, w := range Ways() {
		for _, n := range []int{0, 1, w.Ahead, w.Ahead + 1, 2*pieceWords + w.Ahead + 7} {
			flat, places := make([]uint64, 1<<13), make([]uint64, n)
			for i := range places {
				places[i] = uint64(i)
			}
			w.Swaps(flat, places)
			for i, word := range flat {
				if want := uint64(i + 1); i < n && word != want || i >= n && word != 0 {
					t.Fatalf("%v, n=%d: word %d is %d", w, n, i, word)
				}
			}
			if got, want := w.Reads(flat, places), uint64(n)*uint64(n+1)/2; got != want {
				t.Errorf("%v, n=%d: the words read add up to %d, want %d", w, n, got, want)
			}
		}
	}
}

// TestPlacesEndWithMemory: nothing after the last place is read, nor after the words.
func TestPlacesEndWithMemory(t *testing.T) {
	for _, w := range Ways() {
		for _, n := range []int{1, w.Ahead, w.Ahead + 1, pieceWords + w.Ahead, 3 * pieceWords} {
			flat, places := guard.Slice[uint64](t, n), guard.Slice[uint64](t, n)
			for i := range places {
				places[i] = uint64(n - 1 - i)
			}
			w.Swaps(flat, places)
			if got, want := w.Reads(flat, places), uint64(n)*uint64(n+1)/2; got != want {
				t.Errorf("%v, n=%d: the words read add up to %d, want %d", w, n, got, want)
			}
		}
	}
}

// The way with the highest rate is chosen, whenever that was measured.
func TestChoose(t *testing.T) {
	for best := range trials * len(Ways()) {
		at := -1
		got, err := Choose(func(Way) (float64, error) {
			if at++; at == best {
				return 2, nil
			}
			return 1, nil
		})
		if want := Ways()[best%len(Ways())]; err != nil || got != want {
			t.Errorf("%v is chosen, %v; %v was the fastest", got, err, want)
		}
	}
	failed := errors.New("failed")
	if _, err := Choose(func(Way) (float64, error) { return 0, failed }); err != failed {
		t.Errorf("a measurement that fails gives %v", err)
	}
}
