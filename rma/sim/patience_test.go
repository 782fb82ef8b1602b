package sim_test

import (
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// adder adds 1 to a word of a rank, a number of times, one after the other.
type adder struct {
	w          rma.Window
	rank, left int
	h          rma.Handle
	begun      bool
}

func (a *adder) Step(q rma.Queue) (rma.Handle, error) {
	if a.begun {
		if _, err := q.Value(a.h); err != nil {
			return rma.NoHandle, err
		}
		a.left--
	}
	a.begun = true
	if a.left == 0 {
		return rma.NoHandle, nil
	}
	a.h = q.FetchAdd(a.w, a.rank, 0, 1)
	return a.h, nil
}

// Operations of a batch do not wait for one that takes long, except for a moment.
func TestPatience(t *testing.T) {
	const ms = 1_000_000
	cost := sim.EDR()
	cost.LatencyNs = 10 * ms
	for _, c := range []struct {
		patience, least, most int64 // ms
	}{{0, 650, 750}, {1, 500, 560}} {
		took := int64(0)
		_, err := sim.Run(sim.Options{Ranks: 3, Seed: 1, Cost: cost, PatienceNs: c.patience * ms,
			Faults: sim.Faults{Slow: []sim.Slow{{Rank: 1, Factor: 25}}}}, func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "words", Words: 1})
			if err != nil || job.Rank() > 0 {
				return err
			}
			q, err := job.NewQueue(3)
			if err != nil {
				return err
			}
			now := job.(*sim.Job).NowNs
			ops := []*adder{{w: w, rank: 1, left: 1}, {w: w, rank: 2, left: 10},
				{w: w, rank: 2, left: 10}}
			begin, next := now(), 0
			err = rma.RunAll(t.Context(), q, len(ops), func(int) rma.Op {
				if next == len(ops) {
					return nil
				}
				next++
				return ops[next-1]
			})
			took = (now() - begin) / ms
			return err
		})
		if err != nil || took < c.least || took > c.most {
			t.Errorf("patience of %d ms: %d ms, want %d to %d: %v", c.patience, took, c.least,
				c.most, err)
		}
	}
}
