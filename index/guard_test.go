package index

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/internal/testkit/guard"
)

// moveTo gives a table of one rank other memory, which has its slots and its heap. Its borders stay
// where they are.
func (t *table) moveTo(memory []uint64) {
	t.flat, t.segment = memory, len(memory)
	t.numbers.flat = unsafe.Pointer(unsafe.SliceData(memory))
	if t.far.flat != nil {
		t.far.flat = t.numbers.flat
	}
}

// TestTablesEndWithMemory: searches near the end of a table read nothing after it.
func TestTablesEndWithMemory(t *testing.T) {
	for _, cfg := range []Config{{KeySize: 4, ValueSize: 4}, {KeySize: 8, ValueSize: 8},
		{KeySize: 12, ValueSize: 4, Storage: Inline}, {KeySize: 8, ValueSize: 56},
		{KeySize: 16, ValueSize: 90, Variable: true},
		{KeySize: 40, VariableKeys: true, ValueSize: 8},
		{KeySize: 16, ValueSize: 90, Variable: true, Storage: Hybrid},
		{KeySize: 40, VariableKeys: true, ValueSize: 8, Storage: Hybrid, InlineBytes: 30}} {
		cfg.Load = 0.7
		for n := range 48 {
			x := built(t, cfg, numbered(n, cfg))
			x.t.moveTo(guard.Copy(t, x.t.flat[:x.t.bordersAt]))
			m, all := modelOf(numbered(n, cfg)), numbered(4*n+100, cfg)
			var keys [][]byte
			for _, r := range all {
				keys = append(keys, r.Key)
			}
			must(t, m.verify(x.Reader, keys), x.Check(context.Background()))
			for key := range slices.Chunk(keys, 1) {
				must(t, m.verify(x.Reader, key))
			}
		}
	}
}

// numbered are records of different keys.
func numbered(n int, cfg Config) (all []Record) {
	for i := range n {
		r := Record{make([]byte, cfg.KeySize), make([]byte, cfg.ValueSize)}
		binary.LittleEndian.PutUint32(r.Key, uint32(i))
		if cfg.VariableKeys {
			r.Key = r.Key[:4+i%(cfg.KeySize-3)]
		}
		if cfg.Variable {
			r.Value = r.Value[:i%(cfg.ValueSize+1)]
		}
		all = append(all, r)
	}
	return all
}
