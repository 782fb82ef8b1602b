package cache

import (
	"fmt"
	"math/bits"
)

// Addressing says which buckets a key may lie in.
type Addressing int

const (
	// Groups gives a key a rank, and on it a few groups of neighbouring buckets, all from
	// independent words: the default. One get brings a group. With GroupBuckets 1 and
	// Choices 6 candidates are spread like those of the paper.
	Groups Addressing = iota
	// Paper gives a key a rank by its hash modulo the ranks, and on it the windows of n
	// bytes of the hash, modulo the buckets of a rank (MD 3.1).
	Paper
)

// groupBytes is what one get should bring at most.
const groupBytes = 1024

// completeAddressing fills in GroupBuckets and Choices.
func (c *Config) completeAddressing() error {
	switch {
	case c.Addressing != Groups && c.Addressing != Paper:
		return fmt.Errorf("cache: Addressing must be Groups or Paper, not %d", c.Addressing)
	case c.GroupBuckets < 0 || c.GroupBuckets > MaxGroupBuckets:
		return fmt.Errorf("cache: GroupBuckets must be 1 to %d, not %d", MaxGroupBuckets,
			c.GroupBuckets)
	case c.Choices < 0 || c.Choices > MaxChoices:
		return fmt.Errorf("cache: Choices must be 1 to %d, not %d", MaxChoices, c.Choices)
	}
	if c.Addressing == Paper {
		windows := 9 - windowBytes(c.BucketsPerRank)
		if c.GroupBuckets > 1 || c.Choices != 0 && c.Choices != windows {
			return fmt.Errorf("cache: Paper has groups of 1 bucket and, for %d buckets, %d "+
				"choices; leave GroupBuckets and Choices at 0", c.BucketsPerRank, windows)
		}
		c.GroupBuckets, c.Choices = 1, windows
		return nil
	}
	if c.GroupBuckets == 0 {
		group := uint64(MaxGroupBuckets)
		for group > 1 && group*8*bucketWords(c.KeySize, c.ValueSize) > groupBytes {
			group /= 2
		}
		c.GroupBuckets = int(min(group, c.BucketsPerRank))
	}
	if c.Choices == 0 {
		// For groups of 1, 2 and more, 4 and more, and 8 buckets.
		c.Choices = [...]int{1: 6, 2: 4, 3: 3, 4: 2}[bits.Len(uint(c.GroupBuckets))]
	}
	return nil
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
var choiceWords = [MaxChoices]uint64{
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
		hash = fold(hash^choiceWords[i], pi2)
	}
	group, _ = bits.Mul64(hash, c.groups)
	// The group has taken the high bits, at most 40 of them.
	return group, int(hash & firstMask * uint64(c.cfg.GroupBuckets) >> firstBits)
}

const (
	firstBits = 16
	firstMask = 1<<firstBits - 1
)
