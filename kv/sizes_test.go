package kv

import (
	"bytes"
	"testing"
)

// TestClasses: an item has the smallest class that holds it. Classes differ by 64 bytes up to 1
// KiB, and are 1.5 and 2 times as large as each power of two after that.
func TestClasses(t *testing.T) {
	words, class := 1, 0
	for most := 8; most <= 1<<15; class++ {
		for ; words <= most; words++ {
			if got := classFor(words); got != class {
				t.Fatalf("an item of %d words has class %d, want %d", words, got, class)
			}
		}
		if got := classWords(class); got != most || classUnits(class) != uint64(most/unitWords) {
			t.Fatalf("class %d has %d words and %d units, want %d words", class, got,
				classUnits(class), most)
		}
		switch {
		case most < 128:
			most += 8
		case most&(most-1) == 0:
			most += most / 2
		default:
			most += most / 3
		}
	}
	if class != classes {
		t.Errorf("there are %d classes, want %d", class, classes)
	}
	largest := classFor(itemWords(MaxSize, MaxSize))
	if largest >= classes {
		t.Errorf("the largest item has class %d", largest)
	}
}

// TestItemSizes: an item gives back the key and value that were written to it, for sizes of all
// kinds, and has a head of 16 bytes if the sizes fit beside the seal. An item is refused if one bit
// of its seal or sizes has changed.
func TestItemSizes(t *testing.T) {
	sizes := []int{0, 1, 7, 8, 9, 40, 48, 49, 55, 96, 100, 104, 105, 254, 255, 256, 257, 900, 992,
		993, 1000, 1001, 1008, 1009, 4096, MaxSize}
	for _, k := range sizes {
		for _, v := range sizes {
			if k == 0 {
				continue
			}
			key, value := bytes.Repeat([]byte{1}, k), bytes.Repeat([]byte{2}, v)
			class := classFor(itemWords(k, v))
			word := newWord(hashOf(key), class, item{number: 5, use: 3})
			it := make([]uint64, classWords(class))
			for i := range it { // of the use before
				it[i] = ^uint64(0)
			}
			n := writeItem(it, word, key, value)
			_, gotKey, gotValue, ok := verify(word, it)
			if !ok || !bytes.Equal(gotKey, key) || !bytes.Equal(gotValue, value) {
				t.Fatalf("%d and %d bytes: %v, %d and %d", k, v, ok, len(gotKey), len(gotValue))
			}
			if short := k <= 255 && n <= 128; short != (n == 2+(k+7)/8+(v+7)/8) {
				t.Fatalf("%d and %d bytes take %d words", k, v, n)
			}
			for bit := range 64 {
				it[sealWord] ^= 1 << bit
				if _, _, _, ok := verify(word, it); ok {
					t.Fatalf("%d and %d bytes: taken though bit %d has changed", k, v, bit)
				}
				it[sealWord] ^= 1 << bit
			}
		}
	}
}

// TestTornSizes: if another rank is writing an item, its sizes can be anything. sizesOf refuses
// those that do not fit the item.
func TestTornSizes(t *testing.T) {
	for class := range classes {
		it := make([]uint64, classWords(class))
		for _, long := range []uint64{0, 1, 1 | 1<<32, 9 << 32, 256, 1 << 31, 1<<32 - 1, MaxSize,
			MaxSize | MaxSize<<32, MaxSize << 32, 5 | 1100<<32, 8 | 40<<32} {
			for sealed := range uint64(1 << sizesBits) {
				it[sealWord], it[sizeWord] = sealed, long
				key, value, head, ok := sizesOf(sealed, it)
				if end := head + (key+7)/8 + (value+7)/8; ok && (value < 0 || end > len(it)) {
					t.Fatalf("class %d, %#x, %#x: %d and %d bytes in %d words", class, sealed, long,
						key, value, len(it))
				}
				verify(1, it) // does not fail
			}
		}
	}
}
