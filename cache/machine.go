package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// op is an operation as a step machine: a search whose groups come through a queue, with
// locks around it as the mode asks for.
//
//	LockFree   get group, examine, put and mark; get the next group at the same time ...
//	Fine       lock group, get, examine, put and mark, unlock; the next group ...
//	Coarse     lock rank; get, examine, put and mark; the next group ...; unlock
type op struct {
	search
	latch latch

	phase phase   // what comes when the latch has no step to take
	last  verdict // of the group examined last
	lock  int     // offset of the lock in use
	asked bool    // a step of the latch is posted
	tries int     // left to repair a lock

	posted []posted
	saw    uint64 // what the last atomic saw
	lost   error  // of what was waited for last
	err    error  // of the operation

	in   rma.Buf // a group
	out  rma.Buf // a bucket, with the key and the value of the search
	word rma.Buf // of a lock
}

// posted is an operation on the queue. One that marks a bucket invalid expects a checksum, which
// is never 0.
type posted struct {
	handle  rma.Handle
	expects uint64
}

type phase uint8

const (
	phaseGroup   phase = iota // lock a group
	phaseFetch                // get it
	phaseExamine              // examine it, and post the effects
	phaseNext                 // unlock it; go to the next one, or end
	phaseEnd
)

// start prepares the machine.
func (o *op) start(hash uint64) {
	o.begin(hash)
	o.latch.writer, o.latch.taken = o.kind != kindGet, false
	o.latch.waits, o.latch.broken = 0, 0
	o.phase, o.err = phaseGroup, nil
	if o.c.cfg.Mode == Coarse {
		o.take(o.number)
	}
}

// Step is one step of the protocol. Errors of the engine end the operation and are kept in
// err, so that the others of a batch go on.
func (o *op) Step(q rma.Queue) (h rma.Handle, err error) {
	h = o.settle(q)
	for h == rma.NoHandle {
		switch {
		case o.latch.step != done:
			h = o.locking(q)
		case o.err != nil && o.latch.taken:
			o.latch.release()
		case o.err != nil || o.phase == phaseEnd:
			o.waits += o.latch.waits
			o.broken += o.latch.broken
			return rma.NoHandle, nil
		default:
			o.latch.shared.progress()
			h = o.advance(q)
		}
	}
	return h, nil
}

// settle takes results, and returns a handle to wait for while there is one.
func (o *op) settle(q rma.Queue) rma.Handle {
	o.lost = nil
	for len(o.posted) > 0 {
		last := o.posted[len(o.posted)-1]
		if !q.Done(last.handle) {
			return last.handle
		}
		o.posted = o.posted[:len(o.posted)-1]
		word, err := q.Value(last.handle)
		if err != nil {
			o.lost = rankError(o.rank, err)
			if o.err == nil && !o.asked {
				o.err = o.lost
			}
		}
		o.saw = word
		switch last.expects {
		case 0:
		case word:
			o.marked++
		default:
			// mark: a bucket has changed before it is marked invalid
		}
	}
	return rma.NoHandle
}

func (o *op) post(h rma.Handle) rma.Handle {
	o.posted = append(o.posted, posted{handle: h})
	return h
}

// advance does what the phase asks for. It returns a handle to wait for, or NoHandle when
// there is more to do at once.
func (o *op) advance(q rma.Queue) rma.Handle {
	fine := o.c.cfg.Mode == Fine
	switch o.phase {
	case phaseGroup:
		if o.phase = phaseFetch; fine {
			o.take(o.number)
		}
	case phaseFetch:
		o.phase = phaseExamine
		return o.post(q.Get(o.in, o.c.window, o.rank, o.c.offset(o.number)))
	case phaseExamine:
		if o.last = o.examine(o.in); o.last == again {
			o.phase = phaseFetch
			return rma.NoHandle
		}
		h := o.apply(q)
		if o.phase = phaseNext; o.last == more && o.c.cfg.Mode == LockFree {
			return rma.NoHandle // what was posted is waited for together with the next group
		}
		return h
	case phaseNext:
		switch {
		case o.latch.taken && (fine || o.last == over):
			o.latch.release()
		case o.last == more:
			o.phase = phaseGroup
		default:
			o.phase = phaseEnd
		}
	}
	return rma.NoHandle
}

