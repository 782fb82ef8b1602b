package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// BenchmarkBuild builds a table of records of 8 bytes with two ranks.
//
//	go test ./index -run '^$' -bench Build/records=100000000 -benchtime 1x
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000, 100_000_000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("a large table")
			}
			var peak uint64
			for range b.N {
				must(b, local.Run(2, func(job rma.Job) error {
					half := words8(n/2, uint32(job.Rank()*(n/2)))
					x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4,
						Load: 0.95}, half)
					if err != nil {
						return err
					}
					if job.Rank() == 0 {
						peak = x.Info().PeakBytes
					}
					return x.Close()
				}))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
			b.ReportMetric(float64(peak)*2/float64(n), "peak-B/record")
		})
	}
}

// BenchmarkLookup looks up keys that are there, in batches, on one core.
func BenchmarkLookup(b *testing.B) {
	const n, batch = 1 << 22, 1 << 12
	keys := sample(n, 1<<16, 1)
	for _, c := range []struct {
		name string
		l    Lookups
	}{
		{"direct", Lookups{}},
		{"guided", Lookups{OneSided: true}},
		{"adaptive", Lookups{GuideBytes: -1, OneSided: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			job := local.Single()
			defer job.Close()
			x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4, Load: 0.8},
				words8(n, 1))
			must(b, err)
			r, err := x.NewReader(c.l)
			must(b, err)
			matches := 0
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				from := i % (len(keys) / 4)
				must(b, r.LookupBatch(keys[from*4:(from+batch)*4],
					func(int, Value) { matches++ }))
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N), "ns/lookup")
		})
	}
}

