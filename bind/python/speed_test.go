//go:build clib

package python

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// The same as in farhash/bench.py.
const keySize, valueSize, batch, single, rounds = 80, 104, 1 << 19, 1 << 16, 5

// tables are what is measured, with a batch that has been put in.
type tables struct {
	*cache.Cache
	*set.Set
	keys, values []byte
	words        []uint64
}

func (s *tables) key(i int) []byte   { return s.keys[i*keySize:][:keySize] }
func (s *tables) value(i int) []byte { return s.values[i*valueSize:][:valueSize] }

func newTables(b *testing.B, pairs int) *tables {
	b.Helper()
	ctx, job := context.Background(), local.Single()
	b.Cleanup(func() { _ = job.Close() })
	random := rand.NewChaCha8([32]byte{1})
	keys, values := make([]byte, pairs*keySize), make([]byte, pairs*valueSize)
	_, _ = random.Read(keys)
	_, _ = random.Read(values)
	words := make([]uint64, pairs)
	for i := range words {
		words[i] = random.Uint64() >> 1
	}
	c, err := cache.New(ctx, job, cache.Config{KeySize: keySize, ValueSize: valueSize,
		Buckets: 2 * uint64(pairs)})
	if err != nil {
		b.Fatal(err)
	}
	s, err := set.New(ctx, job, set.Config{Buckets: 2 * uint64(pairs)})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.PutBatch(keys, values, make([]cache.Result, pairs)); err != nil {
		b.Fatal(err)
	}
	if err := s.FindOrPutBatch(words, make([]set.Result, pairs)); err != nil {
		b.Fatal(err)
	}
	t := &tables{Cache: c, Set: s}
	for range batch {
		i := int(random.Uint64() % uint64(pairs))
		t.keys = append(t.keys, keys[i*keySize:][:keySize]...)
		t.values = append(t.values, values[i*valueSize:][:valueSize]...)
		t.words = append(t.words, words[i])
	}
	return t
}

// inGo does what farhash/bench.py does, and returns the time of each item or call.
func inGo(b *testing.B, pairs int) map[string]float64 {
	t := newTables(b, pairs)
	took := map[string]float64{}
	measure := func(name string, items int, call func() error) {
		took[name] = math.Inf(1)
		for range rounds {
			begin := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			took[name] = min(took[name], float64(time.Since(begin).Nanoseconds())/float64(items))
		}
	}
	each := func(call func(i int) error) func() error {
		return func() error {
			for i := range single {
				if err := call(i); err != nil {
					return err
				}
			}
			return nil
		}
	}
	out, hits, value := make([]byte, len(t.values)), make([]bool, batch), make([]byte, valueSize)
	stored, answers := make([]cache.Result, batch), make([]set.Result, batch)
	measure("get-batch", batch, func() error { return t.GetBatch(t.keys, out, hits) })
	measure("put-batch", batch, func() error { return t.PutBatch(t.keys, t.values, stored) })
	measure("find-or-put-batch", batch, func() error { return t.FindOrPutBatch(t.words, answers) })
	measure("contains-batch", batch, func() error { return t.ContainsBatch(t.words, answers) })
	measure("get", single, each(func(i int) error { _, err := t.Get(t.key(i), value); return err }))
	measure("put", single, each(func(i int) error {
		_, err := t.Put(t.key(i), t.value(i))
		return err
	}))
	measure("find-or-put", single, each(func(i int) error {
		_, err := t.FindOrPut(t.words[i])
		return err
	}))
	measure("contains", single, each(func(i int) error {
		_, err := t.Contains(t.words[i])
		return err
	}))
	return took
}

// BenchmarkSpeed compares batches and single calls from Python with the calls of Go, in one run.
func BenchmarkSpeed(b *testing.B) {
	for _, pairs := range []int{1 << 10, 1 << 20} {
		out, err := command(b, "-m", "farhash.bench", fmt.Sprint(pairs)).CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		took := inGo(b, pairs)
		for line := range strings.Lines(string(out)) {
			var call string
			var ns float64
			if _, err := fmt.Sscan(line, &call, &ns); err != nil || took[call] == 0 {
				b.Fatalf("%s: %v", line, err)
			}
			fmt.Printf("%8d pairs  %-18s Python %7.1f ns (%5.1f M/s), Go %6.1f ns, %5.2f times\n",
				pairs, call, ns, 1e3/ns, took[call], ns/took[call])
		}
	}
}
