package core

import (
	"math"
	"math/bits"
)

// Segment is how many words n things of so many words each take, or the largest int where they take
// more: no engine makes a window of that size. An int of 32 bits would else be a smaller number.
func Segment(n, words uint64) int {
	high, low := bits.Mul64(n, words)
	if high > 0 || low > math.MaxInt {
		return math.MaxInt
	}
	return int(low)
}
