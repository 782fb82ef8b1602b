package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
)

// TestRepeats: a build knows whether some key has two records, and lookups find all records of
// such keys, those next to their home and those behind.
func TestRepeats(t *testing.T) {
	for _, size := range []int{4, 8} {
		for copies := 1; copies <= 20; copies++ {
			cfg := Config{KeySize: size, ValueSize: size, Load: 0.9}
			var all []Record
			for i := range uint32(3000) {
				r := Record{make([]byte, size), make([]byte, size)}
				binary.LittleEndian.PutUint32(r.Key, i*0x9E3779B1)
				binary.LittleEndian.PutUint32(r.Value, i)
				all = append(all, r)
			}
			for range copies - 1 {
				all = append(all, all[1000])
			}
			m := modelOf(all)
			x := built(t, cfg, all)
			if x.t.Unique != (copies == 1) {
				t.Errorf("%d records of a key: unique %v", copies, x.t.Unique)
			}
			if numbers := x.t.numbers.keyBytes != 0; numbers != (copies == 1) {
				t.Errorf("%d records of a key: numbers %v", copies, numbers)
			}
			keys := m.some(rand.New(rand.NewPCG(1, 2)), 4000, size)
			keys = append(keys, x.t.Marker, all[1000].Key)
			must(t, m.verify(x.Reader, keys))
		}
	}
}

// TestNumbers: tables of keys and values of 4 or 8 bytes answer as a plain map, and all ranks know
// whether a key has two records, be they on one rank alone. So do files of them, and files whose
// header does not say whether a key has two records, as those saved earlier.
func TestNumbers(t *testing.T) {
	replay.Seeds(t, 24, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		size, ranks := 4+4*int(seed%2), 1+int(seed/2%4)
		cfg := Config{KeySize: size, ValueSize: size,
			Load: []float64{0.05, 0.5, 0.8, 0.9, 0.99}[rng.IntN(5)]}
		all := numberRecords(rng, size)
		m, path := modelOf(all), filepath.Join(t.TempDir(), "index")
		unique := len(m) == len(all)
		early := rng.IntN(2) == 0
		keys := m.some(rng, 300, size)
		// Ranks that address the memory of each other.
		must(t, withIndex(engines[0], ranks, cfg, all, func(x *Index) error {
			keys := append(slices.Clone(keys), x.marker()...)
			if err := m.numbers(x, keys, unique); err != nil {
				return err
			}
			x.t.Unique = x.t.Unique && !early
			return x.Save(context.Background(), path)
		}))
		if runtime.GOOS == "windows" {
			return // files are not mapped
		}
		must(t, engines[0].Run(1+int(seed%3), func(job rma.Job) error {
			x, err := Open(context.Background(), job, path)
			if err != nil {
				return err
			}
			keys := append(slices.Clone(keys), x.marker()...)
			if err := m.numbers(x, keys, unique && !early); err != nil {
				return fmt.Errorf("file: %w", err)
			}
			return x.Close()
		}))
	})
}

// numberRecords are records of keys with a number, few or many: zero is one of them, and all ones.
// No key, one or some of them have several records.
func numberRecords(rng *rand.Rand, size int) (all []Record) {
	n := []int{0, 1, 2, 7, 8, 9, 20, 300, 3000}[rng.IntN(9)]
	copies := []int{1, 1, 2, 5, 70}[rng.IntN(5)]
	alone := rng.IntN(2) == 0 // one key alone has them
	for i := range n {
		key := make([]byte, 8)
		binary.LittleEndian.PutUint64(key, (uint64(i)-1)*0x9E3779B97F4A7C15)
		if i == 1 {
			key = slices.Repeat([]byte{0xff}, 8)
		}
		many := 1
		if i == n/2 || !alone {
			many = copies
		}
		for range many {
			value := binary.LittleEndian.AppendUint64(nil, rng.Uint64())
			all = append(all, Record{key[:size], value[:size]})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// numbers looks up keys of numbers, all of them in a batch, and each one alone.
func (m model) numbers(x *Index, keys [][]byte, unique bool) error {
	if x.t.Unique != unique {
		return fmt.Errorf("unique: %v; it should be %v", !unique, unique)
	}
	if quick := x.t.numbers.keyBytes != 0; quick != (unique && x.t.Slots >= groupSlots) {
		return fmt.Errorf("unique: %v, %d slots, quick: %v", unique, x.t.Slots, quick)
	}
	err := m.verify(x.Reader, keys)
	for key := range slices.Chunk(keys, 1) {
		if err == nil {
			err = m.verify(x.Reader, key)
		}
	}
	return err
}