// apply posts the effects of examining a group.
func (o *op) apply(q rma.Queue) rma.Handle {
	h := rma.NoHandle
	if o.write {
		o.out[0] = o.seal
		h = o.post(q.Put(o.out, o.c.window, o.rank, o.place.at))
	}
	for _, m := range o.marks[:o.n] {
		h = q.CompareAndSwap(o.c.window, o.rank, m.at, m.seal, invalid)
		o.posted = append(o.posted, posted{h, m.seal})
	}
	o.applied()
	return h
}

// take begins to take the lock of a group, or of the rank.
func (o *op) take(group uint64) {
	o.lock, o.latch.rank = o.c.lockOf(group), o.rank
	o.latch.acquire()
}

// maxRepairTries is how often an operation tries to repair a lock. It then leaves that to
// the next calls.
const maxRepairTries = 64

// locking takes the answer to the last step of the latch, if there is one, and posts the next.
// A step that got no answer may have taken the lock, or not released it: the lock is repaired.
func (o *op) locking(q rma.Queue) rma.Handle {
	if l := &o.latch; o.asked {
		o.asked = false
		switch {
		case o.lost == nil:
			if l.step == await || l.step == drain || l.step == inspect {
				o.saw = o.word[0]
			}
			l.next(o.saw)
		case !l.repairs():
			// mark: a request on a lock gets no answer
			if l.step != leave {
				o.err = o.lost
			}
			o.tries = maxRepairTries
			l.repair()
		default:
			o.repairAgain()
		}
	}
	return o.access(q)
}

// repairAgain tries once more to repair a lock, or leaves it to the next calls.
func (o *op) repairAgain() {
	o.tries--
	switch {
	case errors.As(o.lost, new(*rma.RankError)):
		o.err = o.lost // the lock is gone with its memory
	case o.tries <= 0:
		// mark: a lock is left to the next call of this rank
		o.c.repairs.add(pendingRepair{o.rank, o.lock, o.latch.writer})
		o.err = fmt.Errorf("%w; it may hold up others until this rank calls again", o.lost)
	default:
		o.latch.shared.pause()
		o.latch.repair()
		return
	}
	o.latch.end(false)
}

// access posts the step of the latch, if there is one.
func (o *op) access(q rma.Queue) rma.Handle {
	l, w := &o.latch, o.c.window
	o.asked = l.step != done
	switch l.step {
	case done:
		return rma.NoHandle
	case await, drain, inspect:
		return o.post(q.Get(o.word, w, o.rank, o.lock))
	case join:
		return o.post(q.FetchAdd(w, o.rank, o.lock, 1))
	}
	return o.post(q.CompareAndSwap(w, o.rank, o.lock, l.old, l.new))
}

// pendingRepair is a lock that this rank may hold by mistake.
type pendingRepair struct {
	rank, lock int
	writer     bool
}

// pendingRepairs are the locks that this rank could not repair yet.
type pendingRepairs struct {
	mu   sync.Mutex
	list []pendingRepair
}

func (p *pendingRepairs) add(one pendingRepair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, one)
}

