package diagram

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/farhash/farhash/internal/testkit/ending"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// TestEndsAnywhere: in whatever phase the context ends, the next look at it is the last one. Where
// traces alone are left, the answers stay.
func TestEndsAnywhere(t *testing.T) {
	size := 40
	if testing.Short() {
		size = 10
	}
	net, err := petri.Family("philosophers", size)
	must(t, err)
	properties := []property.Property{{Kind: property.Live}, {Kind: property.Bound,
		Sum: property.Sum{Terms: []property.Term{{Place: 1, Weight: 1}, {Place: 7, Weight: 1}}}}}
	for _, asked := range [][]property.Property{nil, properties} {
		cut := 0
		explore := func(ctx context.Context) error {
			res, err := Explore(ctx, net, Options{MaxBytes: 8 << 20, Strategy: symbolic.Loops,
				Deadlock: asked != nil, Witness: true}, asked...)
			if err == nil && res.TracesCut != nil {
				cut++
				return res.TracesCut
			}
			return err
		}
		all := &ending.Context{Context: t.Context(), End: math.MaxInt}
		must(t, explore(all))
		for end := range all.Asked {
			ctx := &ending.Context{Context: t.Context(), End: end}
			if err := explore(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("after look %d of %d: %v", end, all.Asked, err)
			}
			if more := ctx.Asked - end; more > 10 {
				t.Errorf("%d looks after the end at %d of %d", more, end, all.Asked)
			}
		}
		if (cut > 0) != (asked != nil) {
			t.Errorf("traces were cut off %d times", cut)
		}
	}
}
