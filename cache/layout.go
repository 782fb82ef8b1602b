package cache

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
)

// lineWords is the number of words in a cache line.
const lineWords = 8

// layout says where the buckets of all ranks are.
type layout struct {
	ranks       int
	segment     int    // words of each rank
	groups      uint64 // of each rank
	groupWords  int    // with the lock, where there is one
	lockWords   int    // in front of a group: 1 or 0
	bucketWords int
	keyWords    int
	valueWords  int
	rankLock    int // where the lock of a rank is, in Coarse
	windowMask  uint64
}

// shape computes the layout for a complete configuration.
func (c *Cache) shape(cfg Config, ranks int) {
	c.cfg, c.ranks = cfg, ranks
	c.groups = cfg.BucketsPerRank / uint64(cfg.GroupBuckets)
	c.keyWords, c.valueWords = wordsOf(cfg.KeySize), wordsOf(cfg.ValueSize)
	c.bucketWords = 1 + c.keyWords + c.valueWords
	if cfg.Mode == Fine {
		c.lockWords = 1
	}
	c.groupWords = c.lockWords + cfg.GroupBuckets*c.bucketWords
	// Segments are whole lines, so that those of all ranks begin at one, and the lock
	// of a rank has one for itself.
	words := core.Segment(c.groups, uint64(c.groupWords))
	c.rankLock = (words + lineWords - 1) / lineWords * lineWords
	c.segment = c.rankLock
	if cfg.Mode == Coarse {
		c.segment += lineWords
	}
	c.windowMask = 1<<(8*windowBytes(c.groups)) - 1
}

// addressable reports whether the buckets of a key are directly addressable.
func (c *Cache) addressable(hash uint64) bool { return c.batches.At(c.rankOf(hash)) != nil }

// offset is where the buckets of a group begin in the segment of its rank.
func (c *Cache) offset(group uint64) int { return int(group)*c.groupWords + c.lockWords }

// bucketOffset is where a bucket begins in the segment of its rank.
func (c *Cache) bucketOffset(group uint64, i int) int { return c.offset(group) + i*c.bucketWords }

// bucketAt is a bucket in directly addressable memory.
func (c *Cache) bucketAt(rank int, group uint64, i int) []uint64 {
	at := c.bucketOffset(group, i)
	return c.batches.Segments[rank][at : at+c.bucketWords : at+c.bucketWords]
}

// lockOf is the offset of the lock for a group.
func (c *Cache) lockOf(group uint64) int {
	if c.cfg.Mode == Coarse {
		return c.rankLock
	}
	return int(group) * c.groupWords
}

// rankError says in whose memory something failed.
func rankError(rank int, err error) error {
	return fmt.Errorf("cache: in the memory of rank %d: %w", rank, err)
}

// What the first word of a bucket can be, beside a checksum.
const (
	empty   = 0 // never used, in a table that has not been cleared since
	invalid = 1 // may be overwritten; the key was deleted, or the checksum failed
)

// bucketWords is the length of a bucket: checksum, key, value, the last two filled up with
// zeros to whole words.
func bucketWords(keySize, valueSize int) uint64 {
	return uint64(1 + wordsOf(keySize) + wordsOf(valueSize))
}

func wordsOf(size int) int { return (size + 7) / 8 }

// Under the race detector, which reports other accesses as races, shared memory is read and
// written word by word. Without it any way is right: what a reader reads of a bucket that is
// being written fails its checksum.

// sameWords compares words of a bucket, which others may be writing, with own ones.
func sameWords(shared, own []uint64) bool {
	if !memory.RaceEnabled {
		return slices.Equal(shared, own)
	}
	for i := range own {
		if atomic.LoadUint64(&shared[i]) != own[i] {
			return false
		}
	}
	return true
}

// storeBucket writes a bucket, the checksum last: a reader at the same time then finds the old
// checksum for longer, and its attempt to mark the bucket invalid fails.
func storeBucket(shared []uint64, seal uint64, key, value []uint64) {
	memory.StoreWords(shared[1:], key)
	memory.StoreWords(shared[1+len(key):], value)
	storeSeal(shared, seal)
}

// storeSeal writes the checksum of a bucket.
func storeSeal(shared []uint64, seal uint64) {
	if !memory.RaceEnabled { // an atomic store would wait for those before it
		shared[0] = seal
		return
	}
	atomic.StoreUint64(&shared[0], seal)
}

// key and value are parts of a bucket.
func (c *Cache) keyIn(bucket []uint64) []uint64   { return bucket[1 : 1+c.keyWords] }
func (c *Cache) valueIn(bucket []uint64) []uint64 { return bucket[1+c.keyWords : c.bucketWords] }

// readValue copies the value out of a bucket that has shown seal and the key, and reports
// whether it was there as a whole.
func (c *Cache) readValue(bucket []uint64, seal, hash uint64, value []uint64) bool {
	memory.LoadWords(value, c.valueIn(bucket))
	return sealOf(hash, value) == seal
}
