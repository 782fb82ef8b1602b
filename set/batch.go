package set

import (
	"context"

	"github.com/farhash/farhash/internal/core"
)

// batch is items to be inserted or looked up: a core.Ops.
type batch struct {
	t       *table
	items   []uint64
	hashes  []uint64 // where the items are buckets of another table: those of what these hold
	results []Result
	refs    []Ref // nil where the caller does not want them
	insert  bool
	counts
}

// run answers a batch, and counts it. The error is a *FullError if a result is Full.
func (b *batch) run() error {
	requests, err := b.t.batches.Run(context.Background(), len(b.results), b)
	b.queues.Add(requests)
	return b.t.ended(&b.counts, err)
}

// ended counts operations, and returns their error.
func (t *table) ended(c *counts, err error) error {
	t.tally.add(c)
	if err == nil && c.full > 0 {
		err = t.fullError(c.noSlot > 0)
	}
	return err
}

func (b *batch) item(i int) []uint64 {
	width := b.t.width
	return b.items[i*width : (i+1)*width]
}

// Owners gives the ranks that own the homes.
func (b *batch) Owners(owners []int32) {
	for i := range owners {
		owners[i] = int32(b.t.owner(b.t.hash(b.item(i))))
	}
}

// search answers the items, whose homes are in v. Searches that leave v are unfinished.
func (b *batch) search(v *span) error {
	if b.t.arenas != nil {
		return b.searchElements(v)
	}
	b.add(b.t.searchBatch(v, b.items, b.results, b.insert))
	return nil
}

// spanBatchWords is how many words of items are copied and searched together. Long elements
// exceed it: at least stageBlock of them are searched together.
const spanBatchWords = 1 << 12

// Direct answers items whose homes are in spans. Those whose search leaves its span are left.
func (b *batch) Direct(at, left []int) ([]int, error) {
	t, width := b.t, b.t.width
	if at == nil {
		return nil, b.search(&t.span) // the span is the whole table
	}
	size := min(len(at), max(stageBlock, spanBatchWords/width))
	copied := batch{t: t, items: make([]uint64, 0, size*width), insert: b.insert}
	results, refs := make([]Result, size), []Ref(nil)
	if b.refs != nil {
		refs = make([]Ref, size)
	}
	for len(at) > 0 {
		n := 0
		v := t.spans[t.owner(t.hash(b.item(at[0])))]
		for copied.items = copied.items[:0]; n < min(size, len(at)); n++ {
			item := b.item(at[n])
			if t.spans[t.owner(t.hash(item))] != v {
				break
			}
			copied.items = append(copied.items, item...)
		}
		clear(results)
		if copied.results = results[:n]; refs != nil {
			copied.refs = refs[:n]
		}
		if err := copied.search(v); err != nil {
			return left, err
		}
		for k, i := range at[:n] {
			if copied.results[k] == unfinished {
				left = append(left, i)
				continue
			}
			b.results[i] = copied.results[k]
			if refs != nil {
				b.refs[i] = refs[k]
			}
		}
		at = at[n:]
	}
	b.add(copied.counts)
	return left, nil
}

// Kind, Size and Pack are those of a request; see ship.go.
func (b *batch) Kind() uint32 {
	if b.insert {
		return kindFindOrPut
	}
	return kindFind
}

func (b *batch) Size(int) (request, answer int) { return b.t.width, 1 }

func (b *batch) Pack(i int, to []uint64) { copy(to, b.item(i)) }

// Unpack takes the answer to item i.
func (b *batch) Unpack(_, i int, from []uint64) (words int, again bool, err error) {
	r := Result(from[0] & resultMask)
	switch {
	case r == unfinished:
		return 1, true, nil
	case r == Found, b.insert && (r == Inserted || r == Full), !b.insert && r == NotFound:
	default:
		return 0, false, core.ErrDisorder
	}
	b.results[i] = r
	if b.refs != nil {
		b.refs[i] = Ref(from[0] >> resultBits)
	}
	b.count(r, 0, 0, b.t.directChunk) // the owner counts what it has examined
	if r == Full {
		b.longest = max(b.longest, b.t.limit) // so that the error reports it
	}
	return 1, false, nil
}
