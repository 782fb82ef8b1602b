package spread

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/statespace/symbolic"
)

// forget forgets answers: all, or the older half of what is known.
func (r *reach) forget(all bool) {
	first := r.known.len() / 2
	if all {
		first = r.known.len()
	}
	kept, answered := table{}, []uint64(nil)
	for number, answer := range r.answered {
		if number < first && answer&inProgress == 0 {
			continue
		}
		terms := r.known.at(number)
		now, _ := kept.add(terms, hashOf(terms))
		answered = append(answered, answer)
		if answer&inProgress != 0 {
			r.requests[answer&^inProgress].number = now
		}
	}
	r.known, r.answered = kept, answered
	r.mostKept = max(r.mostBytes, 2*r.bytes())
	r.stats.Forgotten++
}

// isFree reports whether a request is not in progress.
func (r *reach) isFree(i int) bool { return r.requests[i].level < 0 }

// errTooMany is the cause of a FullError for requests in progress.
var errTooMany = errors.New("spread: the requests in progress take their part of the memory")

// errFull is the cause of a FullError on ranks that have not met it themselves.
var errFull = errors.New("spread: the memory for nodes is full")

// collect removes the nodes that no request in progress names. Before there were so many, on all
// ranks. Collective.
func (r *reach) collect(before uint64, full bool) error {
	r.forget(true)
	m, err := r.mark()
	if err != nil {
		return err
	}
	r.made = m.live
	sum, err := r.x.run(m.all(r.job), m.of, notes{0, m.live})
	if err != nil {
		return err
	}
	// Not by the context of a rank, which may end while others go on.
	err = r.nodes.CollectRefs(context.Background(), func(ref set.Ref) bool {
		rank, number := r.nodes.Place(ref)
		return hasBit(m.of[rank], number)
	})
	if err != nil {
		return fmt.Errorf("spread: collecting garbage: %w", err)
	}
	r.cells.reset()
	r.stats.Collections++
	live, cause := sum[1], r.full
	if full && before-min(live, before) < before/leastFreed {
		if cause == nil {
			cause = errFull
		}
		return &symbolic.FullError{Nodes: live, MaxBytes: r.maxBytes, Cause: cause}
	}
	r.full, r.nextNodes = nil, max(firstCollect, garbageFactor*live)
	if r.everyNodes > 0 {
		r.nextNodes = live + r.everyNodes
	}
	return nil
}

// marks are a bit for each node that is in use.
type marks struct {
	live uint64
	own  []uint64
	of   [][]uint64 // by rank
}

func hasBit(bits []uint64, number uint64) bool {
	return number/64 < uint64(len(bits)) && bits[number/64]>>(number%64)&1 != 0
}

// all is the own bits for each rank.
func (m *marks) all(job rma.Job) [][]uint64 {
	m.of = make([][]uint64, job.Size())
	return slices.Repeat([][]uint64{m.own}, job.Size())
}

// mark finds the nodes of this rank that are in use on any. Collective.
func (r *reach) mark() (*marks, error) {
	m := &marks{}
	ranks := r.job.Size()
	out, in := make([][]uint64, ranks), make([][]uint64, ranks)
	send := func(node uint64) {
		if node > unit {
			rank, _ := r.nodes.Place(set.Ref(node - firstNode))
			out[rank] = append(out[rank], node)
		}
	}
	r.eachRoot(send)
	for {
		sending := uint64(0)
		for _, words := range out {
			sending += uint64(len(words))
		}
		sum, err := r.x.run(out, in, notes{sending})
		if err != nil || sum[0] == 0 {
			return m, err
		}
		for rank := range out {
			out[rank] = out[rank][:0]
		}
		for _, nodes := range in {
			for _, node := range nodes {
				if _, number := r.nodes.Place(set.Ref(node - firstNode)); m.set(number) {
					r.cells.want = append(r.cells.want, node)
				}
			}
		}
		if err := r.cells.each(func(c cell) {
			send(c.down)
			send(c.right)
		}); err != nil {
			return nil, err
		}
	}
}

// set sets the bit of a node of this rank, and reports whether it was not set.
func (m *marks) set(number uint64) bool {
	if n := int(number/64) + 1; n > len(m.own) {
		m.own = append(m.own, make([]uint64, n-len(m.own))...)
	}
	if hasBit(m.own, number) {
		return false
	}
	m.own[number/64] |= 1 << (number % 64)
	m.live++
	return true
}

// eachRoot calls use for the nodes that requests and messages of this rank name.
func (r *reach) eachRoot(use func(node uint64)) {
	for i := range r.requests {
		if r.isFree(i) {
			continue
		}
		terms := r.known.at(r.requests[i].number)
		for k := 1; k < len(terms); k += 2 {
			use(terms[k])
		}
		for _, e := range r.requests[i].row {
			use(e.below)
		}
	}
	for _, out := range r.out {
		for len(out) > 0 {
			n := 1
			switch out[0] >> kindBit {
			case asks:
				for n = 2; n < 2+int(uint32(out[0])); n += 2 {
					use(out[n+1])
				}
			case answers:
				n = 3
				use(out[2])
			case isClosed:
				n = 2
				use(out[1])
			}
			out = out[n:]
		}
	}
}
