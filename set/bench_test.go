package set

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farhash/farhash/rma/local"
)

// The benchmarks work on tables that are half full and stay so: the words are those
// that are stored, and one word in five is new where the mix says so. All memory has
// been touched before anything is timed.

// benchBatch is how many words a call gets where batches are measured.
const benchBatch = 1024

// benchSizes are tables larger and smaller than a cache: 1 GiB and 32 MiB.
var benchSizes = []uint64{1 << 27, 1 << 22}

// benchWord is the word number i of an endless supply of different ones.
func benchWord(i uint64) uint64 { return wordWithHash(i*0xD1342543DE82EF95) & MaxWord }

// halfFull makes a set of n buckets that holds words 0 to n/2-1.
func halfFull(b *testing.B, n uint64) *Set {
	b.Helper()
	job := local.Single()
	s, err := New(context.Background(), job, Config{Buckets: n})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close(), job.Close()) })
	words, results := make([]uint64, 4096), make([]Result, 4096)
	for i := uint64(0); i < n/2; i += 4096 {
		for j := range words {
			words[j] = benchWord(i + uint64(j))
		}
		must(b, s.FindOrPutBatch(words, results))
	}
	return s
}

// supply draws words for a benchmark: stored ones, and a given share of new ones.
type supply struct {
	rng    *rand.Rand
	stored uint64
	fresh  uint64 // the next new word
	share  int    // new ones in 100
}

func newSupply(buckets uint64, share int) *supply {
	return &supply{rng: rand.New(rand.NewPCG(buckets, 7)), stored: buckets / 2,
		fresh: buckets, share: share}
}

func (s *supply) draw(words []uint64) {
	for i := range words {
		if s.rng.IntN(100) < s.share {
			words[i] = benchWord(s.fresh)
			s.fresh++
		} else {
			words[i] = benchWord(s.rng.Uint64N(s.stored))
		}
	}
}

// pass times one scalar and one batch pass over words of their own, in turn so that
// what disturbs one disturbs the other.
func pass(b *testing.B, s *Set, sup *supply, scalar, batch *time.Duration) {
	const n = 1 << 16
	words, results := make([]uint64, n), make([]Result, n)
	if scalar != nil {
		sup.draw(words)
		start := time.Now()
		for i, word := range words {
			results[i], _ = s.FindOrPut(word)
		}
		*scalar += time.Since(start)
	}
	if batch != nil {
		sup.draw(words)
		start := time.Now()
		for i := 0; i < n; i += benchBatch {
			_ = s.FindOrPutBatch(words[i:i+benchBatch], results[i:i+benchBatch])
		}
		*batch += time.Since(start)
	}
}

// BenchmarkFindOrPut measures a word at a time and batches of words, with 20 new
// words in 100 ("80/20") and with stored words only. The loop ends at load 0.6, where
// it starts over with a set at load 0.5.
func BenchmarkFindOrPut(b *testing.B) {
	for _, n := range benchSizes {
		for _, share := range []int{0, 20} {
			for _, way := range []string{"scalar", "batch", "both"} {
				name := fmt.Sprintf("buckets=%d/new=%d/%s", n, share, way)
				b.Run(name, func(b *testing.B) { benchWay(b, n, share, way) })
			}
		}
	}
}

// benchWay reports ns per word, and for "both" the ratio of batch to scalar.
func benchWay(b *testing.B, n uint64, share int, way string) {
	s, sup := halfFull(b, n), newSupply(n, share)
	var scalar, batch time.Duration
	a, c := &scalar, &batch
	if way == "scalar" {
		c = nil
	} else if way == "batch" {
		a = nil
	}
	words := 0
	for b.Loop() {
		if sup.fresh > n+n/10 {
			b.StopTimer()
			must(b, s.Close())
			s, sup.fresh = halfFull(b, n), n
			b.StartTimer()
		}
		pass(b, s, sup, a, c)
		words += 1 << 16
	}
	b.ReportMetric(0, "ns/op")
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(words) }
	switch way {
	case "scalar":
		b.ReportMetric(per(scalar), "ns/word")
	case "batch":
		b.ReportMetric(per(batch), "ns/word")
	default:
		b.ReportMetric(per(scalar), "ns/scalar-word")
		b.ReportMetric(per(batch), "ns/batch-word")
		b.ReportMetric(float64(batch)/float64(scalar), "batch/scalar")
	}
}

