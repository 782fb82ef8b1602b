package cache

import (
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/memory"
)

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
	return sealOf(hash, value) == seal || noChecksum.On()
}
