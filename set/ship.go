package set

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Batches may be shipped to the ranks that own the homes (package ship). A request holds the items
// one after the other, and the answer a word for each:
//
//	| reference (36) | result (8) |
//
// Requests for elements by their references go to the ranks in whose arenas they lie.
//
// The owner searches its span, by the loops that it has for its own batches. A search that leaves
// the span is unfinished, and the requesting rank goes on one-sided: owners wait for nobody.

const (
	kindFind uint32 = iota
	kindFindOrPut
	kindGet // the items are references, and the answers elements
)

const (
	resultBits = 8
	resultMask = 1<<resultBits - 1
)

// open readies the table for batches. like is the table that this one replaces, or nil: what was
// measured for it holds here. Collective.
func (t *table) open(ctx context.Context, access ship.Access, ta *tally, like *table) error {
	cfg := core.Config{Access: access, Messages: t.ops.messages(), Closed: errClosed,
		Answer: (&owner{t: t, tally: ta}).answer}
	if like != nil {
		cfg.Like = &like.batches
	}
	return t.batches.Open(ctx, t.job, t.window, cfg)
}

// owner answers what others ship to this rank's part of a table. Requests come one by one.
type owner struct {
	t       *table
	tally   *tally
	results []Result
	refs    []Ref
}

func (o *owner) answer(kind uint32, n int, request, answer []uint64) (int, error) {
	t, width, answerWidth := o.t, o.t.ops.width(), 1
	if kind == kindGet {
		width, answerWidth = 1, width
	}
	if kind > kindGet || len(request) != n*width || len(answer) < n*answerWidth ||
		n > rma.MaxShipWords {
		return 0, fmt.Errorf("set: a request of kind %d has %d words and room for %d, for %d "+
			"items of %d words; run the same program on every rank", kind, len(request),
			len(answer), n, width)
	}
	if kind == kindGet {
		return t.ops.get(t, request, answer)
	}
	for i := range n {
		item := request[i*width : (i+1)*width]
		if !t.ops.valid(item) || t.owner(t.ops.hash(item)) != t.window.Rank() {
			return 0, fmt.Errorf("set: item %d of a request is not rank %d's; run the same "+
				"program on every rank", i, t.window.Rank())
		}
	}
	if o.results == nil {
		o.results, o.refs = make([]Result, rma.MaxShipWords), make([]Ref, rma.MaxShipWords)
	}
	b := batch{t: t, items: request, results: o.results[:n], refs: o.refs[:n],
		insert: kind == kindFindOrPut}
	clear(b.refs)
	var err error
	if v := t.spanOf(uint64(t.window.Rank()) * t.perRank); v != nil {
		err = t.ops.search(t, v, &b)
	} else {
		err = t.ops.queued(t, &b, nil)
	}
	for i, r := range b.results {
		if r == Full && b.noArena {
			r = unfinished // the requesting rank goes on, in all arenas
		}
		answer[i] = uint64(b.refs[i])<<resultBits | uint64(r)
	}
	o.tally.served(b.counts)
	return n, err
}
