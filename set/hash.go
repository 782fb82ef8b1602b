package set

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// hashWord spreads a 63-bit word over 64 bits. It is a bijection: two odd
// multiplications, each after a shift. A multiplication carries upward only. Without the
// first shift the hashes of words that differ in their high bits alone would form a
// lattice, and some such words would have homes close to each other.
func hashWord(word uint64) uint64 {
	word ^= word >> 32
	word *= hashFactor
	word ^= word >> 32
	return word * hashFactor
}

const hashFactor = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio

// shortWords is the length up to which elements are hashed here: xxh3 takes more than
// twice the time for so few words.
const shortWords = 8

// Digits of pi: constants that are not chosen for a purpose.
const (
	pi0 = 0x243F6A8885A308D3
	pi1 = 0x13198A2E03707344
	pi2 = 0xA4093822299F31D0
	pi3 = 0x082EFA98EC4E6C89
)

// hashElement hashes an element as it lies in an arena: whole words, the last one
// filled up with zeros. Short ones are folded together by multiplications of 64 by 64
// bits, as wyhash and xxh3 do.
func hashElement(words []uint64) uint64 {
	if len(words) > shortWords {
		return xxh3.Hash(bytesOf(words))
	}
	hash := uint64(pi0)
	for ; len(words) >= 2; words = words[2:] {
		hash = fold(words[0]^pi1, words[1]^hash)
	}
	if len(words) == 1 {
		hash = fold(words[0]^pi1, hash^pi2)
	}
	return fold(hash^pi2, pi3)
}

// fold is the exclusive or of the two halves of the product of two words.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// fingerprintKey is what a bucket that refers to an element with this hash has
// above its reference: the occupied bit and the low bits of the hash, where home
// takes the high ones.
func fingerprintKey(hash uint64) uint64 { return occupied | hash<<refBits&^occupied }
