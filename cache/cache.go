package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Mode says how readers and writers of a bucket are kept from disturbing each other.
type Mode int

const (
	// LockFree has no locks: a checksum shows what is torn (MD 4.2). The default.
	LockFree Mode = iota
	// Fine has a readers-writer lock for each group of buckets (MD 4.1).
	Fine
	// Coarse has one readers-writer lock for the memory of each rank (MD 3.1).
	Coarse
)

// String is the mode's name.
func (m Mode) String() string {
	if m < LockFree || m > Coarse {
		return fmt.Sprintf("Mode(%d)", int(m))
	}
	return [...]string{"lock-free", "fine", "coarse"}[m]
}

// Result says what Put did.
type Result uint8

const (
	Inserted Result = iota + 1 // into a bucket that was empty or invalid
	Updated                    // the key was there, and now has this value
	Evicted                    // all candidates were taken; another key had to go
)

// hit is the result of a get that has found its key.
const hit Result = 1

// String is the result's name.
func (r Result) String() string {
	if r < Inserted || r > Evicted {
		return fmt.Sprintf("Result(%d)", uint8(r))
	}
	return [...]string{"inserted", "updated", "evicted"}[r-Inserted]
}

// Config shapes a Cache. Every rank gives the same.
type Config struct {
	// KeySize and ValueSize are the bytes of every key and of every value: at least 1,
	// and together at most MaxPairBytes.
	KeySize, ValueSize int
	// BucketsPerRank is rounded up to whole groups: 1 to MaxBuckets.
	BucketsPerRank uint64
	Mode           Mode
	Addressing     Addressing
	// GroupBuckets is how many buckets lie together and are brought by one get: 1 to
	// MaxGroupBuckets. 0 means as many as 1 KiB holds: 8, 4, 2 or 1. Paper has 1.
	GroupBuckets int
	// Choices is how many groups a key may lie in: 1 to MaxChoices. 0 means 2, 3, 4 and
	// 6 for groups of 8, 4, 2 and fewer buckets. Paper has 1 to 8, by the buckets of a rank.
	Choices int
	// Retries is how often a bucket is read again that fails its checksum, before it is
	// marked invalid (MD 4.2). 0 means DefaultRetries; below 0 means never.
	Retries int
	// Depth is how many operations of a batch are in flight on a queue. 0 means
	// DefaultDepth. It may differ between ranks.
	Depth int
	// Access is how batches reach memory that is not addressable: see package ship. Auto,
	// the default, finds out. It may differ between ranks.
	Access ship.Access
}

const (
	// MaxPairBytes is the longest key with its value.
	MaxPairBytes = 1 << 17
	// MaxBuckets is the most that a rank can have.
	MaxBuckets = 1 << 40
	// MaxGroupBuckets is the most that lie together.
	MaxGroupBuckets = 8
	// MaxChoices is the most groups that a key may lie in.
	MaxChoices = 8

	// DefaultRetries is enough for a reader of a bucket that is being written: the writer
	// takes one put, and each retry of the reader takes a get.
	DefaultRetries = 3
	// DefaultDepth is how many operations of a batch are in flight on a queue.
	DefaultDepth = 64
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

	sessions core.Pool[*session]
	scratch  sync.Pool // of *scratch
	repairs  pendingRepairs
	tally    *tally
}

// BucketsKey is the key of the window of the buckets ([rma.Spec]), by which a job can know it.
const BucketsKey = "cache: buckets"

// errClosed is the answer of a cache that has been closed.
var errClosed = fmt.Errorf("cache: the cache is %w", rma.ErrClosed)

// New makes an empty cache. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Cache, error) {
	if err := cfg.agree(ctx, job); err != nil {
		return nil, err
	}
	c := &Cache{job: job, sessions: core.Pool[*session]{Closed: errClosed}}
	c.shape(cfg, job.Size())
	w, err := job.NewWindow(ctx, rma.Spec{Name: "cache: buckets", Key: BucketsKey,
		Words: c.segment})
	if err != nil {
		return nil, err
	}
	if c.tally, err = newTally(ctx, job, cfg); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	c.window, c.batches.Regions = w, core.NewRegions(w)
	c.kernel = hasKernel && cfg.Addressing == Groups
	c.bases = make([]*uint64, c.ranks)
	for rank, words := range c.batches.Segments {
		if words != nil {
			c.bases[rank] = &words[c.lockWords]
		}
	}
	err = c.batches.Open(ctx, job, w, core.Config{Access: cfg.Access,
		Messages: cfg.messages(), Answer: c.answer, Closed: errClosed})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// agree makes sure that all ranks have the same configuration, and completes it.
