package diagram

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/petri/property"
	"github.com/farhash/farhash/symbolic"
)

// endAfter is a context that ends when it has been asked so many times whether it has. It is for
// one goroutine.
type endAfter struct {
	context.Context
	asked, end int
}

func (c *endAfter) Err() error {
	if c.asked++; c.asked > c.end {
		return context.Canceled
	}
	return nil
}

// TestEndsAnywhere: in whatever phase the context ends, the next look at it is the last one.
func TestEndsAnywhere(t *testing.T) {
	net, err := petri.Family("philosophers", 40)
	must(t, err)
	properties := []property.Property{{Kind: property.Live}, {Kind: property.Bound,
		Sum: property.Sum{Terms: []property.Term{{Place: 1, Weight: 1}, {Place: 7, Weight: 1}}}}}
	for _, asked := range [][]property.Property{nil, properties} {
		explore := func(ctx context.Context) error {
			_, err := Explore(ctx, net, Options{MaxBytes: 8 << 20, Strategy: symbolic.Loops,
				Deadlock: asked != nil}, asked...)
			return err
		}
		all := &endAfter{Context: t.Context(), end: math.MaxInt}
		must(t, explore(all))
		for end := range all.asked {
			ctx := &endAfter{Context: t.Context(), end: end}
			if err := explore(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("after look %d of %d: %v", end, all.asked, err)
			}
			if more := ctx.asked - end; more > 10 {
				t.Errorf("%d looks after the end at %d of %d", more, end, all.asked)
			}
		}
	}
}
