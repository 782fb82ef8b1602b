package set

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// The assembly knows where the fields are.
func TestKernelLayout(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("there is no assembly for 32 bits")
	}
	var w kernelWork
	for _, f := range []struct {
		name string
		at   uintptr
		want uintptr
	}{
		{"lines", unsafe.Offsetof(w.lines), 8}, {"words", unsafe.Offsetof(w.words), 16},
		{"results", unsafe.Offsetof(w.results), 24}, {"n", unsafe.Offsetof(w.n), 32},
		{"slots", unsafe.Offsetof(w.slots), 40},
		{"limit", unsafe.Offsetof(w.limit), 48}, {"chunkMask", unsafe.Offsetof(w.chunkMask), 56},
		{"insert", unsafe.Offsetof(w.insert), 64}, {"end", unsafe.Offsetof(w.end), 72},
		{"whole", unsafe.Offsetof(w.whole), 80}, {"limited", unsafe.Offsetof(w.limited), 88},
		{"ended", unsafe.Offsetof(w.ended), 96}, {"full", unsafe.Offsetof(w.full), 104},
		{"unfinished", unsafe.Offsetof(w.unfinished), 112},
		{"beyond", unsafe.Offsetof(w.beyond), 120}, {"lost", unsafe.Offsetof(w.lost), 128},
		{"extra", unsafe.Offsetof(w.extra), 136}, {"most", unsafe.Offsetof(w.most), 144},
	} {
		if f.at != f.want {
			t.Errorf("kernelWork.%s is at %d, the assembly reads %d", f.name, f.at, f.want)
		}
	}
	var first firstLine
	for _, f := range []struct {
		name string
		at   uintptr
		want uintptr
	}{
		{"lines", unsafe.Offsetof(first.lines), 8}, {"counts", unsafe.Offsetof(first.counts), 16},
		{"stripes", stripes, 16}, {"words of a stripe", stripeWords, 8},
	} {
		if f.at != f.want {
			t.Errorf("firstLine: %s is %d, the assembly counts on %d", f.name, f.at, f.want)
		}
	}
	here := thisProcessor()
	if maxFlights*16 != 1024 || here.flights > maxFlights || here.slots(1) < 1 {
		t.Errorf("there are %d flights, the assembly has room for 64", maxFlights)
	}
}

// newKernelSet is a set of one rank with the given kernel.
func newKernelSet(t *testing.T, cfg Config) *Set {
	t.Helper()
	job := local.Single()
	t.Cleanup(func() { _ = job.Close() })
	s, err := New(context.Background(), job, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every kernel gives the answers of single calls with another one, batch for batch, up to the
// first Full: from there on the order of a batch decides which of its words get in.
func TestKernelsAgree(t *testing.T) {
	for _, shape := range []Config{
		{Buckets: 8, Chunk: 8}, {Buckets: 24}, {Buckets: 1024, Chunk: 16, Chunks: 4},
		{Buckets: 4096}, {Buckets: 1 << 14, Chunk: 8, Chunks: 512},
	} {
		for i, kernel := range kernels() {
			t.Run(fmt.Sprintf("%d/%s", shape.Buckets, kernel), func(t *testing.T) {
				cfg, other := shape, shape
				cfg.variant.Kernel = string(kernel)
				other.variant.Kernel = string(kernels()[(i+1)%len(kernels())])
				batched, single := newKernelSet(t, cfg), newKernelSet(t, other)
				rng := rand.New(rand.NewPCG(7, shape.Buckets))
				for full := false; !full; {
					words := distinctWords(rng, 1+rng.IntN(1+int(shape.Buckets)/8), 4*shape.Buckets)
					full = compareBatch(t, batched, single, words, rng.IntN(3) > 0)
				}
				load, err := batched.Used(context.Background())
				if err != nil || load < 0.5 {
					t.Errorf("full at load factor %.2f, %v", load, err)
				}
				if err := batched.Check(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// distinctWords draws n different words below limit, or a few less.
func distinctWords(rng *rand.Rand, n int, limit uint64) []uint64 {
	seen := map[uint64]bool{}
	for range n {
		seen[rng.Uint64N(limit)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// compareBatch works on the words as a batch on one set and one by one on the other,
// and reports whether anything was Full.
func compareBatch(t *testing.T, batched, single *Set, words []uint64, insert bool) (full bool) {
	t.Helper()
	got := make([]Result, len(words))
	var err error
	if insert {
		err = batched.FindOrPutBatch(words, got)
	} else {
		err = batched.ContainsBatch(words, got)
	}
	if full := new(*FullError); err != nil && !errors.As(err, full) {
		t.Fatal(err)
	}
	want := make([]Result, len(words))
	for i, word := range words {
		if insert {
			want[i], _ = single.FindOrPut(word)
		} else {
			want[i] = resultOf(single.Contains(word))
		}
		full = full || got[i] == Full || want[i] == Full
	}
	if !full && !slices.Equal(got, want) {
		t.Fatalf("the batch says %v, single calls say %v", got, want)
	}
	return full
}

// Kernels and single calls insert the same words at once: each word once.
func TestKernelsConcurrently(t *testing.T) {
	const words, workers = 40000, 4
	for _, kernel := range kernels() {
		t.Run(string(kernel), func(t *testing.T) {
			s := newKernelSet(t, Config{Buckets: words * 10 / 9, variant: by(kernel)})
			inserted := make([]int, workers)
			var wg sync.WaitGroup
			for worker := range workers {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(3, uint64(worker)))
					order := rng.Perm(words)
					if worker%2 == 0 {
						inserted[worker] = insertSingly(t, s, order)
					} else {
						inserted[worker] = insertBatched(t, s, order, 1+rng.IntN(700))
					}
				})
			}
			wg.Wait()
			total := 0
			for _, n := range inserted {
				total += n
			}
			if total != words {
				t.Errorf("%d words were inserted %d times", words, total)
			}
			if err := s.Check(context.Background()); err != nil {
				t.Error(err)
			}
			if n, _ := s.Len(context.Background()); n != words {
				t.Errorf("Len is %d", n)
			}
		})
	}
}

func insertSingly(t *testing.T, s *Set, order []int) (inserted int) {
	for _, w := range order {
		r, err := s.FindOrPut(uint64(w))
		if err != nil {
			t.Error(err)
			return inserted
		}
		if r == Inserted {
			inserted++
		}
	}
	return inserted
}

func insertBatched(t *testing.T, s *Set, order []int, size int) (inserted int) {
	words, results := make([]uint64, size), make([]Result, size)
	for begin := 0; begin < len(order); begin += size {
		n := min(size, len(order)-begin)
		for i := range n {
			words[i] = uint64(order[begin+i])
		}
		if err := s.FindOrPutBatch(words[:n], results[:n]); err != nil {
			t.Error(err)
			return inserted
		}
		for _, r := range results[:n] {
			if r == Inserted {
				inserted++
			}
		}
	}
	return inserted
}

func TestKernelRefusals(t *testing.T) {
	for _, cfg := range []Config{
		{Buckets: 64, variant: by("no such")},
		{Buckets: 64, variant: variant.Set{Kernel: "avx512", WordHomes: true}},
		{Buckets: 640, variant: by(kernelAVX2), Chunk: 24},
	} {
		err := local.Run(1, func(job rma.Job) error {
			_, err := New(context.Background(), job, cfg)
			return err
		})
		if err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
