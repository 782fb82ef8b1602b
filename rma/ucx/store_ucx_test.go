//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
)

// smallStore has room for the longest request, and for little else.
const smallStore = 2*8*rma.MaxShipWords + 1<<10

// storing has ranks with little memory for requests serve a window.
func storing(t *testing.T, ranks int, fn func(job rma.Job, w *window) error) {
	t.Helper()
	err := together(t, ranks, ranks, true, overrides{transports: transports, atomics: coherent,
		store: smallStore}, func(job rma.Job) error {
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "served", Words: 64})
		if err != nil {
			return err
		}
		return fn(job, w.(*window))
	})
	if err != nil {
		t.Error(err)
	}
}

// isEmpty waits until nothing of the memory for requests is in use.
func isEmpty(t *testing.T, j *member) error {
	_, err := awaitStored(t, j, func(s stored) bool { return s.used == 0 && s.waiting == 0 })
	return err
}

// awaitStored waits until a rank has stored what is wanted.
func awaitStored(t *testing.T, j *member, is func(s stored) bool) (stored, error) {
	ctx, cancel := patience.WithTimeout(t.Context(), hangGuard/2)
	defer cancel()
	var pace backoff.Backoff
	for {
		switch s := j.stored(); {
		case !s.sound || ctx.Err() != nil:
			return s, fmt.Errorf("rank %d has stored %+v", j.rank, s)
		case is(s):
			return s, nil
		}
		pace.Pause()
	}
}

// All ranks ship to all, and no rank has memory for what comes: it sets its memory aside for one
// request after the other, and all are answered.
func TestStore(t *testing.T) {
	storing(t, 6, func(job rma.Job, w *window) error {
		j := job.(*member)
		answer := rmatest.Mixer(job.Rank())
		w.Serve(func(from int, request, answers []uint64) int {
			if s := j.stored(); !s.sound {
				t.Errorf("rank %d has stored %+v", j.rank, s)
			}
			return answer(from, request, answers)
		})
		return errors.Join(shipTogether(t, job, w, 3, 10), isEmpty(t, j), job.Barrier(t.Context()))
	})
}

// A rank that answers nothing for a while stores what it has memory for, and all else waits. What
// waits of a rank that is lost is forgotten.
func TestStoreFull(t *testing.T) {
	const ranks, each, words, fit = 4, 4, 4000, 4
	for _, loses := range []bool{false, true} {
		var full sync.WaitGroup
		full.Add(1)
		storing(t, ranks, func(job rma.Job, w *window) error {
			j, last := job.(*member), job.Rank() == ranks-1
			proceed := make(chan struct{})
			w.Serve(func(from int, request, answer []uint64) int {
				<-proceed
				return rmatest.Mixer(0)(from, request, answer)
			})
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
			if last && loses {
				return askAndDie(t, j, w, each, words, &full)
			}
			if job.Rank() > 0 {
				return askLong(t, job, w, each, words)
			}
			s, err := awaitStored(t, j, func(s stored) bool {
				return s.waiting == (ranks-1)*each-fit
			})
			if s.used < fit*8*words {
				t.Errorf("loses %v: stored %+v", loses, s)
			}
			if full.Done(); loses {
				for len(job.Failed()) == 0 {
					runtime.Gosched()
				}
			}
			close(proceed)
			return errors.Join(err, isEmpty(t, j))
		})
	}
}

// askAndDie ships to rank 0 and is lost when that has stored what it can.
func askAndDie(t *testing.T, j *member, w rma.Window, n, words int, full *sync.WaitGroup) error {
	q, _, _, err := shipLong(j, w, n, words)
	if err != nil {
		return err
	}
	full.Wait()
	j.tree.Close() // as its death would
	return errors.Join(j.Close(), q.Close())
}

// shipLong ships long requests to rank 0.
func shipLong(job rma.Job, w rma.Window, n, words int) (q rma.Carrier, answers []rma.Buf,
	handles []rma.Handle, err error) {
	queue, err := job.NewQueue(n)
	if err != nil {
		return nil, nil, nil, err
	}
	q = queue.(rma.Carrier)
	for i := range n {
		buf, err := q.Alloc(words + 1)
		if err != nil {
			return nil, nil, nil, err
		}
		buf[0], buf[words-1] = 1, uint64(i)
		answers = append(answers, buf[words:])
		handles = append(handles, q.Ship(buf[:words], buf[words:], w, 0))
	}
	return q, answers, handles, q.Submit()
}

// askLong ships long requests to rank 0 and verifies the answers.
func askLong(t *testing.T, job rma.Job, w rma.Window, n, words int) error {
	q, answers, handles, err := shipLong(job, w, n, words)
	if err != nil {
		return err
	}
	for i, h := range handles {
		err = errors.Join(err, q.Wait(t.Context(), h))
		_, failed := q.Value(h)
		if want := rmatest.Mixed(job.Rank(), 0, 0, 1); failed != nil || answers[i][0] != want {
			err = errors.Join(err, fmt.Errorf("answer %d is %x, want %x: %v", i, answers[i][0],
				want, failed))
		}
	}
	return errors.Join(err, q.Close())
}
