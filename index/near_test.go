package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestRepeats: a build knows whether some key has two records, and lookups find all records of
// such keys, those next to their home and those behind.
func TestRepeats(t *testing.T) {
	for _, layout := range []Layout{Ordered, Linear} {
		for _, size := range []int{4, 8} {
			for copies := 1; copies <= 20; copies++ {
				cfg := Config{KeySize: size, ValueSize: size, Layout: layout, Load: 0.9}
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
				if x.Info().Unique != (copies == 1) {
					t.Errorf("%v, %d records of a key: unique %v", layout, copies, x.Info().Unique)
				}
				if numbers := x.t.numbers.keyBytes != 0; numbers != (copies == 1) {
					t.Errorf("%v, %d records of a key: numbers %v", layout, copies, numbers)
				}
				keys := m.some(rand.New(rand.NewPCG(1, 2)), 4000, size)
				keys = append(append(keys, x.t.marker...), all[1000].Key...)
				must(t, m.verify(x.Reader, keys, size))
			}
		}
	}
}
