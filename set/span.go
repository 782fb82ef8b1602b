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
