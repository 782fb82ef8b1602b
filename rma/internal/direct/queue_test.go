package direct

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/testkit/mark"
)

var swapFailed = mark.Named("direct: a compare-and-swap has failed")

// A word that becomes the expected one after a compare-and-swap has failed is swapped.
func TestSwapOfWordThatChanges(t *testing.T) {
	mark.Need(t)
	swapFailed.Claim(t)
	word := uint64(1)
	swapFailed.Intercept(t, func() { word = 0 })
	if seen := swap(&word, 0, 2); seen != 0 || word != 2 {
		t.Errorf("saw %d, and %d is there", seen, word)
	}
}

// A compare-and-swap that returns the expected word has swapped it, also where the word
// changes away and back in between.
func TestSwapReturnsWhatItSaw(t *testing.T) {
	var word uint64
	var over atomic.Bool
	var toggling sync.WaitGroup
	for range 2 {
		toggling.Go(func() { // between 0 and 1; what is 2 stays
			for !over.Load() {
				atomic.CompareAndSwapUint64(&word, 0, 1)
				atomic.CompareAndSwapUint64(&word, 1, 0)
			}
		})
	}
	swapped := 0
	for i := 0; i < 100000 || swapped < 100; i++ {
		switch seen := swap(&word, 0, 2); seen {
		case 0:
			swapped++
			if there := atomic.LoadUint64(&word); there != 2 {
				over.Store(true)
				t.Fatalf("swapped 2 for 0, and %d is there", there)
			}
			atomic.StoreUint64(&word, 0)
		case 1:
		default:
			t.Errorf("saw %d, which was never there", seen)
		}
		if i%1000 == 0 {
			runtime.Gosched()
		}
	}
	over.Store(true)
	toggling.Wait()
}

// More in flight than there is room for is a bug that assertions find.
func TestQueueDepth(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs assertions: -race or -tags invariants")
	}
	q, err := NewQueue(2)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow(0, 1, make([]uint64, 4), false, func() error { return nil })
	post := func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		q.FetchAdd(w, 0, 0, 1)
		return false
	}
	for n := range 2 {
		if post() {
			t.Errorf("there was no room for operation %d of 2", n)
		}
	}
	if !post() {
		t.Error("a third operation was taken")
	}
}
