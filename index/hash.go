package index

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

const (
	golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
	pi0    = 0x243F6A8885A308D3 // digits of pi, which nobody has chosen
	pi1    = 0x13198A2E03707344
)

// mix spreads a word over all bits, the high ones best. It is a bijection.
func mix(w uint64) uint64 {
	w *= golden
	w ^= w >> 32
	return w * golden
}

// fold is the product of two words with its halves laid over each other.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// hashKey gives the word from which the place of a key comes. Different keys of up to 8
// bytes have different words.
func hashKey(key []byte) uint64 {
	switch n := len(key); {
	case n == 4:
		return mix(uint64(binary.LittleEndian.Uint32(key)))
	case n == 8:
		return mix(binary.LittleEndian.Uint64(key))
	case n < 8:
		low := uint64(binary.LittleEndian.Uint32(key))
		return mix(low | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<32)
	}
	return xxh3.Hash(key)
}

// place divides a hash: the high part is a rank, and the rest says where on it. Both rise
// with the hash.
func place(hash uint64, ranks int) (rank int, rest uint64) {
	high, low := bits.Mul64(hash, uint64(ranks))
	return int(high), low
}

// homeOf is the home on a rank.
func homeOf(rest, homes uint64) uint64 {
	home, _ := bits.Mul64(rest, homes)
	return home
}

// signatureOf is 1 to 255: 0 is a slot without a record.
func signatureOf(hash uint64) byte { return byte(1 + fold(hash^pi0, pi1)%255) }

// Empty slots of an inline table hold a key that no record has. It is chosen among so many keys.
// They are scattered over all keys, so that no range of numbers contains all of them.
const markers = 1 << 16

const (
	marker1, unmarker1 = 0x9E3779B1, 0x0E8B2F51 // inverse modulo 2^32
	marker2, unmarker2 = 0x85EBCA6B, 0xA5CB9243
)

// markerKey is key number i of those that may mark empty slots: 4 bytes, and zeros.
func markerKey(i uint32, key []byte) {
	clear(key)
	word := i * unmarker2
	word ^= word >> 16
	binary.LittleEndian.PutUint32(key, word*unmarker1)
}

// markerNumber is the number of a key among these, and markers or more for other keys.
func markerNumber(key []byte) uint32 {
	word := binary.LittleEndian.Uint32(key) * marker1
	word ^= word >> 16
	word *= marker2
	if word >= markers {
		return word
	}
	for _, b := range key[4:] {
		if b != 0 {
			return markers
		}
	}
	return word
}
