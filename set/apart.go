package set

import (
	"context"

	"github.com/farhash/farhash/ship"
)

// content is what words and elements do each in their way. An item is a word, or an element as
// it lies in an arena. What t is, is told: a table may be asked by others before this rank has
// come to use it.
type content interface {
	// width is the words of an item.
	width() int
	hash(item []uint64) uint64
	// trips is how many messages finding or putting an item takes one-sided, about.
	trips() float64
	// legal tells whether an item from another rank can be in the set.
	legal(item []uint64) bool
	// search answers the items of b, whose homes are in v. Those that leave it are elsewhere.
	search(t *table, v *span, b *batch) error
	// queued answers the items at, all if it is nil, through a queue.
	queued(t *table, b *batch, at []int) error
	// get answers with the items of the given names.
	get(t *table, names, answer []uint64) (words int, err error)
}

// batch is items to be inserted or looked up.
type batch struct {
	items   []uint64
	results []Result
	refs    []Ref // nil where nobody wants them
	insert  bool
	counts
}

// apart is a batch on a table whose memory is not all seen.
type apart struct {
	*batch
	t     *table
	width int
}

// runApart answers a batch where not all memory is seen.
func (t *table) runApart(b *batch) error {
	a := apart{batch: b, t: t, width: t.of.width()}
	if t.line.Worth(len(b.results)) {
		return a.ship()
	}
	all := make([]int, len(b.results))
	for i := range all {
		all[i] = i
	}
	return a.oneSided(all)
}

func (a *apart) item(i int) []uint64 { return a.items[i*a.width : (i+1)*a.width] }

// ship sends items to the ranks that own their homes, where that is worth it.
func (a *apart) ship() error {
	var left []int
	requests, err := a.t.line.Run(context.Background(), &ship.Batch{
		Kind: kindOf(a.insert), N: len(a.results),
		Owner: func(i int) int { return a.t.owner(a.t.of.hash(a.item(i))) },
		Size:  func(int) (request, answer int) { return a.width, 1 },
		Pack:  func(i int, to []uint64) { copy(to, a.item(i)) },
		Unpack: func(i int, from []uint64) (int, error) {
			r, err := a.told(i, from[0])
			if r == elsewhere {
				left = append(left, i)
			}
			return 1, err
		},
		Rest: a.oneSided,
	})
	a.rma.Add(requests)
	if len(left) > 0 {
		if failed := a.oneSided(left); err == nil {
			err = failed
		}
	}
	return err
}

// oneSided answers items on memory that is seen, and through a queue where it is not.
func (a *apart) oneSided(at []int) error {
	var far []int
	var before *span
	for _, v := range a.t.spans {
		if v != nil && v != before {
			if err := a.near(v, at, &far); err != nil {
				return err
			}
		}
		before = v
	}
	if a.t.spans == nil {
		far = at
	} else {
		for _, i := range at {
			if a.t.seen(a.t.home(a.t.of.hash(a.item(i)))) == nil {
				far = append(far, i)
			}
		}
	}
	if len(far) == 0 {
		return nil
	}
	return a.t.of.queued(a.t, a.batch, far)
}

// nearWords is how many words of items are searched together, or more, by those of one item.
const nearWords = 1 << 12

// near answers those of the items at whose homes are in v. Those that leave it go to far.
func (a *apart) near(v *span, at []int, far *[]int) error {
	room := min(len(at), max(stageBlock, nearWords/a.width))
	some := batch{items: make([]uint64, 0, room*a.width), results: make([]Result, room),
		insert: a.insert}
	if a.refs != nil {
		some.refs = make([]Ref, room)
	}
	numbers := make([]int, 0, room)
	flush := func() error {
		n := len(numbers)
		b := batch{items: some.items, results: some.results[:n], insert: a.insert}
		if a.refs != nil {
			b.refs = some.refs[:n]
		}
		clear(b.results)
		err := a.t.of.search(a.t, v, &b)
		a.add(b.counts)
		for k, i := range numbers {
			if b.results[k] == elsewhere {
				*far = append(*far, i)
				continue
			}
			a.results[i] = b.results[k]
			if a.refs != nil && !namesLost.On() {
				a.refs[i] = b.refs[k]
			}
		}
		numbers, some.items = numbers[:0], some.items[:0]
		return err
	}
	for _, i := range at {
		item := a.item(i)
		if a.t.seen(a.t.home(a.t.of.hash(item))) != v {
			continue
		}
		numbers, some.items = append(numbers, i), append(some.items, item...)
		if len(numbers) == room {
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
