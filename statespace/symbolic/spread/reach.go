package spread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/statespace/symbolic"
)

// request is a request in progress, on the rank that answers it, or on one that has asked that
// rank: then it has no row.
type request struct {
	number  int  // of its terms
	level   int  // -1: it is not in progress any more
	pending int  // answers that it waits for
	asked   bool // another rank answers it
	row     []rowEntry
	askers  []asker
}

// rowEntry is an entry of a row. It is changed if it has to be fired from.
type rowEntry struct {
	value   uint32
	changed bool
	below   uint64
}

// asker is who waits for an answer: an entry of the row of a request of a rank.
type asker struct {
	rank int
	slot uint64
}

// A slot is a request in its upper half, and the number of an entry in its lower one; or rootSlot.
const (
	slotBits = 32
	rootSlot = 1<<64 - 1
)

// A message begins with its kind in the bits from kindBit on:
//
//	| asks, level (28), words of terms (32) | slot | terms ... |
//	| answers | slot | node |
//	| isClosed | node |
const (
	asks uint64 = iota
	answers
	isClosed

	kindBit = 60
)

// inProgress marks the answer of a request that has none yet: the rest is its number in requests.
const inProgress = 1 << 63

// reach is a call of Reach.
type reach struct {
	*Diagram
	ctx context.Context

	known    table    // the terms of requests
	answered []uint64 // by number of the terms: the answer, or inProgress
	requests []request
	free     []int // of requests
	working  int   // requests in progress
	mostKept uint64

	fresh []int // requests whose lists are to be read
	ready []int // requests that have got all answers
	ended []int // requests whose rows are complete

	items   []item
	scratch []uint64
	list    []*cell
	changed []cell

	out, in [][]uint64
	full    error // why no node was inserted, since the last collection
	root    Node
	over    bool
}

// Reach is the vectors that are reachable from a set by the transitions and relations of this
// diagram, the set included. Without enough memory the error is a *symbolic.FullError. When the
// context of a rank ends it returns its cause, and the others a *rma.PeerError. Collective.
func (d *Diagram) Reach(ctx context.Context, from Node) (Node, error) {
	ranks := d.job.Size()
	r := &reach{Diagram: d, ctx: ctx, mostKept: d.mostBytes, out: make([][]uint64, ranks),
		in: make([][]uint64, ranks)}
	terms := []uint64{same, uint64(from)}
	if uint64(from) <= unit || d.terms.last < 0 {
		return from, nil
	}
	if r.rankOf(hashOf(terms)) == d.job.Rank() {
		r.ask(asker{d.job.Rank(), rootSlot}, 0, terms)
	}
	for {
		failure := r.work()
		if failure == nil && ctx.Err() != nil {
			failure = fmt.Errorf("spread: %w", context.Cause(ctx))
		}
		const failed, crowded, full = 1, 1 << 20, 1 << 40 // in the first note
		mine := notes{0, d.made}
		switch {
		case failure != nil:
			mine[0] = failed
		case r.crowded():
			mine[0] = crowded
		case r.full != nil:
			mine[0] = full
		}
		sum, err := d.x.run(r.out, r.in, mine)
		if err != nil {
			return 0, errors.Join(failure, err)
		}
		if sum[0]%crowded > 0 {
			return 0, rma.AllSucceeded(context.WithoutCancel(ctx), d.job, "spread", failure)
		}
		if sum[0]%full > 0 {
			return 0, &symbolic.FullError{Nodes: sum[1], MaxBytes: d.maxBytes, Cause: errTooMany}
		}
		for rank := range r.out {
			r.out[rank] = r.out[rank][:0]
		}
		for rank, in := range r.in {
			r.take(rank, in)
		}
		if r.over {
			return r.root, nil
		}
		if sum[0] > 0 || sum[1] >= d.nextNodes {
			if err := r.collect(sum[1], sum[0] > 0); err != nil {
				return 0, err
			}
		}
	}
}

// crowded forgets answers if there are too many, and reports whether what is left is too much.
func (r *reach) crowded() bool {
	if r.bytes() <= r.mostKept {
		return false
	}
	r.forget(false)
	return r.bytes() > 2*r.mostBytes
}

// rankOf is the rank that answers a request.
func (d *Diagram) rankOf(hash uint64) int {
	return int(hash & (1<<numberBits - 1) * uint64(d.job.Size()) >> numberBits)
}

// bytes is the memory of requests and answers.
func (r *reach) bytes() uint64 {
	const rowBytes = 4 * uint64(unsafe.Sizeof(rowEntry{})+unsafe.Sizeof(asker{}))
	return r.known.bytes() + 8*uint64(len(r.answered)) +
		uint64(r.working)*(uint64(unsafe.Sizeof(request{}))+rowBytes)
}

