// Package limit measures what memory allows: compare-and-swaps and reads at random places,
// each cache line prefetched 48 operations before it is used. Nothing here searches, so no
// table that keeps its words in the same memory can be much faster.
package limit

import (
	"sync/atomic"
	"unsafe"
)

const (
	// aheadWords is how many operations before its use a line is prefetched.
	aheadWords = 48

	// pieceWords is how many operations one call of the loops does: assembly cannot
	// be preempted.
	pieceWords = 2048
)

// Swaps does a compare-and-swap from 0 to place+1 at each place of flat.
func Swaps(flat, places []uint64) {
	for piece := range pieces(places) {
		swapAhead(unsafe.SliceData(flat), unsafe.SliceData(piece), len(piece))
	}
	for _, i := range tail(places) {
		atomic.CompareAndSwapUint64(&flat[i], 0, i+1)
	}
}

// Reads adds up the words at places of flat.
func Reads(flat, places []uint64) (sum uint64) {
	for piece := range pieces(places) {
		sum += readAhead(unsafe.SliceData(flat), unsafe.SliceData(piece), len(piece))
	}
	for _, i := range tail(places) {
		sum += atomic.LoadUint64(&flat[i])
	}
	return sum
}

// pieces divides what is at least aheadWords before the end of places: the loops read
// that far beyond the piece they are given.
func pieces(places []uint64) func(yield func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		for len(places) > aheadWords {
			n := min(pieceWords, len(places)-aheadWords)
			if !yield(places[:n]) {
				return
			}
			places = places[n:]
		}
	}
}

// tail is what pieces leaves.
func tail(places []uint64) []uint64 { return places[max(0, len(places)-aheadWords):] }
