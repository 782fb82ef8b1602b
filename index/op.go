package index

import (
	"github.com/farhash/farhash/rma"
)

// op is a lookup as a step machine, in rounds: it posts gets of slots, as many as the reader says,
// and of all records in the heap whose signatures fit; and when all have come it examines them.
type op struct {
	query
	wanted
	r      *Reader
	counts *Counts // of the batch
	err    error

	at    int  // the next slot
	bound int  // the slot from which on there is nothing to find
	exact bool // slots up to the bound are all needed
	over  bool // no more slots are to be asked for
	asked int  // gets of slots so far

	flights []rma.Handle
	in      rma.Buf
	piece   piece
	fetches []fetch     // of the heap
	buf     rma.Buf     // for the first of them
	idle    bool        // nobody uses it
	pool    *bufferPool // has more
}

// piece is slots that a get in flight brings.
type piece struct{ first, n, words, skip int }

// start readies the machine.
func (o *op) start(number int, b *batch) {
	key := b.key(number)
	o.counts, o.err, o.asked = &b.counts, nil, 0
	o.counts.Lookups++
	o.piece = piece{}
	o.drop(0) // what an error has left
	o.wanted = wanted{number, key, b.found}
	o.over = !o.begin(key, hashKey(key))
	if !o.over && o.r.near(o.rank) != nil {
		o.err, o.over = o.walk(&o.wanted), true
		return
	}
	if o.at, o.bound, o.exact = int(o.home), o.t.slots, false; o.r.guides != nil {
		o.at, o.bound, o.exact = o.r.guides[o.rank].between(int(o.home), o.t.slots)
	}
	o.over = o.over || o.at >= o.bound
}

// Step takes what has come and posts what is needed next. Errors of the engine end the
// lookup and are kept in err, so that the others of a batch go on.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if h := o.settle(q); h != rma.NoHandle {
		return h, nil
	}
	if o.err == nil {
		o.examine()
	}
	if o.err == nil && !o.enough {
		o.ask(q)
	}
	if n := len(o.flights); n > 0 {
		o.counts.Rounds++
		return o.flights[n-1], nil
	}
	o.counts.Matches += uint64(o.matches)
	return rma.NoHandle, nil
}

// settle takes results, and returns a handle to wait for while there is one.
func (o *op) settle(q rma.Queue) rma.Handle {
	for len(o.flights) > 0 {
		last := o.flights[len(o.flights)-1]
		if !q.Done(last) {
			return last
		}
		o.flights = o.flights[:len(o.flights)-1]
		if _, err := q.Value(last); err != nil && o.err == nil {
			o.err = rankError(o.rank, err)
		}
	}
	return rma.NoHandle
}

// examine examines what has come.
func (o *op) examine() {
	if p := o.piece; p.n > 0 {
		slots := bytesOf(o.in[:p.words])[p.skip:]
		o.over = o.scan(&o.wanted, slots, p.first, p.n) || o.over
		o.piece = piece{}
	}
	o.examineRecords()
}

// ask posts the next round.
func (o *op) ask(q rma.Queue) {
	if o.askRecords(q); o.err != nil {
		return
	}
	if !o.over && len(o.refs) <= maxRefs {
		o.askSlots(q)
	}
}

// askSlots posts a get of the next slots.
func (o *op) askSlots(q rma.Queue) {
	n := o.bound - o.at
	if !o.exact {
		n = min(n, o.r.size(o))
	}
	n = min(n, o.r.maxSlots)
	h, words, skip := o.t.get(q, o.in, o.rank, o.at, n)
	o.flights = append(o.flights, h)
	o.piece = piece{first: o.at, n: n, words: words, skip: skip}
	o.asked++
	o.counts.Requests++
	o.counts.Slots += uint64(n)
	o.counts.Bytes += uint64(words) * 8
	o.at += n
	o.over = o.at == o.bound
}