// BenchmarkElements measures elements of 16 and 32 bytes, one at a time and in
// batches, in turn over a set of 2^24 buckets that is half full.
func BenchmarkElements(b *testing.B) {
	const n, buckets = 1 << 14, 1 << 24
	for _, size := range []int{16, 32} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			job := local.Single()
			e, err := NewBytes(context.Background(), job,
				BytesConfig{Config: Config{Buckets: buckets}, ElementBytes: size})
			must(b, err)
			b.Cleanup(func() { must(b, e.Close(), job.Close()) })
			elements, results := make([]byte, n*size), make([]Result, n)
			write := func(at int, i uint64) {
				binary.LittleEndian.PutUint64(elements[at*size+size-8:], benchWord(i))
			}
			for i := uint64(0); i < buckets/2; i += n {
				for j := range n {
					write(j, i+uint64(j))
				}
				must(b, e.FindOrPutPacked(elements, results, nil))
			}
			sup := newSupply(buckets, 0)
			var scalar, batch time.Duration
			for b.Loop() {
				for j := range n {
					write(j, sup.rng.Uint64N(sup.stored))
				}
				half := n / 2 * size
				start := time.Now()
				for at := 0; at < half; at += size {
					results[0], _ = e.FindOrPut(elements[at : at+size])
				}
				scalar += time.Since(start)
				start = time.Now()
				for at := half; at < len(elements); at += benchBatch * size {
					_ = e.FindOrPutPacked(elements[at:at+benchBatch*size], results[:benchBatch],
						nil)
				}
				batch += time.Since(start)
			}
			b.ReportMetric(0, "ns/op")
			per := float64(b.N) * n / 2
			b.ReportMetric(float64(scalar)/per, "ns/scalar-element")
			b.ReportMetric(float64(batch)/per, "ns/batch-element")
			b.ReportMetric(float64(batch)/float64(scalar), "batch/scalar")
		})
	}
}

// BenchmarkStrings measures strings of 12, 40 and 200 bytes, one at a time and in batches, in turn
// over a set of 2^21 of them, and in batches elements of these lengths.
func BenchmarkStrings(b *testing.B) {
	const n = 1 << 21
	for _, size := range []int{12, 40, 200} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			job := local.Single()
			cfg := Config{Buckets: 2 * n}
			s, err := NewBytes(context.Background(), job, BytesConfig{Config: cfg})
			must(b, err)
			e, err := NewBytes(context.Background(), job,
				BytesConfig{Config: cfg, ElementBytes: size})
			must(b, err)
			b.Cleanup(func() { must(b, s.Close(), e.Close(), job.Close()) })
			all, elements := make([]byte, benchBatch*size), make([][]byte, benchBatch)
			for i := range elements {
				elements[i] = all[i*size : (i+1)*size]
			}
			results := make([]Result, benchBatch)
			write := func(next func(i int) uint64) {
				for i, element := range elements {
					binary.LittleEndian.PutUint64(element, benchWord(next(i)))
				}
			}
			for at := uint64(0); at < n; at += benchBatch {
				write(func(i int) uint64 { return at + uint64(i) })
				must(b, s.FindOrPutBatch(elements, results), e.FindOrPutPacked(all, results, nil))
			}
			rng := rand.New(rand.NewPCG(1, 2))
			var times [3]time.Duration
			for b.Loop() {
				for way := range times {
					write(func(int) uint64 { return rng.Uint64N(n) })
					start := time.Now()
					switch way {
					case 0:
						_ = s.FindOrPutBatch(elements, results)
					case 1:
						_ = e.FindOrPutPacked(all, results, nil)
					default:
						for i, element := range elements {
							results[i], _ = s.FindOrPut(element)
						}
					}
					times[way] += time.Since(start)
				}
			}
			b.ReportMetric(0, "ns/op")
			units := []string{"ns/batch-string", "ns/batch-element", "ns/scalar-string"}
			for way, unit := range units {
				b.ReportMetric(float64(times[way])/float64(b.N)/benchBatch, unit)
			}
		})
	}
}
