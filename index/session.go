package index

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// errClosed is the answer of an index that has been closed.
var errClosed = errors.New("index: the index is closed")

// session is a queue with step machines on it, for one call at a time: a worker of LP
// Algorithm 1.
type session struct {
	clusterQueue
	ops     []op
	pool    bufferPool
	running []bool // by slot
}

// clusterQueue is a queue that updates the clusters when all requests have been posted, while
// they are in flight (LP 4.4 and Algorithm 1, line 15).
type clusterQueue struct {
	rma.Queue
	known clusters
}

func (w *clusterQueue) Submit() error {
	err := w.Queue.Submit()
	w.known.update()
	return err
}

// session returns one that nobody uses.
func (r *Reader) session() (*session, error) {
	if s, ok, err := r.sessions.Take(); ok || err != nil {
		return s, err
	}
	t, depth := r.t, r.cfg.Depth
	reads := 1
	if r.cfg.Policy == Parallel {
		reads = t.cfg.Choices
	}
	s := &session{ops: make([]op, depth), running: make([]bool, depth), pool: t.newBufferPool()}
	q, err := r.t.job.NewQueue(depth*(reads+1) + s.pool.more)
	if err != nil {
		return nil, err
	}
	s.pool.q = q
	s.Queue, s.known = q, newClusters(max(r.cfg.Clusters, 0), t.cfg.Layout == Linear)
	for i := range s.ops {
		o := &s.ops[i]
		o.r, o.t, o.known, o.pool, o.idle = r, t, &s.known, &s.pool, !t.inline()
		for range reads {
			if o.in, err = appendBuf(q, o.in, wordsSpanned(r.maxSlots, t.unitBytes)); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
		if !t.inline() {
			if o.buf, err = q.Alloc(t.fetchRoom()); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
	}
	return s, nil
}

func appendBuf(q rma.Queue, to []rma.Buf, words int) ([]rma.Buf, error) {
	b, err := q.Alloc(words)
	return append(to, b), err
}

// wordsSpanned is how many words so many units may touch.
func wordsSpanned(units, unitBytes int) int { return (units*unitBytes+7)/8 + 1 }

// batch is the keys of one call.
type batch struct {
	keys  []byte
	size  int // of a key
	found func(i int, v Value) bool
	only  []int // the numbers of the keys to be looked up; nil: all
}

// part is some keys of a batch.
func (b *batch) part(numbers []int) *batch {
	p := *b
	p.only = numbers
	return &p
}

func (b *batch) len() int {
	if b.only != nil {
		return len(b.only)
	}
	return len(b.keys) / b.size
}

func (b *batch) key(i int) []byte { return b.keys[i*b.size : (i+1)*b.size] }

// number is that of the key that is looked up as the i-th one.
func (b *batch) number(i int) int {
	if b.only != nil {
		return b.only[i]
	}
	return i
}

// queued looks up a batch through a queue. Errors of single lookups are returned after all have
// ended.
func (r *Reader) queued(b *batch) error {
	var counts Stats
	err := r.throughQueue(b, &counts)
	r.add(&counts)
	return err
}

func (r *Reader) throughQueue(b *batch, counts *Stats) error {
	s, err := r.session()
	if err != nil {
		return err
	}
	failed, err := s.run(b, counts)
	r.sessions.Give(s, err != nil)
	return errors.Join(err, failed)
}

// run drives the lookups. failed is the first error of one.
func (s *session) run(b *batch, counts *Stats) (failed, err error) {
	clear(s.running)
	issued := 0
	next := func(slot int) rma.Op {
		o := &s.ops[slot]
		if s.running[slot] {
			s.running[slot] = false
			counts.Add(o.counts)
			if failed == nil {
				failed = o.err
			}
		}
		if issued == b.len() {
			return nil
		}
		s.running[slot] = true
		number := b.number(issued)
		o.start(number, b.key(number), b.found)
		issued++
		return o
	}
	depth := min(max(b.len(), 1), len(s.ops))
	err = rma.RunAll(context.Background(), &s.clusterQueue, depth, next)
	return failed, err
}
