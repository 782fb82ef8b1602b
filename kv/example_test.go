package kv_test

import (
	"context"
	"fmt"
	"log"
	"strconv"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Ranks count together: whoever was overtaken reads again.
func Example() {
	err := local.Run(4, func(job rma.Job) error { // or farhash.Run, for ranks that are processes
		ctx := context.Background()
		m, err := kv.New(ctx, job, kv.Config{})
		if err != nil {
			return err
		}
		for range 100 {
			for stored := false; !stored; {
				value, version, _, err := m.Get([]byte("visits"), nil)
				if err != nil {
					return err
				}
				n, _ := strconv.Atoi(string(value)) // 0 where the key is not there
				next := strconv.AppendInt(nil, int64(n+1), 10)
				if _, stored, err = m.CompareAndPut([]byte("visits"), next, version); err != nil {
					return err
				}
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		if job.Rank() == 0 {
			value, _, _, err := m.Get([]byte("visits"), nil)
			fmt.Printf("%s visits, %v\n", value, err)
		}
		return m.Close()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 400 visits, <nil>
}

// An Add counts in one call. A key that is not there counts as 0.
func ExampleMap_Add() {
	job := local.Single()
	defer job.Close()
	m, err := kv.New(context.Background(), job, kv.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, word := range []string{"to", "be", "or", "not", "to", "be"} {
		sum, _, err := m.Add([]byte(word), 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(word, " ", sum, "; ")
	}
	// Output: to 1; be 1; or 1; not 1; to 2; be 2;
}

// Batches hide the latency of memory and network. Their calls take effect in any order.
func ExampleMap_Batch() {
	job := local.Single()
	defer job.Close()
	m, err := kv.New(context.Background(), job, kv.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	var puts, gets []kv.Call
	for _, word := range []string{"one", "two", "three"} {
		puts = append(puts, kv.Call{Kind: kv.Put, Key: []byte(word), Value: []byte(word[:1])})
		gets = append(gets, kv.Call{Kind: kv.Get, Key: []byte(word)})
	}
	gets = append(gets, kv.Call{Kind: kv.Get, Key: []byte("four")})
	for _, calls := range [][]kv.Call{puts, gets} {
		if err := m.Batch(calls); err != nil {
			log.Fatal(err)
		}
	}
	for _, c := range gets {
		fmt.Printf("%s: %q %v\n", c.Key, c.Value, c.Done)
	}
	// Output:
	// one: "o" true
	// two: "t" true
	// three: "t" true
	// four: "" false
}

// Ranks count together, with types of Go.
func ExampleTyped_Compute() {
	type page struct {
		Site uint32
		Path [12]byte
	}
	err := local.Run(4, func(job rma.Job) error {
		ctx := context.Background()
		visits, err := kv.NewTyped[page, int](ctx, job, kv.Config{})
		if err != nil {
			return err
		}
		home := page{Site: 7, Path: [12]byte{'/'}}
		for range 100 {
			_, _, err := visits.Compute(home, func(n int, _ bool) (int, bool) {
				return n + 1, true // may be called again
			})
			if err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		if job.Rank() == 0 {
			n, found, err := visits.Load(home)
			fmt.Println(n, found, err)
		}
		return visits.Map().Close()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 400 true <nil>
}

// A map for one process, in one line.
func ExampleLocalTyped() {
	visits, err := kv.LocalTyped[string, int](kv.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer visits.Map().Close()
	for range 3 {
		n, _, err := visits.Compute("page", func(n int, _ bool) (int, bool) { return n + 1, true })
		fmt.Println(n, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}
