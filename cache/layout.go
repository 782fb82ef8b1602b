package cache

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
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
	keyAt       int // where the key is in a bucket: after the checksum, and the expiry if any
	keyWords    int
	valueWords  int
	rankLock    int // where the lock of a rank is, in Coarse
	windowMask  uint64
}

// shape computes the layout for a complete configuration.
func (c *Cache) shape(cfg Config, ranks int) {
	c.cfg, c.ranks = cfg, ranks
	c.groups = cfg.Buckets / uint64(ranks*cfg.GroupBuckets)
	c.keyWords, c.valueWords = core.WordsOf(cfg.KeySize), core.WordsOf(cfg.ValueSize)
	c.keyAt, c.bucketWords = cfg.keyAt(), int(cfg.bucketWords())
	if cfg.Mode == Fine {
		c.lockWords = 1
	}
	c.groupWords = c.lockWords + cfg.GroupBuckets*c.bucketWords
	// Segments are whole lines, so that all ranks begin at one, and the lock
	// of a rank has one for itself.
	words := core.Segment(c.groups, uint64(c.groupWords))
	c.rankLock = (words + lineWords - 1) / lineWords * lineWords
	c.segment = c.rankLock
	if cfg.Mode == Coarse {
		c.segment += lineWords
	}
	c.windowMask = 1<<(8*windowBytes(c.groups)) - 1
}

// offset is where the buckets of a group begin in the segment of its rank.
func (c *Cache) offset(group uint64) int { return int(group)*c.groupWords + c.lockWords }

// bucketOffset is where a bucket begins in the segment of its rank.
func (c *Cache) bucketOffset(group uint64, i int) int { return c.offset(group) + i*c.bucketWords }

// bucketNumber is the number, in its rank, of the bucket at an offset of the segment.
func (c *Cache) bucketNumber(at int) uint64 {
	group, in := at/c.groupWords, at%c.groupWords
	return uint64(group*c.cfg.GroupBuckets + (in-c.lockWords)/c.bucketWords)
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

// keyAt is where the key begins in a bucket, in words.
func (c *Config) keyAt() int {
	if c.TTL != 0 {
		return 2
	}
	return 1
}

// bucketWords is the length of a bucket: checksum, expiry, key, value, the last two filled up with
// zeros to whole words.
func (c *Config) bucketWords() uint64 {
	return uint64(c.keyAt() + core.WordsOf(c.KeySize) + core.WordsOf(c.ValueSize))
}

// key and value are parts of a bucket.
func (c *Cache) keyIn(bucket []uint64) []uint64 { return bucket[c.keyAt : c.keyAt+c.keyWords] }
func (c *Cache) valueIn(bucket []uint64) []uint64 {
	return bucket[c.keyAt+c.keyWords : c.bucketWords]
}

// expiryIn is when the pair of a bucket expires.
func (c *Cache) expiryIn(bucket []uint64) uint64 {
	if c.keyAt == 1 {
		return never
	}
	return atomic.LoadUint64(&bucket[1])
}

// asWords is the memory of bytes as words, where they are whole and aligned.
func asWords(b []byte) ([]uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b)%8 != 0 || uintptr(p)%8 != 0 {
		return nil, false
	}
	return unsafe.Slice((*uint64)(p), len(b)/8), true
}

// asWordPair is asWords of a key and of a value.
func asWordPair(key, value []byte) (k, v []uint64, ok bool) {
	if k, ok = asWords(key); ok {
		v, ok = asWords(value)
	}
	return k, v, ok
}

// windowBytes is n of MD 3.1: the least number of bytes that can number so many buckets.
func windowBytes(buckets uint64) int { return max(1, (bits.Len64(buckets-1)+7)/8) }

// rankOf is the rank of a key: by the high bits of a word that every bit of the hash
// moves, where the first group takes the high bits of the hash itself.
func (c *Cache) rankOf(hash uint64) int {
	if c.cfg.Addressing == Paper {
		return int(hash % uint64(c.ranks))
	}
	rank, _ := bits.Mul64(hash*rankFactor, uint64(c.ranks))
	return int(rank)
}

const rankFactor = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio

// choiceWords make the words of choices differ; they are digits of pi.
var choiceWords = [maxChoices]uint64{
	0, 0x082EFA98EC4E6C89, 0x452821E638D01377, 0xBE5466CF34E90C6D,
	0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917, 0x9216D5D98979FB1B, 0xD1310BA698DFB5AC,
}

// group is choice number i of a key: a group of its rank, and the bucket in it that is
// the first candidate. The others follow in a circle.
func (c *Cache) group(hash uint64, i int) (group uint64, first int) {
	if c.cfg.Addressing == Paper {
		return hash >> (8 * i) & c.windowMask % c.groups, 0
	}
	if i > 0 {
		hash = core.Fold(hash^choiceWords[i], pi2)
	}
	group, _ = bits.Mul64(hash, c.groups)
	// The group has taken the high bits, at most 40 of them.
	return group, int(hash & firstMask * uint64(c.cfg.GroupBuckets) >> firstBits)
}

const (
	firstBits = 16
	firstMask = 1<<firstBits - 1
)

// Digits of pi, which nobody has chosen.
const (
	pi0 = 0x243F6A8885A308D3
	pi1 = 0x13198A2E03707344
	pi2 = 0xA4093822299F31D0
	pi3 = 0x082EFA98EC4E6C89
	pi4 = 0x452821E638D01377
	pi5 = 0xBE5466CF34E90C6C
	pi6 = 0xC0AC29B7C97C50DD
	pi7 = 0x3F84D5B5B5470917
)

// sum folds words, in pairs, onto a word that stands for what came before. The pairs of 8
// words do not wait for each other, as in xxh3; after each 8 the sum is multiplied, so
// that they cannot change places.
func sum(acc uint64, words []uint64) uint64 {
	for len(words) >= 8 {
		w := (*[8]uint64)(words)
		acc += core.Fold(w[0]^pi0, w[1]^pi1) + core.Fold(w[2]^pi2, w[3]^pi3) +
			core.Fold(w[4]^pi4, w[5]^pi5) + core.Fold(w[6]^pi6, w[7]^pi7)
		acc *= pi3 | 1
		words = words[8:]
	}
	if len(words) >= 4 {
		w := (*[4]uint64)(words)
		acc += core.Fold(w[0]^pi4, w[1]^pi5) + core.Fold(w[2]^pi6, w[3]^pi7)
		words = words[4:]
	}
	if len(words) >= 2 {
		acc += core.Fold(words[0]^pi2, words[1]^pi3)
		words = words[2:]
	}
	if len(words) == 1 {
		acc += core.Fold(words[0]^pi0, pi1)
	}
	return acc
}

// hashKey gives the word from which all addresses of a key come.
func hashKey(key []uint64) uint64 { return core.Fold(sum(pi5, key)^pi6, pi7) }

// sealOf is the checksum of a key, given by its hash, a value and when they expire: 64 bits, so
// that words of several writers are taken for one's with a chance of 2^-64. It is none of
// the words that mark a bucket without content.
//
// The hash stands for the key since a reader has compared the key itself. A value that
// was stored under another key fails, unless the two keys have the same hash, for
// which the chance is 2^-64 too.
func sealOf(hash, expiry uint64, value []uint64) uint64 {
	seal := core.Fold(sum(hash+expiry*rankFactor, value)^pi2, pi3)
	if seal <= invalid {
		seal += invalid + 1
	}
	return seal
}
