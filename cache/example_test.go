package cache_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma/local"
)

// A simulation asks the cache before it computes. Inputs that are nearly alike share a result.
func Example() {
	ctx := context.Background()
	job := local.Single() // or farhash.Join, for ranks that are processes
	defer job.Close()
	c, err := cache.New(ctx, job, cache.Config{KeySize: 16, ValueSize: 8, Buckets: 1 << 16})
	if err != nil {
		log.Fatal(err)
	}
	rounding := cache.Rounding{Digits: []int{3, 2}, Floors: []float64{1e-12}}
	key, value := make([]byte, 0, 16), make([]byte, 8)
	for _, input := range [][]float64{{1.2341, 55}, {1.2339, 55.3}, {1.24, 55}} {
		if key, err = rounding.AppendKey(key[:0], input); err != nil {
			log.Fatal(err)
		}
		found, err := c.Get(key, value)
		if err != nil {
			log.Fatal(err)
		}
		if !found { // the expensive part
			binary.LittleEndian.PutUint64(value, math.Float64bits(math.Hypot(input[0], input[1])))
			if _, err := c.Put(key, value); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Printf("%.4f %v\n", math.Float64frombits(binary.LittleEndian.Uint64(value)), found)
	}
	// Output:
	// 55.0138 false
	// 55.0138 true
	// 55.0140 false
}

// Batches hide the latency of memory and network.
func ExampleCache_GetBatch() {
	job := local.Single()
	defer job.Close()
	c, err := cache.New(context.Background(), job,
		cache.Config{KeySize: 4, ValueSize: 5, Buckets: 1000})
	if err != nil {
		log.Fatal(err)
	}
	results := make([]cache.Result, 2)
	if err := c.PutBatch([]byte("key1key2"), []byte("firstother"), results); err != nil {
		log.Fatal(err)
	}
	values, found := make([]byte, 15), make([]bool, 3)
	if err := c.GetBatch([]byte("key2key3key1"), values, found); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v %v %s %s\n", results, found, values[:5], values[10:])
	// Output: [inserted inserted] [true false true] other first
}

// Update reads, changes and writes back. What others do in between is lost.
func ExampleCache_Update() {
	job := local.Single()
	defer job.Close()
	c, err := cache.New(context.Background(), job,
		cache.Config{KeySize: 3, ValueSize: 8, Buckets: 1000})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		r, err := c.Update([]byte("key"), func(value []byte, _ bool) bool {
			n := binary.LittleEndian.Uint64(value) + 1
			binary.LittleEndian.PutUint64(value, n)
			return true
		})
		fmt.Println(r, err)
	}
	// Output:
	// inserted <nil>
	// updated <nil>
	// updated <nil>
}

// Results of a function, kept for all ranks. Keys and values are of Go types.
func ExampleMemoize() {
	type input struct{ Temperature, Pressure float64 }
	ctx := context.Background()
	job := local.Single() // or farhash.Join, for ranks that are processes
	defer job.Close()
	c, err := cache.NewTyped[input, float64](ctx, job, cache.Config{Buckets: 1 << 16})
	if err != nil {
		log.Fatal(err)
	}
	simulate := cache.Memoize(c, func(in input) (float64, error) {
		fmt.Println("computes", in)
		return math.Hypot(in.Temperature, in.Pressure), nil
	})
	for _, in := range []input{{3, 4}, {5, 12}, {3, 4}} {
		result, err := simulate(in)
		fmt.Println(result, err)
	}
	// Output:
	// computes {3 4}
	// 5 <nil>
	// computes {5 12}
	// 13 <nil>
	// 5 <nil>
}

// A cache for one process, in one line.
func ExampleLocalTyped() {
	results, err := cache.LocalTyped[int, float64](cache.Config{Buckets: 1 << 10})
	if err != nil {
		log.Fatal(err)
	}
	defer results.Cache().Close()
	if _, err := results.Store(4, 2); err != nil {
		log.Fatal(err)
	}
	fmt.Println(results.Load(4))
	// Output: 2 true <nil>
}
