package cache

import "math/bits"

// Digits of pi, which nobody has chosen.
const (
	pi0 = 0x243F6A8885A308D3
	pi1 = 0x13198A2E03707344
	pi2 = 0xA4093822299F31D0
	pi3 = 0x082EFA98EC4E6C89
	pi4 = 0x452821E638D01377
	pi5 = 0xBE5466CF34E90C6C
	pi6 = 0xC0AC29B7C97C50DD
	pi7 = 0x3F84D5B5B5470917
)

// fold is the product of two words with its halves laid over each other.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// sum folds words, in pairs, onto a word that stands for what came before. The pairs of 8
// words do not wait for each other, as in xxh3; after each 8 the sum is multiplied, so
// that they cannot change places.
func sum(acc uint64, words []uint64) uint64 {
	for len(words) >= 8 {
		w := (*[8]uint64)(words)
		acc += fold(w[0]^pi0, w[1]^pi1) + fold(w[2]^pi2, w[3]^pi3) +
			fold(w[4]^pi4, w[5]^pi5) + fold(w[6]^pi6, w[7]^pi7)
		acc *= pi3 | 1
		words = words[8:]
	}
	if len(words) >= 4 {
		w := (*[4]uint64)(words)
		acc += fold(w[0]^pi4, w[1]^pi5) + fold(w[2]^pi6, w[3]^pi7)
		words = words[4:]
	}
	if len(words) >= 2 {
		acc += fold(words[0]^pi2, words[1]^pi3)
		words = words[2:]
	}
	if len(words) == 1 {
		acc += fold(words[0]^pi0, pi1)
	}
	return acc
}

// hashKey gives the word from which all addresses of a key come.
func hashKey(key []uint64) uint64 { return fold(sum(pi5, key)^pi6, pi7) }

// sealOf is the checksum of a key, given by its hash, and a value: 64 bits, so that words of
// several writers are taken for one's with a chance of 2^-64. It is none of the words
// that mark a bucket without content.
//
// The hash stands for the key since a reader has compared the key itself. A value that
// was stored under another key fails, unless the two keys have the same hash, for
// which the chance is 2^-64 too.
func sealOf(hash uint64, value []uint64) uint64 {
	seal := fold(sum(hash, value)^pi2, pi3)
	if seal <= invalid {
		seal += invalid + 1
	}
	return seal
}
