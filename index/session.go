package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// errClosed is the answer of an index that has been closed.
var errClosed = fmt.Errorf("index: the index is %w", rma.ErrClosed)

// session is a queue with step machines on it, for one call at a time: a worker of LP
// Algorithm 1.
type session struct {
	rma.Queue
	ops    []op
	pool   bufferPool
	slots  core.Slots
	batch  *batch // that is looked up
	failed error  // the first one of its lookups
	single single
}

// single is a lookup of one key. The session keeps it, so that one allocates nothing.
type single struct {
	batch
	values []byte
	ends   []int // of the values
}

func (o *single) add(_ int, v Value) bool {
	o.values = append(o.values, v...)
	o.ends = append(o.ends, len(o.values))
	return true
}

// session returns one that nobody uses.
func (r *Reader) session() (*session, error) {
	if s, ok, err := r.sessions.Take(); ok || err != nil {
		return s, err
	}
	t, depth := r.t, r.cfg.Depth
	s := &session{ops: make([]op, depth), slots: core.NewSlots(depth), pool: t.newBufferPool()}
	q, err := r.t.job.NewQueue(2*depth + s.pool.more)
	if err != nil {
		return nil, err
	}
	s.pool.q = q
	s.single.batch = batch{r: r, size: t.cfg.KeySize, found: s.single.add}
	s.Queue = q
	for i := range s.ops {
		o := &s.ops[i]
		o.r, o.t, o.pool, o.idle = r, t, &s.pool, !t.inline()
		o.in, err = q.Alloc((r.maxSlots*t.slotBytes+7)/8 + 1)
		if err == nil && !t.inline() {
			o.buf, err = q.Alloc(t.fetchRoom())
		}
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
	}
	return s, nil
}

// batch is the keys of one call: a core.Ops.
type batch struct {
	r      *Reader
	keys   []byte
	size   int // of a key
	found  func(i int, v Value) bool
	counts Counts
}

func (b *batch) len() int { return len(b.keys) / b.size }

func (b *batch) key(i int) []byte { return b.keys[i*b.size : (i+1)*b.size] }

// run looks up a batch.
func (b *batch) run() error {
	r := b.r
	var err error
	if !r.cfg.OneSided {
		var requests rma.Stats
		requests, err = r.t.batches.Run(context.Background(), b.len(), b)
		b.counts.ShippedRequests = requests.Ships
	} else {
		err = b.Queued(nil)
	}
	r.counters.Add(core.Stripe(), &b.counts)
	return err
}

// Owners gives the ranks that have the records.
func (b *batch) Owners(owners []int32) {
	for i := range owners {
		rank, _ := place(hashKey(b.key(i)), b.r.t.ranks)
		owners[i] = int32(rank)
	}
}

// Queued looks keys up through a queue. Errors of single lookups are returned after all have ended.
func (b *batch) Queued(at []int) error {
	s, err := b.r.session()
	if err != nil {
		return err
	}
	failed, err := s.run(b, at)
	b.r.sessions.Give(s, err != nil)
	return errors.Join(err, failed)
}

// run looks keys up. failed is the first error of a lookup.
func (s *session) run(b *batch, at []int) (failed, err error) {
	s.batch, s.failed = b, nil
	err = s.slots.Drive(context.Background(), s.Queue, b.len(), at, len(s.ops), s)
	failed = s.failed
	s.batch, s.failed = nil, nil
	return failed, err
}

// oneQueued looks up a single key through a queue. The caller's code does not run while requests
// are in flight. more is false if it wants no more.
func (r *Reader) oneQueued(key []byte, yield func(Value, error) bool) (more bool, err error) {
	s, err := r.session()
	if err != nil {
		return true, err
	}
	o := &s.single
	o.keys, o.values, o.ends = append(o.keys[:0], key...), o.values[:0], o.ends[:0]
	o.counts = Counts{}
	failed, err := s.run(&o.batch, nil)
	r.counters.Add(core.Stripe(), &o.counts)
	defer r.sessions.Give(s, err != nil) // it has the values
	from := 0
	for _, end := range o.ends {
		if !yield(o.values[from:end:end], nil) {
			return false, nil
		}
		from = end
	}
	return true, errors.Join(err, failed)
}

// Start readies a machine for a key.
func (s *session) Start(machine, i int) rma.Op {
	o := &s.ops[machine]
	o.start(i, s.batch)
	return o
}

// Finish takes the first error of a machine.
func (s *session) Finish(machine, _ int) {
	if s.failed == nil {
		s.failed = s.ops[machine].err
	}
}
