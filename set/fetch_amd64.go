package set

import "unsafe"

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
