package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Cache is a lossy table of keys and values over the memory of all ranks. It is safe for
// concurrent use. Close is not to run beside other calls.
type Cache struct {
	job rma.Job
	cfg Config // complete
	layout
	window  rma.Window
	batches core.Batches
	bases   []*uint64 // by rank: the first bucket of it; nil where only queues reach it
	kernel  bool      // batches over direct memory run in assembly
	clock   *clock    // nil where pairs do not expire

	sessions core.Pool[*session]
	scratch  sync.Pool // of *scratch
	repairs  repairs
	tally    *tally

	shared rma.Shared // the job of a cache that was opened by name, else nil
	fault  core.Fault
}

// Result says what Put or Update did.
type Result uint8

const (
	Inserted  Result = iota + 1 // into a bucket that was empty, invalid or expired
	Updated                     // the key was there, and now has this value
	Evicted                     // all candidates were taken; another key had to go
	Unchanged                   // Update: the function left the cache as it is
)

// hit is the result of a get that has found its key.
const hit Result = 1

// String is the result's name.
func (r Result) String() string {
	if r < Inserted || r > Unchanged {
		return fmt.Sprintf("Result(%d)", uint8(r))
	}
	return [...]string{"inserted", "updated", "evicted", "unchanged"}[r-Inserted]
}

// errClosed is the answer of a cache that has been closed.
var errClosed = fmt.Errorf("cache: the cache is %w", rma.ErrClosed)

// New makes an empty cache. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Cache, error) {
	if err := cfg.agree(ctx, job); err != nil {
		return nil, err
	}
	c := &Cache{job: job, sessions: core.Pool[*session]{Closed: errClosed}}
	c.shared, _ = job.(rma.Shared)
	c.fault.Job = c.shared
	c.shape(cfg, job.Size())
	// A job may know the window by its name.
	w, err := job.NewWindow(ctx, rma.Spec{Name: "cache: buckets", Words: c.segment})
	if err != nil {
		return nil, err
	}
	if c.tally, err = newTally(ctx, job); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	c.window, c.batches.Regions = w, core.NewRegions(w)
	c.kernel = hasKernel && cfg.Addressing == Groups
	if c.cfg.clock = nil; cfg.TTL != 0 {
		if c.clock = cfg.clock; c.clock == nil {
			c.clock = new(clock)
		}
	}
	c.bases = make([]*uint64, c.ranks)
	for i, words := range c.batches.Segments.Words {
		if words != nil {
			c.bases[c.batches.Segments.First+i] = &words[c.lockWords]
		}
	}
	err = c.batches.Open(ctx, job, w, core.Config{Access: cfg.Access,
		Messages: cfg.messages(), Answer: c.answer, Closed: errClosed})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close gives this rank's memory back. The other ranks keep theirs. A later call goes to the pool
// of sessions and finds it closed, not to memory that is gone.
func (c *Cache) Close() error {
	err := errors.Join(c.batches.Close(), c.sessions.Close(), c.window.Close(), c.tally.close())
	if c.shared != nil {
		c.shared.Leaves(false)
		err = errors.Join(err, c.shared.Close())
	}
	return err
}

// Config is the configuration in force, with what was left to the cache filled in.
func (c *Cache) Config() Config { return c.cfg }

// Get reads the value of key. If the key is found, Get stores the value in value and returns
// true. If not, value may have been written to and holds nothing of use. key has KeySize bytes,
// value ValueSize.
func (c *Cache) Get(key, value []byte) (bool, error) {
	o, err := c.one(kindGet, key, value, 0)
	return o.matched, err
}

// Put stores a value under a key: where the key is, else in an empty, invalid or expired
// candidate, else over the last one.
func (c *Cache) Put(key, value []byte) (Result, error) { return c.PutTTL(key, value, 0) }

// PutTTL is Put of a pair with a TTL of its own: it is found for so long, or [Forever]. 0 means
// the TTL of the cache. Another one is an error in a cache whose [Config].TTL is 0.
func (c *Cache) PutTTL(key, value []byte, ttl time.Duration) (Result, error) {
	o, err := c.one(kindPut, key, value, ttl)
	return o.result, err
}

// Delete makes key invalid wherever it stands, and reports whether it stood anywhere.
func (c *Cache) Delete(key []byte) (bool, error) {
	o, err := c.one(kindRemove, key, nil, 0)
	return o.matched, err
}

