package set_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// A set of one rank, in the memory of the program.
func ExampleNew() {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	s, err := set.New(ctx, job, set.Config{Buckets: 1000})
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range []uint64{3, 5, 3} {
		result, err := s.FindOrPut(word)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(word, result)
	}
	n, err := s.Len(ctx)
	fmt.Println(n, "words in", s.Config().Buckets, "buckets", err)
	// Output:
	// 3 inserted
	// 5 inserted
	// 3 found
	// 2 words in 1000 buckets <nil>
}

// Four ranks insert overlapping batches; each word is Inserted once.
func ExampleSet_FindOrPutBatch() {
	err := local.Run(4, func(job rma.Job) error {
		ctx := context.Background()
		s, err := set.New(ctx, job, set.Config{Buckets: 1 << 12})
		if err != nil {
			return err
		}
		words, results := make([]uint64, 1000), make([]set.Result, 1000)
		for i := range words {
			words[i] = uint64(500*job.Rank() + i)
		}
		if err := s.FindOrPutBatch(words, results); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		if n, err := s.Len(ctx); job.Rank() == 0 {
			fmt.Println(n, "words", err)
		}
		return s.CheckAll(ctx)
	})
	fmt.Println(err)
	// Output:
	// 2500 words <nil>
	// <nil>
}

// Elements of one length, one after the other. Each has a reference, the same on every rank.
func ExampleBytes_FindOrPutPacked() {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	e, err := set.NewBytes(ctx, job, set.BytesConfig{
		Config: set.Config{Buckets: 1000}, ElementBytes: 5})
	if err != nil {
		log.Fatal(err)
	}
	results, refs := make([]set.Result, 3), make([]set.Ref, 3)
	if err := e.FindOrPutPacked([]byte("applegrapeapple"), results, refs); err != nil {
		log.Fatal(err)
	}
	fmt.Println(results, refs[0] == refs[2])
	fruit, err := e.Append(nil, refs[1])
	fmt.Println(string(fruit), err)
	// Output:
	// [inserted inserted found] true
	// grape <nil>
}

// Lines of any length. Each is Inserted once.
func ExampleNewBytes() {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	s, err := set.NewBytes(ctx, job, set.BytesConfig{})
	if err != nil {
		log.Fatal(err)
	}
	lines := bytes.Split([]byte("to be\nor not\nto be\n"), []byte("\n"))
	results := make([]set.Result, len(lines))
	if err := s.FindOrPutBatch(lines, results); err != nil {
		log.Fatal(err)
	}
	for i, line := range lines {
		fmt.Printf("%q %v\n", line, results[i])
	}
	// Output:
	// "to be" inserted
	// "or not" inserted
	// "to be" found
	// "" inserted
}

// Every rank iterates over its own part of the table.
func ExampleSet_Local() {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	s, err := set.New(ctx, job, set.Config{Buckets: 64})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.FindOrPutBatch([]uint64{1, 2, 3, 4}, make([]set.Result, 4)); err != nil {
		log.Fatal(err)
	}
	sum := uint64(0)
	for word, err := range s.Local(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		sum += word
	}
	fmt.Println(sum)
	// Output: 10
}

// A set of strings for one process, in one line.
func ExampleLocalTyped() {
	seen, err := set.LocalTyped[string](set.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	for _, word := range []string{"to", "be", "or", "not", "to", "be"} {
		r, err := seen.FindOrPut(word)
		fmt.Println(word, r, err)
	}
	// Output:
	// to inserted <nil>
	// be inserted <nil>
	// or inserted <nil>
	// not inserted <nil>
	// to found <nil>
	// be found <nil>
}
