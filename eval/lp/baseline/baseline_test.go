package baseline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// numbered has keys 1 to n, of which a record has its number as value; key 1 has copies of it.
func numbered(c Config, copies int) func(yield func(index.Record, error) bool) {
	return func(yield func(index.Record, error) bool) {
		for i := range c.Records {
			key, value := make([]byte, c.KeyBytes), make([]byte, c.ValueBytes)
			binary.LittleEndian.PutUint32(key, uint32(max(1, i-copies+2)))
			binary.LittleEndian.PutUint32(value, uint32(i))
			if !yield(index.Record{Key: key, Value: value}, nil) {
				return
			}
		}
	}
}

// TestTables: every kind of table finds all records of each key by every policy, in memory that is
// addressable and in memory that is not, and no record of other keys.
func TestTables(t *testing.T) {
	for _, bucket := range []int{0, 1, 4} {
		policies := []Lookups{{Policy: Parallel}, {Policy: Sequential}}
		if bucket == 0 {
			policies = []Lookups{{Policy: Fixed, FixedBytes: 20}, {Policy: Model},
				{Policy: Model, Clusters: 20}, {Policy: Uncapped}}
		}
		for i := range 24 {
			copies := 1 + i%2
			c := Config{KeyBytes: 4 + i%3*4, ValueBytes: 4 + i%5, Records: 700, Load: 0.8,
				Heap: i/2%2 == 0, BucketSlots: bucket, Distinct: copies == 1}
			c.Empty = make([]byte, c.KeyBytes)
			hidden := local.Options{Hidden: i/4%2 == 0}
			if err := local.RunWith(hidden, 1+i%3, func(job rma.Job) error {
				return lookUpAll(job, c, copies, policies)
			}); err != nil {
				t.Errorf("%+v, copies %d: %v", c, copies, err)
			}
		}
	}
}

func lookUpAll(job rma.Job, c Config, copies int, policies []Lookups) error {
	x, err := Build(context.Background(), job, c, numbered(c, copies))
	if err != nil {
		return err
	}
	var keys []byte
	for i := range c.Records + 100 {
		key := make([]byte, c.KeyBytes)
		binary.LittleEndian.PutUint32(key, uint32(i+1))
		keys = append(keys, key...)
	}
	for _, l := range policies {
		l.Depth = 16
		r, err := x.NewReader(l)
		if err != nil {
			return err
		}
		found := map[uint32]int{} // key of each value
		err = r.LookupBatch(keys, func(i int, v index.Value) {
			found[binary.LittleEndian.Uint32(v)] = i + 1
		})
		for i := range c.Records {
			if key := max(1, i-copies+2); err == nil && found[uint32(i)] != key {
				err = fmt.Errorf("%+v: record %d of key %d has key %d", l, i, key, found[uint32(i)])
			}
		}
		if n := r.Counts().Matches; err == nil && n != uint64(c.Records) {
			err = fmt.Errorf("%+v: %d records are found", l, n)
		}
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return errors.Join(job.Barrier(context.Background()), x.Close())
}

// TestNoCuckooTable: no table has room for a key with more records than slots of its buckets.
func TestNoCuckooTable(t *testing.T) {
	c := Config{KeyBytes: 4, ValueBytes: 4, Records: 20, Load: 0.5, BucketSlots: 1,
		Empty: make([]byte, 4)}
	err := local.Run(2, func(job rma.Job) error {
		_, err := Build(context.Background(), job, c, numbered(c, 7))
		if err == nil {
			t.Error("a key with 7 records has 3 slots")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
