//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

func init() { roles["mistaken"] = mistaken }

// A rank that was stopped for so long that the others have given it up goes on, and ships to one
// that it has never sent anything: it gets the error that they are lost to each other, and does not
// wait for an answer that never comes.
func TestShipMistaken(t *testing.T) {
	t.Parallel()
	all := start(t, 4, "mistaken", "hidden-silent")
	all[2].expectEnd(t, "has the error of the loss")
	for _, p := range []*process{all[0], all[1], all[3]} {
		_ = p.cmd.Process.Kill()
		_ = p.wait()
	}
}

// mistaken is what the ranks do there; rank 2 is stopped.
func mistaken(a *actor) error {
	const victim, asked = 2, 3
	a.w.(rma.Server).Serve(mixer(a.job.Rank()))
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	if a.job.Rank() == victim {
		_, err = cells.Add(a.ctx, 0, 0, uint64(os.Getpid()))
	}
	if err = errors.Join(err, a.job.Barrier(a.ctx)); err != nil {
		return err
	}
	if a.job.Rank() != victim {
		for len(a.job.Failed()) == 0 {
			time.Sleep(time.Millisecond)
		}
		if a.job.Rank() == 0 {
			pid, err := cells.Load(a.ctx, 0, 0)
			if err != nil {
				return err
			}
			_ = syscall.Kill(int(pid), syscall.SIGCONT)
		}
		time.Sleep(hangGuard)
		return errors.New("nobody has ended this rank")
	}
	ctx, cancel := context.WithTimeout(a.ctx, hangGuard/2)
	defer cancel()
	k, err := newAsker(ctx, a.job, a.w, 1)
	if err != nil {
		return err
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond) // until all threads have stopped
	for {
		var gone *rma.RankError
		switch err := k.ask(asked); {
		case errors.As(err, &gone):
			fmt.Println("has the error of the loss")
			os.Exit(0)
		case err != nil:
			return err
		}
	}
}
