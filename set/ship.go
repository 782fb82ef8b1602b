package set

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Batches may be shipped to the ranks that own the homes (package ship). A request holds the items
// one after the other, and the answer a word for each:
//
//	| reference (36) | result (8) |
//
// Requests for elements by their references go to the ranks in whose arenas they lie.

const (
	kindFind uint32 = iota
	kindFindOrPut
	kindGet // the items are references, and the answers elements
)

const (
	resultBits = 8
	resultMask = 1<<resultBits - 1
)

// open readies the table for operations. old is the table that this one replaces, or nil: what
// was measured for it holds here. Collective.
func (t *table) open(ctx context.Context, old *table) error {
	t.first = t.newFirstLine()
	cfg := core.Config{Access: t.geometry.Access, Closed: errClosed,
		Messages: 1.5, // a chunk, and where the word is new a swap
		Answer:   t.answer}
	if t.arenas != nil {
		cfg.Messages = 2.5 // an element as well
	}
	if old != nil {
		cfg.Like = &old.batches
	}
	return t.batches.Open(ctx, t.job, t.window, cfg)
}

// answer carries out what other ranks ship to this rank's part of the table. Requests come one by
// one.
func (t *table) answer(kind uint32, n int, request, answer []uint64) (int, error) {
	width, answerWidth := t.width, 1
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
		if t.arenas == nil {
			return 0, errors.New("set: words have no references; run the same program on " +
				"every rank")
		}
		return t.get(request, answer)
	}
	for i := range n {
		item := request[i*width : (i+1)*width]
		if t.arenas == nil && item[0] > MaxWord || t.owner(t.hash(item)) != t.window.Rank() {
			return 0, fmt.Errorf("set: item %d of a request is not rank %d's; run the same "+
				"program on every rank", i, t.window.Rank())
		}
	}
	b := &t.shipped
	if b.results == nil {
		b.results, b.refs = make([]Result, rma.MaxShipWords), make([]Ref, rma.MaxShipWords)
	}
	b.t, b.items, b.insert, b.counts = t, request, kind == kindFindOrPut, counts{}
	b.results, b.refs = b.results[:n], b.refs[:n]
	clear(b.refs)
	var err error
	if v := t.spanOf(uint64(t.window.Rank()) * t.perRank); v != nil {
		err = b.search(v)
	} else {
		err = b.Queued(nil)
	}
	for i, r := range b.results {
		if r == Full && b.noSlot > 0 {
			r = unfinished // the requesting rank goes on, in all arenas
		}
		answer[i] = uint64(b.refs[i])<<resultBits | uint64(r)
	}
	t.tally.addServed(&b.counts)
	return n, err
}
