package rmatest

import (
	"errors"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Together calls fn for ranks 0 to ranks-1, each in a goroutine of its own, waits for all of them
// and returns [OwnError] of their errors. A [Starter] may use it.
func Together(ranks int, fn func(rank int) error) error {
	errs := make([]error, ranks)
	var running sync.WaitGroup
	for rank := range ranks {
		running.Go(func() { errs[rank] = fn(rank) })
	}
	running.Wait()
	return OwnError(errs)
}

// OwnError returns the first error that is not about another rank: neither an [rma.RankError] nor
// an [rma.PeerError]. If there is none it returns all errors joined.
func OwnError(errs []error) error {
	var others error
	for _, err := range errs {
		var gone *rma.RankError
		var peer *rma.PeerError
		if err != nil && !errors.As(err, &gone) && !errors.As(err, &peer) {
			return err
		}
		others = errors.Join(others, err)
	}
	return others
}
