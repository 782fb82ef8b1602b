//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
)

func init() { roles["mistaken"] = mistaken }

// A rank that the others have given up by mistake while it was stopped continues. A request of it
// ends with the error that the two are lost to each other; it does not wait for an answer that
// never comes. Rank 2 is stopped before it ships the request, or within it: while rank 3 works on
// it. UCX has connected rank 3 to it as well (both), or has not.
func TestShipMistaken(t *testing.T) {
	for _, how := range []string{"before", "before-both", "within", "within-both"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			all := start(t, 4, "mistaken", "hidden-silent-"+how)
			all[2].expectEnd(t, "has the error of the loss")
			for _, p := range []*process{all[0], all[1], all[3]} {
				_ = p.cmd.Process.Kill()
				_ = p.wait()
			}
		})
	}
}

// mistaken is what the ranks do there. Rank 3 alone stops rank 2, and has it continue.
func mistaken(a *actor) error {
	const victim, asked = 2, 3
	rank, within := a.job.Rank(), strings.Contains(a.argument, "within")
	serve := rmatest.Mixer(rank)
	a.w.(rma.Server).Serve(func(from int, request, answer []uint64) int {
		if within && from == victim && rank == asked {
			a.mistake(victim, int(request[1]))
		}
		return serve(from, request, answer)
	})
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	if _, err := cells.Add(a.ctx, rank, 1, uint64(os.Getpid())); err != nil {
		return err
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	if rank == 0 {
		pid, err := cells.Load(a.ctx, victim, 1)
		if err != nil {
			return err
		}
		go a.severWhenStopped(victim, int(pid))
	}
	if rank == asked && strings.Contains(a.argument, "both") {
		if _, err := cells.Load(a.ctx, victim, 0); err != nil {
			return err
		}
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	if rank == victim { // out of the barrier, which would fail as well
		// Rank 3 may see it and stop this rank before the call has returned: then it fails.
		_, _ = cells.Add(a.ctx, asked, 0, uint64(os.Getpid()))
		return a.insist(asked, within)
	}
	for pid := uint64(0); rank == asked && !within && pid == 0; {
		if pid, err = cells.Load(a.ctx, asked, 0); err != nil {
			return err
		}
		if pid != 0 {
			a.mistake(victim, int(pid))
		}
	}
	<-a.ctx.Done()
	return errors.New("nobody has ended this rank")
}

// mistake stops the process of a rank until this rank has given it up.
func (a *actor) mistake(rank, pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for !a.job.(*member).inbox.Dropped(rank) {
		time.Sleep(time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// insist ships to a rank until it is lost.
func (a *actor) insist(rank int, now bool) error {
	ctx, cancel := patience.WithTimeout(a.ctx, hangGuard/6)
	defer cancel()
	k, err := rmatest.NewAsker(ctx, a.job, a.w, 1)
	if err != nil {
		return err
	}
	k.Request[1] = uint64(os.Getpid())
	for !now && len(a.job.Failed()) == 0 { // it has missed that the others have given it up
		time.Sleep(time.Millisecond)
	}
	for {
		var gone *rma.RankError
		switch err := k.Ask(rank); {
		case errors.As(err, &gone):
			fmt.Println("has the error of the loss")
			os.Exit(0)
		case err != nil:
			return err
		}
	}
}
