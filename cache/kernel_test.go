package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/farhash/farhash/internal/system/memory"
)

// TestKernel: the assembly gives the same answers as the loops in Go, for keys and values of
// all lengths, in tables that are empty, full, torn and marked, and counts the same.
func TestKernel(t *testing.T) {
	if !hasKernel {
		t.Skip("there is no assembly in this build")
	}
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{KeySize: 8 * rapid.IntRange(1, 30).Draw(t, "key words"),
			ValueSize:    8 * rapid.IntRange(1, 30).Draw(t, "value words"),
			Buckets:      uint64(rapid.IntRange(1, 100).Draw(t, "buckets")),
			GroupBuckets: rapid.IntRange(0, maxGroupBuckets).Draw(t, "group"),
			Mode:         Mode(rapid.IntRange(0, 2).Draw(t, "mode")),
			TTL:          rapid.SampledFrom([]time.Duration{0, 1, 2}).Draw(t, "TTL")}
		ranks := rapid.IntRange(1, 3).Draw(t, "ranks")
		keys := rapid.IntRange(0, 200).Draw(t, "keys")
		stored := rapid.IntRange(0, 100).Draw(t, "stored")
		seed := rapid.Uint64().Draw(t, "seed")
		var answers [2]string
		for i := range answers {
			cfg.clock = stopped()
			must(t, withCache(engines[0], ranks, cfg, func(c *Cache) (err error) {
				if c.kernel = i == 1; c.job.Rank() == 0 {
					answers[i], err = damaged(c, stored, keys, seed)
				}
				if err != nil {
					return err
				}
				return c.job.Barrier(context.Background())
			}))
		}
		if answers[0] != answers[1] {
			t.Fatalf("the loops say\n%s\nthe assembly\n%s", answers[0], answers[1])
		}
	})
}

// damaged puts keys, breaks some buckets, asks for keys and returns all answers.
func damaged(c *Cache, stored, asked int, seed uint64) (string, error) {
	pack := func(n, size int) (packed []byte) {
		for i := range n {
			packed = append(packed, spread(seed|uint64(i)<<1|1, size)...)
		}
		return packed
	}
	results := make([]Result, stored)
	err := c.PutBatch(pack(stored, c.cfg.KeySize), pack(stored, c.cfg.ValueSize), results)
	if c.clock != nil { // some of the pairs expire
		half := stored / 2
		err = errors.Join(err, c.PutBatchTTL(pack(half, c.cfg.KeySize),
			pack(half, c.cfg.ValueSize), Forever, results[:half]))
		c.clock.pass(1)
	}
	if err != nil {
		return "", err
	}
	number := seed
	for b, err := range c.buckets(context.Background(), 0, 0) {
		if err != nil {
			return "", err
		}
		number = number*6364136223846793005 + 1442695040888963407
		at := c.batches.Segments.Of(0)[b.at:][:c.bucketWords]
		switch number >> 60 {
		case 0:
			at[0] = invalid
		case 1, 2, 3:
			at[number>>32%uint64(len(at))] ^= 1 << (number >> 8 % 64)
		}
	}
	values, found := make([]byte, asked*c.cfg.ValueSize), make([]bool, asked)
	if err := c.GetBatch(pack(asked, c.cfg.KeySize), values, found); err != nil {
		return "", err
	}
	for i := range asked {
		value := values[i*c.cfg.ValueSize:][:c.cfg.ValueSize]
		want := pack(i+1, c.cfg.ValueSize)[i*c.cfg.ValueSize:]
		if found[i] && !bytes.Equal(value, want) {
			return "", fmt.Errorf("key %d has value %x, want %x", i, value, want)
		}
	}
	return fmt.Sprint(results, found, c.Stats()), nil
}

// TestKernelHashes: the assembly finds the same addresses.
func TestKernelHashes(t *testing.T) {
	if !hasKernel {
		t.Skip("there is no assembly in this build")
	}
	for words := 1; words <= 40; words++ {
		cfg := Config{KeySize: 8 * words, ValueSize: 8, Buckets: 15000}
		must(t, withCache(engines[0], 3, cfg, func(c *Cache) error {
			b := batch{keys: make([]uint64, stageBlock*words), results: make([]Result, stageBlock)}
			for i := range b.keys {
				b.keys[i] = uint64(i) * 0x9E3779B97F4A7C15
			}
			compareStages(t, c, b, kindGet)
			return nil
		}))
	}
}

// TestKernelLayout: the assembly knows these offsets.
func TestKernelLayout(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("there is no assembly for 32 bits")
	}
	var w kernelWork
	var f flight
	got := []uintptr{unsafe.Offsetof(w.keys), unsafe.Offsetof(w.n), unsafe.Offsetof(w.flights),
		unsafe.Offsetof(w.bases), unsafe.Offsetof(w.locks), unsafe.Offsetof(w.ranks),
		unsafe.Offsetof(w.groups), unsafe.Offsetof(w.group), unsafe.Offsetof(w.puts),
		unsafe.Offsetof(w.bucket), unsafe.Offsetof(w.groupBuckets), unsafe.Offsetof(w.keyWords),
		unsafe.Offsetof(w.lines), unsafe.Offsetof(w.values), unsafe.Offsetof(w.valueWords),
		unsafe.Offsetof(w.found), unsafe.Offsetof(w.hits), unsafe.Offsetof(w.keyAt),
		unsafe.Offsetof(w.now), unsafe.Offsetof(f.hash),
		unsafe.Offsetof(f.bucket), unsafe.Offsetof(f.group), unsafe.Sizeof(f)}
	want := []uintptr{0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128,
		136, 144, 0, 8, 16, 24}
	if !slices.Equal(got, want) {
		t.Errorf("the offsets are %v, the assembly has %v", got, want)
	}
	if memory.RaceEnabled && hasKernel {
		t.Error("the race detector does not see assembly")
	}
}
