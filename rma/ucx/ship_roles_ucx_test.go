//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
)

// Ranks in processes of their own answer each other, also while they compute.
func TestShipProcesses(t *testing.T) {
	for _, c := range []struct{ role, argument, says string }{
		{"shipAll", "hidden", "all is answered"}, {"shipAll", "pairs", "all is answered"},
		{"shipAll", "any-hidden", "all is answered"}, {"shipCompute", "hidden", "computed"},
	} {
		for _, p := range start(t, 3, c.role, c.argument) {
			p.expectEnd(t, c.says)
		}
	}
}

// A rank that is lost while it works on a request, and others are on their way to it: all of
// them end with the loss, and what it answers when it has come to again does no harm.
func TestShipLost(t *testing.T) {
	for _, how := range []string{"hidden", "hidden-silent", "pairs-silent"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			all := start(t, 4, "shipLose", how)
			for _, p := range all[:3] {
				p.expectEnd(t, "continued without it")
			}
			_ = all[3].cmd.Process.Kill()
			_ = all[3].wait()
		})
	}
}

// shipToAll has all ranks ship to all and check the answers.
func shipToAll(a *actor) error {
	a.w.(rma.Server).Serve(rmatest.Mixer(a.job.Rank()))
	err := a.job.Barrier(a.ctx)
	if err == nil {
		err = rmatest.ShipRounds(a.ctx, a.job, a.w, 1, 30)
	}
	if err == nil {
		fmt.Println("all is answered")
	}
	return errors.Join(err, a.job.Barrier(a.ctx))
}

// shipCompute has the last rank compute on all the processors that it has, which is one, until
// it has answered the others.
func shipCompute(a *actor) error {
	const each = 10
	last := a.job.Size() - 1
	var answered atomic.Int64
	if a.job.Rank() == last {
		runtime.GOMAXPROCS(1)
		answer := rmatest.Mixer(last)
		a.w.(rma.Server).Serve(func(from int, request, answers []uint64) int {
			defer answered.Add(1)
			return answer(from, request, answers)
		})
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	if a.job.Rank() == last {
		for spun := 0; int(answered.Load()) < each*last; spun++ {
		}
	} else if k, err := rmatest.NewAsker(a.ctx, a.job, a.w, 1); err != nil {
		return err
	} else {
		for range each {
			if err := k.Ask(last); err != nil {
				return err
			}
		}
	}
	fmt.Println("computed")
	return a.job.Barrier(a.ctx)
}

// shipLose has the last rank end in a handler, or stop there and be lost by mistake. The others
// have it continue when it is lost.
func shipLose(a *actor) error {
	const depth = 20
	victim := a.job.Size() - 1
	server := a.w.(rma.Server)
	if server.Serve(rmatest.Mixer(a.job.Rank())); a.job.Rank() == victim {
		end := syscall.SIGKILL
		if strings.Contains(a.argument, "silent") {
			end = syscall.SIGSTOP
		}
		calls := 0
		server.Serve(func(_ int, request, answer []uint64) int {
			if calls++; calls == 10 {
				runtime.LockOSThread() // which ends or stops before it returns
				_ = unix.Tgkill(os.Getpid(), unix.Gettid(), end)
				runtime.UnlockOSThread()
			}
			return 0
		})
	}
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	if _, err := cells.Add(a.ctx, a.job.Rank(), 0, uint64(os.Getpid())); err != nil {
		return err
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	pid, err := cells.Load(a.ctx, victim, 0)
	if err := errors.Join(err, a.job.Barrier(a.ctx)); err != nil {
		return err
	}
	if a.job.Rank() == victim { // until it is lost
		_ = a.job.Barrier(a.ctx)
		<-a.ctx.Done()
		return errors.New("the victim lives")
	}
	k, err := rmatest.NewAsker(a.ctx, a.job, a.w, depth)
	if err != nil {
		return err
	}
	if strings.Contains(a.argument, "silent") {
		go a.severWhenStopped(victim, int(pid))
	}
	if err := a.loseIn(k, victim, depth); err != nil {
		return err
	}
	if err := a.part(victim); err != nil { // all have lost it
		return err
	}
	if strings.Contains(a.argument, "silent") {
		_ = syscall.Kill(int(pid), syscall.SIGCONT)
	}
	for range 200 { // in this time the late answers may come
		for rank := range victim {
			if err := k.Ask(rank); err != nil {
				return err
			}
		}
		var gone *rma.RankError
		if err := k.Ask(victim); !errors.As(err, &gone) || gone.Rank != victim {
			return fmt.Errorf("a request to the lost rank %d: %v", victim, err)
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("continued without it")
	return k.Queue.Close()
}

// loseIn ships so many requests to a rank, which is lost before it answers all.
func (a *actor) loseIn(k *rmatest.Asker, victim, depth int) error {
	lost := 0
	handles := make([]rma.Handle, depth)
	for i := range handles {
		handles[i] = k.Post(i, victim)
	}
	if err := k.Queue.Submit(); err != nil {
		return err
	}
	for _, h := range handles {
		if err := k.Queue.Wait(a.ctx, h); err != nil {
			return err
		}
		_, err := k.Queue.Value(h)
		var gone *rma.RankError
		if errors.As(err, &gone) && gone.Rank == victim {
			lost++
		} else if err != nil {
			return err
		}
	}
	if lost == 0 {
		return fmt.Errorf("all requests to rank %d were answered", victim)
	}
	return nil
}
