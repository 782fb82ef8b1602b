//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
)

// Ranks answer each other, also while they compute and when they give up an answer.
func TestShip(t *testing.T) {
	for _, c := range []struct{ role, argument string }{
		{"shipAll", "hidden"}, {"shipAll", "pairs"}, {"shipAll", "hosts"},
		{"shipAll", "hosts with little memory"},
		{"shipAll", "hosts by messages with little memory"},
		{"shipFull", "hosts with little memory"},
		{"shipCompute", "hosts"}, {"shipCancel", "hosts"}, {"shipCancel", "hidden"},
	} {
		t.Run(c.role+"_"+c.argument, func(t *testing.T) {
			out, err := find(t, ask().kind).play(t, 3, c.role+":"+c.argument)
			expect(t, out, err, true, 3, "all is answered")
		})
	}
}

// A rank that is killed while it works on a request ends the job.
func TestShipKilled(t *testing.T) {
	begin := time.Now()
	out, err := find(t, ask().kind).play(t, 3, "shipDie:hosts")
	expect(t, out, err, false, 0)
	if time.Since(begin) > jobLimit || strings.Contains(out, "does not end") {
		t.Errorf("the job had to be ended; it said:\n%s", out)
	}
}

// Where the program has initialised MPI for less than MPI_THREAD_MULTIPLE, and where no thread owns
// it, nothing is shipped.
func TestNotShipped(t *testing.T) {
	for _, c := range []struct{ role, says string }{
		{"serves:", "serves true, swaps true"}, {"serves:hidden", "serves true, swaps false"},
		{"servesIn:2", "serves false, swaps false"},
		{"servesIn:passive", "serves false, swaps false"},
	} {
		how := c.role
		if how == "serves:" {
			how = "serves:hosts"
		}
		out, err := find(t, ask().kind).play(t, 2, how, oscVariable+"="+oscChoice())
		expect(t, out, err, true, 2, c.says)
	}
}

// shipped has ranks serve a window and act on it.
func shipped(argument string, serve func(job rma.Job) rma.Handler,
	act func(ctx context.Context, job rma.Job, w rma.Window) error) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		w.(rma.Server).Serve(serve(job))
		err := job.Barrier(ctx)
		if err == nil {
			err = act(ctx, job, w)
		}
		if err == nil {
			fmt.Println("all is answered")
		}
		return errors.Join(err, job.Barrier(ctx))
	})
}

func mixer(job rma.Job) rma.Handler { return rmatest.Mixer(job.Rank()) }

// shipAll has four goroutines of all ranks ship to all, and add in their memory by messages too.
func shipAll(argument string) error {
	const goroutines, rounds = 4, 20
	return shipped(argument, mixer, func(ctx context.Context, job rma.Job, w rma.Window) error {
		var group sync.WaitGroup
		errs := make([]error, goroutines)
		for i := range errs {
			group.Go(func() { errs[i] = rmatest.ShipRounds(ctx, job, w, i, rounds) })
		}
		group.Wait()
		if err := errors.Join(append(errs, job.Barrier(ctx))...); err != nil {
			return err
		}
		cells, err := rma.NewCells(job, w)
		if err != nil {
			return err
		}
		sum, err := cells.Load(ctx, job.Rank(), 0)
		if want := uint64(goroutines * rounds * job.Size()); err == nil && sum != want {
			err = fmt.Errorf("the ranks have added %d here, want %d", sum, want)
		}
		return errors.Join(err, job.Barrier(ctx), awaitStored(ctx, job, stored.isEmpty))
	})
}

// shipCompute has the last rank compute on all the processors that Go has, which is one, until
// it has answered the others.
func shipCompute(argument string) error {
	const each = 10
	var answered atomic.Int64
	serve := func(job rma.Job) rma.Handler {
		answer := mixer(job)
		return func(from int, request, answers []uint64) int {
			defer answered.Add(1)
			return answer(from, request, answers)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		if job.Rank() == last {
			runtime.GOMAXPROCS(1)
			for int(answered.Load()) < each*last {
				spun++
			}
			return nil
		}
		k, err := rmatest.NewAsker(ctx, job, w, 1)
		for i := 0; i < each && err == nil; i++ {
			err = k.Ask(last)
		}
		return err
	})
}

