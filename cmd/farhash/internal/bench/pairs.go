package bench

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

const (
	// cacheKeyBytes and cacheValueBytes are as in MPI-DHT's evaluation (MD 5.2).
	cacheKeyBytes, cacheValueBytes = 80, 104
	// mapValueBytes is as in YCSB, with keys of a word.
	mapValueBytes = 100
	// maxPairs is how many operations a rank does where the size does not ask for fewer.
	maxPairs = 1 << 18
)

// pairs are keys and values of operations, and what is returned.
type pairs struct {
	rank, keyBytes, valueBytes int
	keys, values               []byte
	numbers                    []uint64
	drawn                      draws
}

// ready fills in keys, and values where they are to be put.
func (p *pairs) ready(n int, put bool, at func(i int) uint64) {
	p.keys, p.values = make([]byte, n*p.keyBytes), make([]byte, n*p.valueBytes)
	p.numbers = make([]uint64, n)
	for i := range n {
		p.numbers[i] = at(i)
		fill(p.key(i), p.numbers[i])
		if put {
			fill(p.value(i), p.numbers[i]+1)
		}
	}
}

func (p *pairs) key(i int) []byte   { return p.keys[i*p.keyBytes : (i+1)*p.keyBytes] }
func (p *pairs) value(i int) []byte { return p.values[i*p.valueBytes : (i+1)*p.valueBytes] }

// right reports whether a value belongs to operation i.
func (p *pairs) right(i int, value []byte) bool {
	want := make([]byte, p.valueBytes)
	fill(want, p.numbers[i]+1)
	return string(want) == string(value)
}

// fill writes what derives from a seed.
func fill(dst []byte, seed uint64) {
	var word [wordBytes]byte
	for i := uint64(0); len(dst) > 0; i++ {
		binary.LittleEndian.PutUint64(word[:], mix(seed<<8+i))
		dst = dst[copy(dst, word[:]):]
	}
}

// cacheTable puts and gets pairs of 80+104 bytes, up to half of its load, where one key in five
// hundred is evicted (MD: the law of eviction).
type cacheTable struct {
	cache *cache.Cache
	pairs
	next    int
	found   []bool
	results []cache.Result
}

const (
	bucketBytes = 8 + cacheKeyBytes + cacheValueBytes
	// bucketsPerOperation leaves half of the buckets empty after both sizes of batches.
	bucketsPerOperation = 4
)

func (t *cacheTable) operations(shareBytes int) int {
	return min(shareBytes/bucketBytes/bucketsPerOperation, maxPairs)
}

func (t *cacheTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	t.pairs = pairs{rank: job.Rank(), keyBytes: cacheKeyBytes, valueBytes: cacheValueBytes}
	buckets := max(cfg.SizeBytes/bucketBytes,
		uint64(bucketsPerOperation*cfg.Operations)*uint64(job.Size()))
	t.cache, err = cache.New(ctx, touched{job}, cache.Config{KeySize: cacheKeyBytes,
		ValueSize: cacheValueBytes, Buckets: buckets})
	return err
}

func (t *cacheTable) cases() []testCase {
	const lines = (bucketBytes + lineBytes - 1) / lineBytes
	return []testCase{
		{operation: "put, 80+104 bytes", lines: lines, swaps: true, run: t.put,
			ready: func(n int) {
				t.results = make([]cache.Result, n)
				t.pairs.ready(n, true, func(int) uint64 {
					t.next++
					return number(t.rank, t.next-1)
				})
			},
			check: func(int) error { return nil }}, // by the gets
		{operation: "get, 80+104 bytes", lines: lines, run: t.get,
			ready: func(n int) {
				t.found = make([]bool, n)
				t.pairs.ready(n, false, func(int) uint64 {
					return number(t.rank, t.drawn.below(t.next))
				})
			},
			check: t.check},
	}
}

// check verifies what was read. A cache may forget: of this rank's keys at most as many are
// missing as puts of all ranks have evicted others, which is few at such a load.
func (t *cacheTable) check(n int) error {
	right, missing := 0, 0
	for i, found := range t.found {
		if !found {
			missing++
		} else if t.right(i, t.value(i)) {
			right++
		}
	}
	const maxMissing = 20 // one in so many
	if missing > n/maxMissing {
		return fmt.Errorf("%d of %d keys are missing: the cache forgets too much", missing, n)
	}
	return counted("right", right+missing, n)
}

