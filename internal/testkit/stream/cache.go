package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/farhash/farhash/cache"
)

// Sizes of the cache's keys and values, in bytes, as in MD.
const (
	cacheKey   = 80
	cacheValue = 104
)

// cacheTable is a cache. It may forget; what it remembers is right.
type cacheTable struct {
	items
	c     *cache.Cache
	known map[uint64]*known // of this rank's own items
	asked int               // own items that had been put
	hits  int               // of these
}

func (o opener) cache(mode cache.Mode, ttl time.Duration) (table, error) {
	c, err := cache.New(o.ctx, o.job, cache.Config{KeySize: cacheKey, ValueSize: cacheValue,
		Buckets: 1024 * uint64(o.job.Size()), Mode: mode, Access: o.access,
		TTL: ttl})
	if err != nil {
		return nil, err
	}
	return &cacheTable{items: o.items, c: c, known: map[uint64]*known{}}, nil
}

func (t *cacheTable) step(n int) error {
	drawn := t.draw(n)
	var keys []byte
	for _, item := range drawn {
		keys = append(keys, keyOf(item, cacheKey)...)
	}
	if t.rng.IntN(2) == 0 {
		return t.put(drawn, keys)
	}
	values, found := make([]byte, n*cacheValue), make([]bool, n)
	err := t.c.GetBatch(keys, values, found)
	for i, item := range drawn {
		if wrong := t.judge(item, found[i], values[i*cacheValue:(i+1)*cacheValue],
			err == nil); wrong != nil {
			return wrong
		}
	}
	return err
}

func (t *cacheTable) put(drawn []uint64, keys []byte) error {
	var values []byte
	var numbers []uint64
	for _, item := range drawn {
		numbers = append(numbers, t.next())
		values = append(values, valueOf(item, numbers[len(numbers)-1], cacheValue)...)
	}
	results := make([]cache.Result, len(drawn))
	ttl := time.Duration(0)
	if t.c.Config().TTL != 0 && t.rng.IntN(4) == 0 {
		ttl = 1 // so the pairs may be found for a moment
	}
	err := t.c.PutBatchTTL(keys, values, ttl, results)
	for i, item := range drawn {
		switch v := t.known[item]; {
		case results[i] != 0 && ttl != 0:
			t.known[item] = &known{maybe: []uint64{numbers[i]}}
		case results[i] != 0:
			t.known[item] = &known{last: numbers[i]}
		case err == nil:
			return fmt.Errorf("item %d was put and has no result", item)
		case v == nil:
			t.known[item] = &known{maybe: []uint64{numbers[i]}}
		default:
			v.maybe = append(v.maybe, numbers[i])
		}
	}
	return err
}

// judge compares what was found for an item with what is known.
func (t *cacheTable) judge(item uint64, found bool, value []byte, whole bool) error {
	v := t.known[item]
	asked := whole && v != nil && v.last != 0 && !isShared(item) // others put what is shared
	if asked {
		t.asked++
	}
	if !found {
		return nil
	}
	if asked {
		t.hits++
	}
	number, err := numberOf(item, value)
	if err == nil && !isShared(item) && (v == nil || number == 0 || !v.may(number)) {
		err = fmt.Errorf("item %d has the value of number %d; known: %+v", item, number, v)
	}
	return err
}

// check has nothing to say after a loss: a rank that dies may leave a broken bucket or a lock.
func (t *cacheTable) check(context.Context) error { return nil }

func (t *cacheTable) finish(context.Context) error {
	// A few may be gone: an entry is lost where two ranks write its bucket at the same time.
	if (t.hits+2)*10 < t.asked*9 {
		return fmt.Errorf("%d hits of %d items that had been put", t.hits, t.asked)
	}
	return nil
}

func (t *cacheTable) close() error { return t.c.Close() }
