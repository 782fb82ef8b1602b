// Package limit measures what memory allows: compare-and-swaps and reads at random places,
// each cache line prefetched some operations before it is used. Nothing here searches, so no
// table that keeps its words in the same memory can be much faster.
//
// How many operations before, and whether the prefetch asks to write, is tried out: no way is the
// fastest on every processor. With two threads of an AMD Zen 4, PREFETCHT0 falls to 0.4 of its rate
// beyond 32 operations, and PREFETCHW does not; a Zen 5 needs 64 of either.
package limit

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

const (
	// maxAhead is the most operations before its use that a line is prefetched.
	maxAhead = 96

	// pieceWords is how many operations one call of the loops does: assembly cannot
	// be preempted.
	pieceWords = 2048

	// trials is how often each way is tried out.
	trials = 2
)

// Way is how lines are prefetched.
type Way struct {
	Ahead int  // operations before the line is used
	Write bool // by PREFETCHW, which asks for the line to write to it
}

// Ways are what Choose tries out.
func Ways() []Way {
	return []Way{{24, false}, {32, false}, {48, false}, {64, false}, {maxAhead, false},
		{24, true}, {32, true}, {64, true}, {maxAhead, true}}
}

func (w Way) String() string {
	name := "PREFETCHT0"
	if w.Write {
		name = "PREFETCHW"
	}
	return fmt.Sprintf("%s %d ahead", name, w.Ahead)
}

// Choose is the way with the highest rate. measure does operations with one on all ranks, and
// returns their rate.
func Choose(measure func(Way) (float64, error)) (best Way, err error) {
	most := -1.0
	for range trials {
		for _, w := range Ways() {
			rate, err := measure(w)
			if err != nil {
				return best, err
			}
			if rate > most {
				best, most = w, rate
			}
		}
	}
	return best, nil
}

// Swaps does a compare-and-swap from 0 to place+1 at each place of flat.
func (w Way) Swaps(flat, places []uint64) {
	for piece := range w.pieces(places) {
		at, n := unsafe.SliceData(piece), len(piece)
		if w.Write {
			swapAheadWrite(unsafe.SliceData(flat), at, n, w.Ahead)
		} else {
			swapAhead(unsafe.SliceData(flat), at, n, w.Ahead)
		}
	}
	for _, i := range w.tail(places) {
		atomic.CompareAndSwapUint64(&flat[i], 0, i+1)
	}
}

// Reads adds up the words at places of flat.
func (w Way) Reads(flat, places []uint64) (sum uint64) {
	for piece := range w.pieces(places) {
		at, n := unsafe.SliceData(piece), len(piece)
		if w.Write {
			sum += readAheadWrite(unsafe.SliceData(flat), at, n, w.Ahead)
		} else {
			sum += readAhead(unsafe.SliceData(flat), at, n, w.Ahead)
		}
	}
	for _, i := range w.tail(places) {
		sum += atomic.LoadUint64(&flat[i])
	}
	return sum
}

// pieces divides what is at least Ahead before the end of places: the loops read
// that far beyond the piece they are given.
func (w Way) pieces(places []uint64) func(yield func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		for len(places) > w.Ahead {
			n := min(pieceWords, len(places)-w.Ahead)
			if !yield(places[:n]) {
				return
			}
			places = places[n:]
		}
	}
}

// tail is what pieces leaves.
func (w Way) tail(places []uint64) []uint64 { return places[max(0, len(places)-w.Ahead):] }
