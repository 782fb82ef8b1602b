package index

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// BenchmarkBatch looks up keys that are there, in batches of 1024, in tables that no cache holds,
// beside a Go map.
func BenchmarkBatch(b *testing.B) {
	const n = 1 << 22
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"4+4", Config{KeySize: 4, ValueSize: 4}}, {"8+8", Config{KeySize: 8, ValueSize: 8}},
		{"8+100", Config{KeySize: 8, ValueSize: 100}}, {"16+8", Config{KeySize: 16, ValueSize: 8}},
	} {
		b.Run(c.name, func(b *testing.B) {
			job := local.Single()
			defer job.Close()
			key := func(i uint64, to []byte) {
				clear(to)
				if len(to) == 4 {
					binary.LittleEndian.PutUint32(to, uint32(i*0x9E3779B1))
				} else {
					binary.LittleEndian.PutUint64(to, i*0x9E3779B97F4A7C15)
				}
			}
			record := Record{make([]byte, c.cfg.KeySize), make([]byte, c.cfg.ValueSize)}
			x, err := Build(context.Background(), job, c.cfg, func(yield func(Record, error) bool) {
				for i := range uint64(n) {
					key(i, record.Key)
					if !yield(record, nil) {
						return
					}
				}
			})
			must(b, err)
			defer x.Close()
			const batch = 1024
			keys := make([]byte, batch*c.cfg.KeySize)
			matches := 0
			rng := rand.New(rand.NewPCG(1, 2))
			b.ResetTimer()
			for done := 0; done < b.N; done += batch {
				for i := range batch {
					key(rng.Uint64N(n), keys[i*c.cfg.KeySize:(i+1)*c.cfg.KeySize])
				}
				must(b, x.LookupBatch(keys, func(int, Value) { matches++ }))
			}
			if matches < b.N {
				b.Fatalf("%d matches for %d keys", matches, b.N)
			}
		})
	}
}
