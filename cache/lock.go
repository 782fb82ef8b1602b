package cache

import (
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
)

// A lock is one word, of readers and one writer (MD 4.1):
//
//	| epoch (20) | owner (20) | readers (24) |
//	 63        44 43        24 23           0
//
// The owner has a number, its rank plus 1, so that others can find that it is dead. In a new epoch
// nobody has the lock. DESIGN.md has the steps.
const (
	readerMask = 1<<24 - 1
	ownerShift = 24
	maxOwner   = 1<<20 - 2
	ownerMask  = (1<<20 - 1) << ownerShift
	epochUnit  = 1 << 44

	// maxUnchanged is how often a waiting rank reads a lock word that does not change, with
	// pauses of up to a millisecond, before it takes the holders of the lock for dead.
	maxUnchanged = 64
)

// step is an access to the word of a lock.
type step uint8

const (
	done    step = iota // nothing is to be done
	join                // a reader adds 1
	back                // a reader takes its 1 back, since there is an owner
	enter               // a writer makes itself the owner
	await               // read, until there is no owner
	drain               // the owner reads, until there are no readers
	breaks              // a new epoch, since the owner is dead
	expel               // a new epoch, of this owner, since readers are dead
	leave               // take out what join or enter has put in
	inspect             // read whether this rank may have the lock
	revoke              // a new epoch, since it may
)

// latch takes, releases and repairs a lock. It names a step, and is told which word was there
// before. So it works through a queue and on memory alike.
type latch struct {
	job    rma.Job
	own    pace
	shared *pace // of the operations of a batch; nil for one alone
	writer bool
	rank   int // in whose memory the lock is

	step      step
	old, new  uint64 // of a compare-and-swap
	taken     bool
	word      uint64 // when the lock was taken, or waited for
	unchanged int    // reads of a word that had not changed

	waits, broken uint64
}

// acquire begins to take the lock.
func (l *latch) acquire() {
	l.unchanged = 0
	l.try(0)
}

// release begins to give the lock back.
func (l *latch) release() { l.swap(leave, l.word, l.word-l.share()) }

// repair begins to make sure that this rank does not have the lock.
func (l *latch) repair() { l.step = inspect }

// repairs reports whether that is being done.
func (l *latch) repairs() bool { return l.step >= inspect }

// try joins or enters a lock whose word has no owner.
func (l *latch) try(saw uint64) {
	if l.step = join; l.writer {
		l.swap(enter, saw, saw|l.owner())
	}
}

func (l *latch) swap(s step, old, new uint64) { l.step, l.old, l.new = s, old, new }

func (l *latch) owner() uint64 { return uint64(l.job.Rank()+1) << ownerShift }

// share is what this rank has added to the word.
func (l *latch) share() uint64 {
	if l.writer {
		return l.owner()
	}
	return 1
}

// next is told the word that the step has found, and decides about the next step.
func (l *latch) next(saw uint64) {
	won, owned := saw == l.old, saw&ownerMask != 0
	switch l.step {
	case join:
		if l.word = saw + 1; !owned {
			l.end(true)
			return
		}
		// mark: a reader finds an owner and takes back its 1
		l.swap(back, l.word, saw)
	case enter, await:
		switch {
		case won && l.step == enter:
			l.word, l.unchanged = l.new, 0
			l.drain(l.word)
		case owned:
			l.wait(await, saw)
		default:
			l.try(saw)
		}
	case drain:
		l.drain(saw)
	case breaks:
		if !won {
			l.wait(await, saw)
			return
		}
		l.broken++
		// mark: the lock of a dead owner is broken
		l.try(l.new)
	case expel:
		if !won {
			l.drain(saw)
			return
		}
		l.broken++
		// mark: readers that do not go away are taken for dead
		l.word = l.new
		l.end(true)
	case back, leave:
		switch {
		case !won && !l.revoked(saw) && !(l.writer && saw&ownerMask != l.owner()):
			l.swap(l.step, saw, saw-l.share())
		case l.step == back:
			l.wait(await, l.new)
		default:
			l.end(false)
		}
	case inspect, revoke:
		switch {
		case won && l.step == revoke:
			// mark: a lock that this rank may have is given back
			l.end(false)
		case l.writer && saw&ownerMask == l.owner(), !l.writer && saw&readerMask != 0:
			l.swap(revoke, saw, nextEpoch(saw))
		default:
			l.end(false)
		}
	}
}

// end ends the steps.
func (l *latch) end(taken bool) {
	if l.step, l.taken = done, taken; taken {
		l.pace().progress()
	}
}

// revoked reports that another epoch has begun since the lock was taken.
func (l *latch) revoked(saw uint64) bool { return saw/epochUnit != l.word/epochUnit }

// drain waits for the readers of a lock that this rank owns.
func (l *latch) drain(saw uint64) {
	switch {
	case l.revoked(saw) || saw&ownerMask != l.owner():
		// mark: somebody has broken the lock of this rank
		l.acquire()
	case saw&readerMask == 0:
		l.word = saw
		l.end(true)
	default:
		l.wait(drain, saw)
	}
}

// wait reads the word again after a pause, to await the end of an owner or to drain the lock of
// readers. Or it breaks the lock, if they are dead.
func (l *latch) wait(s step, saw uint64) {
	l.step = s
	l.waits++
	if saw != l.word {
		l.word, l.unchanged = saw, 0
	}
	if !l.pace().pause() {
		return
	}
	l.unchanged++
	failed, owner := l.job.Failed(), int(saw&ownerMask>>ownerShift)-1
	long := l.unchanged > maxUnchanged && len(failed) > 0
	switch {
	case s == drain && long:
		l.swap(expel, saw, nextEpoch(saw)|l.owner())
	case s == drain || owner < 0:
	case slices.Contains(failed, owner), long && slices.Contains(failed, l.rank):
		l.swap(breaks, saw, nextEpoch(saw))
	}
}

// nextEpoch is a word in which nobody has the lock.
func nextEpoch(word uint64) uint64 { return (word/epochUnit + 1) * epochUnit }

// lock and unlock take every step on memory.
func (l *latch) lock(word *uint64) {
	l.acquire()
	l.run(word)
}

func (l *latch) unlock(word *uint64) {
	l.release()
	l.run(word)
}

func (l *latch) run(word *uint64) {
	for l.step != done {
		l.next(l.do(word))
	}
}

// do takes the step on memory.
func (l *latch) do(word *uint64) uint64 {
	switch l.step {
	case join:
		return atomic.AddUint64(word, 1) - 1
	case await, drain, inspect:
		return atomic.LoadUint64(word)
	}
	for !atomic.CompareAndSwapUint64(word, l.old, l.new) {
		if saw := atomic.LoadUint64(word); saw != l.old {
			return saw
		}
	}
	return l.old
}

// pace decides when the operations of a batch pause, all of which one goroutine drives. One
// that waits for a lock must not keep the others from going on, since they may have that very
// lock. So there is a pause only when all do nothing but wait, and then none of them has a lock.
type pace struct {
	backoff.Backoff
	active int  // operations in flight
	idle   int  // how many have waited since anything else was done
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