func (c *Config) agree(ctx context.Context, job rma.Job) error {
	fields := []rma.Field{{Name: "bytes per key", Value: uint64(c.KeySize)},
		{Name: "bytes per value", Value: uint64(c.ValueSize)},
		{Name: "buckets per rank", Value: c.BucketsPerRank},
		{Name: "modes", Value: uint64(c.Mode)},
		{Name: "kinds of addressing", Value: uint64(c.Addressing)},
		{Name: "buckets per group", Value: uint64(c.GroupBuckets)},
		{Name: "choices", Value: uint64(c.Choices)}}
	return rma.Agree(ctx, job, "cache", c.complete(job.Size()), fields...)
}

// complete checks a configuration and fills in what is left to it.
func (c *Config) complete(ranks int) error {
	switch {
	case c.KeySize < 1 || c.ValueSize < 1 || c.KeySize > MaxPairBytes ||
		c.ValueSize > MaxPairBytes-c.KeySize:
		return fmt.Errorf("cache: KeySize %d and ValueSize %d must be at least 1 and at most "+
			"%d together", c.KeySize, c.ValueSize, MaxPairBytes)
	case c.BucketsPerRank < 1 || c.BucketsPerRank > MaxBuckets:
		return fmt.Errorf("cache: BucketsPerRank must be 1 to 2^40, not %d", c.BucketsPerRank)
	case c.Mode < LockFree || c.Mode > Coarse:
		return fmt.Errorf("cache: Mode must be LockFree, Fine or Coarse, not %d", c.Mode)
	case c.Depth < 0 || c.Depth > 1<<16:
		return fmt.Errorf("cache: Depth must be 0 to 65536, not %d", c.Depth)
	case ranks > maxOwner:
		return fmt.Errorf("cache: locks can name %d ranks, not %d", maxOwner, ranks)
	}
	c.Retries = max(cmp.Or(c.Retries, DefaultRetries), 0)
	c.Depth = cmp.Or(c.Depth, DefaultDepth)
	if err := c.completeAddressing(); err != nil {
		return err
	}
	group := uint64(c.GroupBuckets)
	c.BucketsPerRank = (c.BucketsPerRank + group - 1) / group * group
	words := c.BucketsPerRank * (bucketWords(c.KeySize, c.ValueSize) + 1)
	if words > math.MaxInt64/8/uint64(ranks) {
		return fmt.Errorf("cache: %d ranks with %d buckets of %d and %d bytes have more memory "+
			"than can be numbered", ranks, c.BucketsPerRank, c.KeySize, c.ValueSize)
	}
	return nil
}

// Get reads the value of key. If the key is found, Get stores the value in value and returns
// true. If not, value may have been written to and holds nothing of use. key has KeySize bytes,
// value ValueSize.
func (c *Cache) Get(key, value []byte) (bool, error) {
	if err := c.check(key, value); err != nil {
		return false, err
	}
	if k, v, ok := asWordPair(key, value); ok && c.batches.Any {
		hash := hashKey(k)
		if rank := c.rankOf(hash); c.batches.At(rank) != nil {
			group, first := c.group(hash, 0)
			if c.cfg.Mode == LockFree && c.peek(c.bucketAt(rank, group, first), hash, k, v) {
				c.tally.Count(hash, atHits, 1)
				return true, nil
			}
			s := search{c: c, kind: kindGet, key: k, value: v}
			c.search(&s, hash)
			return s.matched, nil
		}
	}
	s, err := c.one(kindGet, key, value)
	return s.matched, err
}

