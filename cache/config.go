package cache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
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

// Addressing says which buckets a key may be in.
type Addressing int

const (
	// Groups gives a key a rank, and on it a few groups of neighbouring buckets, all from
	// independent words: the default. One get brings a group. With GroupBuckets 1 and
	// Choices 6 candidates are spread as in the paper.
	Groups Addressing = iota
	// Paper gives a key a rank by its hash modulo the ranks, and on it the windows of n
	// bytes of the hash, modulo the buckets of a rank (MD 3.1).
	Paper
)

// Config shapes a Cache. Every rank gives the same.
type Config struct {
	// KeySize and ValueSize are the bytes of every key and of every value: at least 1,
	// and together at most MaxPairBytes.
	KeySize, ValueSize int
	// Buckets of all ranks together, 1 to MaxBuckets; rounded up to whole groups, as many on
	// each rank.
	Buckets    uint64
	Mode       Mode
	Addressing Addressing
	// GroupBuckets is how many buckets are next to each other and are brought by one get: 1 to
	// 8. 0 means as many as 1 KiB holds: 8, 4, 2 or 1. Paper has 1.
	GroupBuckets int
	// Choices is how many groups a key may be in: 1 to 8. 0 means 2, 3, 4 and 6 for
	// groups of 8, 4, 2 and fewer buckets. Paper has 1 to 8, by the buckets of a rank.
	Choices int
	// Retries is how often a bucket is read again that fails its checksum, before it is
	// marked invalid (MD 4.2). 0 means 3, which is enough where it is being written: the writer
	// takes one put, and each retry takes a get. Below 0 means never.
	Retries int
	// Depth is how many operations of a batch are in flight on a queue. 0 means 64. It may
	// differ between ranks.
	Depth int
	// Access is how batches reach memory that is not addressable: see [rma.Access]. Auto,
	// the default, finds out. It may differ between ranks.
	Access rma.Access
	// TTL is how long a pair is found after it was put, unless PutTTL says otherwise; Forever, if
	// nothing else does. Each bucket then has one more word. 0 means that pairs do not expire.
	TTL time.Duration

	clock *clock // of tests; nil: the clock of the system
}

// Forever is a TTL: the pair does not expire.
const Forever time.Duration = -1

const (
	// MaxPairBytes is the longest key with its value.
	MaxPairBytes = 1 << 17
	// MaxBuckets is the most that a cache can have.
	MaxBuckets = 1 << 40

	maxGroupBuckets = 8
	maxChoices      = 8
	defaultRetries  = 3
	defaultDepth    = 64
)

// agree makes sure that all ranks have the same configuration, and completes it.
func (c *Config) agree(ctx context.Context, job rma.Job) error {
	complete := func() error { return c.complete(job.Size()) }
	if shared, ok := job.(rma.Shared); ok {
		if c.Mode != LockFree {
			return fmt.Errorf("cache: a cache by name is lock-free, and cannot be %v", c.Mode)
		}
		err := core.Recorded(shared, "cache", c.fields, c.set, complete)
		if err == nil && c.Mode != LockFree {
			err = fmt.Errorf("cache: the file has one that is %v: its header is damaged; remove it",
				c.Mode)
		}
		return err
	}
	fields := c.fields()
	return rma.Agree(ctx, job, "cache", complete(), fields...)
}

// fields are the numbers that all ranks have alike.
func (c *Config) fields() []rma.Field {
	return []rma.Field{{Name: "bytes per key", Value: uint64(c.KeySize)},
		{Name: "bytes per value", Value: uint64(c.ValueSize)},
		{Name: "buckets", Value: c.Buckets},
		{Name: "modes", Value: uint64(c.Mode)},
		{Name: "kinds of addressing", Value: uint64(c.Addressing)},
		{Name: "buckets per group", Value: uint64(c.GroupBuckets)},
		{Name: "choices", Value: uint64(c.Choices)},
		{Name: "times to live", Value: uint64(c.TTL)}}
}

// set takes the values of fields.
func (c *Config) set(n []uint64) {
	c.KeySize, c.ValueSize, c.Buckets = int(n[0]), int(n[1]), n[2]
	c.Mode, c.Addressing = Mode(n[3]), Addressing(n[4])
	c.GroupBuckets, c.Choices, c.TTL = int(n[5]), int(n[6]), time.Duration(n[7])
}

