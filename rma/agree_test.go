package rma_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Where a rank fails because it has lost another one, all errors name that one, once. For the one
// that is missed, it is the other that is lost.
func TestAllSucceededNamesTheLost(t *testing.T) {
	for _, lost := range []int{0, 2} {
		err := local.Run(4, func(job rma.Job) error {
			var mine error
			if job.Rank() == 1 {
				mine = fmt.Errorf("reading: %w", &rma.RankError{Rank: lost})
			}
			err := rma.AllSucceeded(t.Context(), job, "step", mine)
			want := lost
			if job.Rank() == lost {
				want = 1
			}
			var gone *rma.RankError
			if !errors.As(err, &gone) || *gone != (rma.RankError{Rank: want}) ||
				strings.Count(err.Error(), fmt.Sprint("rank ", want)) != 1 {
				t.Errorf("rank %d, %d being lost: %v", job.Rank(), lost, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A failure that has nothing to do with a loss is the failure of a peer, and no loss.
func TestAllSucceededNamesThePeer(t *testing.T) {
	err := local.Run(3, func(job rma.Job) error {
		var mine error
		if job.Rank() == 1 {
			mine = &rma.RankError{Rank: 2, Left: true}
		}
		err := rma.AllSucceeded(t.Context(), job, "step", mine)
		var peer *rma.PeerError
		var gone *rma.RankError
		if job.Rank() != 1 && (!errors.As(err, &peer) || peer.Rank != 1 || errors.As(err, &gone)) {
			t.Errorf("rank %d: %v", job.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
