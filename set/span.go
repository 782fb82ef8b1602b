package set

import (
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

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
	for _, s := range rma.Regions(t.window) {
		v := &span{flat: s.Words, first: uint64(s.First) * t.perRank, limit: t.limit}
		if s.Ranks == t.window.Size() {
			v.whole = true
			t.span = *v
			v = &t.span
		}
		if t.spans == nil {
			t.spans = make([]*span, t.window.Size())
		}
		for rank := range s.Ranks {
			t.spans[s.First+rank] = v
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
