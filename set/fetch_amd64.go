package set

import "unsafe"

// prefetch prefetches the lines of n words.
//
//go:noescape
func prefetch(at **uint64, n int)

// fetch asks the memory for the lines of the given words.
func fetch(at []*uint64) { prefetch(unsafe.SliceData(at), len(at)) }