// shipCancel has ranks give up requests that the last rank holds up, more than it takes at once:
// their queue closes before they are answered. What was asked before and what is asked later is
// answered.
func shipCancel(argument string) error {
	const kept, givenUp = 6, 11 // the former are more than may be on their way
	proceed := make(chan struct{})
	serve := func(job rma.Job) rma.Handler {
		return func(from int, request, answer []uint64) int {
			if job.Rank() == job.Size()-1 {
				<-proceed
			}
			return mixer(job)(from, request, answer)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		var before, after *rmatest.Asker
		if job.Rank() < last {
			var err error
			if before, err = rmatest.NewAsker(ctx, job, w, kept); err != nil {
				return err
			}
			if after, err = rmatest.NewAsker(ctx, job, w, 1); err != nil {
				return err
			}
			err = errors.Join(before.Start(kept, last), giveUp(ctx, job, w, last, givenUp),
				after.Start(1, last))
			if err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		close(proceed)
		k, err := rmatest.NewAsker(ctx, job, w, 1)
		for rank := range job.Size() {
			err = errors.Join(err, k.Ask(rank))
		}
		if job.Rank() == last || err != nil {
			return err
		}
		if !after.Queue.Done(after.Handles[0]) { // requests leave in order
			return errors.New("a request waits, and one that came after is answered")
		}
		return errors.Join(before.Finish(last), after.Finish(last))
	})
}

func giveUp(ctx context.Context, job rma.Job, w rma.Window, rank, depth int) error {
	k, err := rmatest.NewAsker(ctx, job, w, depth)
	if err != nil {
		return err
	}
	if err := k.Start(depth, rank); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := k.Queue.Wait(short, k.Handles[0]); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waiting for a rank that does not answer: %v", err)
	}
	return k.Queue.Close()
}

// smallStore has room for the longest request, and for little more.
const smallStore = 2*8*rma.MaxShipWords + 1<<10

// shipFull has the others ship more to the last rank than it has memory for, and give up half.
func shipFull(argument string) error {
	const each, words, fit = 2, 4000, 4
	proceed := make(chan struct{})
	serve := func(job rma.Job) rma.Handler {
		return func(from int, request, answer []uint64) int {
			<-proceed
			return mixer(job)(from, request, answer)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		if job.Rank() == last {
			want := last*2*each - fit
			err := awaitStored(ctx, job, func(s stored) bool { return s.waiting == want })
			err = errors.Join(err, job.Barrier(ctx), job.Barrier(ctx))
			close(proceed)
			return errors.Join(err, awaitStored(ctx, job, stored.isEmpty))
		}
		kept, handles, err := shipLong(job, w, last, each, words)
		givenUp, _, err2 := shipLong(job, w, last, each, words)
		if err = errors.Join(err, err2, job.Barrier(ctx)); err != nil {
			return err
		}
		err = errors.Join(givenUp.Close(), job.Barrier(ctx))
		for _, h := range handles {
			err = errors.Join(err, kept.Wait(ctx, h))
			if n, failed := kept.Value(h); failed != nil || n != 1 {
				err = errors.Join(err, fmt.Errorf("an answer of %d words: %v", n, failed))
			}
		}
		return errors.Join(err, kept.Close())
	})
}

// shipLong ships long requests to a rank.
func shipLong(job rma.Job, w rma.Window, rank, n, words int) (rma.Carrier, []rma.Handle, error) {
	queue, err := job.NewQueue(n)
	if err != nil {
		return nil, nil, err
	}
	q, handles := queue.(rma.Carrier), []rma.Handle(nil)
	for range n {
		buf, err := q.Alloc(words + 1)
		if err != nil {
			return nil, nil, err
		}
		buf[0] = 1
		handles = append(handles, q.Ship(buf[:words], buf[words:], w, rank))
	}
	return q, handles, q.Submit()
}

// awaitStored waits until this rank has stored what is wanted.
func awaitStored(ctx context.Context, job rma.Job, is func(s stored) bool) error {
	ctx, cancel := patience.WithTimeout(ctx, hangGuard/6)
	defer cancel()
	for {
		switch s := job.(*member).stored(); {
		case !s.sound || ctx.Err() != nil:
			return fmt.Errorf("rank %d has stored %+v", job.Rank(), s)
		case is(s):
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

func (s stored) isEmpty() bool { return s.used == 0 && s.waiting == 0 }

// shipDie has the last rank killed in a handler while the others wait for its answers.
func shipDie(argument string) error {
	serve := func(job rma.Job) rma.Handler {
		return func(from int, request, answer []uint64) int {
			if job.Rank() == job.Size()-1 {
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			}
			return mixer(job)(from, request, answer)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		k, err := rmatest.NewAsker(ctx, job, w, 1)
		if err != nil {
			return err
		}
		return k.Ask(job.Size() - 1)
	})
}

// serves prints what a window of a job offers.
func serves(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		_, server := w.(rma.Server)
		fmt.Printf("serves %v, swaps %v\n", server, w.CPUAtomicsCoherent())
		return job.Barrier(ctx)
	})
}
