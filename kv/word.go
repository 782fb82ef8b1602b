package kv

import (
	"encoding/binary"
	"math/bits"
)

// A slot word:
//
//	| 1 | moving | removed | class (4) | fingerprint (10) | use (15) | item (32) |
//	 63   62       61        60     57   56            47   46    32   31       0
const (
	occupied = 1 << 63
	moving   = 1 << 62
	removed  = 1 << 61

	classAt       = 57
	classes       = 15
	fingerprintAt = 47
	useAt         = 32
	useMask       = 1<<15 - 1
	itemMask      = 1<<32 - 1

	// lookMask are the bits in which the words of a key agree whatever its item.
	lookMask = occupied | 1023<<fingerprintAt
)

// lookFor is what the word of a key with this hash looks like under lookMask.
func lookFor(hash uint64) uint64 { return occupied | hash&1023<<fingerprintAt }

// newWord refers to an item.
func newWord(hash uint64, class int, it item) uint64 {
	return lookFor(hash) | uint64(class)<<classAt | it.use<<useAt | it.number
}

// identity is a word without what may change while it refers to the same item.
func identity(word uint64) uint64 { return word &^ (moving | removed) }

func classOf(word uint64) int { return int(word >> classAt & 15) }

// itemOf is the item that a word refers to.
func itemOf(word uint64) item { return item{word & itemMask, word >> useAt & useMask} }

// An item: | mark | seal | lengths of key and value | key, whole words | value, whole words |.
const (
	markWord   = 0
	sealWord   = 1
	lengthWord = 2
	headWords  = 3

	unitWords = 8 // the smallest item
)

// classWords is the length of the items of a class.
func classWords(class int) int { return unitWords << class }

// classFor is the smallest class whose items hold that many words.
func classFor(words int) int {
	return bits.Len(uint((words+unitWords-1)/unitWords - 1))
}

// wordsOf is how many words that many bytes fill.
func wordsOf(size int) int { return (size + 7) / 8 }

// itemWords is how many words an item with such a key and value needs.
func itemWords(keySize, valueSize int) int {
	return headWords + wordsOf(keySize) + wordsOf(valueSize)
}

// pack stores bytes in whole words, padded with zeros, and returns how many.
func pack(words []uint64, b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		words[n] = binary.LittleEndian.Uint64(b)
		n++
	}
	if len(b) > 0 {
		var last [8]byte
		copy(last[:], b)
		words[n] = binary.LittleEndian.Uint64(last[:])
		n++
	}
	return n
}

// unpack appends size bytes that lie in words.
func unpack(dst []byte, words []uint64, size int) []byte {
	for _, w := range words[:wordsOf(size)] {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], w)
		dst = append(dst, b[:min(size, 8)]...)
		size -= 8
	}
	return dst
}

// hashWords is a hash of words: multiplications of 128 bits whose halves are folded.
func hashWords(seed uint64, words []uint64) uint64 {
	h := seed ^ 0x9e3779b97f4a7c15
	for _, w := range words {
		hi, lo := bits.Mul64(w^0xa0761d6478bd642f, h^0xe7037ed1a0b428db)
		h = hi ^ lo ^ bits.RotateLeft64(h, 23)
	}
	hi, lo := bits.Mul64(h^0x8ebc6af09c88c6e3, uint64(len(words))^0x589965cc75374cc3)
	return hi ^ lo ^ h
}

// hashKey is the hash of a packed key of size bytes.
func hashKey(key []uint64, size int) uint64 { return hashWords(uint64(size), key) }

// seal makes sure of an item: it is over its words behind the seal and the word of the slot.
func seal(word uint64, it []uint64, n int) uint64 {
	return hashWords(identity(word), it[lengthWord:n])
}

// writeItem fills an item for a key and value, but for the seal, and returns its length.
func writeItem(it []uint64, key, value []byte) int {
	it[markWord] = 0
	it[lengthWord] = uint64(len(key)) | uint64(len(value))<<32
	n := headWords
	n += pack(it[n:], key)
	n += pack(it[n:], value)
	return n
}

// sizes are the lengths of key and value in an item as read, ok false if they cannot be.
func sizes(it []uint64) (keySize, valueSize int, ok bool) {
	k, v := it[lengthWord]&0xffffffff, it[lengthWord]>>32
	if k > MaxSize || v > MaxSize || itemWords(int(k), int(v)) > len(it) {
		return 0, 0, false
	}
	return int(k), int(v), true
}

// A copy of a small pair lies in the slot behind its word: | seal | pair (16 bytes) |. The
// last ten bits of the seal are the lengths of key and value.
const (
	copyWords = 3
	copySize  = 16
)

// sealCopy is the seal of a copy.
func sealCopy(word uint64, pair []uint64, keySize, valueSize int) uint64 {
	lengths := uint64(keySize)<<5 | uint64(valueSize)
	return hashWords(identity(word)^lengths, pair)&^1023 | lengths
}

// readCopy is the pair of a slot's copy, ok false if it is not that of the word.
func readCopy(slot []uint64, room *[copySize]byte) (key, value []byte, ok bool) {
	lengths := int(slot[1] & 1023)
	k, v := lengths>>5, lengths&31
	if k+v > copySize || k == 0 || sealCopy(slot[0], slot[2:4], k, v) != slot[1] &&
		!unsealedCopy.On() {
		return nil, nil, false
	}
	b := unpack(room[:0], slot[2:4], copySize)
	return b[:k], b[k : k+v], true
}
