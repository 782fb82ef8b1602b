package symbolic

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/farhash/farhash/internal/system/memory"
)

// errLost ends the strategy that another one has beaten.
var errLost = errors.New("another strategy has found the answer")

// Race explores by Saturation and Loops at the same time, and ends one when the other has the
// answer: neither is always the faster one, and by more than goroutines help. Each has half of the
// memory, and a goroutine for each two processors, one at least. A maxBytes of 0 means 0.8 of
// the memory that is left. explore makes a store of its own, by what Config has of them. Where both
// fail the error is what Saturation returned. What is returned with an error is no result.
func Race[R any](ctx context.Context, maxBytes uint64,
	explore func(ctx context.Context, strategy Strategy, cfg Config) (*R, error)) (*R, error) {
	strategies := [...]Strategy{Saturation, Loops}
	if maxBytes == 0 {
		left, err := memory.Now()
		if err != nil {
			return nil, fmt.Errorf("how much memory there is cannot be found (%w); give a limit",
				err)
		}
		maxBytes = left.Bytes / 5 * 4
	}
	cfg := Config{MaxBytes: maxBytes / uint64(len(strategies)),
		Goroutines: max(1, runtime.GOMAXPROCS(0)/len(strategies))}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var results [len(strategies)]*R
	var errs [len(strategies)]error
	var all sync.WaitGroup
	for i, strategy := range strategies {
		all.Go(func() {
			results[i], errs[i] = explore(ctx, strategy, cfg)
			if errs[i] == nil {
				end(errLost)
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err == nil {
			return results[i], nil
		}
	}
	return nil, errs[0]
}