// BenchmarkSingle looks up one key at a time, directly and one-sided.
func BenchmarkSingle(b *testing.B) {
	const n = 1 << 16
	keys := sample(n, 1<<12, 1)
	for name, l := range map[string]Lookups{"direct": {}, "one-sided": {OneSided: true}} {
		for _, storage := range []Storage{Inline, Heap} {
			b.Run(name+"/"+storage.String(), func(b *testing.B) {
				job := local.SingleWith(local.Options{Hidden: l.OneSided})
				defer job.Close()
				x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4,
					Storage: storage}, words8(n, 1))
				must(b, err)
				r, err := x.NewReader(l)
				must(b, err)
				b.ReportAllocs()
				for i := 0; b.Loop(); i = (i + 4) % len(keys) {
					for _, err := range r.Lookup(keys[i : i+4]) {
						if err != nil { // must takes longer than a lookup
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// BenchmarkStorage looks up keys of 4 bytes whose values have 4 bytes, or 124 in one of ten, in
// every storage: alone and in batches, directly and through queues of one core.
func BenchmarkStorage(b *testing.B) {
	const n, batch = 1 << 20, 1 << 10
	keys := sample(n, 1<<16, 1)
	for _, storage := range []Storage{Inline, Heap, Hybrid} {
		job := local.Single()
		x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 124,
			Variable: storage != Inline, Storage: storage}, tenthLong(n, storage == Inline))
		must(b, err)
		for name, l := range map[string]Lookups{"direct": {}, "one-sided": {OneSided: true}} {
			r, err := x.NewReader(l)
			must(b, err)
			b.Run(fmt.Sprintf("%s/batch/%s", storage, name), func(b *testing.B) {
				found := 0
				for i := 0; i < b.N; i += batch {
					from := i % (len(keys) / 4)
					must(b, r.LookupBatch(keys[from*4:(from+batch)*4],
						func(int, Value) { found++ }))
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(found), "ns/lookup")
			})
			b.Run(fmt.Sprintf("%s/single/%s", storage, name), func(b *testing.B) {
				var room [128]byte
				for i := 0; b.Loop(); i = (i + 4) % len(keys) {
					if _, ok, err := r.Get(keys[i:i+4], room[:0]); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
			})
		}
		b.Logf("%s: %d bytes a record", storage, x.Info().SegmentBytes/n)
		must(b, x.Close(), job.Close())
	}
}

// tenthLong are the records of words8, of which one in ten has a value of 124 bytes, or each one.
func tenthLong(n int, all bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		i, value := 0, make([]byte, 124)
		for r := range words8(n, 1) {
			copy(value, r.Value)
			if i++; all || i%10 == 0 {
				r.Value = value
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// BenchmarkOpen opens a file of 2^22 records, by mapping it and by building, and looks up
// in what it has opened.
func BenchmarkOpen(b *testing.B) {
	const n, batch = 1 << 22, 1 << 12
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	path := filepath.Join(b.TempDir(), "index")
	x, err := Build(ctx, job, Config{KeySize: 4, ValueSize: 4}, words8(n, 1))
	must(b, err)
	must(b, x.Save(ctx, path), x.Close())
	keys := sample(n, 1<<16, 1)
	for _, c := range []struct {
		name string
		open func() (*Index, error)
	}{
		{"mapped", func() (*Index, error) { return Open(ctx, job, path) }},
		{"loaded", func() (*Index, error) { return Load(ctx, job, path, Config{}) }},
	} {
		b.Run(c.name+"/open", func(b *testing.B) {
			for range b.N {
				x, err := c.open()
				must(b, err)
				must(b, x.Close())
			}
		})
		b.Run(c.name+"/lookup", func(b *testing.B) {
			x, err := c.open()
			must(b, err)
			defer x.Close()
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				from := i % (len(keys) / 4)
				must(b, x.LookupBatch(keys[from*4:(from+batch)*4], func(int, Value) {}))
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N), "ns/lookup")
		})
	}
}

// BenchmarkMappedGet gets single keys of 8 bytes, with values of 8 bytes, of an index in a file
// that is mapped, of the same one in memory, and of a map of Go, in turns.
//
//	go test ./index -run '^$' -bench MappedGet
func BenchmarkMappedGet(b *testing.B) {
	for _, n := range []int{1 << 12, 1 << 20} { // within the caches, and not
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) { benchmarkMappedGet(b, uint64(n)) })
	}
}

func benchmarkMappedGet(b *testing.B, n uint64) {
	const odd, turn = 0x9e3779b97f4a7c15, 1 << 10
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	path := filepath.Join(b.TempDir(), "index")
	peer := make(map[uint64]uint64, n)
	x, err := Build(ctx, job, Config{KeySize: 8, ValueSize: 8},
		func(yield func(Record, error) bool) {
			for i := range n {
				peer[i*odd] = i
				key := binary.LittleEndian.AppendUint64(nil, i*odd)
				if !yield(Record{key, key}, nil) {
					return
				}
			}
		})
	must(b, err)
	defer x.Close()
	must(b, x.Save(ctx, path))
	mapped, err := Open(ctx, job, path)
	must(b, err)
	defer mapped.Close()
	get := func(x *Index) func(word uint64) bool {
		var key, value [8]byte
		return func(word uint64) bool {
			binary.LittleEndian.PutUint64(key[:], word)
			_, ok, err := x.Get(key[:], value[:0])
			return ok && err == nil
		}
	}
	inMap := func(word uint64) bool { _, ok := peer[word]; return ok }
	names := []string{"mapped-ns/get", "memory-ns/get", "map-ns/get"}
	took := make([][]float64, len(names))
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += turn {
		for way, has := range []func(word uint64) bool{get(mapped), get(x), inMap} {
			begun := time.Now()
			for range turn {
				if !has(rng.Uint64N(n) * odd) {
					b.Fatal("a key is not there")
				}
			}
			took[way] = append(took[way], time.Since(begun).Seconds()*1e9/turn)
		}
	}
	medians := make([]float64, len(names))
	for way, all := range took {
		slices.Sort(all)
		medians[way] = all[len(all)/2]
		b.ReportMetric(medians[way], names[way])
	}
	b.ReportMetric(medians[1]/medians[0], "memory/mapped")
}
