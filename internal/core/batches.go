package core

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/farhash/farhash/rma"
)

// Ops is a batch of operations, numbered from 0.
type Ops interface {
	// Owners stores the rank whose memory each operation touches first.
	Owners(owners []int32)
	// Direct runs the operations at, or the whole batch if at is nil, by loops over memory
	// that this process can address, and appends to left those that must go on one-sided.
	// The operations at are ordered by owner.
	Direct(at, left []int) ([]int, error)
	// Queued runs the operations at, or the whole batch if at is nil, one-sided.
	Queued(at []int) error

	// Kind is what the request says of all its operations.
	Kind() uint32
	// Size is how many words operation i takes in a request, and its answer at most. An operation
	// that is too long for a request is run one-sided.
	Size(i int) (request, answer int)
	// Pack writes operation i to the words that Size gave it.
	Pack(i int, to []uint64)
	// Unpack takes the answer of rank to operation i, of a word or more, off the front and returns
	// its words. again is true if this rank must carry the operation out one-sided. An error stands
	// for the answers behind as well: no rank of the same program gives such an answer.
	Unpack(rank, i int, from []uint64) (words int, again bool, err error)
}

// Batches is what the batches of a table need. It is safe for concurrent use.
type Batches struct {
	Regions
	InOnePiece bool // Direct takes a whole batch only if all memory is in one region

	plans Pool[*plan]
	line  *line // nil: nothing is shipped
	ranks int
}

// plan is the division of a batch, kept from one batch to the next.
type plan struct {
	owners []int32
	order  []int   // operations by owner
	parts  []share // of the order, by owner
	direct []int   // operations on memory that this process can address
	queued []int   // operations to run one-sided

	begins []int    // by rank, for the division of many operations
	keys   []uint64 // by operation, for the division of a few
}

// share is the operations of a batch that one rank owns, from next to end in the order: in the end,
// what is to be shipped and was not.
type share struct{ rank, next, end int }

// Close has nothing to give back.
func (p *plan) Close() error { return nil }

// Run runs a batch of n operations. It returns what the requests took.
func (b *Batches) Run(ctx context.Context, n int, ops Ops) (requests rma.Stats, err error) {
	if b.takesWhole() || !b.line.worth(n) {
		return requests, b.Own(n, ops)
	}
	return b.ship(ctx, n, ops, b.line.choice.MinBatch)
}

// ask is Run for operations that only requests are good for: a single one is shipped too, unless
// this process can address the memory. Nothing is, where Ships says so.
func (b *Batches) ask(ctx context.Context, n int, ops Ops) (requests rma.Stats, err error) {
	if !b.Ships() {
		return requests, b.Own(n, ops)
	}
	return b.ship(ctx, n, ops, 1)
}

// ship runs a batch whose operations are shipped where a rank has so many of them.
func (b *Batches) ship(ctx context.Context, n int, ops Ops, least int) (requests rma.Stats,
	err error) {
	p, err := b.plan(n, ops, least)
	if err != nil {
		return requests, err
	}
	requests, err = b.line.run(ctx, p, ops)
	b.plans.Give(p, false)
	return requests, err
}

// Own is Run without shipping: for single operations, and for those that others have shipped here.
func (b *Batches) Own(n int, ops Ops) error {
	switch {
	case b.takesWhole():
		left, err := ops.Direct(nil, nil)
		if len(left) > 0 {
			err = cmp.Or(err, ops.Queued(left))
		}
		return err
	case !b.Any:
		return ops.Queued(nil)
	}
	p, err := b.plan(n, ops, math.MaxInt)
	if err == nil {
		err = p.local(ops)
		b.plans.Give(p, false)
	}
	return err
}

// plan divides a batch. What a rank has to do is shipped if it is so many operations at least.
func (b *Batches) plan(n int, ops Ops, least int) (*plan, error) {
	p, ok, err := b.plans.Take()
	if err != nil {
		return nil, err
	}
	if !ok {
		p = &plan{}
	}
	p.divide(n, b.ranks, ops)
	b.assign(p, least)
	return p, nil
}

// takesWhole reports whether Direct can work on a whole batch.
func (b *Batches) takesWhole() bool {
	return b.All && (b.Whole != nil || !b.InOnePiece)
}

// fewOf decides which way a batch is divided: with fewer operations than one for so many ranks, in
// a time that does not depend on the ranks.
const fewOf = 8

// divide orders the operations by owner.
func (p *plan) divide(n, ranks int, ops Ops) {
	p.owners = slices.Grow(p.owners[:0], n)[:n]
	p.order = slices.Grow(p.order[:0], n)[:n]
	p.parts = p.parts[:0]
	ops.Owners(p.owners)
	if n < ranks/fewOf {
		p.sort()
	} else {
		p.count(ranks)
	}
}

// sort divides a few operations.
func (p *plan) sort() {
	p.keys = p.keys[:0]
	for i, rank := range p.owners {
		p.keys = append(p.keys, uint64(rank)<<32|uint64(i))
	}
	slices.Sort(p.keys)
	for at, key := range p.keys {
		p.order[at] = int(uint32(key))
		if n := len(p.parts); n == 0 || p.parts[n-1].rank != int(key>>32) {
			p.parts = append(p.parts, share{rank: int(key >> 32), next: at})
		}
		p.parts[len(p.parts)-1].end = at + 1
	}
}

// count divides many.
func (p *plan) count(ranks int) {
	p.begins = slices.Grow(p.begins[:0], ranks)[:ranks]
	clear(p.begins)
	for _, rank := range p.owners {
		p.begins[rank]++
	}
	at := 0
	for rank, n := range p.begins {
		if n > 0 {
			p.parts = append(p.parts, share{rank, at, at + n})
		}
		p.begins[rank] = at
		at += n
	}
	for i, rank := range p.owners {
		p.order[p.begins[rank]] = i
		p.begins[rank]++
	}
}

// assign decides how the operations of each rank are run.
func (b *Batches) assign(p *plan, least int) {
	p.direct, p.queued = p.direct[:0], p.queued[:0]
	for i := range p.parts {
		part := &p.parts[i]
		switch own := p.order[part.next:part.end]; {
		case b.At(part.rank) != nil:
			p.direct = append(p.direct, own...)
		case len(own) >= least && b.line.shipsTo(part.rank):
			continue
		default:
			p.queued = append(p.queued, own...)
		}
		part.next = part.end
	}
}

// local runs what is not shipped.
func (p *plan) local(ops Ops) (err error) {
	if len(p.direct) > 0 {
		p.queued, err = ops.Direct(p.direct, p.queued)
	}
	if len(p.queued) > 0 {
		err = cmp.Or(err, ops.Queued(p.queued))
	}
	p.direct, p.queued = p.direct[:0], p.queued[:0]
	return err
}