// Put stores a value under a key: where the key is, else in an empty or invalid
// candidate, else over the last one.
func (c *Cache) Put(key, value []byte) (Result, error) {
	if err := c.check(key, value); err != nil {
		return 0, err
	}
	if k, v, ok := asWordPair(key, value); ok && c.batches.Any {
		if hash := hashKey(k); c.addressable(hash) {
			s := search{c: c, kind: kindPut, key: k, value: v}
			c.search(&s, hash)
			return s.result, nil
		}
	}
	s, err := c.one(kindPut, key, value)
	return s.result, err
}

// Delete makes key invalid wherever it stands, and reports whether it stood anywhere.
func (c *Cache) Delete(key []byte) (bool, error) {
	if len(key) != c.cfg.KeySize {
		return false, c.sizeError("key", len(key), c.cfg.KeySize)
	}
	s, err := c.one(kindRemove, key, nil)
	return s.matched, err
}

// Locate reports which rank has key in its memory, and in which bucket of that rank. It is a
// Get that leaves the value; by the time it returns another key may stand there.
func (c *Cache) Locate(key []byte) (rank int, bucket uint64, found bool, err error) {
	if len(key) != c.cfg.KeySize {
		return 0, 0, false, c.sizeError("key", len(key), c.cfg.KeySize)
	}
	s, err := c.one(kindGet, key, make([]byte, c.cfg.ValueSize))
	return s.rank, s.bucket, s.matched, err
}

// place is the bucket, in its rank, of the pair that a search has found or written.
func (s *search) place() uint64 {
	group, bucket := s.number, s.bucket()
	switch {
	case s.kind != kindPut:
	case s.result == Updated:
		choice, i := s.used/s.c.cfg.GroupBuckets, s.used%s.c.cfg.GroupBuckets
		number, first := s.c.group(s.hash, choice)
		group, bucket = number, (first+i)%s.c.cfg.GroupBuckets
	default:
		group, bucket = s.free.group, s.free.bucket
	}
	return group*uint64(s.c.cfg.GroupBuckets) + uint64(bucket)
}

// search carries out a single search over direct memory.
func (c *Cache) search(s *search, hash uint64) {
	s.begin(hash)
	c.run(s)
	s.each(func(at uintptr, n uint64) { c.tally.Count(hash, at, n) })
}

// Update reads the value of key, has fn change it in place and stores it. found says whether
// the key was found; if not, value is all zeros. fn returns false to leave the cache as it is;
// then the Result is 0.
//
// It is a Get and a Put, with fn between them and no lock held: what others put in
// between is lost, and an entry may be evicted before the next Update. So a counter that is
// updated so may be too low. fn must not keep value.
func (c *Cache) Update(key []byte, fn func(value []byte, found bool) bool) (Result, error) {
	s := c.take()
	defer s.give()
	value := bytesOf(s.value)[:c.cfg.ValueSize]
	found, err := c.Get(key, value)
	if err != nil {
		return 0, err
	}
	if !found {
		clear(value)
	}
	if !fn(value, found) {
		return 0, nil
	}
	return c.Put(key, value)
}

// check refuses keys and values of the wrong size.
func (c *Cache) check(key, value []byte) error {
	if len(key) != c.cfg.KeySize {
		return c.sizeError("key", len(key), c.cfg.KeySize)
	}
	if len(value) != c.cfg.ValueSize {
		return c.sizeError("value", len(value), c.cfg.ValueSize)
	}
	return nil
}

func (c *Cache) sizeError(what string, got, want int) error {
	return fmt.Errorf("cache: a %s of %s; this cache has %ss of %d", what,
		plural.Of(got, "byte"), what, want)
}

// Config is the configuration in force, with what was left to the cache filled in.
func (c *Cache) Config() Config { return c.cfg }

// Buckets is the number of buckets of all ranks.
func (c *Cache) Buckets() uint64 { return c.cfg.BucketsPerRank * uint64(c.job.Size()) }

// Close gives this rank's memory back. The other ranks keep theirs. A later call goes to the pool
// of sessions and finds it closed, not to memory that is gone.
func (c *Cache) Close() error {
	return errors.Join(c.batches.Close(), c.sessions.Close(), c.window.Close(), c.tally.close())
}
