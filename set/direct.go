package set

import "sync/atomic"

// span is a run of buckets in directly addressable memory: those of the whole table, or those
// of adjacent ranks of one host.
type span struct {
	flat  []uint64 // the buckets; nil: not all of the table is directly addressable
	first uint64   // the number in the table of the first of them
	whole bool     // they are the whole table, and a search goes on around its end
	limit uint64   // buckets examined before Full: min(C*M, n)
}

// unfinished is the result of a search that leaves its span. The caller searches again through
// a queue, from the home on. That is correct, as the occupied buckets of the span do not change.
const unfinished = Full + 1

// load reads bucket i of a span.
func (v *span) load(i uint64) uint64 { return atomic.LoadUint64(&v.flat[i]) }

// findSpans finds the buckets that are directly addressable.
func (t *table) findSpans() {
	t.spans = make([]*span, t.window.Size())
	for rank := range t.spans {
		r := t.batches.At(rank)
		switch {
		case r == nil:
		case r == t.batches.Whole:
			t.span = span{flat: r.Words, whole: true, limit: t.limit}
			t.spans[rank] = &t.span
		case rank == r.First:
			t.spans[rank] = &span{flat: r.Words, first: uint64(rank) * t.perRank, limit: t.limit}
		default:
			t.spans[rank] = t.spans[r.First]
		}
	}
}

// spanOf is the span that a bucket lies in, nil where only queues reach it.
func (t *table) spanOf(bucket uint64) *span {
	if t.flat != nil {
		return &t.span
	}
	if t.spans == nil {
		return nil
	}
	return t.spans[bucket/t.perRank]
}

// The hot loops over directly addressable memory. They do what probe does, bucket
// by bucket and without chunks; a differential test keeps the two equal. A search that
// comes to the end of a span that is not the whole table is unfinished.

// search searches for the occupied word bits from home on. With insert it claims the first empty
// bucket before it. It returns how many buckets it examined and how many compare-and-swaps it lost.
// It has decide written out: a verdict, even inlined, made a lookup in memory take a fifth longer.
func (v *span) search(bits, home uint64, insert bool) (r Result, examined, lost uint64) {
	at := home
	for examined < v.limit {
		examined++
		p := &v.flat[at]
		seen := atomic.LoadUint64(p)
		if seen == bits {
			return Found, examined, lost
		}
		if seen == 0 {
			if !insert {
				return NotFound, examined, lost
			}
			// mark: search is about to claim a bucket
			if atomic.CompareAndSwapUint64(p, 0, bits) {
				return Inserted, examined, lost
			}
			// mark: search loses its bucket
			lost++
			examined--
			continue // a bucket changes once, so it has the word that won
		}
		if at++; at == uint64(len(v.flat)) {
			if !v.whole {
				return unfinished, examined, lost
			}
			at = 0
		}
	}
	return exhausted(insert), examined, lost
}

// blockWords is how many first buckets the portable loop loads together.
const blockWords = 32

// searchBatch is search for many words whose homes are in a span.
func (t *table) searchBatch(v *span, words []uint64, results []Result, insert bool) counts {
	if t.kernel != KernelPortable {
		return t.runKernel(v, words, results, insert)
	}
	var c counts
	for len(words) > 0 {
		n := min(len(words), blockWords)
		t.searchBlock(v, words[:n], results[:n], insert, &c)
		words, results = words[n:], results[n:]
	}
	return c
}

// findInLine compares the line of 8 buckets from home on with bits. It has no branch for
// each bucket, as the processor could not predict it. It returns how many buckets a search
// would examine to find bits there, or 0 when bits is not in the line or the line crosses the
// end of the span. An equal bucket anywhere is the answer, as no word is stored twice.
func (v *span) findInLine(bits, home uint64) (examined uint64) {
	if home+lineBuckets > uint64(len(v.flat)) {
		return 0
	}
	line := (*[lineBuckets]uint64)(v.flat[home:])
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

// searchBlock loads the first buckets of up to blockWords words together, so that the
// waits for memory overlap, and then searches for one after the other.
func (t *table) searchBlock(v *span, words []uint64, results []Result, insert bool, c *counts) {
	var homes, first [blockWords]uint64
	for i, word := range words {
		homes[i%blockWords] = t.home(hashWord(word)) - v.first
	}
	for i := range words {
		first[i%blockWords] = v.load(homes[i%blockWords])
	}
	for i, word := range words {
		bits, home := word|occupied, homes[i%blockWords]
		r, examined, lost := Found, uint64(1), uint64(0)
		if first[i%blockWords] != bits {
			if examined = v.findInLine(bits, home); examined == 0 {
				r, examined, lost = v.search(bits, home, insert)
			}
		}
		results[i] = r
		c.count(r, examined, lost, t.directChunk)
	}
}
