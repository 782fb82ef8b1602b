package core

import (
	"cmp"
	"context"
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
	order  []int // operations by owner
	begins []int // by rank: where its operations begin in order; one more for the end
	next   []int // by rank: the first of them that is to be shipped and was not
	direct []int // operations on memory that this process can address
	queued []int // operations to run one-sided
}

// Close has nothing to give back.
func (p *plan) Close() error { return nil }

// Run runs a batch of n operations. It returns what the requests took.
func (b *Batches) Run(ctx context.Context, n int, ops Ops) (requests rma.Stats, err error) {
	if b.takesWhole() || !b.line.worth(n) {
		return requests, b.Own(n, ops)
	}
	p, err := b.plan(n, ops, true)
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
	p, err := b.plan(n, ops, false)
	if err == nil {
		err = p.local(ops)
		b.plans.Give(p, false)
	}
	return err
}

// plan divides a batch.
func (b *Batches) plan(n int, ops Ops, ships bool) (*plan, error) {
	p, ok, err := b.plans.Take()
	if err != nil {
		return nil, err
	}
	if !ok {
		p = &plan{begins: make([]int, b.ranks+1), next: make([]int, b.ranks)}
	}
	p.divide(n, ops)
	b.assign(p, ships)
	return p, nil
}

// takesWhole reports whether Direct can work on a whole batch.
func (b *Batches) takesWhole() bool {
	return b.All && (b.Whole != nil || !b.InOnePiece)
}

// divide orders the operations by owner.
func (p *plan) divide(n int, ops Ops) {
	p.owners = slices.Grow(p.owners[:0], n)[:n]
	p.order = slices.Grow(p.order[:0], n)[:n]
	ops.Owners(p.owners)
	clear(p.begins)
	for _, rank := range p.owners {
		p.begins[rank+1]++
	}
	for rank := range p.next {
		p.begins[rank+1] += p.begins[rank]
	}
	copy(p.next, p.begins)
	for i, rank := range p.owners {
		p.order[p.next[rank]] = i
		p.next[rank]++
	}
}

// assign decides how the operations of each rank are run. The ones between next and the end of
// their rank are shipped.
func (b *Batches) assign(p *plan, ships bool) {
	p.direct, p.queued = p.direct[:0], p.queued[:0]
	for rank := range p.next {
		begin, end := p.begins[rank], p.begins[rank+1]
		p.next[rank] = end
		switch {
		case begin == end:
		case b.At(rank) != nil:
			p.direct = append(p.direct, p.order[begin:end]...)
		case ships && b.line.shipsTo(rank, end-begin):
			p.next[rank] = begin
		default:
			p.queued = append(p.queued, p.order[begin:end]...)
		}
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
