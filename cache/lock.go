package cache

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/rma"
)

// A lock is one word, of readers and one writer (MD 4.1):
//
//	| epoch (20) | owner (20) | readers (24) |
//	 63        44 43        24 23           0
//
// A reader adds 1; if there is an owner it takes that back and waits. A writer puts itself
// in as the owner, by a compare-and-swap that succeeds only where there is none, and
// then waits until the readers have released it. Readers that come meanwhile wait, so
// that readers cannot starve a writer.
//
// The owner has a number, its rank plus 1, so that others can find that it is dead. A rank that
// finds a dead owner begins a new epoch, in which no rank has the lock. A reader has no number. A writer whose
// readers do not release the lock, while some rank of the job is known to be dead, begins a new
// epoch after maxUnchanged reads. So does a rank that waits for an owner that is alive, where the
// lock is in memory of a dead rank: the owner may not reach that memory any more. A rank that
// releases a lock of an epoch that is over changes nothing.
//
// Where the link is cut, a request on a lock gets no answer, and its effect is unknown: the lock
// may have been taken, or not released. So its rank repairs the lock as soon as it reaches it
// again: it begins a new epoch if the lock is its own, or if the lock has readers. Other ranks
// that had the lock lose it.
//
// Nothing wrong is read because of a lock that was broken too early, or because a put of a
// dead writer arrives late: buckets have their checksums in every mode.
const (
	readerMask = 1<<24 - 1
	ownerShift = 24
	maxOwner   = 1<<20 - 2
	ownerMask  = (1<<20 - 1) << ownerShift
	epochUnit  = 1 << 44

	// maxUnchanged is how often a waiting rank reads a lock word that does not change, with
	// pauses of up to a millisecond, before it takes the holders of the lock for dead.
	maxUnchanged = 64
	// maxRepairTries is how often an operation tries to repair a lock. It then leaves that to
	// the next calls.
	maxRepairTries = 64
)

// request is an access to the word of a lock.
type request struct {
	kind     requestKind
	old, new uint64 // swap
}

type requestKind uint8

const (
	nothing requestKind = iota // the lock is taken, or released
	load
	swap
	join // add 1
)

type latchState uint8

const (
	joining latchState = iota
	undoing
	polling
	breaking
	swapping
	draining
	expelling
	leaving
	repairing
)

// latch takes and releases a lock. It returns the access that it wants, and gets the word that was
// there before. So it works through a queue and on memory alike.
type latch struct {
	job    rma.Job
	own    pace
	shared *pace // of the operations of a batch; nil for one alone
	writer bool
	rank   int // in whose memory the lock is

	state     latchState
	asked     request
	held      uint64 // the word when the lock was taken, or waited for
	unchanged int    // reads of a word that had not changed

	waits, broken uint64
}

func (l *latch) owner() uint64 { return uint64(l.job.Rank()+1) << ownerShift }

func (l *latch) ask(state latchState, r request) request {
	l.state, l.asked = state, r
	return r
}

func (l *latch) swap(state latchState, old, new uint64) request {
	return l.ask(state, request{kind: swap, old: old, new: new})
}

// acquire begins to take the lock.
func (l *latch) acquire() request {
	l.unchanged = 0
	return l.again(0)
}

// release begins to give the lock back.
func (l *latch) release() request { return l.swap(leaving, l.held, l.held-l.share()) }

// repair begins to make sure that this rank does not have the lock.
func (l *latch) repair() request { return l.ask(repairing, request{kind: load}) }

// share is what this rank has added to the word.
func (l *latch) share() uint64 {
	if l.writer {
		return l.owner()
	}
	return 1
}

