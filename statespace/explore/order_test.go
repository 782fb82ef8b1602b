package explore

import (
	"errors"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// spyJob is a job whose queues report what they are about to do.
type spyJob struct {
	rma.Job
	onGet  func(off int)
	onSwap func()
}

func (j *spyJob) NewQueue(depth int) (rma.Queue, error) {
	q, err := j.Job.NewQueue(depth)
	return spyQueue{q, j}, err
}

type spyQueue struct {
	rma.Queue
	job *spyJob
}

func (q spyQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	if q.job.onGet != nil {
		q.job.onGet(off)
	}
	return q.Queue.Get(dst, w, rank, off)
}

func (q spyQueue) CompareAndSwap(w rma.Window, rank, off int, old, newWord uint64) rma.Handle {
	if f := q.job.onSwap; f != nil {
		q.job.onSwap = nil
		f()
	}
	return q.Queue.CompareAndSwap(w, rank, off, old, newWord)
}

// A block that another rank claims between the load of its header and the swap is
// not claimed a second time.
func TestClaimLost(t *testing.T) {
	job := &spyJob{Job: local.SingleWith(local.Options{Hidden: true})}
	defer job.Close()
	x, err := newExchange(t.Context(), job, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	rival := *x
	if rival.cells, err = rma.NewCells(job.Job, x.window); err != nil {
		t.Fatal(err)
	}
	b, won, lost := block{1, 2, 3}, block{}, block{}
	if err := x.offer(t.Context(), 0, b); err != nil {
		t.Fatal(err)
	}
	job.onSwap = func() {
		if ok, err := rival.claim(t.Context(), &won); !ok || err != nil {
			t.Errorf("the rival got nothing: %v", err)
		}
	}
	if ok, err := x.claim(t.Context(), &lost); ok || err != nil || len(won) != 3 {
		t.Errorf("claimed what the rival has: %v, %v", ok, err)
	}
}

// All done words are read before any created word: what is created between the two
// readings keeps the level open.
func TestOverReadsDoneFirst(t *testing.T) {
	err := local.RunWith(local.Options{Hidden: true}, 3, func(job rma.Job) error {
		var gets []int
		spy := &spyJob{Job: job, onGet: func(off int) { gets = append(gets, off) }}
		c, err := newControl(t.Context(), spy, 1, 2)
		if err != nil {
			return err
		}
		_, err = c.open(t.Context())
		d, n := cellDone, cellCreated
		if want := []int{d, d, d, n, n, n}; !slices.Equal(gets, want) {
			t.Errorf("read words %v, want %v", gets, want)
		}
		return errors.Join(err, job.Barrier(t.Context()))
	})
	if err != nil {
		t.Error(err)
	}
}

// The lowest level counts, whichever rank met it, and then the lowest rank.
func TestFirstWitness(t *testing.T) {
	for _, c := range []struct {
		levels [3]uint64 // plus 1; 0 for none
		rank   int
		level  uint64
	}{
		{[3]uint64{}, -1, 0},
		{[3]uint64{0, 0, 1}, 2, 0},
		{[3]uint64{10, 5, 8}, 1, 4},
		{[3]uint64{5, 10, 0}, 0, 4},
		{[3]uint64{0, 6, 6}, 1, 5},
	} {
		err := local.Run(3, func(job rma.Job) error {
			ctl, err := newControl(t.Context(), job, 1, 2)
			if err != nil {
				return err
			}
			for _, target := range []int{Deadlock, 1} {
				store(t, ctl, uint64(ctl.witness(target)), c.levels[job.Rank()])
				store(t, ctl, uint64(ctl.witness(target)+1), uint64(job.Rank()))
			}
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
			s := &search{job: job, control: ctl}
			for _, target := range []int{Deadlock, 1} {
				at, err := s.firstWitness(t.Context(), target)
				switch {
				case err != nil:
					t.Error(err)
				case at == nil && c.rank >= 0, at != nil && *at != place{uint64(c.rank), c.level}:
					t.Errorf("levels %v: %+v", c.levels, at)
				}
			}
			if at, err := s.firstWitness(t.Context(), 0); at != nil || err != nil {
				t.Errorf("levels %v: %+v for what none has found, %v", c.levels, at, err)
			}
			return job.Barrier(t.Context())
		})
		if err != nil {
			t.Error(err)
		}
	}
}
