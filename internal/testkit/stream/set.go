package stream

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

const (
	// buckets is enough for all items of four ranks and many more.
	buckets = 8192
	// firstBuckets is what a set begins with that grows while it is used.
	firstBuckets = 64
)

// setSize is the size of a set that grows, or that keeps its size.
func (o opener) setSize(grows bool) set.Config {
	cfg := set.Config{Buckets: buckets, Access: o.access}
	if grows {
		cfg.Buckets, cfg.MaxBytes = firstBuckets, 1<<20
	}
	return cfg
}

// setTable is a set of words or elements.
type setTable struct {
	items
	job           rma.Job
	put, contains func(items []uint64, results []set.Result) error
	len           func(ctx context.Context) (uint64, error)
	walk          func(ctx context.Context) error
	end           func() error

	there    map[uint64]bool // this rank has found or inserted it
	tried    map[uint64]bool // a put has failed
	inserted map[uint64]bool // by this rank
}

func newSetTable(o opener) *setTable {
	return &setTable{items: o.items, job: o.job, there: map[uint64]bool{}, tried: map[uint64]bool{},
		inserted: map[uint64]bool{}}
}

func (o opener) set(grows bool) (table, error) {
	s, err := set.New(o.ctx, o.job, o.setSize(grows))
	if err != nil {
		return nil, err
	}
	t := newSetTable(o)
	t.put, t.contains, t.len = s.FindOrPutBatch, s.ContainsBatch, s.Len
	t.walk, t.end = s.Check, s.Close
	return t, nil
}

func (o opener) elements(grows bool) (table, error) {
	const sizeBytes = 40
	s, err := set.NewBytes(o.ctx, o.job, set.BytesConfig{Config: o.setSize(grows),
		ElementBytes: sizeBytes, Capacity: buckets})
	if err != nil {
		return nil, err
	}
	list := func(items []uint64) []byte {
		var all []byte
		for _, item := range items {
			all = append(all, keyOf(item, sizeBytes)...)
		}
		return all
	}
	t := newSetTable(o)
	t.put = func(items []uint64, results []set.Result) error {
		return s.FindOrPutPacked(list(items), results, nil)
	}
	t.contains = func(items []uint64, results []set.Result) error {
		return s.ContainsPacked(list(items), results)
	}
	t.len, t.walk, t.end = s.Len, s.Check, s.Close
	return t, nil
}

// strings are of some lengths, a few of several pieces. They always grow.
func (o opener) strings() (table, error) {
	cfg := o.setSize(true)
	cfg.MaxBytes = 16 << 20
	s, err := set.NewBytes(o.ctx, o.job, set.BytesConfig{Config: cfg})
	if err != nil {
		return nil, err
	}
	on := func(run func([][]byte, []set.Result) error) func([]uint64, []set.Result) error {
		return func(items []uint64, results []set.Result) error {
			all := make([][]byte, len(items))
			for i, item := range items {
				all[i] = keyOf(item, []int{8, 13, 40, 2500}[item%4])
			}
			return run(all, results)
		}
	}
	t := newSetTable(o)
	t.put, t.contains, t.len = on(s.FindOrPutBatch), on(s.ContainsBatch), s.Len
	t.walk, t.end = s.Check, s.Close
	return t, nil
}

func (t *setTable) step(n int) error {
	drawn, results, put := t.draw(n), make([]set.Result, n), t.rng.IntN(3) > 0
	run := t.contains
	if put {
		run = t.put
	}
	if err := run(drawn, results); err != nil {
		for _, item := range drawn {
			t.tried[item] = t.tried[item] || put
		}
		return err
	}
	for i, item := range drawn {
		if err := t.judge(item, put, results[i]); err != nil {
			return err
		}
	}
	return nil
}

// judge compares an answer with what is known.
func (t *setTable) judge(item uint64, put bool, got set.Result) error {
	there, right := t.there[item], false
	switch got {
	case set.Inserted:
		right = put && !there && !t.inserted[item]
		t.inserted[item], t.there[item] = true, true
	case set.Found:
		right = there || t.tried[item] || isShared(item)
		t.there[item] = true
	case set.NotFound:
		right = !put && !there
	}
	if !right {
		return fmt.Errorf("item %d (put: %v) was answered %v; known to be there: %v, tried: %v",
			item, put, got, there, t.tried[item])
	}
	return nil
}

func (t *setTable) check(ctx context.Context) error { return t.walk(ctx) }

// finish compares what is there with what all ranks have inserted.
func (t *setTable) finish(ctx context.Context) error {
	total, err := sum(ctx, t.job, uint64(len(t.inserted)))
	if err != nil {
		return err
	}
	n, err := t.len(ctx)
	if err == nil && n != total {
		err = fmt.Errorf("%d items are there and %d were inserted", n, total)
	}
	return err
}

func (t *setTable) close() error { return t.end() }

// sum adds up a number of each rank. Collective.
func sum(ctx context.Context, job rma.Job, mine uint64) (uint64, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "stream: sum", Words: 1})
	if err != nil {
		return 0, err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return 0, err
	}
	if err := cells.Store(ctx, job.Rank(), 0, mine); err != nil {
		return 0, err
	}
	if err := job.Barrier(ctx); err != nil {
		return 0, err
	}
	total, err := cells.Sum(ctx, 0)
	if err != nil {
		return 0, err
	}
	return total, job.Barrier(ctx)
}
