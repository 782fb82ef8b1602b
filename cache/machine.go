package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
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
	phaseGroup   phase = iota // lock a group, and get it
	phaseExamine              // examine it, and post the effects
	phaseNext                 // unlock it; go to the next one, or end
	phaseEnd
)

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
			o.countWaits(&o.latch)
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
		if last.expects != 0 && err == nil {
			o.wasMarked(word == last.expects)
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
	switch o.phase {
	case phaseGroup:
		if o.c.cfg.Mode != LockFree && !o.latch.taken {
			o.lock, o.latch.rank = o.c.lockOf(o.group), o.rank
			o.latch.acquire()
			break
		}
		o.phase = phaseExamine
		return o.post(q.Get(o.in, o.c.window, o.rank, o.c.offset(o.group)))
	case phaseExamine:
		o.last = o.examine(o.in)
		o.apply(q)
		switch o.last {
		case rest:
		case again:
			o.phase = phaseGroup
		default:
			o.phase = phaseNext
			// Without locks the next group is got at the same time.
			if n := len(o.posted); n > 0 && (o.last == over || o.latch.taken) {
				return o.posted[n-1].handle
			}
		}
	case phaseNext:
		switch {
		case o.latch.taken && (o.last == over || o.c.cfg.Mode == Fine):
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
func (o *op) apply(q rma.Queue) {
	if o.write {
		o.out[0] = o.seal
		if o.c.keyAt > 1 {
			o.out[1] = o.expiry
		}
		o.post(q.Put(o.out, o.c.window, o.rank, o.at))
	}
	if o.expect != 0 {
		h := q.CompareAndSwap(o.c.window, o.rank, o.marked, o.expect, invalid)
		o.posted = append(o.posted, posted{h, o.expect})
	}
	o.write, o.expect = false, 0
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
		o.c.repairs.Lock()
		o.c.repairs.list = append(o.c.repairs.list, repair{o.rank, o.lock, o.latch.writer})
		o.c.repairs.Unlock()
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

// repair is a lock that this rank may hold by mistake.
type repair struct {
	rank, lock int
	writer     bool
}

// repairs are the locks that this rank could not repair yet.
type repairs struct {
	sync.Mutex
	list []repair
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
	if err = s.repair(c); err == nil {
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
	o.now, o.expiry = b.now, b.expiries.at(i)
	o.address(hashKey(o.key))
	o.latch.writer, o.latch.taken = o.kind != kindGet, false
	o.phase, o.err = phaseGroup, nil
	return o
}

// Finish takes the answer of a machine.
func (s *session) Finish(machine, i int) {
	o := &s.ops[machine]
	s.pace.active--
	if o.err != nil {
		s.failed = cmp.Or(s.failed, o.err)
		return
	}
	b := s.batch
	b.counts.count(&o.search)
	b.results[i], b.single = o.result, o.outcome
	if o.kind == kindGet && o.matched {
		copy(b.values.at(i), core.BytesOf(o.value))
	}
}

// repair tries once more to repair the locks of earlier calls.
func (s *session) repair(c *Cache) error {
	c.repairs.Lock()
	pending := c.repairs.list
	c.repairs.list = nil
	c.repairs.Unlock()
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

// read copies words of a rank, from memory or through a queue.
func (c *Cache) read(rank, at int, words []uint64) error {
	if there := c.batches.Here(rank); there != nil {
		memory.LoadWords(words, there[at:at+len(words)])
		return nil
	}
	s, err := c.session()
	if err != nil {
		return err
	}
	in := s.ops[0].in[:len(words)]
	if err = s.await(context.Background(), s.q.Get(in, c.window, rank, at)); err != nil {
		err = rankError(rank, err)
	}
	copy(words, in)
	c.sessions.Give(s, err != nil)
	return err
}

// await waits for an operation that is alone on the queue.
func (s *session) await(ctx context.Context, h rma.Handle) error {
	if err := errors.Join(s.q.Submit(), s.q.Wait(ctx, h)); err != nil {
		return err
	}
	_, err := s.q.Value(h)
	return err
}