// PutLocated is Put, and reports where the pair is, as Locate does. It stays in that bucket until
// it is evicted, deleted or cleared; a later Put of the key changes the value there.
func (c *Cache) PutLocated(key, value []byte) (r Result, rank int, bucket uint64, err error) {
	o, err := c.one(kindPut, key, value, 0)
	return o.result, o.rank, c.bucketNumber(o.at), err
}

// Locate reports which rank has key in its memory, and in which bucket of that rank. It is a
// Get that leaves the value; by the time it returns another key may stand there.
func (c *Cache) Locate(key []byte) (rank int, bucket uint64, found bool, err error) {
	o, err := c.one(kindGet, key, make([]byte, c.cfg.ValueSize), 0)
	return o.rank, c.bucketNumber(o.at), o.matched, err
}

// one does a single operation, which is not shipped.
func (c *Cache) one(k kind, key, value []byte, ttl time.Duration) (outcome, error) {
	if err := c.check(k, key, value); err != nil {
		return outcome{}, err
	}
	expiry, err := uint64(never), error(nil)
	if k == kindPut {
		if expiry, err = c.expiryOf(ttl); err != nil {
			return outcome{}, err
		}
	}
	if keyWords, valueWords, whole := asWordPair(key, value); whole && c.batches.Any {
		if o, ok, err := c.direct(k, keyWords, valueWords, expiry); ok {
			return o, err
		}
	}
	if c.keyWords+c.valueWords <= roomWords && c.batches.Any {
		var room [roomWords]uint64
		keyRoom, valueRoom := room[:c.keyWords], room[c.keyWords:][:c.valueWords]
		if o, ok, err := c.directCopied(k, key, value, keyRoom, valueRoom, expiry); ok {
			return o, err
		}
	}
	return c.oneCopied(k, key, value, expiry)
}

// roomWords is up to how many words of a key and a value single calls copy to the stack.
const roomWords = 32

// directCopied is direct with a copy of a key or value that is not whole words, or of both.
func (c *Cache) directCopied(k kind, key, value []byte, keyRoom, valueRoom []uint64,
	expiry uint64) (o outcome, ok bool, err error) {
	keyWords, whole := asWords(key)
	if !whole {
		keyWords = keyRoom
		pack(keyWords, key)
	}
	valueWords, whole := asWords(value)
	if whole {
		return c.direct(k, keyWords, valueWords, expiry)
	}
	if valueWords = valueRoom; k == kindPut {
		pack(valueWords, value)
	}
	o, ok, err = c.direct(k, keyWords, valueWords, expiry)
	if k == kindGet && o.matched {
		copy(value, core.BytesOf(valueWords))
	}
	return o, ok, err
}

// expiryOf is when a pair expires that is put now.
func (c *Cache) expiryOf(ttl time.Duration) (uint64, error) {
	if ttl == 0 {
		ttl = c.cfg.TTL
	}
	switch {
	case ttl < Forever:
		return 0, fmt.Errorf("cache: a TTL must be above 0, 0 or Forever, not %v", ttl)
	case ttl <= 0:
		return never, nil
	case c.clock == nil:
		return 0, fmt.Errorf("cache: pairs do not expire, so none has a TTL of %v; give "+
			"Config.TTL, or cache.Forever there for a cache in which few pairs expire", ttl)
	}
	return c.now() + uint64(ttl), nil
}

// oneCopied does a single operation with copies of its key and value, or through a queue.
func (c *Cache) oneCopied(k kind, key, value []byte, expiry uint64) (o outcome, err error) {
	b := c.take()
	defer b.give()
	b.begin(call{k, c.keys(key), c.values(value), b.result[:], expiries{all: expiry}})
	if o, ok, err := c.directCopied(k, key, value, b.key, b.value, expiry); ok {
		return o, err
	}
	err = b.Queued(nil)
	c.tally.Add(hashKey(b.word(0)), &b.counts)
	return b.single, err
}

// check refuses keys and values of the wrong size.
func (c *Cache) check(k kind, key, value []byte) error {
	if len(key) == c.cfg.KeySize && (len(value) == c.cfg.ValueSize || k == kindRemove) {
		return nil
	}
	return c.sizeError(key, value)
}

func (c *Cache) sizeError(key, value []byte) error {
	what, got, want := "key", len(key), c.cfg.KeySize
	if got == want {
		what, got, want = "value", len(value), c.cfg.ValueSize
	}
	return fmt.Errorf("cache: a %s of %s; this cache has %ss of %d", what,
		plural.Of(got, "byte"), what, want)
}