// take returns all of them. The caller repairs them, or adds them again.
func (p *pendingRepairs) take() []pendingRepair {
	p.mu.Lock()
	defer p.mu.Unlock()
	pending := p.list
	p.list = nil
	return pending
}

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q      rma.Queue
	ops    []op
	slots  core.Slots
	batch  *scratch // in work
	failed error    // the first one of its operations
	pace   pace
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// session returns one that nobody uses.
func (c *Cache) session() (*session, error) {
	s, ok, err := c.sessions.Take()
	if ok || err != nil {
		return s, err
	}
	// A put and marks may be in flight together with the get of the next group.
	q, err := c.job.NewQueue(c.cfg.Depth * (c.cfg.GroupBuckets + 2))
	if err != nil {
		return nil, err
	}
	s = &session{q: q, ops: make([]op, c.cfg.Depth),
		slots: core.NewSlots(c.cfg.Depth), pace: newPace(c.job)}
	group := c.cfg.GroupBuckets * c.bucketWords
	for i := range s.ops {
		buf, err := q.Alloc(group + c.bucketWords + 1)
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
		o := &s.ops[i]
		o.c, o.latch.job, o.latch.shared = c, c.job, &s.pace
		o.in, o.out, o.word = buf[:group], buf[group:group+c.bucketWords], buf[group+c.bucketWords:]
		o.key, o.value = c.keyIn(o.out), c.valueIn(o.out)
	}
	return s, nil
}

// Queued does the operations at of a call, or all for nil, through a queue. Errors of
// single operations are returned after all have ended.
func (b *scratch) Queued(at []int) error {
	c := b.c
	s, err := c.session()
	if err != nil {
		return err
	}
	before, depth := *s.q.Stats(), len(s.ops)
	if c.cfg.Mode == Coarse && b.kind != kindGet {
		depth = 1 // they would wait for each other
	}
	if err = s.repair(c.repairs.take()); err == nil {
		s.batch, s.pace.active = b, 0
		s.pace.progress()
		err = s.slots.Drive(context.Background(), s.q, len(b.results), at, depth, s)
	}
	b.counts.Queues.Add(s.q.Stats().Since(before))
	failed := s.failed
	s.batch, s.failed = nil, nil
	c.sessions.Give(s, err != nil)
	return errors.Join(err, failed)
}

// Turn has writes that need the same lock take turns: the lock of the first group of their keys.
func (s *session) Turn(i int) (lock uint64, ok bool) {
	b, c := s.batch, s.batch.c
	if c.cfg.Mode != Fine || b.kind == kindGet {
		return 0, false
	}
	hash := hashKey(b.word(i))
	group, _ := c.group(hash, 0)
	return (group + uint64(c.rankOf(hash))<<40) * rankFactor >> 32, true
}

// Start prepares a machine for an operation.
func (s *session) Start(machine, i int) rma.Op {
	o, b := &s.ops[machine], s.batch
	s.pace.active++
	b.keys.pack(o.key, i)
	if o.kind = b.kind; o.kind == kindPut {
		b.values.pack(o.value, i)
	}
	o.start(hashKey(o.key))
	return o
}

// Finish takes the answer of a machine.
func (s *session) Finish(machine, i int) {
	o := &s.ops[machine]
	s.pace.active--
	if o.err == nil {
		s.batch.settle(i, &o.search)
	} else if s.failed == nil {
		s.failed = o.err
	}
}

// repair tries once more to repair locks.
func (s *session) repair(pending []pendingRepair) error {
	s.pace.active = 1
	for _, p := range pending {
		o := &s.ops[0]
		o.rank, o.lock, o.latch.writer = p.rank, p.lock, p.writer
		o.err, o.phase, o.tries = nil, phaseEnd, 1
		o.latch.repair()
		if err := rma.Run(context.Background(), s.q, o); err != nil {
			return err
		}
	}
	return nil
}

// readAt gets a bucket in the memory of a rank, again where it is torn, and reports whether it
// holds a pair.
func (s *session) readAt(c *Cache, rank, at int, words []uint64) (bool, error) {
	in := s.ops[0].in[:c.bucketWords]
	for try := 0; ; try++ {
		get := s.q.Get(in, c.window, rank, at)
		err := errors.Join(s.q.Submit(), s.q.Wait(context.Background(), get))
		if err == nil {
			_, err = s.q.Value(get)
		}
		if err != nil {
			return false, rankError(rank, err)
		}
		copy(words, in)
		if found, again := c.holds(words, try); !again {
			return found, nil
		}
	}
}
