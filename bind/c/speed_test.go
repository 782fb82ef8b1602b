//go:build clib

package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// mix and fill are the same as in testdata/try.h.
func mix(n uint64) uint64 {
	n = (n + 1) * 0x9E3779B97F4A7C15
	return (n ^ n>>29) * 0xBF58476D1CE4E5B9
}

func fillBytes(to []byte, seed uint64) {
	for i := range to {
		to[i] = byte(mix(seed+uint64(i/8)) >> (i % 8 * 8))
	}
}

// inGo does what testdata/speed.c does, and returns the time of each call.
func inGo(b *testing.B, pairs, keySize, valueSize uint64) map[string]float64 {
	const calls, rounds = 1 << 19, 5
	keys, values := make([]byte, pairs*keySize), make([]byte, pairs*valueSize)
	value := make([]byte, valueSize)
	job := local.Single()
	defer job.Close()
	ctx := context.Background()
	c, err := cache.New(ctx, job, cache.Config{KeySize: int(keySize), ValueSize: int(valueSize),
		Buckets: 2 * pairs})
	if err != nil {
		b.Fatal(err)
	}
	s, err := set.New(ctx, job, set.Config{Buckets: 2 * pairs})
	if err != nil {
		b.Fatal(err)
	}
	key := func(i uint64) []byte { return keys[i*keySize:][:keySize] }
	valueOf := func(i uint64) []byte { return values[i*valueSize:][:valueSize] }
	for i := range pairs {
		fillBytes(key(i), 100*i)
		fillBytes(valueOf(i), 100*i+50)
		_, err1 := c.Put(key(i), valueOf(i))
		_, err2 := s.FindOrPut(mix(i) >> 1)
		if err1 != nil || err2 != nil {
			b.Fatal(err1, err2)
		}
	}
	took := map[string]float64{}
	measure := func(name string, call func(n uint64) error) {
		took[name] = math.Inf(1)
		for range rounds {
			begin := time.Now()
			for i := range uint64(calls) {
				if err := call(mix(i) % pairs); err != nil {
					b.Fatal(err)
				}
			}
			took[name] = min(took[name], float64(time.Since(begin).Nanoseconds())/calls)
		}
	}
	measure("get", func(n uint64) error { _, err := c.Get(key(n), value); return err })
	measure("put", func(n uint64) error { _, err := c.Put(key(n), valueOf(n)); return err })
	measure("find-or-put", func(n uint64) error { _, err := s.FindOrPut(mix(n) >> 1); return err })
	measure("contains", func(n uint64) error { _, err := s.Contains(mix(n) >> 1); return err })
	return took
}

// BenchmarkSpeed compares single calls from C, and through the interface of MPI-DHT, with calls of
// Go, in one run. The goal is at most 60 ns a call above Go.
func BenchmarkSpeed(b *testing.B) {
	programs := map[string]string{"C": without.compile(b, "testdata/speed.c", "-O2")}
	for _, k := range []kind{openmpi, mpich} {
		b.Run(k.name, func(b *testing.B) {
			programs["DHT on "+k.name] = k.compile(b, "testdata/speed.c", "-O2", "-DDROP_IN",
				"-o", prefix+"/speed-"+k.name, "-lfarhash_dht-"+k.name)
			programs["DHT on "+k.name] = prefix + "/speed-" + k.name
		})
	}
	for _, t := range []struct{ pairs, keySize, valueSize uint64 }{{1 << 10, 80, 104},
		{1 << 20, 80, 104}, {1 << 20, 8, 8}} {
		took := inGo(b, t.pairs, t.keySize, t.valueSize)
		for name, program := range programs {
			for line := range strings.Lines(run(b, openmpi.env, program, fmt.Sprint(t.pairs),
				fmt.Sprint(t.keySize), fmt.Sprint(t.valueSize))) {
				var call string
				var ns float64
				if _, err := fmt.Sscan(line, &call, &ns); err != nil {
					b.Fatalf("%s: %v", line, err)
				}
				inGo := took[strings.TrimSuffix(call, "-by-Go")]
				fmt.Printf("%8d pairs of %3d bytes  %-12s %-14s %6.1f ns, Go %6.1f, %+6.1f ns, "+
					"%4.2f times\n", t.pairs, t.keySize+t.valueSize, call, name, ns, inGo, ns-inGo,
					ns/inGo)
			}
		}
	}
}
