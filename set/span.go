package set

import (
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// span is buckets that lie next to each other in directly addressable memory: those of the
// whole table, or those of the ranks of one host.
type span struct {
	flat  []uint64 // nil: nothing is seen
	first uint64   // the number in the table of the first of them
	whole bool     // they are the whole table, and a search goes on around its end
	limit uint64   // buckets examined before Full: min(C*M, n)
}

// elsewhere stands for the result of a search that leaves what it sees. Who gets it asks through
// a queue, from the home on: what the search has seen is there for good.
const elsewhere = Full + 1

// load reads the bucket number i of a span.
func (v *span) load(i uint64) uint64 { return atomic.LoadUint64(&v.flat[i]) }

// see finds the buckets that are seen.
func (t *table) see() {
	for _, s := range rma.Stretches(t.window) {
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

// seen is the span that a bucket lies in, nil where only queues reach it.
func (t *table) seen(bucket uint64) *span {
	if t.flat != nil {
		return &t.span
	}
	if t.spans == nil {
		return nil
	}
	return t.spans[bucket/t.perRank]
}
