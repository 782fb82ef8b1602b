package memory

import "unsafe"

// prefetch asks the memory for some lines from each of n words on.
//
//go:noescape
func prefetch(at **uint64, n, lines int)

// Prefetch asks the memory for some lines from each of the given words on, and waits for none.
func Prefetch(at []*uint64, lines int) { prefetch(unsafe.SliceData(at), len(at), lines) }

// PrefetchWrite asks the memory for the line of a word that is soon to be written, and does not
// wait for it.
//
//go:noescape
func PrefetchWrite(at *uint64)
