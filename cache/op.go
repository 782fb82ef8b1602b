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
	then  phase   // after the lock is taken or released
	lock  int     // offset of the lock in use
	held  bool    // it is taken
	last  verdict // of the group examined last

	flights []rma.Handle
	marked  []rma.Handle // those of them that mark buckets, with what they expect
	expects []uint64
	saw     uint64 // what the last atomic on a lock saw
	lost    bool   // what was waited for last has failed
	tries   int    // to repair a lock
	err     error
	earlier error // before the lock was to be released

	in   rma.Buf // a group
	out  rma.Buf // a bucket, with the key and the value of the search
	word rma.Buf // of a lock
}

type phase uint8

const (
	phaseStart phase = iota
	phaseLock
	phaseUnlock
	phaseRepair
	phaseFetch
	phaseExamine
	phaseApplied
	phaseNext
	phaseBack
	phaseLate
	phaseFinish
	phaseEnd
)

// start readies the machine.
func (o *op) start(hash uint64) {
	o.begin(hash)
	o.latch.writer = o.kind != kindGet
	o.latch.waits, o.latch.broken = 0, 0
	o.phase, o.held, o.err = phaseStart, false, nil
}

// Step is one step of the protocol. Errors of the engine end the operation and are kept in
// err, so that the others of a batch go on.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if h := o.settle(q); h != rma.NoHandle {
		return h, nil
	}
	for {
		if o.err != nil && o.phase != phaseEnd && o.phase != phaseUnlock && o.phase != phaseRepair {
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
		o.held, o.earlier = false, o.err
		o.phase, o.then = phaseUnlock, phaseEnd
		o.latch.asked = request{} // so that the release begins
	case o.phase == phaseLock:
		o.startRepair(o.err, phaseEnd, maxRepairTries)
		if lostJoin.On() {
			o.phase = phaseEnd
		}
	default:
		o.phase = phaseEnd
	}
}

// settle takes results, and returns a handle to wait for while there is one.
func (o *op) settle(q rma.Queue) rma.Handle {
	o.lost = false
	for len(o.flights) > 0 {
		last := o.flights[len(o.flights)-1]
		if !q.Done(last) {
			return last
		}
		o.flights = o.flights[:len(o.flights)-1]
		word, err := q.Value(last)
		if err != nil {
			o.lost = true
			if o.err == nil {
				o.err = rankError(o.rank, err)
			}
		}
		o.saw = word
		if n := len(o.marked); n > 0 && o.marked[n-1] == last {
			if word == o.expects[n-1] {
				o.search.marked++
			} else {
				markTooLate.Hit()
			}
			o.marked, o.expects = o.marked[:n-1], o.expects[:n-1]
		}
	}
	return rma.NoHandle
}

func (o *op) post(h rma.Handle) rma.Handle {
	o.flights = append(o.flights, h)
	return h
}

// advance does what the phase asks for. It returns a handle to wait for, or NoHandle when
// there is more to do at once.
func (o *op) advance(q rma.Queue) rma.Handle {
	if o.phase != phaseLock && o.phase != phaseRepair {
		o.latch.shared.progress()
	}
	switch o.phase {
	case phaseStart:
		if o.t.mode == Coarse {
			return o.take(q, o.number, phaseFetch)
		}
		return o.enter(q)
	case phaseLock:
		return o.locking(q, o.latch.next(o.lockSaw()))
	case phaseUnlock:
		return o.unlocking(q)
	case phaseRepair:
		return o.repairing(q)
	case phaseFetch:
		o.phase = phaseExamine
		return o.post(q.Get(o.in, o.t.window, o.rank, o.t.offset(o.number)))
	case phaseExamine:
		return o.examineGroup(q)
	case phaseApplied:
		o.phase = phaseNext
		if o.t.mode == Fine {
			return o.give(q, phaseNext)
		}
	case phaseNext:
		switch {
		case o.last == more:
			return o.enter(q)
		case o.late.known && o.t.mode == Fine:
			lateWrite.Hit()
			return o.take(q, o.late.group, phaseBack)
		case o.late.known:
			lateWrite.Hit()
			o.phase = phaseLate
		default:
			o.phase = phaseFinish
		}
	case phaseBack:
		o.phase = phaseLate
		return o.post(q.Get(o.word, o.t.window, o.rank, o.bucketOf(o.late)))
	case phaseLate:
		return o.goBack(q)
	case phaseFinish:
		o.phase = phaseEnd
		if o.t.mode == Coarse {
			return o.give(q, phaseEnd)
		}
	}
	return rma.NoHandle
}

// enter goes to the group whose turn it is.
func (o *op) enter(q rma.Queue) rma.Handle {
	if o.t.mode == Fine {
		return o.take(q, o.number, phaseFetch)
	}
	o.phase = phaseFetch
	return rma.NoHandle
}

// examineGroup examines the group that has come.
func (o *op) examineGroup(q rma.Queue) rma.Handle {
	group := o.number
	if o.last = o.search.examine(o.in); o.last == again {
		o.phase = phaseFetch
		return rma.NoHandle
	}
	h := o.apply(q, group)
	o.phase = phaseApplied
	if h != rma.NoHandle && o.last == more && o.t.mode == LockFree {
		o.phase = phaseFetch // what was posted is waited for together with the next group
		return rma.NoHandle
	}
	return h
}