func (t *cacheTable) put(from, to, batch int) (err error) {
	if batch == 1 {
		for i := from; i < to && err == nil; i++ {
			t.results[i], err = t.cache.Put(t.key(i), t.value(i))
		}
		return err
	}
	for ; from < to && err == nil; from += batch {
		end := min(from+batch, to)
		err = t.cache.PutBatch(t.keys[from*cacheKeyBytes:end*cacheKeyBytes],
			t.values[from*cacheValueBytes:end*cacheValueBytes], t.results[from:end])
	}
	return err
}

func (t *cacheTable) get(from, to, batch int) (err error) {
	if batch == 1 {
		for i := from; i < to && err == nil; i++ {
			t.found[i], err = t.cache.Get(t.key(i), t.value(i))
		}
		return err
	}
	for ; from < to && err == nil; from += batch {
		end := min(from+batch, to)
		err = t.cache.GetBatch(t.keys[from*cacheKeyBytes:end*cacheKeyBytes],
			t.values[from*cacheValueBytes:end*cacheValueBytes], t.found[from:end])
	}
	return err
}

func (t *cacheTable) close() error { return t.cache.Close() }

// mapTable puts and gets pairs of 8+100 bytes, and adds to counters.
type mapTable struct {
	kv *kv.Map
	pairs
	next  int
	calls []kv.Call
}

const (
	itemBytes = 256 // what such a pair takes, with its head
	// itemsPerOperation is room for what both sizes of batches put, and for items that wait to be
	// used again.
	itemsPerOperation = 3
	firstCounter      = 1 << 30 // number of its key, above all others of a rank
)

func (t *mapTable) operations(shareBytes int) int {
	return min(shareBytes/itemBytes/itemsPerOperation, maxPairs)
}

func (t *mapTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	t.pairs = pairs{rank: job.Rank(), keyBytes: wordBytes, valueBytes: mapValueBytes}
	items := max(cfg.SizeBytes/itemBytes,
		uint64(job.Size()*itemsPerOperation*cfg.Operations))
	t.kv, err = kv.New(ctx, touched{job}, kv.Config{Slots: items * 2,
		Bytes: items * itemBytes, MaxKey: wordBytes, MaxValue: mapValueBytes})
	return err
}

func (t *mapTable) cases() []testCase {
	const slotLines, itemLines = 1, 2
	ready := func(kind kv.Kind, at func(i int) uint64) func(n int) {
		return func(n int) {
			t.pairs.ready(n, kind == kv.Put, at)
			t.calls = make([]kv.Call, n)
			for i := range t.calls {
				t.calls[i] = kv.Call{Kind: kind, Key: t.key(i), Value: t.value(i), Delta: 1}
				if kind == kv.Get {
					t.calls[i].Value = t.value(i)[:0]
				}
			}
		}
	}
	check := func(n int) error {
		got := 0
		for i := range t.calls {
			c := &t.calls[i]
			if c.Err == nil && c.Done &&
				(c.Kind == kv.Put || c.Kind == kv.Add && c.Sum > 0 || t.right(i, c.Value)) {
				got++
			}
		}
		return counted("right", got, n)
	}
	return []testCase{
		{operation: "put, 8+100 bytes", lines: slotLines + itemLines, swaps: true, run: t.run,
			check: check, ready: ready(kv.Put, func(int) uint64 {
				t.next++
				return number(t.rank, t.next-1)
			})},
		{operation: "get, 8+100 bytes", lines: slotLines + itemLines, run: t.run, check: check,
			ready: ready(kv.Get, func(int) uint64 {
				return number(t.rank, t.drawn.below(t.next))
			})},
		{operation: "add, 8+8 bytes", lines: slotLines + itemLines, swaps: true, run: t.run,
			check: check, ready: ready(kv.Add, func(int) uint64 {
				return number(t.rank, firstCounter+t.drawn.below(t.next))
			})},
	}
}

func (t *mapTable) run(from, to, batch int) (err error) {
	for ; from < to && err == nil; from += batch {
		calls := t.calls[from:min(from+batch, to)]
		if batch > 1 {
			err = t.kv.Batch(calls)
			continue
		}
		c := &calls[0]
		switch c.Kind {
		case kv.Put:
			_, c.Err = t.kv.Put(c.Key, c.Value)
			c.Done = c.Err == nil
		case kv.Add:
			c.Sum, _, c.Err = t.kv.Add(c.Key, c.Delta)
			c.Done = c.Err == nil
		default:
			c.Value, _, c.Done, c.Err = t.kv.Get(c.Key, c.Value)
		}
		err = c.Err
	}
	return err
}

func (t *mapTable) close() error { return t.kv.Close() }
