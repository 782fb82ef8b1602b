package memory

import "unsafe"

// lineWords is the number of words in a cache line.
const lineWords = 8

// UnitBytes is the size of a huge page, in which reserved memory is taken.
const UnitBytes = 2 << 20

// alignedHeap returns n words that begin on a cache line.
func alignedHeap(n int) []uint64 {
	words := make([]uint64, n+lineWords-1)
	skip := -(uintptr(unsafe.Pointer(unsafe.SliceData(words))) / 8) % lineWords
	return words[skip : int(skip)+n : int(skip)+n]
}