// goBack writes into a bucket of an earlier group. In Fine that had no lock meanwhile; if
// somebody else has taken the bucket the search begins anew.
func (o *op) goBack(q rma.Queue) rma.Handle {
	if o.t.mode == Fine && o.word[0] > invalid && !goesBlindly.On() {
		lateTaken.Hit()
		o.restart()
		o.last = more
		return o.give(q, phaseNext)
	}
	lateFree.Hit()
	o.write, o.late = o.late, spot{}
	o.phase = phaseApplied
	return o.apply(q, o.write.group)
}

// bucketOf is the offset of a bucket.
func (o *op) bucketOf(s spot) int { return o.t.offset(s.group) + s.bucket*o.t.bucketWords }

// apply posts the effects of examining a group.
func (o *op) apply(q rma.Queue, group uint64) rma.Handle {
	h := rma.NoHandle
	t := o.t
	if o.write.known {
		o.out[0] = o.seal
		h = o.post(q.Put(o.out, t.window, o.rank, o.bucketOf(o.write)))
	}
	for _, m := range o.marks[:o.n] {
		off := t.offset(group) + m.bucket*t.bucketWords
		if marksBlindly.On() {
			o.word[0] = invalid
			h = o.post(q.Put(o.word, t.window, o.rank, off))
			continue
		}
		h = o.post(q.CompareAndSwap(t.window, o.rank, off, m.seal, invalid))
		o.marked, o.expects = append(o.marked, h), append(o.expects, m.seal)
	}
	o.settled()
	return h
}

// take begins to take the lock of a group, or of the rank.
func (o *op) take(q rma.Queue, group uint64, then phase) rma.Handle {
	o.lock, o.phase, o.then = o.t.lockOf(group), phaseLock, then
	o.latch.rank = o.rank
	return o.locking(q, o.latch.acquire())
}

func (o *op) locking(q rma.Queue, r request) rma.Handle {
	if r.kind == nothing {
		o.held, o.phase = true, o.then
		return rma.NoHandle
	}
	return o.access(q, r)
}

// give begins to release the lock.
func (o *op) give(q rma.Queue, then phase) rma.Handle {
	o.phase, o.then, o.held, o.earlier = phaseUnlock, then, false, o.err
	return o.access(q, o.latch.release())
}

func (o *op) unlocking(q rma.Queue) rma.Handle {
	r := request{}
	switch {
	case o.latch.asked.kind == nothing:
		r = o.latch.release()
	case o.lost && !lostIsDone.On():
		o.startRepair(o.earlier, o.then, maxRepairTries)
		return rma.NoHandle
	default:
		r = o.latch.next(o.lockSaw())
	}
	if r.kind == nothing {
		o.phase = o.then
		return rma.NoHandle
	}
	return o.access(q, r)
}

// startRepair begins to repair the lock, of which a request got no answer. When that is done the
// operation goes on in a phase with the error that it had before.
func (o *op) startRepair(earlier error, then phase, tries int) {
	lockInDoubt.Hit()
	o.phase, o.then, o.earlier, o.tries = phaseRepair, then, earlier, tries
	o.latch.asked = request{}
}

func (o *op) repairing(q rma.Queue) rma.Handle {
	var r request
	switch {
	case o.latch.asked.kind == nothing:
		r = o.latch.repair()
	case !o.lost:
		r = o.latch.next(o.lockSaw())
	case o.died():
		o.phase = phaseEnd // the lock is gone with its memory
		return rma.NoHandle
	default:
		if o.tries--; o.tries <= 0 {
			o.phase = phaseEnd
			repairLeft.Hit()
			o.t.repairs.add(pendingRepair{o.rank, o.lock, o.latch.writer})
			o.err = fmt.Errorf("%w; it may hold up others until this rank calls again", o.err)
			return rma.NoHandle
		}
		o.latch.pause()
		r = o.latch.repair()
	}
	if r.kind == nothing {
		o.phase, o.err = o.then, o.earlier
		return rma.NoHandle
	}
	o.err = nil
	return o.access(q, r)
}

// retryRepair tries once more to repair a lock.
func (o *op) retryRepair(p pendingRepair) {
	o.phase, o.held, o.err = phaseRepair, false, nil
	o.rank, o.lock, o.latch.writer = p.rank, p.lock, p.writer
	o.startRepair(nil, phaseEnd, 1)
}

// died reports whether the last error says that the memory is gone.
func (o *op) died() bool {
	var gone *rma.RankError
	return errors.As(o.err, &gone)
}

// lockSaw is what the last request on the lock saw.
func (o *op) lockSaw() uint64 {
	if o.latch.asked.kind == load {
		return o.word[0]
	}
	return o.saw
}

// access posts a request on the lock.
func (o *op) access(q rma.Queue, r request) rma.Handle {
	switch r.kind {
	case load:
		return o.post(q.Get(o.word, o.t.window, o.rank, o.lock))
	case join:
		return o.post(q.FetchAdd(o.t.window, o.rank, o.lock, 1))
	}
	return o.post(q.CompareAndSwap(o.t.window, o.rank, o.lock, r.old, r.new))
}
