//go:build mpi && cgo

package mpi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// How much the ranks do with each table.
const (
	tableRounds = 40
	tableBatch  = 48
	sharedItems = 400  // that all ranks put
	ownItems    = 1000 // of each rank, that it alone puts
)

// stream is a rank's random operations on a table, and a plain map of what is its own.
type stream struct {
	rank, size int
	rng        *rand.Rand
	mine       map[uint64]uint64 // own items that were put, and the number put last
	shared     map[uint64]bool   // shared items that this rank has put
}

func newStream(job rma.Job) *stream {
	return &stream{job.Rank(), job.Size(), rand.New(rand.NewPCG(7, uint64(job.Rank()))),
		map[uint64]uint64{}, map[uint64]bool{}}
}

// items draws distinct items: 1 to sharedItems are everybody's.
func (s *stream) items() []uint64 {
	seen := map[uint64]bool{}
	var items []uint64
	for len(items) < tableBatch {
		item := 1 + s.rng.Uint64N(sharedItems)
		if s.rng.IntN(2) == 0 {
			item = sharedItems + 1 + s.rng.Uint64N(ownItems)*uint64(s.size) + uint64(s.rank)
		}
		if !seen[item] {
			seen[item], items = true, append(items, item)
		}
	}
	return items
}

// judge compares what find-or-put, or contains, answered for an item with the map.
func (s *stream) judge(item uint64, put bool, got set.Result) error {
	want := set.NotFound
	if put {
		want = set.Inserted
	}
	if _, own := s.mine[item]; own || s.shared[item] {
		want = set.Found
	}
	ok := got == want || item <= sharedItems && got == set.Found // another rank may have put it
	if put && item <= sharedItems {
		s.shared[item] = true
	} else if put {
		s.mine[item] = 1
	}
	if !ok {
		return fmt.Errorf("item %d (put: %v) was answered %v, want %v", item, put, got, want)
	}
	return nil
}

// sets is a set of words or of elements.
type sets struct {
	put, contains func(items []uint64, results []set.Result) error
	count         func(ctx context.Context) (uint64, error)
	check         func(ctx context.Context) error
	inserted      func() uint64
	close         func() error
}

func wordSet(ctx context.Context, job rma.Job) (sets, error) {
	t, err := set.New(ctx, job, set.Config{Buckets: 16384})
	if err != nil {
		return sets{}, err
	}
	return sets{t.FindOrPutBatch, t.ContainsBatch, t.Len, t.Check,
		func() uint64 { return t.Stats().Inserted }, t.Close}, nil
}

func elementSet(ctx context.Context, job rma.Job) (sets, error) {
	const size = 40
	t, err := set.NewElements(ctx, job, set.ElementsConfig{Config: set.Config{Buckets: 16384},
		ElementBytes: size, Capacity: 16384})
	if err != nil {
		return sets{}, err
	}
	on := func(fn func([]byte, []set.Result) error) func([]uint64, []set.Result) error {
		return func(items []uint64, results []set.Result) error {
			var all []byte
			for _, item := range items {
				all = append(all, valueOf(item, 0, size)...)
			}
			return fn(all, results)
		}
	}
	return sets{on(t.FindOrPutBatch), on(t.ContainsBatch), t.Len, t.Check,
		func() uint64 { return t.Stats().Inserted }, t.Close}, nil
}

// valueOf is what nothing else than this item at this number has.
func valueOf(item, number uint64, size int) []byte {
	seed := binary.LittleEndian.AppendUint64(nil, item)
	seed = binary.LittleEndian.AppendUint64(seed, number)
	return append(seed, bytes.Repeat([]byte{byte(item*31 + number)}, size-len(seed))...)
}

// streamOnSet has every rank work on a set and compares with the map, and all in the end.
func streamOnSet(ctx context.Context, job rma.Job, t sets) error {
	s := newStream(job)
	results := make([]set.Result, tableBatch)
	for range tableRounds {
		items, put := s.items(), s.rng.IntN(3) > 0
		n := []int{1, 1, tableBatch}[s.rng.IntN(3)] // one at a time more often
		run := t.contains
		if put {
			run = t.put
		}
		for len(items) >= n {
			if err := run(items[:n], results[:n]); err != nil {
				return err
			}
			for i, item := range items[:n] {
				if err := s.judge(item, put, results[i]); err != nil {
					return err
				}
			}
			items = items[n:]
		}
	}
	if err := rma.AllSucceeded(ctx, job, "the stream", nil); err != nil {
		return err
	}
	return errors.Join(sameTotals(ctx, job, t, s), t.check(ctx), t.close())
}

