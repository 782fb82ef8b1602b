package core_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"
)

// GetCosts measures gets if only a queue reaches some memory. A simulated job says what they cost.
func TestGetCosts(t *testing.T) {
	costs := func(job rma.Job) error {
		c, err := core.GetCosts(context.Background(), job)
		if err == nil && (c.Ns <= 0 || c.EachNs <= 0 || c.ByteNs < 0 || c.EachByteNs < 0) {
			err = fmt.Errorf("measured %+v", c)
		}
		return err
	}
	none := func(job rma.Job) error {
		if c, err := core.GetCosts(context.Background(), job); err != nil || c != (rma.GetCosts{}) {
			return fmt.Errorf("measured %+v, %v", c, err)
		}
		return nil
	}
	for _, c := range []struct {
		options local.Options
		ranks   int
		fn      func(rma.Job) error
	}{{local.Options{Hidden: true}, 2, costs}, {local.Options{Hidden: true}, 1, none},
		{local.Options{}, 3, none}} {
		if err := local.RunWith(c.options, c.ranks, c.fn); err != nil {
			t.Errorf("%+v: %v", c.options, err)
		}
	}
	_, err := sim.Run(sim.Options{Ranks: 2, Cost: sim.EDR()}, func(job rma.Job) error {
		before := job.(*sim.Job).NowNs()
		c, err := core.MeasureGets(context.Background(), job, nil, 1)
		if want := job.(*sim.Job).GetCosts(); err == nil && c != want {
			err = fmt.Errorf("%+v instead of %+v", c, want)
		}
		if err == nil && job.(*sim.Job).NowNs() != before {
			err = fmt.Errorf("it takes virtual time")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A window that is shorter than a long get has a cost for bytes all the same.
func TestGetCostsOfShortWindow(t *testing.T) {
	onRanks(t, 2, func(job rma.Job, w rma.Window) error {
		c, err := core.MeasureGets(context.Background(), job, w, 1-job.Rank())
		if err == nil && (c.Ns <= 0 || c.ByteNs <= 0 || c.EachByteNs <= 0) {
			err = fmt.Errorf("measured %+v", c)
		}
		return err
	})
}

// The machine of reads that wait alone has the costs of these, and the one of many theirs.
func TestMachines(t *testing.T) {
	c := rma.GetCosts{Ns: 20064, ByteNs: 1, EachNs: 3128, EachByteNs: 2}
	if m := core.Alone(c); m.LatencyNs != 20000 || m.ByteNs != 1 || m.Check() != nil {
		t.Errorf("alone: %+v", m)
	}
	if m := core.InFlight(c); m.LatencyNs != 3000 || m.ByteNs != 2 || m.Check() != nil {
		t.Errorf("in flight: %+v", m)
	}
	for _, c := range []rma.GetCosts{{}, {Ns: 1, ByteNs: 1, EachNs: 1, EachByteNs: 1}} {
		if err := core.Alone(c).Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
