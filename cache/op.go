package cache

import (
	"errors"
	"fmt"

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

	phase phase
	then  phase   // after the lock is taken, released or repaired
	ask   request // to the lock, that begins a phase
	lock  int     // offset of the lock in use
	held  bool    // it is taken
	last  verdict // of the group examined last

	posted []posted
	saw    uint64 // what the last atomic on a lock saw
	lost   error  // of what was waited for last
	tries  int    // to repair a lock
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
	phaseLock phase = iota
	phaseFetch
	phaseExamine
	phaseNext
	phaseBack
	phaseLate

	phaseUnlock // an operation that has failed goes through these alone
	phaseRepair
	phaseEnd
)

// start readies the machine.
func (o *op) start(hash uint64) {
	o.begin(hash)
	o.latch.writer = o.kind != kindGet
	o.latch.waits, o.latch.broken = 0, 0
	o.phase, o.held, o.last, o.err = phaseNext, false, more, nil
	if o.c.cfg.Mode == Coarse {
		o.take(o.number, phaseNext)
	}
}

// Step is one step of the protocol. Errors of the engine end the operation and are kept in
// err, so that the others of a batch go on.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if h := o.settle(q); h != rma.NoHandle {
		return h, nil
	}
	for {
		if o.err != nil && o.phase < phaseUnlock {
			o.fail()
		}
		if o.phase == phaseEnd {
			o.waits += o.latch.waits
			o.broken += o.latch.broken
			return rma.NoHandle, nil
		}
		if h := o.advance(q); h != rma.NoHandle {
			return h, nil
		}
	}
}

// fail ends the operation after an error, and releases a lock if it has one, or may have.
func (o *op) fail() {
	switch {
	case o.held:
		o.give()
	case o.phase == phaseLock:
		o.repair(maxRepairTries)
	default:
		o.phase = phaseEnd
	}
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
			if o.err == nil && o.phase < phaseUnlock {
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
	if o.phase != phaseLock && o.phase != phaseRepair {
		o.latch.shared.progress()
	}
	switch o.phase {
	case phaseLock, phaseUnlock, phaseRepair:
		return o.locking(q)
	case phaseFetch:
		o.phase = phaseExamine
		return o.post(q.Get(o.in, o.c.window, o.rank, o.c.offset(o.number)))
	case phaseExamine:
		return o.examineGroup(q)
	case phaseNext:
		o.proceed()
	case phaseBack:
		o.phase = phaseLate
		at := o.c.bucketOffset(o.late.group, o.late.bucket)
		return o.post(q.Get(o.word, o.c.window, o.rank, at))
	case phaseLate:
		return o.goBack(q)
	}
	return rma.NoHandle
}

// proceed goes to the next group, or back to an earlier one, or ends the operation.
func (o *op) proceed() {
	fine := o.c.cfg.Mode == Fine
	switch {
	case o.held && (fine || o.last == over && !o.late.known):
		o.give()
	case o.last == more && fine:
		o.take(o.number, phaseFetch)
	case o.last == more:
		o.phase = phaseFetch
	case !o.late.known:
		o.phase = phaseEnd
	default:
		// mark: a put goes back to an earlier group
		if o.phase = phaseLate; fine {
			o.take(o.late.group, phaseBack)
		}
	}
}

// examineGroup examines the group that has come.
func (o *op) examineGroup(q rma.Queue) rma.Handle {
	group := o.number
	if o.last = o.examine(o.in); o.last == again {
		o.phase = phaseFetch
		return rma.NoHandle
	}
	h := o.apply(q, group)
	o.phase = phaseNext
	if o.last == more && o.c.cfg.Mode == LockFree {
		return rma.NoHandle // what was posted is waited for together with the next group
	}
	return h
}

// goBack writes into a bucket of an earlier group. In Fine that had no lock meanwhile; if
// somebody else has taken the bucket the search begins anew.
func (o *op) goBack(q rma.Queue) rma.Handle {
	o.phase = phaseNext
	if o.c.cfg.Mode == Fine && o.word[0] > invalid {
		// mark: a put goes back to a bucket that is taken by then
		o.restart()
		o.last = more
		return rma.NoHandle
	}
	// mark: a put that goes back to a bucket is about to write
	o.write, o.late = o.late, spot{}
	return o.apply(q, o.write.group)
}

// apply posts the effects of examining a group.
func (o *op) apply(q rma.Queue, group uint64) rma.Handle {
	h := rma.NoHandle
	c := o.c
	if o.write.known {
		o.out[0] = o.seal
		h = o.post(q.Put(o.out, c.window, o.rank, c.bucketOffset(o.write.group, o.write.bucket)))
	}
	for _, m := range o.marks[:o.n] {
		off := c.bucketOffset(group, m.bucket)
		h = q.CompareAndSwap(c.window, o.rank, off, m.seal, invalid)
		o.posted = append(o.posted, posted{h, m.seal})
	}
	o.settled()
	return h
}

// take begins to take the lock of a group, or of the rank.
func (o *op) take(group uint64, then phase) {
	o.lock, o.phase, o.then = o.c.lockOf(group), phaseLock, then
	o.latch.rank = o.rank
	o.ask = o.latch.acquire()
}

// give begins to release the lock.
func (o *op) give() {
	o.phase, o.then, o.held = phaseUnlock, phaseNext, false
	o.ask = o.latch.release()
}

// repair begins to repair the lock, of which a request got no answer.
func (o *op) repair(tries int) {
	// mark: a request on a lock gets no answer
	o.phase, o.then, o.tries = phaseRepair, phaseNext, tries
	o.ask = o.latch.repair()
}

// retryRepair readies the machine to try once more to repair a lock, and nothing else.
func (o *op) retryRepair(p pendingRepair) {
	o.held, o.err = false, nil
	o.rank, o.lock, o.latch.writer = p.rank, p.lock, p.writer
	o.repair(1)
	o.then = phaseEnd
}

// locking posts the next request on the lock, or goes on when there is none.
func (o *op) locking(q rma.Queue) rma.Handle {
	r := o.ask
	o.ask = request{}
	switch {
	case r.kind != nothing:
	case o.lost == nil:
		if o.latch.asked.kind == load {
			o.saw = o.word[0]
		}
		r = o.latch.next(o.saw)
	case o.phase == phaseUnlock:
		o.repair(maxRepairTries)
		return rma.NoHandle
	case errors.As(o.lost, new(*rma.RankError)):
		o.phase, o.err = phaseEnd, o.lost // the lock is gone with its memory
		return rma.NoHandle
	default:
		if o.tries--; o.tries <= 0 {
			o.phase = phaseEnd
			// mark: a lock is left to the next call of this rank
			o.c.repairs.add(pendingRepair{o.rank, o.lock, o.latch.writer})
			o.err = fmt.Errorf("%w; it may hold up others until this rank calls again", o.lost)
			return rma.NoHandle
		}
		o.latch.shared.pause()
		r = o.latch.repair()
	}
	if r.kind == nothing {
		o.held, o.phase = o.phase == phaseLock, o.then
		return rma.NoHandle
	}
	return o.access(q, r)
}

// access posts a request on the lock.
func (o *op) access(q rma.Queue, r request) rma.Handle {
	switch r.kind {
	case load:
		return o.post(q.Get(o.word, o.c.window, o.rank, o.lock))
	case join:
		return o.post(q.FetchAdd(o.c.window, o.rank, o.lock, 1))
	}
	return o.post(q.CompareAndSwap(o.c.window, o.rank, o.lock, r.old, r.new))
}