// take takes the messages of a rank.
func (r *reach) take(rank int, in []uint64) {
	for len(in) > 0 {
		switch in[0] >> kindBit {
		case asks:
			terms := in[2 : 2+uint32(in[0])]
			r.ask(asker{rank, in[1]}, int(in[0]>>32), terms)
			in = in[2+len(terms):]
		case answers:
			r.answer(in[1], in[2])
			in = in[3:]
		case isClosed:
			r.close(in[1])
			in = in[2:]
		}
	}
}

// ask takes a request, and answers it if the answer is known.
func (r *reach) ask(by asker, level int, terms []uint64) {
	hash := hashOf(terms)
	number, isNew := r.known.add(terms, hash)
	if isNew {
		i := len(r.requests)
		if n := len(r.free); n > 0 {
			i, r.free = r.free[n-1], r.free[:n-1]
		} else {
			r.requests = append(r.requests, request{})
		}
		x := &r.requests[i]
		*x = request{number: number, level: level, row: x.row[:0], askers: x.askers[:0]}
		r.answered = append(r.answered, inProgress|uint64(i))
		r.working++
		if rank := r.rankOf(hash); rank != r.job.Rank() {
			x.asked = true
			r.out[rank] = append(append(r.out[rank],
				asks<<kindBit|uint64(level)<<32|uint64(len(terms)), uint64(i)<<slotBits), terms...)
		} else {
			r.fresh = append(r.fresh, i)
			r.stats.Requests++
			r.stats.Terms += uint64(len(terms) / 2)
		}
	}
	if a := r.answered[number]; a&inProgress == 0 {
		r.tell(by, a)
	} else {
		x := &r.requests[a&^inProgress]
		x.askers = append(x.askers, by)
	}
}

// close takes that a set is closed: it is the answer for itself.
func (r *reach) close(node uint64) {
	terms := [2]uint64{same, node}
	if _, isNew := r.known.add(terms[:], hashOf(terms[:])); isNew {
		r.answered = append(r.answered, node)
	}
}

// tell sends an answer.
func (r *reach) tell(to asker, node uint64) {
	switch {
	case to.slot == rootSlot:
		for rank := range r.out { // this one as well, so that all end in the same round
			r.out[rank] = append(r.out[rank], answers<<kindBit, rootSlot, node)
		}
	case to.rank == r.job.Rank():
		r.answer(to.slot, node)
	default:
		r.out[to.rank] = append(r.out[to.rank], answers<<kindBit, to.slot, node)
	}
}

// answer takes an answer.
func (r *reach) answer(slot, node uint64) {
	if slot == rootSlot {
		r.root, r.over = Node(node), true
		return
	}
	i := int(slot >> slotBits)
	x := &r.requests[i]
	if x.asked {
		r.end(i, node)
		return
	}
	x.row[uint32(slot)].become(node)
	if x.pending--; x.pending == 0 {
		r.ready = append(r.ready, i)
	}
}

func (e *rowEntry) become(node uint64) {
	if e.below != node {
		e.below, e.changed = node, true
	}
}

// work works on the requests of this rank until they wait for others, or for a while.
func (r *reach) work() error {
	for begun := 0; begun < r.pace && len(r.fresh)+len(r.ready)+len(r.ended) > 0 && r.full == nil; {
		n := max(0, len(r.fresh)-(r.pace-begun))
		fresh := slices.Clone(r.fresh[n:])
		r.fresh = r.fresh[:n]
		begun += len(fresh) + len(r.ready) + len(r.ended)
		if len(r.cells.all) > mostCells {
			r.cells.reset()
		}
		for _, i := range fresh {
			terms := r.known.at(r.requests[i].number)
			for k := 1; k < len(terms); k += 2 {
				r.cells.need(terms[k])
			}
		}
		if err := r.cells.read(); err != nil {
			return err
		}
		for _, i := range fresh {
			if err := r.divide(i); err != nil {
				return err
			}
		}
		for len(r.ready) > 0 {
			i := r.ready[len(r.ready)-1]
			r.ready = r.ready[:len(r.ready)-1]
			if err := r.fire(i); err != nil {
				return err
			}
		}
		if err := r.finish(); err != nil {
			return err
		}
	}
	return nil
}

// divide divides what the terms of a request make by values: the row.
func (r *reach) divide(i int) (err error) {
	x := &r.requests[i]
	terms := r.known.at(x.number)
	r.items = r.items[:0]
	for k := 0; k < len(terms); k += 2 {
		r.list = r.cells.list(r.list[:0], terms[k+1])
		if r.items, err = r.terms.follow(r.items, terms[k], r.list, x.level); err != nil {
			return err
		}
	}
	r.unite(i)
	return nil
}

