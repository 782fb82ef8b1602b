package set

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Batches may travel to the ranks that own the homes (package ship). A request holds the items
// one after the other, and the answer a word for each:
//
//	| name (36) | result (8) |
//
// Elements that are asked for by their names travel from the rank in whose arena they lie.
//
// The owner works on what it sees, by the loops that it has for its own batches. What leaves that
// is elsewhere, and the rank that asked goes on one-sided: owners wait for nobody.

const (
	kindFind uint32 = iota
	kindFindOrPut
	kindGet // the items are names, and the answers elements
)

func kindOf(insert bool) uint32 {
	if insert {
		return kindFindOrPut
	}
	return kindFind
}

const (
	resultBits = 8
	resultMask = 1<<resultBits - 1
)

// open has the table answer what others ship to it. A table that takes the place of another has
// a line like the other's. Collective.
func (t *table) open(ctx context.Context, access ship.Access, ta *tally, like *ship.Line) error {
	var err error
	t.line, err = ship.Open(ctx, t.job, t.window, ship.Config{Access: access, Trips: t.of.trips(),
		Answer: (&owner{t: t, tally: ta}).answer, Like: like})
	return err
}

// told takes the answer to item i.
func (a *apart) told(i int, answer uint64) (Result, error) {
	r := Result(answer & resultMask)
	switch {
	case r == elsewhere:
		return r, nil
	case r == Found, a.insert && (r == Inserted || r == Full), !a.insert && r == NotFound:
	default:
		return r, ship.ErrDisorder
	}
	a.results[i] = r
	if a.refs != nil {
		a.refs[i] = Ref(answer >> resultBits)
	}
	a.count(r, 0, 0, a.t.direct) // the owner counts what it has examined
	if r == Full {
		a.longest = max(a.longest, a.t.limit) // as the error is to say
	}
	return r, nil
}

// owner answers what others ship to this rank's part of a table. Requests come one by one.
type owner struct {
	t       *table
	tally   *tally
	results []Result
	refs    []Ref
}

func (o *owner) answer(kind uint32, n int, request, answer []uint64) (int, error) {
	t, width, answerWidth := o.t, o.t.of.width(), 1
	if kind == kindGet {
		width, answerWidth = 1, width
	}
	if kind > kindGet || len(request) != n*width || len(answer) < n*answerWidth ||
		n > rma.ShipMax {
		return 0, fmt.Errorf("set: a request of kind %d has %d words and room for %d, for %d "+
			"items of %d words; run the same program on every rank", kind, len(request),
			len(answer), n, width)
	}
	if kind == kindGet {
		return t.of.get(t, request, answer)
	}
	for i := range n {
		item := request[i*width : (i+1)*width]
		if !t.of.legal(item) || t.owner(t.of.hash(item)) != t.window.Rank() {
			return 0, fmt.Errorf("set: item %d of a request is none of rank %d; run the same "+
				"program on every rank", i, t.window.Rank())
		}
	}
	if o.results == nil {
		o.results, o.refs = make([]Result, rma.ShipMax), make([]Ref, rma.ShipMax)
	}
	b := batch{items: request, results: o.results[:n], refs: o.refs[:n],
		insert: kind == kindFindOrPut}
	clear(b.refs)
	var err error
	if v := t.seen(uint64(t.window.Rank()) * t.perRank); v != nil {
		err = t.of.search(t, v, &b)
	} else {
		err = t.of.queued(t, &b, nil)
	}
	for i, r := range b.results {
		if r == Full && b.noArena {
			r = elsewhere // who asked is to see why
		}
		answer[i] = uint64(b.refs[i])<<resultBits | uint64(r)
	}
	o.tally.answered(b.counts)
	return n, err
}
