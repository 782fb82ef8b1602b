package packing

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/rma"
)

// guesses are the bits that a place without a structural bound gets, one after the
// other, until the search fits. All ranks widen alike.
var guesses = []int{8, 16, 32}

// Explore explores all reachable markings of net on the ranks of job. A search that
// outgrows a guessed packing is begun again with a wider one. Options.ModelID is
// filled in, so that a checkpoint is resumed with the packing that it was made with.
// Collective; the packing returned is the one that fit.
func Explore(ctx context.Context, job rma.Job, net *petri.Net, opts explore.Options) (
	*explore.Result, *Packing, error) {
	for i, bits := range guesses {
		p, err := New(net, Options{GuessBits: bits})
		if err != nil {
			return nil, nil, err
		}
		if opts.ModelID, err = p.identity(net, bits); err != nil {
			return nil, nil, err
		}
		res, err := explore.Run(ctx, job, p, opts)
		var overflow *explore.OverflowError
		var other *explore.OtherModelError
		again := errors.As(err, &overflow) || errors.As(err, &other)
		if again && p.Guessed() && i < len(guesses)-1 {
			if overflow != nil {
				opts.Resume = "" // its states do not fit the wider packing
			}
			continue
		}
		return res, p, err
	}
	return nil, nil, errors.New("packing: no guess is left") // not reached: the last one returns
}

// identity tells nets and their packings apart.
func (p *Packing) identity(net *petri.Net, guessBits int) (string, error) {
	h := xxh3.New()
	if err := petri.Write(h, net); err != nil {
		return "", err
	}
	if !p.Guessed() {
		guessBits = 0
	}
	return fmt.Sprintf("net %016x, %d bits, guess %d", h.Sum64(), p.bits, guessBits), nil
}
