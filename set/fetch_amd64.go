package set

import "unsafe"

// fetchHomes computes the home of each word and asks the memory for its line.
func fetchHomes(t *table, words, homes []uint64) {
	prefetchHomes(unsafe.SliceData(t.flat), unsafe.SliceData(words), unsafe.SliceData(homes),
		len(words), t.units, t.unit)
}

// prefetchHomes stores home(hashWord(words[i])) in homes[i] and prefetches that
// bucket of flat, for n words.
//
//go:noescape
func prefetchHomes(flat, words, homes *uint64, n int, units, unit uint64)

// prefetchBuckets prefetches flat[at[i]], for n numbers.
//
//go:noescape
func prefetchBuckets(flat, at *uint64, n int)

// fetchBuckets asks the memory for the given words of flat.
func fetchBuckets(flat, at []uint64) {
	if len(at) > 0 {
		prefetchBuckets(unsafe.SliceData(flat), unsafe.SliceData(at), len(at))
	}
}
