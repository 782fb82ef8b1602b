package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

const (
	// cacheKeyBytes and cacheValueBytes are those of MPI-DHT's evaluation (MD 5.2).
	cacheKeyBytes, cacheValueBytes = 80, 104
	// mapValueBytes is that of YCSB, with keys of a word.
	mapValueBytes = 100

	wordBytes = 8
	lineBytes = lineWords * wordBytes
)

// key numbers are those of the rank in the high bits: no two ranks have the same.
func number(rank, i int) uint64 { return uint64(rank)<<40 | uint64(i) }

func counted(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%d of %d answers are %s: the table is wrong", got, want, what)
	}
	return nil
}

// setTable inserts words up to half of the table, and finds them.
type setTable struct {
	set     *set.Set
	rank    int
	next    int // words inserted by this rank
	words   []uint64
	results []set.Result
}

func (t *setTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	// Half full in the end, with what both cases of both sizes of batches insert.
	least := uint64(2 * 2 * cfg.Operations * job.Size())
	t.rank = job.Rank()
	t.set, err = set.New(ctx, touched{job}, set.Config{Buckets: max(cfg.SizeBytes/wordBytes, least)})
	return err
}

func (t *setTable) cases() []testCase {
	ready := func(at func(i int) uint64) func(n int) {
		return func(n int) {
			t.words, t.results = make([]uint64, n), make([]set.Result, n)
			for i := range t.words {
				t.words[i] = mix(at(i)) & set.MaxWord
			}
		}
	}
	check := func(want set.Result) func(n int) error {
		return func(n int) error {
			got := 0
			for _, r := range t.results {
				if r == want {
					got++
				}
			}
			return counted(want.String(), got, n)
		}
	}
	return []testCase{
		{operation: "find-or-put, new", lines: 1, swaps: true, run: t.run, check: check(set.Inserted),
			ready: ready(func(int) uint64 { t.next++; return number(t.rank, t.next-1) })},
		{operation: "find-or-put, present", lines: 1, run: t.run, check: check(set.Found),
			ready: ready(func(i int) uint64 { return number(t.rank, int(mix(uint64(i))%uint64(t.next))) })},
	}
}

func (t *setTable) run(from, to, batch int) (err error) {
	if batch == 1 {
		for i := from; i < to && err == nil; i++ {
			t.results[i], err = t.set.FindOrPut(t.words[i])
		}
		return err
	}
	for ; from < to && err == nil; from += batch {
		end := min(from+batch, to)
		err = t.set.FindOrPutBatch(t.words[from:end], t.results[from:end])
	}
	return err
}

func (t *setTable) close() error { return t.set.Close() }

// indexTable looks records of 8+8 bytes up at the default load.
type indexTable struct {
	index   *index.Index
	rank    int
	ranks   int
	records int // of each rank
	numbers []uint64
	keys    []byte
	right   int
}

func (t *indexTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	t.rank, t.ranks = job.Rank(), job.Size()
	t.records = max(int(cfg.SizeBytes)/(2*wordBytes)/2/t.ranks, 1)
	t.index, err = index.Build(ctx, job, index.Config{KeySize: wordBytes, ValueSize: wordBytes},
		t.all())
	return err
}

func (t *indexTable) all() iter.Seq2[index.Record, error] {
	return func(yield func(index.Record, error) bool) {
		var key, value [wordBytes]byte
		for i := range t.records {
			n := number(t.rank, i)
			binary.LittleEndian.PutUint64(key[:], mix(n))
			binary.LittleEndian.PutUint64(value[:], n)
			if !yield(index.Record{Key: key[:], Value: value[:]}, nil) {
				return
			}
		}
	}
}

func (t *indexTable) cases() []testCase {
	return []testCase{{operation: "lookup, 8+8 bytes", lines: 1, ready: t.ready, run: t.run,
		check: func(n int) error { return counted("right", t.right, n) }}}
}

func (t *indexTable) ready(n int) {
	t.numbers, t.keys, t.right = make([]uint64, n), make([]byte, n*wordBytes), 0
	for i := range t.numbers {
		random := mix(uint64(i) + 1<<50)
		t.numbers[i] = number(int(random>>32)%t.ranks, int(random&(1<<32-1))%t.records)
		binary.LittleEndian.PutUint64(t.keys[i*wordBytes:], mix(t.numbers[i]))
	}
}