// complete checks a configuration and fills in what is left to it.
func (c *Config) complete(ranks int) error {
	switch {
	case c.KeySize < 1 || c.ValueSize < 1 || c.KeySize > MaxPairBytes ||
		c.ValueSize > MaxPairBytes-c.KeySize:
		return fmt.Errorf("cache: KeySize %d and ValueSize %d must be at least 1 and at most "+
			"%d together", c.KeySize, c.ValueSize, MaxPairBytes)
	case c.Buckets < 1 || c.Buckets > MaxBuckets:
		return fmt.Errorf("cache: Buckets must be 1 to 2^40, not %d", c.Buckets)
	case c.Mode < LockFree || c.Mode > Coarse:
		return fmt.Errorf("cache: Mode must be LockFree, Fine or Coarse, not %d", c.Mode)
	case c.Depth < 0 || c.Depth > 1<<16:
		return fmt.Errorf("cache: Depth must be 0 to 65536, not %d", c.Depth)
	case c.TTL < Forever:
		return fmt.Errorf("cache: TTL must be above 0, 0 or Forever, not %v", c.TTL)
	case ranks > maxOwner:
		return fmt.Errorf("cache: locks can name %d ranks, not %d", maxOwner, ranks)
	}
	c.Retries = max(cmp.Or(c.Retries, defaultRetries), 0)
	c.Depth = cmp.Or(c.Depth, defaultDepth)
	perRank := (c.Buckets + uint64(ranks) - 1) / uint64(ranks)
	if err := c.completeAddressing(perRank); err != nil {
		return err
	}
	group := uint64(c.GroupBuckets)
	c.Buckets = (perRank + group - 1) / group * group * uint64(ranks)
	if c.Buckets > math.MaxInt64/8/(c.bucketWords()+1) {
		return fmt.Errorf("cache: %d buckets of %d and %d bytes have more memory than can be "+
			"numbered", c.Buckets, c.KeySize, c.ValueSize)
	}
	return nil
}

// groupBytes is what one get should bring at most.
const groupBytes = 1024

// completeAddressing fills in GroupBuckets and Choices.
func (c *Config) completeAddressing(perRank uint64) error {
	switch {
	case c.Addressing != Groups && c.Addressing != Paper:
		return fmt.Errorf("cache: Addressing must be Groups or Paper, not %d", c.Addressing)
	case c.GroupBuckets < 0 || c.GroupBuckets > maxGroupBuckets:
		return fmt.Errorf("cache: GroupBuckets must be 1 to %d, not %d", maxGroupBuckets,
			c.GroupBuckets)
	case c.Choices < 0 || c.Choices > maxChoices:
		return fmt.Errorf("cache: Choices must be 1 to %d, not %d", maxChoices, c.Choices)
	}
	if c.Addressing == Paper {
		windows := 9 - windowBytes(perRank)
		if c.GroupBuckets > 1 || c.Choices != 0 && c.Choices != windows {
			return fmt.Errorf("cache: Paper has groups of 1 bucket and, for %d buckets per "+
				"rank, %d choices; leave GroupBuckets and Choices at 0", perRank, windows)
		}
		c.GroupBuckets, c.Choices = 1, windows
		return nil
	}
	if c.GroupBuckets == 0 {
		group := uint64(maxGroupBuckets)
		for group > 1 && group*8*c.bucketWords() > groupBytes {
			group /= 2
		}
		c.GroupBuckets = int(min(group, perRank))
	}
	if c.Choices == 0 {
		// For groups of 1, 2 and more, 4 and more, and 8 buckets.
		c.Choices = [...]int{1: 6, 2: 4, 3: 3, 4: 2}[bits.Len(uint(c.GroupBuckets))]
	}
	return nil
}

// messages is how many messages an operation takes one-sided, about: a get brings a group, and
// sometimes a second one; a put writes as well; a lock is taken and given back.
func (c *Config) messages() float64 {
	if c.Mode == LockFree {
		return 1.5
	}
	return 3.5
}
