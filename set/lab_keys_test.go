package set

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/variant"
)

// A table for the lab is so small that its keys contend for buckets: their homes lie shortly
// before the end of the table or of a rank's part.

// labConfig draws a small table.
func labConfig(rng *rand.Rand, ranks int) Config {
	return Config{
		Buckets: uint64(lineBuckets * ranks * (1 + rng.IntN(3))),
		Chunk:   lineBuckets * []int{1, 1, 1, 2, 3}[rng.IntN(5)],
		Chunks:  1 + rng.IntN(3),
		variant: []variant.Set{lineHomes, lineHomes, wordHomes}[rng.IntN(3)],
		Depth:   1 + rng.IntN(4),
	}
}

// labSpot draws a bucket near which keys are to have their homes: the last one of the
// table, of a rank's part, or any.
func labSpot(rng *rand.Rand, t *table) uint64 {
	switch rng.IntN(4) {
	case 0:
		return rng.Uint64N(t.buckets)
	case 1:
		return (1+rng.Uint64N(t.buckets/t.perRank))*t.perRank - 1
	}
	return t.buckets - 1
}

// closeTo reports whether a home lies at most maxDistance buckets before spot.
func (t *table) closeTo(home, spot, maxDistance uint64) bool {
	return t.distance(home, spot) <= maxDistance
}

// labWords draws words with homes near a spot.
func labWords(rng *rand.Rand, t *table) []uint64 {
	spot, maxDistance := labSpot(rng, t), []uint64{0, 3, 9}[rng.IntN(3)]
	maxDistance = max(maxDistance, t.unit-1)
	words := make([]uint64, 3+rng.IntN(20))
	for i := range words {
		for {
			words[i] = rng.Uint64() & MaxWord
			if t.closeTo(t.home(hashWord(words[i])), spot, maxDistance) {
				break
			}
		}
	}
	return words
}

// labElement is an element and its hash.
type labElement struct {
	words []uint64
	hash  uint64
}

// labSizes are the lengths of elements, in bytes: a word, two, and two and a half.
var labSizes = []int{8, 16, 20}

// labCollisions are pairs of elements, of each of labSizes, that have the same fingerprint and
// differ in their last word only.
var labCollisions = sync.OnceValue(func() [][][2]labElement {
	collisions := make([][][2]labElement, len(labSizes))
	for i, size := range labSizes {
		seen := map[uint64]labElement{}
		for last := uint64(0); last < 1<<17; last++ {
			words := make([]uint64, (size+7)/8)
			words[0] = uint64(size)
			words[len(words)-1] = last
			e := labElement{words, hashElement(words)}
			if other, ok := seen[fingerprintKey(e.hash)]; ok {
				collisions[i] = append(collisions[i], [2]labElement{other, e})
			}
			seen[fingerprintKey(e.hash)] = e
		}
	}
	return collisions
})

// labElements draws elements with homes near a spot: pairs with the same fingerprint,
// as far as there are any, and others.
func labElements(rng *rand.Rand, t *table, size int) (elements [][]byte) {
	collisions := labCollisions()[size]
	spot, maxDistance := labSpot(rng, t), t.unit-1+[]uint64{0, 3, 8}[rng.IntN(3)]
	add := func(e labElement) {
		elements = append(elements, core.BytesOf(e.words)[:labSizes[size]])
	}
	n := 3 + rng.IntN(20)
	for _, i := range rng.Perm(len(collisions)) {
		if pair := collisions[i]; len(elements) < n &&
			t.closeTo(t.home(pair[0].hash), spot, maxDistance) &&
			t.closeTo(t.home(pair[1].hash), spot, maxDistance) {
			add(pair[0])
			add(pair[1])
		}
	}
	for first := uint64(1 << 40); len(elements) < n; first++ {
		words := make([]uint64, (labSizes[size]+7)/8)
		words[0] = first
		if hash := hashElement(words); t.closeTo(t.home(hash), spot, maxDistance) {
			add(labElement{words, hash})
		}
	}
	return elements
}

// labStringCollisions are pairs of strings of 8 bytes that have the same fingerprint.
var labStringCollisions = sync.OnceValue(func() (pairs [][2][]byte) {
	seen := map[uint64][]byte{}
	for n := range uint64(1 << 17) {
		s := binary.LittleEndian.AppendUint64(nil, n)
		key := fingerprintKey(hashHead(appendString(nil, s)[0]))
		if other, ok := seen[key]; ok {
			pairs = append(pairs, [2][]byte{other, s})
		}
		seen[key] = s
	}
	return pairs
})

// labStrings draws strings with homes near a spot: pairs with the same fingerprint, as far as there
// are any, and others, some of more pieces than one.
func labStrings(rng *rand.Rand, t *table) (elements [][]byte) {
	const piece = 8 * (pieceWords - 1)
	spot, maxDistance := labSpot(rng, t), t.unit-1+[]uint64{0, 3, 8}[rng.IntN(3)]
	near := func(s []byte) bool {
		return t.closeTo(t.home(hashHead(appendString(nil, s)[0])), spot, maxDistance)
	}
	n := 3 + rng.IntN(20)
	for _, pair := range labStringCollisions() {
		if len(elements) < n && near(pair[0]) && near(pair[1]) {
			elements = append(elements, pair[0], pair[1])
		}
	}
	for number := uint64(1 << 40); len(elements) < n; number++ {
		length := []int{8, 9, 21, piece, piece + 1, 2*piece + 9}[rng.IntN(6)]
		s := make([]byte, length)
		binary.LittleEndian.PutUint64(s[length-8:], number)
		if near(s) {
			elements = append(elements, s)
		}
	}
	return elements
}
