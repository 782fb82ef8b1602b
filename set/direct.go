package set

import "sync/atomic"

// The hot loops over directly addressable memory. They do what probe does, bucket
// by bucket and without chunks; a differential test holds the two together.

// findOrPut looks for the occupied word bits from home on and claims the first
// empty bucket on the way. It returns how many buckets it examined and how many
// compare-and-swaps it lost.
func (t *table) findOrPut(bits, home uint64) (r Result, examined, lost uint64) {
	at := home
	for examined < t.limit {
		examined++
		p := &t.flat[at]
		seen := atomic.LoadUint64(p)
		if seen == 0 {
			if atomic.CompareAndSwapUint64(p, 0, bits) {
				return Inserted, examined, lost
			}
			lost++
			seen = atomic.LoadUint64(p) // a bucket changes once, so this is who won
		}
		if seen == bits {
			return Found, examined, lost
		}
		if at++; at == t.buckets {
			at = 0
		}
	}
	return Full, examined, lost
}

// find looks for the occupied word bits from home on.
func (t *table) find(bits, home uint64) (r Result, examined uint64) {
	at := home
	for examined < t.limit {
		examined++
		switch t.load(at) {
		case bits:
			return Found, examined
		case 0:
			return NotFound, examined
		}
		if at++; at == t.buckets {
			at = 0
		}
	}
	return NotFound, examined
}

// blockWords is how many words have their buckets on the way from memory while
// as many are worked on.
const blockWords = 32

// block is a part of a batch whose homes are known and whose first buckets are
// on the way.
type block struct {
	homes [blockWords]uint64
}

// fetch computes the homes of up to blockWords words and asks for their buckets.
func (b *block) fetch(t *table, words []uint64) {
	if len(words) > 0 {
		fetchHomes(t, words, b.homes[:len(words)])
	}
}

// inBlocks calls work for each block of a batch, when the next one's buckets
// have been asked for.
func inBlocks(t *table, words []uint64, work func(begin int, words, homes []uint64)) {
	var blocks [2]block
	blocks[0].fetch(t, words[:min(blockWords, len(words))])
	for begin, i := 0, 0; begin < len(words); begin, i = begin+blockWords, i+1 {
		end := min(begin+blockWords, len(words))
		blocks[(i+1)%2].fetch(t, words[end:min(end+blockWords, len(words))])
		work(begin, words[begin:end], blocks[i%2].homes[:end-begin])
	}
}

// glance compares the line of 8 buckets from home on with bits, without a branch for
// each bucket, which nobody could predict. It returns how many buckets a search would
// examine to find bits there, 0 when another way must be taken. An equal bucket
// anywhere is the answer, as nothing stands twice.
func (t *table) glance(bits, home uint64) (examined uint64) {
	if home+lineBuckets > t.buckets {
		return 0
	}
	line := (*[lineBuckets]uint64)(t.flat[home:])
	equal := uint(0)
	if atomic.LoadUint64(&line[0]) == bits {
		equal = 1
	}
	if atomic.LoadUint64(&line[1]) == bits {
		equal = 2
	}
	if atomic.LoadUint64(&line[2]) == bits {
		equal = 3
	}
	if atomic.LoadUint64(&line[3]) == bits {
		equal = 4
	}
	if atomic.LoadUint64(&line[4]) == bits {
		equal = 5
	}
	if atomic.LoadUint64(&line[5]) == bits {
		equal = 6
	}
	if atomic.LoadUint64(&line[6]) == bits {
		equal = 7
	}
	if atomic.LoadUint64(&line[7]) == bits {
		equal = 8
	}
	return uint64(equal)
}

// findOrPutBatch is findOrPut for many words.
func (t *table) findOrPutBatch(words []uint64, results []Result) counts {
	var c counts
	inBlocks(t, words, func(begin int, words, homes []uint64) {
		for i, word := range words {
			if examined := t.glance(word|occupied, homes[i]); examined > 0 {
				results[begin+i] = Found
				c.found++
				c.longest = max(c.longest, examined)
				continue
			}
			r, examined, lost := t.findOrPut(word|occupied, homes[i])
			results[begin+i] = r
			c.count(r, examined, lost, t.chunk)
		}
	})
	return c
}

// containsBatch is find for many words.
func (t *table) containsBatch(words []uint64, results []Result) counts {
	var c counts
	inBlocks(t, words, func(begin int, words, homes []uint64) {
		for i, word := range words {
			r, examined := t.find(word|occupied, homes[i])
			results[begin+i] = r
			c.count(r, examined, 0, t.chunk)
		}
	})
	return c
}
