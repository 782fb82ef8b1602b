package rmatest

import (
	"errors"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Together runs fn for all ranks at once, for who writes a [Starter], and returns what [OwnError]
// makes of their errors.
func Together(ranks int, fn func(rank int) error) error {
	errs := make([]error, ranks)
	var running sync.WaitGroup
	for rank := range ranks {
		running.Go(func() { errs[rank] = fn(rank) })
	}
	running.Wait()
	return OwnError(errs)
}

// OwnError returns a rank's own error, or what ranks say of others where there is none.
func OwnError(errs []error) error {
	var echo error
	for _, err := range errs {
		var gone *rma.RankError
		var peer *rma.PeerError
		if err != nil && !errors.As(err, &gone) && !errors.As(err, &peer) {
			return err
		}
		echo = errors.Join(echo, err)
	}
	return echo
}
