package set

import (
	"context"

	"github.com/farhash/farhash/ship"
)

// itemOps is what words and elements implement differently. An item is a word, or an element as
// it lies in an arena. Methods get the table t as an argument, because other ranks may send
// requests to a new table before this rank uses it.
type itemOps interface {
	// width is the words of an item.
	width() int
	hash(item []uint64) uint64
	// trips is how many messages finding or putting an item takes one-sided, about.
	trips() float64
	// valid reports whether an item from another rank can be in the set.
	valid(item []uint64) bool
	// search answers the items of b, whose homes are in v. Searches that leave v are unfinished.
	search(t *table, v *span, b *batch) error
	// queued answers the items with the given indices, or all if it is nil, through a queue.
	queued(t *table, b *batch, indices []int) error
	// get answers with the items of the given references.
	get(t *table, refs, answer []uint64) (words int, err error)
}

// batch is items to be inserted or looked up.
type batch struct {
	items   []uint64
	results []Result
	refs    []Ref // nil where the caller does not want them
	insert  bool
	counts
}

// splitBatch is a batch on a table of which not all memory is directly addressable. It is
// split into items that are searched directly, shipped, and worked on through a queue.
type splitBatch struct {
	*batch
	t     *table
	width int
}

// runSplit answers a batch where not all memory is directly addressable.
func (t *table) runSplit(b *batch) error {
	s := splitBatch{batch: b, t: t, width: t.ops.width()}
	if t.line.Worth(len(b.results)) {
		return s.ship()
	}
	all := make([]int, len(b.results))
	for i := range all {
		all[i] = i
	}
	return s.oneSided(all)
}

func (s *splitBatch) item(i int) []uint64 { return s.items[i*s.width : (i+1)*s.width] }

// ship sends items to the ranks that own their homes, where that is worth it.
func (s *splitBatch) ship() error {
	var unfinishedItems []int
	requests, err := s.t.line.Run(context.Background(), &ship.Batch{
		Kind: kindOf(s.insert), N: len(s.results),
		Owner: func(i int) int { return s.t.owner(s.t.ops.hash(s.item(i))) },
		Size:  func(int) (request, answer int) { return s.width, 1 },
		Pack:  func(i int, to []uint64) { copy(to, s.item(i)) },
		Unpack: func(i int, from []uint64) (int, error) {
			r, err := s.takeAnswer(i, from[0])
			if r == unfinished {
				unfinishedItems = append(unfinishedItems, i)
			}
			return 1, err
		},
		Rest: s.oneSided,
	})
	s.rma.Add(requests)
	if len(unfinishedItems) > 0 {
		if failed := s.oneSided(unfinishedItems); err == nil {
			err = failed
		}
	}
	return err
}

// oneSided answers items without shipping them: directly in the spans, and through a queue
// for the rest.
func (s *splitBatch) oneSided(indices []int) error {
	var remote []int
	var before *span
	for _, v := range s.t.spans {
		if v != nil && v != before {
			if err := s.searchSpan(v, indices, &remote); err != nil {
				return err
			}
		}
		before = v
	}
	if s.t.spans == nil {
		remote = indices
	} else {
		for _, i := range indices {
			if s.t.spanOf(s.t.home(s.t.ops.hash(s.item(i)))) == nil {
				remote = append(remote, i)
			}
		}
	}
	if len(remote) == 0 {
		return nil
	}
	return s.t.ops.queued(s.t, s.batch, remote)
}

// spanBatchWords is how many words of items are copied and searched together. Long elements
// exceed it: at least stageBlock of them are searched together.
const spanBatchWords = 1 << 12

// searchSpan answers those of the given items whose homes are in v. It appends the items whose
// search leaves v to remote.
func (s *splitBatch) searchSpan(v *span, indices []int, remote *[]int) error {
	maxCopied := min(len(indices), max(stageBlock, spanBatchWords/s.width))
	copied := batch{items: make([]uint64, 0, maxCopied*s.width), results: make([]Result, maxCopied),
		insert: s.insert}
	if s.refs != nil {
		copied.refs = make([]Ref, maxCopied)
	}
	numbers := make([]int, 0, maxCopied)
	flush := func() error {
		n := len(numbers)
		b := batch{items: copied.items, results: copied.results[:n], insert: s.insert}
		if s.refs != nil {
			b.refs = copied.refs[:n]
		}
		clear(b.results)
		err := s.t.ops.search(s.t, v, &b)
		s.add(b.counts)
		for k, i := range numbers {
			if b.results[k] == unfinished {
				*remote = append(*remote, i)
				continue
			}
			s.results[i] = b.results[k]
			if s.refs != nil && !losesRefs.On() {
				s.refs[i] = b.refs[k]
			}
		}
		numbers, copied.items = numbers[:0], copied.items[:0]
		return err
	}
	for _, i := range indices {
		item := s.item(i)
		if s.t.spanOf(s.t.home(s.t.ops.hash(item))) != v {
			continue
		}
		numbers, copied.items = append(numbers, i), append(copied.items, item...)
		if len(numbers) == maxCopied {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return flush()
}
