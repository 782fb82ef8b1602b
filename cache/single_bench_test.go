package cache

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// BenchmarkSingle is gets and puts of single pairs, by the length of values: 100 bytes are not
// whole words.
func BenchmarkSingle(b *testing.B) {
	for _, size := range []int{96, 100, 104} {
		job := local.Single()
		c, err := New(b.Context(), job, Config{KeySize: 8, ValueSize: size, Buckets: 1 << 16})
		if err != nil {
			b.Fatal(err)
		}
		key, value := make([]byte, 8), make([]byte, size)
		const keys = 1 << 15
		put := func(i int) {
			binary.LittleEndian.PutUint64(key, uint64(i)*0x9E3779B97F4A7C15%keys)
			if _, err := c.Put(key, value); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("put/value=%d", size), func(b *testing.B) {
			for i := range b.N {
				put(i)
			}
		})
		b.Run(fmt.Sprintf("get/value=%d", size), func(b *testing.B) {
			for i := range b.N {
				binary.LittleEndian.PutUint64(key, uint64(i)*0x9E3779B97F4A7C15%keys)
				if _, err := c.Get(key, value); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		_ = job.Close()
	}
}
