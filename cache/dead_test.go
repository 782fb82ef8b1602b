package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

var errPlanned = errors.New("this rank dies as planned")

// TestDeadOwner: a rank dies with the lock of a bucket, as a writer or as a reader. The other
// one reads and writes there all the same, and reports that it has broken a lock.
func TestDeadOwner(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		for _, mode := range []Mode{Fine, Coarse} {
			for _, writer := range []bool{true, false} {
				name := fmt.Sprintf("hidden=%v/%v/writer=%v", hidden, mode, writer)
				t.Run(name, func(t *testing.T) { deadOwner(t, hidden, mode, writer) })
			}
		}
	}
}

func deadOwner(t *testing.T, hidden bool, mode Mode, writer bool) {
	cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 16, Choices: 1, Mode: mode}
	err := local.RunWith(local.Options{Hidden: hidden}, 2, func(job rma.Job) error {
		c, err := New(context.Background(), job, cfg)
		if err != nil {
			return err
		}
		if job.Rank() == 1 {
			return errors.Join(dieWithLocks(c, writer), errPlanned)
		}
		return inherit(c)
	})
	if !errors.Is(err, errPlanned) {
		t.Error(err)
	}
}

// dieWithLocks takes the locks of group 0 of all ranks.
func dieWithLocks(c *Cache, writer bool) error {
	cells, err := rma.NewCells(c.job, c.window)
	if err != nil {
		return err
	}
	ctx, lock := context.Background(), c.lockOf(0)
	for rank := range c.job.Size() {
		l := latch{job: c.job, writer: writer}
		for l.acquire(); l.step != done; {
			saw, err := uint64(0), error(nil)
			if l.step == join {
				saw, err = cells.Add(ctx, rank, lock, 1)
			} else {
				_, err = cells.CompareAndSwap(ctx, rank, lock, l.old, l.new)
			}
			if err != nil {
				return err
			}
			l.next(saw)
		}
	}
	return errors.Join(cells.Close(), c.job.Barrier(ctx))
}

// inherit works on the locks that a dead rank has left.
func inherit(c *Cache) error {
	if err := c.job.Barrier(context.Background()); err != nil {
		return err
	}
	value := make([]byte, 8)
	for i := range uint64(20) {
		key := spread(i+1, 8)
		if _, err := c.Put(key, spread(i, 8)); err != nil {
			return err
		}
		found, err := c.Get(key, value)
		if number, _ := gather(value); !found || number != i || err != nil {
			return fmt.Errorf("key %d is %v, with value %d: %v", i, found, number, err)
		}
	}
	if s := c.Stats(); s.LocksBroken != 2 || s.LockWaits == 0 {
		return fmt.Errorf("%d locks are said to be broken after %d waits, not 2",
			s.LocksBroken, s.LockWaits)
	}
	return errors.Join(c.checkPart(context.Background(), 0), c.checkPart(context.Background(), 1))
}

// TestLatch: whoever was taken for dead and comes back changes nothing any more.
func TestLatch(t *testing.T) {
	jobs := []rma.Job{fakeJob{rank: 0}, fakeJob{rank: 1}}
	for _, writer := range []bool{true, false} {
		word := uint64(0)
		late := latch{job: jobs[0], writer: writer}
		late.lock(&word)
		word = nextEpoch(word) // somebody breaks the lock
		other := latch{job: jobs[1], writer: true}
		other.lock(&word)
		taken := word
		late.unlock(&word)
		if word != taken {
			t.Errorf("writer=%v: a release of the last epoch made %#x of %#x", writer, word, taken)
		}
		other.unlock(&word)
		if word != nextEpoch(0) {
			t.Errorf("writer=%v: the lock ends as %#x", writer, word)
		}
	}
}

// fakeJob is a rank that nobody else knows.
type fakeJob struct {
	rma.Job
	rank int
}

func (j fakeJob) Rank() int     { return j.rank }
func (j fakeJob) Failed() []int { return nil }

// TestLatchLeavesTheLiving: a rank that waits breaks a lock, however long it waits, only if a rank
// is known to be dead that may have it: any rank where readers have it, and else the one in whose
// memory it is.
func TestLatchLeavesTheLiving(t *testing.T) {
	const living, dead = 1, 2
	owner := uint64(living+1) << ownerShift
	for _, c := range []struct {
		name     string
		writer   bool
		word     uint64 // before the lock is asked for
		others   []int  // ranks whose death does not matter
		expected uint64 // the word when the lock was broken and taken
	}{
		{"a writer waits for a reader", true, 1, nil, epochUnit | 1<<ownerShift},
		{"a writer waits for an owner", true, owner, []int{dead + 1}, epochUnit | 1<<ownerShift},
		{"a reader waits for an owner", false, owner, []int{dead + 1}, epochUnit | 1},
	} {
		job := &patientJob{}
		l := latch{job: job, own: newPace(job), writer: c.writer, rank: dead}
		word := c.word
		l.acquire()
		for _, job.failed = range [][]int{nil, c.others} {
			for range 10 * maxUnchanged {
				l.next(l.do(&word))
			}
			if kept := word&c.word == c.word; l.broken > 0 || l.step == done || !kept {
				t.Errorf("%s, and %v is dead: the word is %#x after %d waits", c.name, job.failed,
					word, l.waits)
			}
		}
		job.failed = []int{dead}
		if l.run(&word); l.broken != 1 || word != c.expected {
			t.Errorf("%s, and %d is dead: the word is %#x", c.name, dead, word)
		}
	}
}

// TestLatchReadersComeAndGo: readers whose number changes while a writer waits are not expelled,
// though a rank is dead.
func TestLatchReadersComeAndGo(t *testing.T) {
	job := &patientJob{failed: []int{1}}
	l := latch{job: job, own: newPace(job), writer: true}
	word := uint64(1)
	l.acquire()
	for i := range 10 * maxUnchanged {
		if l.step == drain {
			word ^= 3 // a reader, or two
		}
		l.next(l.do(&word))
		if readers := word & readerMask; l.broken > 0 || l.step == done {
			t.Fatalf("%d readers are expelled in round %d", readers, i)
		}
	}
}

// patientJob is rank 0, and waits without sleeping.
type patientJob struct {
	rma.Job
	failed []int
}

func (*patientJob) Rank() int       { return 0 }
func (*patientJob) Sleep(int64)     {}
func (j *patientJob) Failed() []int { return j.failed }
