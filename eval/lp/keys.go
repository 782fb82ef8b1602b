package lp

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"

	"github.com/farhash/farhash/index"

	"github.com/farhash/farhash/eval/internal/measure"
)

const golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio

// keys are numbered records. Keys with different numbers below 2^32 differ, and
// are others for another seed. A value derives from the number of its record.
type keys struct {
	keyBytes, valueBytes int
	seed                 uint64
	records              int // of all ranks
	// numbers are the numbers of the keys of all records; nil: records have keys of their own.
	numbers []uint32
	// short is the bytes of short values, and long the share of records that have valueBytes; 0:
	// all have. Values are padded to valueBytes where all have to have one size.
	short  int
	long   float64
	padded bool
}

// value is the part of a value that record i has.
func (k *keys) value(i uint64, value []byte) []byte {
	draw := float64(measure.Mix64(i^k.seed<<32)>>11) / (1 << 53)
	if k.short == 0 || k.padded || draw < k.long {
		return value
	}
	return value[:k.short]
}

// fillKey writes the key with a number. Its first four bytes are a bijection of that.
func (k *keys) fillKey(key []byte, number uint64) {
	x := uint32(number) + uint32(measure.Mix64(k.seed))
	x = (x ^ x>>16) * 0x7feb352d
	x = (x ^ x>>15) * 0x846ca68b
	binary.LittleEndian.PutUint32(key, x^x>>16)
	if len(key) > 4 {
		measure.FillBytes(key[4:], number^k.seed)
	}
}

// stamp is the beginning of a value. The stamps of what was found are added up, so that a
// wrong or missing value shows.
func (k *keys) stamp(number uint64) uint32 { return uint32(measure.Mix64(number + golden)) }

func stampOf(v index.Value) uint64 { return uint64(binary.LittleEndian.Uint32(v)) }

// stream are the records of a rank.
func (k *keys) stream(rank, ranks int) iter.Seq2[index.Record, error] {
	from := uint64(k.records) * uint64(rank) / uint64(ranks)
	to := uint64(k.records) * uint64(rank+1) / uint64(ranks)
	return func(yield func(index.Record, error) bool) {
		record := make([]byte, k.keyBytes+k.valueBytes)
		key, value := record[:k.keyBytes], record[k.keyBytes:]
		for i := from; i < to; i++ {
			k.fillKey(key, k.number(i))
			binary.LittleEndian.PutUint32(value, k.stamp(i))
			if !yield(index.Record{Key: key, Value: k.value(i, value)}, nil) {
				return
			}
		}
	}
}

// skew draws the keys of records by a law of Zipf: number i with a chance proportional to
// (i+1)^-exponent. All ranks draw the same.
func (k *keys) skew(exponent float64) {
	law := measure.NewZipf(exponent, k.records)
	rng := rand.New(rand.NewPCG(k.seed, 1))
	k.numbers = make([]uint32, k.records)
	for i := range k.numbers {
		k.numbers[i] = uint32(law.Draw(rng))
	}
}

// repeat gives one key two records, and all others one.
func (k *keys) repeat() {
	k.numbers = make([]uint32, k.records)
	for i := range k.numbers {
		k.numbers[i] = uint32(i)
	}
	k.numbers[1] = k.numbers[0]
}

// lpKeys is how many keys of 4 bytes there are for each record of LP's tables, of 120 Mi.
const lpKeys = float64(1<<32) / (120 << 20)

// random draws keys as LP 5.1 does: random numbers, of which there are lpKeys for each record. So
// some keys have several records. All ranks draw the same.
func (k *keys) random() {
	rng, among := rand.New(rand.NewPCG(k.seed, 2)), uint64(lpKeys*float64(k.records))
	first := make(map[uint64]uint32, k.records) // the number of the first record with a key
	k.numbers = make([]uint32, k.records)
	for i := range k.numbers {
		drawn := rng.Uint64N(among)
		number, known := first[drawn]
		if !known {
			number = uint32(i)
			first[drawn] = number
		}
		k.numbers[i] = number
	}
}

// number is the number of the key of record i.
func (k *keys) number(i uint64) uint64 {
	if k.numbers == nil {
		return i
	}
	return uint64(k.numbers[i])
}

// sample are keys that are there, drawn evenly by a rank, and what looking them up finds:
// so many values, and the sum of their stamps.
func (k *keys) sample(rank, n int) (sample []byte, matches, stamps uint64) {
	rng := rand.New(rand.NewPCG(k.seed+1<<63, uint64(rank)))
	sample = make([]byte, n*k.keyBytes)
	copies, sums := k.values()
	for i := range n {
		number := rng.Uint64N(uint64(k.records))
		for copies != nil && copies[number] == 0 {
			number = rng.Uint64N(uint64(k.records))
		}
		k.fillKey(sample[i*k.keyBytes:(i+1)*k.keyBytes], number)
		if copies == nil {
			matches++
			stamps += uint64(k.stamp(number))
		} else {
			matches += copies[number]
			stamps += sums[number]
		}
	}
	return sample, matches, stamps
}

// values are how many records each key has, and the sums of their stamps; nil where each
// has its own.
func (k *keys) values() (copies, stamps []uint64) {
	if k.numbers == nil {
		return nil, nil
	}
	copies, stamps = make([]uint64, k.records), make([]uint64, k.records)
	for i, number := range k.numbers {
		copies[number]++
		stamps[number] += uint64(k.stamp(uint64(i)))
	}
	return copies, stamps
}
