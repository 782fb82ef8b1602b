package packing

import (
	"context"
	"errors"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/rma"
)

// guesses are the bits that a place without a structural bound gets, one after the
// other, until the search fits. All ranks widen alike.
var guesses = []int{8, 16, 32}

// Explore explores all reachable markings of net on the ranks of job. A search that
// outgrows a guessed packing is begun again with a wider one. Collective; the
// packing returned is the one that fit.
func Explore(ctx context.Context, job rma.Job, net *petri.Net, opts explore.Options) (
	*explore.Result, *Packing, error) {
	for i, bits := range guesses {
		p, err := New(net, Options{GuessBits: bits})
		if err != nil {
			return nil, nil, err
		}
		res, err := explore.Run(ctx, job, p, opts)
		var overflow *explore.OverflowError
		if errors.As(err, &overflow) && p.Guessed() && i < len(guesses)-1 {
			continue
		}
		return res, p, err
	}
	return nil, nil, errors.New("packing: no guess is left") // not reached: the last one returns
}
