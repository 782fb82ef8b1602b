package cache

import "fmt"

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
	c.rankLock = (int(c.groups)*c.groupWords + lineWords - 1) / lineWords * lineWords
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

// bucketAt is a bucket in directly addressable memory.
func (c *Cache) bucketAt(rank int, group uint64, i int) []uint64 {
	at := c.offset(group) + i*c.bucketWords
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
