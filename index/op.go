package index

import (
	"github.com/farhash/farhash/rma"
)

// op is a lookup as a step machine, in rounds: it posts all gets that it can, and when all have
// come it examines what they have brought.
//
//	Ordered, Linear      get slots, as many as the policy says; the next ones ...
//	Cuckoo, Parallel     get all buckets of the key
//	Cuckoo, Sequential   get one bucket; the next one ...
//	with a heap          and get all records whose signatures fit, with the next slots
type op struct {
	query
	wanted
	r      *Reader
	known  *clusters
	counts *Counts // of the batch
	err    error

	at    int  // the next slot, or choice
	bound int  // the slot from which on there is nothing to find
	exact bool // slots up to the bound are all needed
	over  bool // no more units are to be asked for
	asked int  // gets of units so far

	flights []rma.Handle
	in      []rma.Buf
	pieces  []piece
	fetches []fetch     // of the heap
	buf     rma.Buf     // for the first of them
	idle    bool        // nobody uses it
	pool    *bufferPool // has more
}

// piece is units that a get in flight brings.
type piece struct{ first, n, words, skip int }

// start readies the machine.
func (o *op) start(number int, b *batch) {
	key := b.key(number)
	o.counts, o.err, o.asked = &b.counts, nil, 0
	o.counts.Lookups++
	o.pieces = o.pieces[:0]
	o.drop(0) // what an error has left
	o.wanted = wanted{number, key, b.found}
	o.over = !o.begin(key, hashKey(key))
	o.at, o.bound, o.exact = 0, o.t.cfg.Choices, false
	if !o.over && o.r.near(o.rank) != nil {
		o.err, o.over = o.walk(&o.wanted), true
		return
	}
	if o.t.cfg.Layout != Cuckoo {
		o.r.aim(o)
	}
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
	for i, p := range o.pieces {
		units := bytesOf(o.in[i][:p.words])[p.skip:]
		stopped := o.scan(&o.wanted, units, p.first, p.n)
		if !stopped && o.over && o.t.cfg.Layout != Cuckoo {
			o.end = o.bound // there is nothing behind it
		}
		if o.over = o.over || stopped; o.over && !o.enough &&
			!o.vague {
			o.known.note(o.rank*o.t.units, int(o.home), o.end)
		}
	}
	o.pieces = o.pieces[:0]
	o.examineRecords()
}

// ask posts the next round.
func (o *op) ask(q rma.Queue) {
	if o.askRecords(q); o.err != nil {
		return
	}
	switch {
	case o.over || len(o.refs) > maxRefs:
	case o.t.cfg.Layout != Cuckoo:
		o.askSlots(q)
	case o.r.cfg.Policy == Parallel:
		for o.at < o.bound {
			o.askBucket(q)
		}
	// A key that stands in the table once is not searched for when it may have been found.
	case !o.t.unique || o.matches == 0 && len(o.fetches) == 0:
		o.askBucket(q)
	}
}

// askSlots posts a get of slots.
func (o *op) askSlots(q rma.Queue) {
	left := o.bound - o.at
	if left <= 0 {
		o.over = true
		return
	}
	n := o.r.maxSlots
	if !o.exact {
		n = o.r.size(o)
	}
	o.units(q, o.at, min(n, left))
	o.at += min(n, left)
	o.over = o.at == o.bound
}

// askBucket posts a get of the next bucket.
func (o *op) askBucket(q rma.Queue) {
	if o.at == o.bound {
		return
	}
	bucket := bucketOf(o.hash, o.t.seeds[o.rank], o.at, o.t.homes)
	o.units(q, int(bucket), 1)
	o.at++
}

func (o *op) units(q rma.Queue, first, n int) {
	h, words, skip := o.t.get(q, o.in[len(o.pieces)], o.rank, first, n)
	o.flights = append(o.flights, h)
	o.pieces = append(o.pieces, piece{first: first, n: n, words: words, skip: skip})
	o.asked++
	o.counts.Requests++
	o.counts.Slots += uint64(n * o.t.slotsPerUnit())
	o.counts.Bytes += uint64(words) * 8
}
