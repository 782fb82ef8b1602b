//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/tree"
)

// blames checks that err says that a rank has died, and of no other one that it has.
func blames(t *testing.T, who, rank int, err error) {
	t.Helper()
	var gone *rma.RankError
	if !errors.As(err, &gone) || *gone != (rma.RankError{Rank: rank}) {
		t.Errorf("rank %d: %v, want that rank %d has died", who, err, rank)
	}
}

// A rank that fails because it has lost another one has all errors name that one.
func TestShareNamesTheLost(t *testing.T) {
	err := together(t, 3, 3, true, overrides{transports: transports, atomics: coherent},
		func(job rma.Job) error {
			var failed error
			if job.Rank() == 1 {
				failed = &lostError{rma.RankError{Rank: 2}, "rank 2 has died"}
			}
			_, err := job.(*member).share(t.Context(), "a step", nil, failed)
			blames(t, job.Rank(), []int{2, 2, 1}[job.Rank()], err)
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}

// A rank that gives up because another one has died is not blamed by the others: that one is, in
// collective calls and where memory of who has given up is asked for.
func TestAbandonNamesTheLost(t *testing.T) {
	address := twohosts.FreeAddress(t)
	err := rmatest.Together(4, func(rank int) error {
		j, err := joinAs(t.Context(), Config{Rank: rank, Size: 4, Rendezvous: address,
			Token: testToken, Timeout: never, Hidden: true},
			overrides{transports: transports, atomics: coherent, host: fmt.Sprint(rank)})
		if err != nil {
			return err
		}
		job := j.(*member)
		switch rank {
		case 3:
			job.tree.Close() // as its death would
			return errors.Join(job.Close())
		case 1:
			for len(job.Failed()) == 0 {
				_, change := job.tree.States()
				if len(job.Failed()) == 0 {
					<-change
				}
			}
			return job.Abandon()
		}
		for {
			states, change := job.tree.States()
			if states[1] == tree.Left {
				break
			}
			<-change
		}
		blames(t, rank, 3, job.Barrier(t.Context()))
		blames(t, rank, 3, job.lost(1))
		return job.Abandon()
	})
	if err != nil {
		t.Error(err)
	}
}

// Ranks of a host that share memory do not wait for one that was lost on the way.
func TestLostNeighbour(t *testing.T) {
	address := twohosts.FreeAddress(t)
	err := rmatest.Together(3, func(rank int) error {
		_, err := joinAs(t.Context(), Config{Rank: rank, Size: 3, Rendezvous: address,
			Token: testToken, Timeout: never},
			overrides{transports: transports, host: fmt.Sprint(rank > 0), dies: rank == 1})
		if rank != 1 {
			blames(t, rank, 1, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
