package index_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma/local"
)

// orders are the records of this rank: customers, and what they have ordered.
func orders(yield func(index.Record, error) bool) {
	for _, r := range []struct{ customer, article string }{
		{"ann", "teapot"}, {"bob", "saucer"}, {"ann", "teacup"},
	} {
		if !yield(index.Record{Key: fixed(r.customer), Value: []byte(r.article)}, nil) {
			return
		}
	}
}

// fixed is a key of 8 bytes.
func fixed(name string) []byte {
	key := make([]byte, 8)
	copy(key, name)
	return key
}

// A lookup finds all records of a key.
func Example() {
	job := local.Single() // or farhash.Join, for ranks that are processes
	defer job.Close()
	x, err := index.Build(context.Background(), job, index.Config{KeySize: 8, ValueSize: 6}, orders)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	for article, err := range x.Lookup(fixed("ann")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("ann: %s\n", article)
	}
	// Unordered output:
	// ann: teapot
	// ann: teacup
}

// Keys may have different sizes, as strings do.
func ExampleConfig_variableKeys() {
	job := local.Single()
	defer job.Close()
	cfg := index.Config{KeySize: 16, VariableKeys: true, ValueSize: 16, Variable: true}
	x, err := index.Build(context.Background(), job, cfg,
		func(yield func(index.Record, error) bool) {
			for country, capital := range map[string]string{"Peru": "Lima", "Chad": "N'Djamena",
				"Iceland": "Reykjavik"} {
				if !yield(index.Record{Key: []byte(country), Value: []byte(capital)}, nil) {
					return
				}
			}
		})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	capital, ok, err := x.Get([]byte("Iceland"), nil)
	fmt.Printf("%s, %v, %v\n", capital, ok, err)

	countries := [][]byte{[]byte("Peru"), []byte("Atlantis"), []byte("Chad")}
	err = x.LookupKeys(countries, func(i int, capital index.Value) {
		fmt.Printf("%s: %s\n", countries[i], capital)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// Reykjavik, true, <nil>
	// Peru: Lima
	// Chad: N'Djamena
}

// Batches hide the latency of memory and network.
func ExampleReader_LookupBatch() {
	job := local.Single()
	defer job.Close()
	x, err := index.Build(context.Background(), job, index.Config{KeySize: 8, ValueSize: 6}, orders)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	keys := append(fixed("bob"), fixed("eve")...)
	err = x.LookupBatch(keys, func(i int, article index.Value) {
		fmt.Printf("customer %d: %s\n", i, article)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// customer 0: saucer
}

// A Reader looks up in another way, and counts what that takes.
func ExampleIndex_NewReader() {
	job := local.Single()
	defer job.Close()
	x, err := index.Build(context.Background(), job, index.Config{KeySize: 8, ValueSize: 6}, orders)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	// Over memory of this process there are no requests, unless they are asked for.
	r, err := x.NewReader(index.Lookups{OneSided: true})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if err := r.LookupBatch(fixed("eve"), func(int, index.Value) {}); err != nil {
		log.Fatal(err)
	}
	s := r.Stats()
	requests, slots, _ := s.PerLookup()
	fmt.Println(requests, "requests,", slots, "slots")
	// Output:
	// 1 requests, 1 slots
}

// A later job, of any number of ranks, opens what this one has saved, without building.
func ExampleOpen() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "farhash")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "orders")
	job := local.Single()
	defer job.Close()
	x, err := index.Build(ctx, job, index.Config{KeySize: 8, ValueSize: 6}, orders)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(x.Save(ctx, path), x.Close()); err != nil {
		log.Fatal(err)
	}
	opened, err := index.Open(ctx, job, path)
	if err != nil {
		log.Fatal(err)
	}
	defer opened.Close()
	for article, err := range opened.Lookup(fixed("bob")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("bob: %s\n", article)
	}
	// Output:
	// bob: saucer
}