func (t *indexTable) run(from, to, batch int) error {
	if batch == 1 {
		for i := from; i < to; i++ {
			for value, err := range t.index.Lookup(t.keys[i*wordBytes : (i+1)*wordBytes]) {
				if err != nil {
					return err
				}
				t.see(i, value)
			}
		}
		return nil
	}
	for ; from < to; from += batch {
		keys := t.keys[from*wordBytes : min(from+batch, to)*wordBytes]
		first := from
		if err := t.index.LookupBatch(keys, func(i int, v index.Value) {
			t.see(first+i, v)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (t *indexTable) see(i int, value index.Value) {
	if binary.LittleEndian.Uint64(value) == t.numbers[i] {
		t.right++
	}
}

func (t *indexTable) close() error { return t.index.Close() }

// pairs are keys and values of operations, and what comes back.
type pairs struct {
	rank, keyBytes, valueBytes int
	keys, values               []byte
	numbers                    []uint64
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

// right tells whether a value is that of operation i.
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

// cacheTable puts and gets pairs of 80+104 bytes, at a quarter of the load so that none is
// evicted by the bad luck of a few keys.
type cacheTable struct {
	cache *cache.Cache
	pairs
	next    int
	found   []bool
	results []cache.Result
}

func (t *cacheTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	t.pairs = pairs{rank: job.Rank(), keyBytes: cacheKeyBytes, valueBytes: cacheValueBytes}
	const bucketBytes, share = 8 + cacheKeyBytes + cacheValueBytes, 8
	buckets := max(cfg.SizeBytes/bucketBytes/uint64(job.Size()), uint64(share*cfg.Operations))
	t.cache, err = cache.New(ctx, touched{job}, cache.Config{KeySize: cacheKeyBytes,
		ValueSize: cacheValueBytes, BucketsPerRank: buckets})
	return err
}

func (t *cacheTable) cases() []testCase {
	const lines = (8 + cacheKeyBytes + cacheValueBytes + lineBytes - 1) / lineBytes
	return []testCase{
		{operation: "put, 80+104 bytes", lines: lines, swaps: true, run: t.put,
			ready: func(n int) {
				t.results = make([]cache.Result, n)
				t.pairs.ready(n, true, func(int) uint64 { t.next++; return number(t.rank, t.next-1) })
			},
			check: func(int) error { return nil }}, // by the gets
		{operation: "get, 80+104 bytes", lines: lines, run: t.get,
			ready: func(n int) {
				t.found = make([]bool, n)
				t.pairs.ready(n, false, func(i int) uint64 {
					return number(t.rank, int(mix(uint64(i))%uint64(t.next)))
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
	const maxMissing = 100 // one in so many
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

// mapTable puts and gets pairs of 8+100 bytes.
type mapTable struct {
	kv *kv.Map
	pairs
	next  int
	calls []kv.Call
}

func (t *mapTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	t.pairs = pairs{rank: job.Rank(), keyBytes: wordBytes, valueBytes: mapValueBytes}
	const itemBytes = 256 // what such a pair takes, with its head
	// Room for what both sizes of batches put, and for items that wait to be used again.
	items := max(cfg.SizeBytes/itemBytes/uint64(job.Size()), uint64(3*cfg.Operations))
	t.kv, err = kv.New(ctx, touched{job}, kv.Config{SlotsPerRank: items * 2,
		BytesPerRank: items * itemBytes, MaxKey: wordBytes, MaxValue: mapValueBytes})
	return err
}

func (t *mapTable) cases() []testCase {
	const slotLines, itemLines = 1, 2
	ready := func(kind kv.Kind, at func(i int) uint64) func(n int) {
		return func(n int) {
			t.pairs.ready(n, kind == kv.Put, at)
			t.calls = make([]kv.Call, n)
			for i := range t.calls {
				t.calls[i] = kv.Call{Kind: kind, Key: t.key(i), Value: t.value(i)}
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
			if c.Err == nil && c.Done && (c.Kind == kv.Put || t.right(i, c.Value)) {
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
			ready: ready(kv.Get, func(i int) uint64 {
				return number(t.rank, int(mix(uint64(i))%uint64(t.next)))
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
		if c.Kind == kv.Put {
			_, c.Err = t.kv.Put(c.Key, c.Value)
			c.Done = c.Err == nil
		} else {
			c.Value, _, c.Done, c.Err = t.kv.Get(c.Key, c.Value)
		}
		err = c.Err
	}
	return err
}

func (t *mapTable) close() error { return t.kv.Close() }

// touched is a job whose windows have all their memory from the start.
type touched struct{ rma.Job }

// NewWindow makes a window and writes to every page of this rank's segment.
func (j touched) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	w, err := j.Job.NewWindow(ctx, spec)
	if err != nil {
		return nil, err
	}
	if own := w.Words(j.Rank()); own != nil {
		for i := 0; i < len(own); i += pageWords {
			own[i] = 0
		}
	}
	return w, j.Barrier(ctx) // nobody uses it before
}
