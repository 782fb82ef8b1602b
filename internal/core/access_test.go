package core_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Auto measures, and decides by what it has found; the batches of a second window take that over.
func TestAuto(t *testing.T) {
	var o office
	onRanks(t, 2, func(job rma.Job, w rma.Window) error {
		ctx := context.Background()
		var first, second core.Batches
		cfg := core.Config{Messages: 1.5, Answer: o.answer}
		if err := first.Open(ctx, job, w, cfg); err != nil {
			return err
		}
		choice := first.Access()
		c := choice.Costs
		if c.Ns <= 0 || c.EachNs <= 0 || c.RequestNs <= 0 || c.WordNs < 0 {
			return fmt.Errorf("measured %+v", c)
		}
		if choice.MinBatch < 1 || !strings.Contains(choice.String(), "a get") {
			return fmt.Errorf("%v is not what it does", choice)
		}
		cfg.Costs = choice.Costs
		other, err := job.NewWindow(ctx, rma.Spec{Name: "other", Words: 1})
		if err != nil {
			return err
		}
		if err := second.Open(ctx, job, other, cfg); err != nil {
			return err
		}
		if second.Access() != choice {
			return fmt.Errorf("%v, after %v", second.Access(), choice)
		}
		return job.Barrier(ctx)
	})
}

// A rank that gives up while another one measures leaves it one-sided operations.
func TestOwnerGivesUp(t *testing.T) {
	var o office
	onRanks(t, 2, func(job rma.Job, w rma.Window) error {
		ctx := context.Background()
		if job.Rank() == 1 { // it answers nothing
			return errors.Join(job.Barrier(ctx), job.Barrier(ctx))
		}
		var c core.Batches
		if err := c.Open(ctx, job, w, core.Config{Messages: 1.5, Answer: o.answer}); err != nil {
			return err
		}
		if choice := c.Access(); choice.MinBatch != math.MaxInt ||
			!strings.HasPrefix(choice.String(), "one-sided") {
			return fmt.Errorf("the batches say %q", choice)
		}
		return errors.Join(c.Close(), job.Barrier(ctx))
	})
}

// Where all memory can be addressed nothing is shipped, and where the engine carries nothing it
// says so.
func TestNothingToShip(t *testing.T) {
	for _, c := range []struct {
		options local.Options
		access  rma.Access
		says    string // of the batches; "" is an error
	}{
		{local.Options{}, rma.Shipped, "direct"},
		{local.Options{}, rma.Auto, "direct"},
		{local.Options{Hidden: true}, rma.Auto, "direct"},
		{local.Options{Hidden: true}, rma.Shipped, ""},
		{local.Options{Carries: true}, rma.Auto, "direct: all memory is addressable"},
		{local.Options{Hidden: true, Carries: true}, rma.OneSided, "one-sided, as asked"},
		{local.Options{Hidden: true, Carries: true}, rma.Shipped, "shipped, as asked"},
		{local.Options{Hidden: true, Carries: true}, 7, ""},
	} {
		err := local.RunWith(c.options, 2, func(job rma.Job) error {
			w, err := job.NewWindow(context.Background(), rma.Spec{Name: "test", Words: 1})
			if err != nil {
				return err
			}
			var b core.Batches
			err = b.Open(context.Background(), job, w, core.Config{Access: c.access})
			if (err != nil) != (c.says == "") {
				return fmt.Errorf("Open says %v", err)
			}
			if err != nil {
				return nil
			}
			if !strings.HasPrefix(b.Access().String(), c.says) {
				return fmt.Errorf("the batches say %q", b.Access())
			}
			return b.Close()
		})
		if err != nil {
			t.Errorf("%+v, %v: %v", c.options, c.access, err)
		}
	}
}