// sameTotals compares what was inserted with what is there, and with the items of all.
func sameTotals(ctx context.Context, job rma.Job, t sets, s *stream) error {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "totals", Words: 2})
	if err != nil {
		return err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return err
	}
	_, err1 := cells.Add(ctx, job.Rank(), 0, t.inserted())
	_, err2 := cells.Add(ctx, job.Rank(), 1, uint64(len(s.mine)))
	if err := errors.Join(err1, err2, job.Barrier(ctx)); err != nil {
		return err
	}
	inserted, err1 := cells.Sum(ctx, 0)
	own, err2 := cells.Sum(ctx, 1)
	there, err3 := t.count(ctx)
	err = errors.Join(err1, err2, err3)
	if err == nil && (inserted != there || there < own || there > own+sharedItems ||
		there < own+uint64(len(s.shared))) {
		err = fmt.Errorf("%d items are there, %d were inserted, %d are of one rank each",
			there, inserted, own)
	}
	return errors.Join(err, job.Barrier(ctx))
}

// streamOnCache puts and gets: an own key that is found has the value put last, and a
// shared one a value that was put for it as a whole.
func streamOnCache(ctx context.Context, job rma.Job, mode cache.Mode) error {
	const keySize, valueSize = 80, 104
	c, err := cache.New(ctx, job, cache.Config{KeySize: keySize, ValueSize: valueSize,
		BucketsPerRank: 8192, Mode: mode})
	if err != nil {
		return err
	}
	s, number, asked, hits := newStream(job), uint64(0), 0, 0
	for range tableRounds / 2 {
		items, put := s.items(), s.rng.IntN(2) > 0
		n := []int{1, tableBatch}[s.rng.IntN(2)]
		for ; len(items) >= n; items = items[n:] {
			var keys, values []byte
			for _, item := range items[:n] {
				number++
				keys = append(keys, valueOf(item, 0, keySize)...)
				values = append(values, valueOf(item, number, valueSize)...)
				if put {
					s.mine[item] = number
				}
			}
			if put {
				if err := c.PutBatch(keys, values, make([]cache.Result, n)); err != nil {
					return err
				}
				continue
			}
			found := make([]bool, n)
			if err := c.GetBatch(keys, values, found); err != nil {
				return err
			}
			for i, item := range items[:n] {
				value := values[i*valueSize : (i+1)*valueSize]
				last, known := s.mine[item]
				if known {
					asked++
				}
				if !found[i] {
					continue
				}
				hits++
				if item <= sharedItems {
					last = binary.LittleEndian.Uint64(value[8:])
				}
				if !bytes.Equal(value, valueOf(item, last, valueSize)) {
					return fmt.Errorf("%v: item %d has value %x, put was number %d", mode, item,
						value, last)
				}
			}
		}
	}
	if hits*10 < asked*9 {
		return fmt.Errorf("%v: %d hits of %d keys that were put", mode, hits, asked)
	}
	return errors.Join(rma.AllSucceeded(ctx, job, "the stream", nil), c.Close())
}

// tables has all ranks work on tables of each kind.
func tables(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, _ rma.Window) error {
		for _, make := range []func(context.Context, rma.Job) (sets, error){wordSet, elementSet} {
			t, err := make(ctx, job)
			if err == nil {
				err = streamOnSet(ctx, job, t)
			}
			if err != nil {
				return err
			}
		}
		for _, mode := range []cache.Mode{cache.LockFree, cache.Fine, cache.Coarse} {
			if err := streamOnCache(ctx, job, mode); err != nil {
				return err
			}
		}
		fmt.Println("the tables are right")
		return nil
	})
}

// The tables give the answers of a plain map, through queues as well as direct memory.
func TestTables(t *testing.T) {
	for _, how := range []string{"", "hidden", "pairs"} {
		out, err := find(t, ask().kind).play(t, 4, "tables:"+how)
		expect(t, out, err, true, 4, "the tables are right")
	}
}
