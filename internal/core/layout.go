package core

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// BytesOf is the memory of words.
func BytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// WordsOf is how many words that many bytes fill.
func WordsOf(bytes int) int { return (bytes + 7) / 8 }

// LastWord is up to 8 bytes as a word, padded with zeros.
func LastWord(b []byte) uint64 {
	if len(b) == 8 {
		return binary.NativeEndian.Uint64(b)
	}
	var word [8]byte
	for i := range b { // copy is a call, which has the caller store what is in registers
		word[i&7] = b[i]
	}
	return binary.NativeEndian.Uint64(word[:])
}

// Fold is the product of two words with its halves laid over each other, for hashes.
func Fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// Segment is how many words n things of so many words each take, or the largest int where they take
// more: no engine makes a window of that size. An int of 32 bits would else be a smaller number.
func Segment(n, words uint64) int {
	high, low := bits.Mul64(n, words)
	if high > 0 || low > math.MaxInt {
		return math.MaxInt
	}
	return int(low)
}
