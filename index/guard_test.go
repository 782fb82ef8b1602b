package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/internal/testkit/guard"
)

// moveTo gives a table of one rank other memory, which has what its own has.
func (t *table) moveTo(memory []uint64) {
	t.flat = memory
	t.numbers.flat = unsafe.Pointer(unsafe.SliceData(memory))
}

// TestTablesEndWithMemory: searches near the end of a table read nothing behind it. The slots of
// a Linear table are all of its memory where they fill whole lines.
func TestTablesEndWithMemory(t *testing.T) {
	whole := map[string]int{}
	for _, layout := range []Layout{Ordered, Linear, Cuckoo} {
		for _, cfg := range []Config{{KeySize: 4, ValueSize: 4}, {KeySize: 8, ValueSize: 8},
			{KeySize: 12, ValueSize: 4, Storage: Inline}, {KeySize: 8, ValueSize: 56},
			{KeySize: 16, ValueSize: 90, Variable: true}} {
			cfg.Layout, cfg.Load = layout, 0.7
			for n := range 48 {
				x := built(t, cfg, numbered(n, cfg))
				if end := x.t.units * x.t.unitBytes / 8; end == x.t.segment {
					whole[fmt.Sprint(layout, cfg.KeySize)]++
				}
				x.t.moveTo(guard.Copy(t, x.t.flat))
				m, all := modelOf(numbered(n, cfg)), numbered(4*n+100, cfg)
				var keys []byte
				for _, r := range all {
					keys = append(keys, r.Key...)
				}
				must(t, m.verify(x.Reader, keys, cfg.KeySize), x.Check(context.Background()))
				for key := range slices.Chunk(keys, cfg.KeySize) {
					must(t, m.verify(x.Reader, key, cfg.KeySize))
				}
			}
		}
	}
	for _, kind := range []string{"linear 4", "linear 8"} {
		if whole[kind] == 0 {
			t.Errorf("no table ends with its slots: %v", whole)
		}
	}
}

// numbered are records of different keys.
func numbered(n int, cfg Config) (all []Record) {
	for i := range n {
		r := Record{make([]byte, cfg.KeySize), make([]byte, cfg.ValueSize)}
		binary.LittleEndian.PutUint32(r.Key, uint32(i))
		if cfg.Variable {
			r.Value = r.Value[:i%(cfg.ValueSize+1)]
		}
		all = append(all, r)
	}
	return all
}