// fire has the transitions that begin at the level of a request fire from the entries of its row
// that have changed. Without any the row is complete.
func (r *reach) fire(i int) (err error) {
	x := &r.requests[i]
	begin := r.terms.beginning[x.level]
	r.items, r.changed, r.list = r.items[:0], r.changed[:0], r.list[:0]
	for k := range x.row {
		if e := &x.row[k]; e.changed && len(begin) > 0 {
			e.changed = false
			r.changed = append(r.changed, cell{value: e.value, down: e.below})
		}
	}
	for k := range r.changed {
		r.list = append(r.list, &r.changed[k])
	}
	for _, what := range begin {
		if r.items, err = r.terms.follow(r.items, what, r.list, x.level); err != nil {
			return err
		}
	}
	if len(r.items) == 0 {
		r.ended = append(r.ended, i)
		return nil
	}
	r.unite(i)
	return nil
}

// unite asks for the union of the entries of a row with the items.
func (r *reach) unite(i int) {
	items := r.items
	sortItems(items)
	x, at := &r.requests[i], 0
	for k := range items {
		for at < len(x.row) && x.row[at].value < items[k].value {
			at++
		}
		if at == len(x.row) || x.row[at].value != items[k].value {
			x.row = slices.Insert(x.row, at, rowEntry{value: items[k].value})
		}
	}
	x.pending++ // until all is asked for, answers do not make it ready
	for at = 0; len(items) > 0; {
		value, row := items[0].value, r.requests[i].row // what is asked for may move the requests
		for row[at].value < value {
			at++
		}
		r.scratch = r.scratch[:0]
		if row[at].below != empty {
			r.scratch = append(r.scratch, same, row[at].below)
		}
		for ; len(items) > 0 && items[0].value == value; items = items[1:] {
			r.scratch = append(r.scratch, items[0].what, items[0].node)
		}
		r.entry(i, at, r.scratch)
	}
	x = &r.requests[i]
	if x.pending--; x.pending == 0 {
		r.ready = append(r.ready, i)
	}
}

// entry has an entry of a row become what terms make, whose first one may be the entry. The others
// are sorted.
func (r *reach) entry(i, at int, terms []uint64) {
	x := &r.requests[i]
	terms = simplify(terms)
	e, level := &x.row[at], x.level+1
	switch alone := len(terms) == 2 && terms[0] == same; {
	case level == r.levels:
		e.become(unit)
		return
	case alone && terms[1] == e.below:
		return // it is closed
	case alone && level > r.terms.last:
		e.become(terms[1])
		return
	}
	x.pending++
	r.ask(asker{r.job.Rank(), uint64(i)<<slotBits | uint64(at)}, level, terms)
}

// simplify sorts terms, all of which but the first are sorted, and drops what is there twice.
func simplify(terms []uint64) []uint64 {
	for k := 2; k < len(terms) && (terms[k-2] > terms[k] ||
		terms[k-2] == terms[k] && terms[k-1] > terms[k+1]); k += 2 {
		terms[k-2], terms[k-1], terms[k], terms[k+1] = terms[k], terms[k+1], terms[k-2], terms[k-1]
	}
	n := 2
	for k := 2; k < len(terms); k += 2 {
		if terms[k] != terms[n-2] || terms[k+1] != terms[n-1] {
			terms[n], terms[n+1] = terms[k], terms[k+1]
			n += 2
		}
	}
	return terms[:n]
}

// finish makes nodes of the rows that are complete, and answers.
func (r *reach) finish() error {
	l := &r.lists
	l.reset()
	for _, i := range r.ended {
		l.begin()
		for _, e := range r.requests[i].row {
			l.add(e.value, e.below)
		}
	}
	nodes, err := r.make(l)
	if full := (*set.FullError)(nil); errors.As(err, &full) {
		r.full = err // it is made after a collection
		return nil
	} else if err != nil {
		return err
	}
	ended := r.ended
	r.ended = nil
	for k, i := range ended {
		node := nodes[k]
		r.close(node)
		if rank := r.rankOf(hashOf([]uint64{same, node})); rank != r.job.Rank() {
			r.out[rank] = append(r.out[rank], isClosed<<kindBit, node)
		}
		r.end(i, node)
	}
	return nil
}

// end ends a request with its answer.
func (r *reach) end(i int, node uint64) {
	x := &r.requests[i]
	r.answered[x.number] = node
	for _, by := range x.askers {
		r.tell(by, node)
	}
	x.level = -1
	r.free = append(r.free, i)
	r.working--
}
