package set

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/lab"
	"github.com/farhash/farhash/rma"
)

// TestArenaLost: slots of other ranks are handed out when one is gone. It is an error when those
// are used up, but for who can do with near ones only.
func TestArenaLost(t *testing.T) {
	must(t, runEngine(engineCarriers, 3, 1, func(job rma.Job) error {
		ctx, cut := context.Background(), -1
		a, err := newArenas(ctx, lab.Cut(job, &cut), 30, 1)
		if err != nil {
			return err
		}
		if job.Rank() != 0 {
			return errors.Join(job.Barrier(ctx), a.close())
		}
		cut = 1
		there := int(a.slots) * 2
		refs, err := a.take(ctx, nil, there, false)
		if err != nil || len(refs) != there {
			return fmt.Errorf("%d of %d slots: %w", len(refs), there, err)
		}
		for _, ref := range refs {
			if _, rank, _ := a.locate(ref); rank == cut {
				return fmt.Errorf("slot %d is of a rank that is gone", ref)
			}
		}
		var gone *rma.RankError
		if refs, err = a.take(ctx, nil, 1, false); !errors.As(err, &gone) || gone.Rank != cut {
			return fmt.Errorf("one more: %d, %w", len(refs), err)
		}
		return errors.Join(job.Barrier(ctx), a.close())
	}))
	must(t, runEngine(engineHosts, 4, 1, func(job rma.Job) error { // 0 sees 2
		ctx, cut := context.Background(), -1
		a, err := newArenas(ctx, lab.Cut(job, &cut), 30, 1)
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			cut = 0
			for rank := range job.Size() {
				if a.parts[0].segments[rank] != nil && rank != 0 {
					cut = rank
				}
			}
			there := int(a.slots)
			refs, err := a.take(ctx, nil, 4*there, true)
			if err != nil || len(refs) != there || cut == 0 {
				return fmt.Errorf("%d near slots, want %d: %w", len(refs), there, err)
			}
		}
		return errors.Join(job.Barrier(ctx), a.close())
	}))
}