// next gets the word that the last request found, and returns the next request.
func (l *latch) next(saw uint64) request {
	won := saw == l.asked.old
	switch l.state {
	case joining:
		l.held = saw + 1
		if saw&ownerMask == 0 {
			return l.taken(l.held)
		}
		// mark: a reader finds an owner and takes back its 1
		return l.swap(undoing, l.held, saw)
	case undoing:
		if won || l.revoked(saw) {
			return l.wait(polling, l.asked.new)
		}
		return l.swap(undoing, saw, saw-1)
	case breaking:
		if !won {
			return l.wait(polling, saw)
		}
		l.broken++
		// mark: the lock of a dead owner is broken
		return l.again(l.asked.new)
	case polling, swapping:
		switch {
		case won && l.state == swapping:
			l.held, l.unchanged = l.asked.new, 0
			return l.drain(l.held)
		case saw&ownerMask != 0:
			return l.wait(polling, saw)
		}
		return l.again(saw)
	case draining:
		return l.drain(saw)
	case expelling:
		if !won {
			return l.drain(saw)
		}
		l.broken++
		// mark: readers that do not go away are taken for dead
		return l.taken(l.asked.new)
	case repairing:
		switch {
		case won && l.asked.kind == swap:
			// mark: a lock that this rank may have is given back
		case l.writer && saw&ownerMask == l.owner(), !l.writer && saw&readerMask != 0:
			return l.swap(repairing, saw, nextEpoch(saw)) // this rank may still have the lock
		}
		return request{}
	}
	if won || l.revoked(saw) || l.writer && saw&ownerMask != l.owner() {
		return request{}
	}
	return l.swap(leaving, saw, saw-l.share())
}

// again tries once more, on a word without an owner.
func (l *latch) again(saw uint64) request {
	if l.writer {
		return l.swap(swapping, saw, saw|l.owner())
	}
	return l.ask(joining, request{kind: join})
}

func (l *latch) taken(word uint64) request {
	l.held = word
	l.pace().progress()
	return request{}
}

// revoked reports that another epoch has begun since the lock was taken.
func (l *latch) revoked(saw uint64) bool { return saw/epochUnit != l.held/epochUnit }

// drain waits for the readers of a lock that this rank owns.
func (l *latch) drain(saw uint64) request {
	switch {
	case l.revoked(saw) || saw&ownerMask != l.owner():
		// mark: somebody has broken the lock of this rank
		return l.acquire() // another rank took this one for dead
	case saw&readerMask == 0:
		return l.taken(saw)
	}
	return l.wait(draining, saw)
}

// wait reads the word again after a pause, polling for the end of an owner, or draining the lock of
// readers. Or it breaks the lock, if they are dead.
func (l *latch) wait(state latchState, saw uint64) request {
	l.waits++
	if saw != l.held {
		l.held, l.unchanged = saw, 0
	}
	if l.pace().pause() {
		l.unchanged++
		long, owner := l.unchanged > maxUnchanged, saw&ownerMask
		switch {
		case state == draining:
			if long && len(l.job.Failed()) > 0 {
				return l.swap(expelling, saw, nextEpoch(saw)|l.owner())
			}
		case owner == 0:
		case slices.Contains(l.job.Failed(), int(owner>>ownerShift)-1),
			long && slices.Contains(l.job.Failed(), l.rank):
			return l.swap(breaking, saw, nextEpoch(saw))
		}
	}
	return l.ask(state, request{kind: load})
}

// pace decides when the operations of a batch pause, all of which one goroutine drives. One
// that waits for a lock must not keep the others from going on, since they may have that very
// lock. So there is a pause only when all do nothing but wait, and then none of them has a lock.
type pace struct {
	backoff.Backoff
	active int  // operations in flight
	idle   int  // those that have waited since anything else was done
	slept  bool // the last round ended with a pause
}

func newPace(job rma.Job) pace { return pace{Backoff: backoff.Backoff{Job: job}} }

func (l *latch) pace() *pace {
	if l.shared != nil {
		return l.shared
	}
	return &l.own
}

// pause lets others go on, and reports whether time has passed.
func (p *pace) pause() bool {
	if p.idle++; p.idle >= p.active {
		p.idle, p.slept = 0, p.Pause()
	}
	return p.slept
}

// progress is called when an operation did something else than wait.
func (p *pace) progress() {
	p.idle, p.slept = 0, false
	p.Reset()
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

// nextEpoch is a word in which nobody has the lock.
func nextEpoch(word uint64) uint64 { return (word/epochUnit + 1) * epochUnit }

// do carries out a request on memory.
func (r request) do(word *uint64) uint64 {
	switch r.kind {
	case join:
		return atomic.AddUint64(word, 1) - 1
	case swap:
		for {
			if atomic.CompareAndSwapUint64(word, r.old, r.new) {
				return r.old
			}
			if saw := atomic.LoadUint64(word); saw != r.old {
				return saw
			}
		}
	}
	return atomic.LoadUint64(word)
}

// on runs requests on memory until there are no more.
func (l *latch) on(word *uint64, r request) {
	for r.kind != nothing {
		r = l.next(r.do(word))
	}
}
