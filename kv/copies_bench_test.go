package kv

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// BenchmarkCopies is single calls on small pairs in a map whose slots have copies of them, and in
// one whose slots have not.
func BenchmarkCopies(b *testing.B) {
	const keys = 1 << 19
	for _, copies := range []bool{false, true} {
		job := local.Single()
		m, err := New(b.Context(), job, Config{Slots: 2 * keys, Copies: copies})
		if err != nil {
			b.Fatal(err)
		}
		key, value := make([]byte, 8), make([]byte, 8)
		put := func(i int) {
			binary.LittleEndian.PutUint64(key, uint64(i)*0x9E3779B97F4A7C15%keys)
			if _, err := m.Put(key, value); err != nil {
				b.Fatal(err)
			}
		}
		for i := range keys {
			put(i)
		}
		b.Run(fmt.Sprintf("get/copies=%t", copies), func(b *testing.B) {
			for i := range b.N {
				binary.LittleEndian.PutUint64(key, uint64(i)*0x9E3779B97F4A7C15%keys)
				if _, _, ok, err := m.Get(key, value[:0]); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
		b.Run(fmt.Sprintf("put/copies=%t", copies), func(b *testing.B) {
			for i := range b.N {
				put(i)
			}
		})
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
		_ = job.Close()
	}
}
