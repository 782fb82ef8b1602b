package set

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// TestElementsAfterLoss: a rank continues inserting elements when the free slots that it holds are
// lost with another rank: it takes slots of other ranks.
func TestElementsAfterLoss(t *testing.T) {
	must(t, runEngine(engineCarriers, 3, 1, func(job rma.Job) error {
		cut := -1
		cfg := BytesConfig{Config: Config{Buckets: 1 << 12, Access: rma.OneSided},
			ElementBytes: 8, Capacity: 30}
		e, err := NewBytes(context.Background(), lab.Cut(job, &cut), cfg)
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			err = fillAfterLoss(e, &cut)
		}
		return errors.Join(err, job.Barrier(context.Background()))
	}))
}

// fillAfterLoss inserts elements whose homes are at rank 0 until all arenas are full but that of
// rank 1, which is lost when three of its slots are in use and others hold more of them.
func fillAfterLoss(e *Bytes, cut *int) error {
	const used = 3
	perRank, element, inserted := int(e.oldest.Load().arenas.slots), make([]byte, 8), 0
	for n := uint64(1); ; n++ {
		if e.oldest.Load().home(e.oldest.Load().hash([]uint64{n}))+64 > e.oldest.Load().perRank {
			continue // a search might come to other ranks
		}
		binary.LittleEndian.PutUint64(element, n)
		r, err := e.FindOrPut(element)
		var gone *rma.RankError
		switch {
		case err == nil && r == Inserted:
			inserted++
		case errors.As(err, &gone) && inserted == 2*perRank+used:
			return nil
		default:
			return fmt.Errorf("after %d elements of %d a rank: %v, %w", inserted, perRank, r, err)
		}
		if inserted == perRank+used {
			*cut = 1
		}
	}
}

// TestArenaLost: slots of other ranks are handed out when one is lost. It is an error when those
// are used up, except for callers that take only directly addressable slots.
func TestArenaLost(t *testing.T) {
	must(t, runEngine(engineCarriers, 3, 1, func(job rma.Job) error {
		ctx, cut := context.Background(), -1
		a, err := newArenas(ctx, lab.Cut(job, &cut), room{slots: 30}, 1)
		if err != nil {
			return err
		}
		if job.Rank() != 0 {
			return errors.Join(job.Barrier(ctx), a.close())
		}
		cut = 1
		there := int(a.slots) * 2
		refs, err := a.take(ctx, nil, there+1, false)
		if err != nil || len(refs) != there {
			return fmt.Errorf("%d of %d slots: %w", len(refs), there, err)
		}
		for _, ref := range refs {
			if rank, _ := a.locate(ref); rank == cut {
				return fmt.Errorf("slot %d is of a rank that is gone", ref)
			}
		}
		var gone *rma.RankError
		if refs, err = a.take(ctx, nil, 1, false); !errors.As(err, &gone) || gone.Rank != cut {
			return fmt.Errorf("one more: %d, %w", len(refs), err)
		}
		return errors.Join(job.Barrier(ctx), a.close())
	}))
	must(t, runEngine(engineHosts, 4, 1, func(job rma.Job) error { // 0 addresses 2
		ctx, cut := context.Background(), -1
		a, err := newArenas(ctx, lab.Cut(job, &cut), room{slots: 30}, 1)
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			cut = 0
			for rank := range job.Size() {
				if a.regions.Segments.Of(rank) != nil && rank != 0 {
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
