package stream

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/index"
)

// Sizes of the index's keys and values, in bytes.
const (
	indexKey   = 16
	indexValue = 24
)

// indexTable is an index of all own items of all ranks.
type indexTable struct {
	items
	x *index.Index
}

// copies is how many records an item has.
func copies(item uint64) uint64 { return 1 + item%3 }

func (o opener) index() (table, error) {
	records := func(yield func(index.Record, error) bool) {
		for n := range uint64(ownItems) {
			item := o.own(n)
			for number := range copies(item) {
				value := valueOf(item, number, indexValue)
				if !yield(index.Record{Key: keyOf(item, indexKey), Value: value}, nil) {
					return
				}
			}
		}
	}
	x, err := index.Build(o.ctx, o.job, index.Config{KeySize: indexKey, ValueSize: indexValue,
		Access: o.access}, records)
	if err != nil {
		return nil, err
	}
	return &indexTable{o.items, x}, nil
}

// step looks up items of any rank, and some that are absent.
func (t *indexTable) step(n int) error {
	drawn, keys := make([]uint64, n), []byte(nil)
	for i := range drawn {
		drawn[i] = sharedItems + 1 + t.rng.Uint64N(uint64(t.size)*(ownItems+50))
		keys = append(keys, keyOf(drawn[i], indexKey)...)
	}
	found, wrong := make([]uint64, n), error(nil) // by key: a bit for each number
	err := t.x.LookupBatch(keys, func(i int, v index.Value) {
		number, err := numberOf(drawn[i], v)
		if err == nil && (number > 2 || found[i]>>number&1 != 0) {
			err = fmt.Errorf("item %d has number %d once more", drawn[i], number)
		}
		if wrong == nil {
			wrong = err
		}
		found[i] |= 1 << min(number, 63)
	})
	for i, item := range drawn {
		want := uint64(1)<<copies(item) - 1
		if item > sharedItems+uint64(t.size)*ownItems {
			want = 0
		}
		if wrong == nil && (err == nil && found[i] != want || found[i]&^want != 0) {
			wrong = fmt.Errorf("item %d has the values %#b, want %#b", item, found[i], want)
		}
	}
	if wrong != nil {
		return wrong
	}
	return err
}

func (t *indexTable) check(ctx context.Context) error { return t.x.Check(ctx) }

func (t *indexTable) finish(context.Context) error {
	want := uint64(0)
	for item := uint64(sharedItems + 1); item <= sharedItems+uint64(t.size)*ownItems; item++ {
		want += copies(item)
	}
	got, err := t.x.Len(context.Background())
	if err == nil && got != want {
		err = fmt.Errorf("%d records, want %d", got, want)
	}
	return err
}

func (t *indexTable) close() error { return t.x.Close() }
