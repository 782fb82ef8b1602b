package set

import (
	"context"

	"github.com/farhash/farhash/internal/core"
)

// itemOps is what words and elements implement differently. An item is a word, or an element as
// it lies in an arena. Methods get the table t as an argument, because other ranks may send
// requests to a new table before this rank uses it.
type itemOps interface {
	// width is the words of an item.
	width() int
	hash(item []uint64) uint64
	// messages is how many messages finding or putting an item takes one-sided, about.
	messages() float64
	// valid reports whether an item from another rank can be in the set.
	valid(item []uint64) bool
	// search answers the items of b, whose homes are in v. Searches that leave v are unfinished.
	search(t *table, v *span, b *batch) error
	// queued answers the items with the given indices, or all if it is nil, through a queue.
	queued(t *table, b *batch, indices []int) error
	// get answers with the items of the given references.
	get(t *table, refs, answer []uint64) (words int, err error)
}

// batch is items to be inserted or looked up: a core.Ops.
type batch struct {
	t       *table
	items   []uint64
	results []Result
	refs    []Ref // nil where the caller does not want them
	insert  bool
	counts
}

// run answers a batch.
func (b *batch) run() error {
	requests, err := b.t.batches.Run(context.Background(), len(b.results), b)
	b.queues.Add(requests)
	return err
}

func (b *batch) item(i int) []uint64 {
	width := b.t.ops.width()
	return b.items[i*width : (i+1)*width]
}

// Owners gives the ranks that own the homes.
func (b *batch) Owners(owners []int32) {
	for i := range owners {
		owners[i] = int32(b.t.owner(b.t.ops.hash(b.item(i))))
	}
}

// Queued answers items through a queue.
func (b *batch) Queued(at []int) error { return b.t.ops.queued(b.t, b, at) }

// spanBatchWords is how many words of items are copied and searched together. Long elements
// exceed it: at least stageBlock of them are searched together.
const spanBatchWords = 1 << 12

// Direct answers items whose homes are in spans. Those whose search leaves its span are left.
func (b *batch) Direct(at, left []int) ([]int, error) {
	t, width := b.t, b.t.ops.width()
	if at == nil {
		return nil, t.ops.search(t, &t.span, b) // the span is the whole table
	}
	size := min(len(at), max(stageBlock, spanBatchWords/width))
	copied := batch{t: t, items: make([]uint64, 0, size*width), insert: b.insert}
	results, refs := make([]Result, size), []Ref(nil)
	if b.refs != nil {
		refs = make([]Ref, size)
	}
	for len(at) > 0 {
		n := 0
		v := t.spans[t.owner(t.ops.hash(b.item(at[0])))]
		for copied.items = copied.items[:0]; n < min(size, len(at)); n++ {
			item := b.item(at[n])
			if t.spans[t.owner(t.ops.hash(item))] != v {
				break
			}
			copied.items = append(copied.items, item...)
		}
		clear(results)
		if copied.results = results[:n]; refs != nil {
			copied.refs = refs[:n]
		}
		if err := t.ops.search(t, v, &copied); err != nil {
			return left, err
		}
		left = b.take(&copied, at[:n], left)
		at = at[n:]
	}
	b.add(copied.counts)
	return left, nil
}

// take takes the answers of items that were copied, and leaves those that are unfinished.
func (b *batch) take(copied *batch, at, left []int) []int {
	for k, i := range at {
		if copied.results[k] == unfinished {
			left = append(left, i)
			continue
		}
		b.results[i] = copied.results[k]
		if b.refs != nil && !losesRefs.On() {
			b.refs[i] = copied.refs[k]
		}
	}
	return left
}

// Kind, Size and Pack are those of a request; see ship.go.
func (b *batch) Kind() uint32 {
	if b.insert {
		return kindFindOrPut
	}
	return kindFind
}

func (b *batch) Size(int) (request, answer int) { return b.t.ops.width(), 1 }

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
