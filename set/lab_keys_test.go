package set

import (
	"math/rand/v2"
	"sync"
)

// A table for the lab is so small that its keys meet: their homes lie close before the
// end of the table or of a rank's part.

// labConfig draws a small table.
func labConfig(rng *rand.Rand, ranks int) Config {
	return Config{
		Buckets: uint64(lineBuckets * ranks * (1 + rng.IntN(3))),
		Chunk:   lineBuckets * []int{1, 1, 1, 2, 3}[rng.IntN(5)],
		Chunks:  1 + rng.IntN(3),
		Home:    []Home{HomeLine, HomeLine, HomeWord}[rng.IntN(3)],
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

// near reports whether a home lies at most that many buckets before spot.
func (t *table) near(home, spot, most uint64) bool { return t.distance(home, spot) <= most }

// labWords draws words with homes near a spot.
func labWords(rng *rand.Rand, t *table) []uint64 {
	spot, most := labSpot(rng, t), []uint64{0, 3, 9}[rng.IntN(3)]
	most = max(most, t.unit-1)
	words := make([]uint64, 3+rng.IntN(20))
	for i := range words {
		for {
			words[i] = rng.Uint64() & MaxWord
			if t.near(t.home(hashWord(words[i])), spot, most) {
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

// labTwins are pairs of elements, of each of labSizes, that have the same fingerprint and
// differ in their last word only.
var labTwins = sync.OnceValue(func() [][][2]labElement {
	twins := make([][][2]labElement, len(labSizes))
	for i, size := range labSizes {
		seen := map[uint64]labElement{}
		for last := uint64(0); last < 1<<17; last++ {
			words := make([]uint64, (size+7)/8)
			words[0] = uint64(size)
			words[len(words)-1] = last
			e := labElement{words, hashElement(words)}
			if twin, ok := seen[fingerprintKey(e.hash)]; ok {
				twins[i] = append(twins[i], [2]labElement{twin, e})
			}
			seen[fingerprintKey(e.hash)] = e
		}
	}
	return twins
})

// labElements draws elements with homes near a spot: pairs with the same fingerprint,
// as far as there are any, and others.
func labElements(rng *rand.Rand, t *table, size int) (elements [][]byte) {
	twins := labTwins()[size]
	spot, most := labSpot(rng, t), t.unit-1+[]uint64{0, 3, 8}[rng.IntN(3)]
	add := func(e labElement) {
		elements = append(elements, bytesOf(e.words)[:labSizes[size]])
	}
	n := 3 + rng.IntN(20)
	for _, i := range rng.Perm(len(twins)) {
		if pair := twins[i]; len(elements) < n && t.near(t.home(pair[0].hash), spot, most) &&
			t.near(t.home(pair[1].hash), spot, most) {
			add(pair[0])
			add(pair[1])
		}
	}
	for first := uint64(1 << 40); len(elements) < n; first++ {
		words := make([]uint64, (labSizes[size]+7)/8)
		words[0] = first
		if hash := hashElement(words); t.near(t.home(hash), spot, most) {
			add(labElement{words, hash})
		}
	}
	return elements
}