// Update reads the value of key, has fn change it in place and stores it. found says whether
// the key was found; if not, value is all zeros. fn returns false to leave the cache as it is.
//
// It is a Get and a Put, with fn between them and no lock held: what others put in
// between is lost, and an entry may be evicted before the next Update. So a counter that is
// updated so may be too low. Its TTL begins anew. fn must not keep value.
func (c *Cache) Update(key []byte, fn func(value []byte, found bool) bool) (Result, error) {
	s := c.take()
	defer s.give()
	value := core.BytesOf(s.value)[:c.cfg.ValueSize]
	found, err := c.Get(key, value)
	if err != nil {
		return 0, err
	}
	if !found {
		clear(value)
	}
	if !fn(value, found) {
		return Unchanged, nil
	}
	return c.Put(key, value)
}

// GetAt reads what is in a bucket of a rank, as Locate and PutLocated name it: if it holds a pair,
// GetAt copies it and returns true. It may be another pair than was there before, so compare the
// key. key has KeySize bytes, value ValueSize. It is not counted.
func (c *Cache) GetAt(rank int, bucket uint64, key, value []byte) (found bool, err error) {
	if err := c.check(kindGet, key, value); err != nil {
		return false, err
	}
	group := uint64(c.cfg.GroupBuckets)
	perRank := c.groups * group
	if rank < 0 || rank >= c.ranks || bucket >= perRank {
		return false, fmt.Errorf("cache: there is no bucket %d of rank %d: there are %d ranks "+
			"with %d buckets each", bucket, rank, c.ranks, perRank)
	}
	words := make([]uint64, c.bucketWords)
	for try := 0; !found; try++ {
		err = c.fault.Guard(func() error {
			return c.read(rank, c.bucketOffset(bucket/group, int(bucket%group)), words)
		})
		found = c.whole(words)
		if err != nil || !c.holds(words, c.now()) || !found && try == c.cfg.Retries {
			return false, err
		}
	}
	copy(key, core.BytesOf(c.keyIn(words)))
	copy(value, core.BytesOf(c.valueIn(words)))
	return true, nil
}

// GetBatch is Get for many keys, one after the other in keys: found[i] reports
// whether the one at i*KeySize was found, and then its value is at i*ValueSize of values.
// For keys that are not found values holds nothing of use. The keys are worked on with many
// requests in flight, or by their owners, as [Config].Access says. When memory of some ranks is
// lost, keys of others are answered all the same, and the error names one rank.
func (c *Cache) GetBatch(keys, values []byte, found []bool) error {
	results := unsafe.Slice((*Result)(unsafe.Pointer(unsafe.SliceData(found))), len(found))
	return c.batch(call{kind: kindGet, keys: c.keys(keys), values: c.values(values),
		results: results})
}

// PutBatch is Put for many keys and values, laid out as in GetBatch. results[i] answers
// number i; it is 0 where there was an error. Of the values of a key that occurs twice
// either may stay.
func (c *Cache) PutBatch(keys, values []byte, results []Result) error {
	return c.PutBatchTTL(keys, values, 0, results)
}

// PutBatchTTL is PutBatch of pairs that all have a TTL, as PutTTL has it.
func (c *Cache) PutBatchTTL(keys, values []byte, ttl time.Duration, results []Result) error {
	expiry, err := c.expiryOf(ttl)
	if err != nil {
		return err
	}
	return c.batch(call{kind: kindPut, keys: c.keys(keys), values: c.values(values),
		results: results, expiries: expiries{all: expiry}})
}

// batch does the operations of a batch.
func (c *Cache) batch(o call) error {
	n := len(o.results)
	if len(o.keys.bytes) != n*c.cfg.KeySize || len(o.values.bytes) != n*c.cfg.ValueSize {
		return fmt.Errorf("cache: %d bytes of keys and %d of values for %d answers; this cache "+
			"has keys of %d bytes and values of %d", len(o.keys.bytes), len(o.values.bytes), n,
			c.cfg.KeySize, c.cfg.ValueSize)
	}
	s := c.take()
	defer s.give()
	s.begin(o)
	requests := rma.Stats{}
	err := c.fault.Guard(func() (err error) {
		requests, err = c.batches.Run(context.Background(), n, s)
		return err
	})
	s.counts.Queues.Add(requests)
	c.tally.Add(uint64(n), &s.counts)
	return err
}
