package temporal

import "testing"

// Bits are set, read and cleared where they cross from one word to the next, and no others.
func TestBits(t *testing.T) {
	for first := range 130 {
		for _, n := range []int{1, 2, 33, 64} {
			bits := uint64(0x9e3779b97f4a7c15) | 1 | 1<<(n-1)
			bits &= ^uint64(0) >> (64 - n)
			words := []uint64{0, 0, 0, 0}
			setBits(words, first, n, bits)
			if got := bitsOf(words, first, n); got != bits {
				t.Errorf("%d bits from %d on: %x, want %x", n, first, got, bits)
			}
			clearBits(words, first, n, bits)
			for _, word := range words {
				if word != 0 {
					t.Errorf("%d bits from %d on leave %x", n, first, words)
				}
			}
		}
	}
}
