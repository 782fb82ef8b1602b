package measure

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	zipfSkew = 0.99 // MD 5.2, and YCSB

	golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
)

// LawName names the law by which the keys of operations are drawn.
type LawName string

const (
	Uniform LawName = "uniform"
	Zipf    LawName = "zipf" // number i with a chance proportional to i^-0.99
)

// Laws lists them.
func Laws() []LawName { return []LawName{Uniform, Zipf} }

// Law draws keys, which are numbered from 0.
type Law struct {
	keys int
	sums []float64 // of the weights of keys 0 to i; nil: all weigh the same
}

// NewLaw prepares to draw from so many keys.
func NewLaw(of LawName, keys int) *Law {
	if of == Zipf {
		return NewZipf(zipfSkew, keys)
	}
	return &Law{keys: keys}
}

// NewZipf draws key i, counted from 0, with a chance proportional to (i+1)^-skew.
func NewZipf(skew float64, keys int) *Law {
	law := &Law{keys: keys, sums: make([]float64, keys)}
	sum := 0.0
	for i := range law.sums {
		sum += math.Pow(float64(i+1), -skew)
		law.sums[i] = sum
	}
	return law
}

// Draw is the number of a key.
func (l *Law) Draw(rng *rand.Rand) uint64 {
	if l.sums == nil {
		return rng.Uint64N(uint64(l.keys))
	}
	i, _ := slices.BinarySearch(l.sums, rng.Float64()*l.sums[l.keys-1])
	return uint64(min(i, l.keys-1))
}

// FillBytes writes what derives from seed. Its first 8 bytes are others for each seed.
func FillBytes(dst []byte, seed uint64) {
	for ; len(dst) >= 8; dst = dst[8:] {
		seed += golden
		binary.LittleEndian.PutUint64(dst, Mix64(seed))
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], Mix64(seed+golden))
	copy(dst, last[:])
}

// FillKey writes key number number.
func FillKey(key []byte, number uint64) { FillBytes(key, number) }

// FillValue writes a value for a key: a stamp that identifies writer and time, and bytes that
// derive from the key and the stamp, so that neither parts of two values nor a value of
// another key pass for one of this.
func FillValue(value []byte, number, stamp uint64) {
	var whole [8]byte
	binary.LittleEndian.PutUint64(whole[:], stamp)
	n := copy(value, whole[:stampBytes(value)])
	fillRest(value[n:], number, whole[:n])
}

// stampBytes is how much of a value is its stamp.
func stampBytes(value []byte) int { return min(8, len(value)/2) }

func fillRest(rest []byte, number uint64, stamp []byte) {
	var whole [8]byte
	copy(whole[:], stamp)
	FillBytes(rest, Mix64(number+1)^Mix64(binary.LittleEndian.Uint64(whole[:])+golden))
}

// RightValue reports whether value is one that was written for a key. scratch is as long.
func RightValue(value []byte, number uint64, scratch []byte) bool {
	n := stampBytes(value)
	fillRest(scratch[n:len(value)], number, value[:n])
	return bytes.Equal(value[n:], scratch[n:len(value)])
}
