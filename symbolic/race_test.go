package symbolic

import (
	"context"
	"errors"
	"testing"
)

// The first answer of a race ends the other strategy, and a strategy that fails does not.
func TestRace(t *testing.T) {
	failed := errors.New("failed")
	for _, winner := range []Strategy{Saturation, Loops} {
		waits := func(ctx context.Context, s Strategy, maxBytes uint64) (*Strategy, error) {
			if maxBytes != 50 {
				t.Errorf("%s has %d bytes of 100", s, maxBytes)
			}
			if s == winner {
				return &s, nil
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		fails := func(_ context.Context, s Strategy, _ uint64) (*Strategy, error) {
			if s == winner {
				return &s, nil
			}
			return nil, failed
		}
		for _, explore := range []func(context.Context, Strategy, uint64) (*Strategy, error){
			waits, fails} {
			if s, err := Race(t.Context(), 100, explore); err != nil || s == nil || *s != winner {
				t.Errorf("%s has the answer; Race has %v, %v", winner, s, err)
			}
		}
	}
	_, err := Race(t.Context(), 100, func(_ context.Context, s Strategy, _ uint64) (*int, error) {
		return nil, errors.New(string(s))
	})
	if err == nil || err.Error() != string(Saturation) {
		t.Errorf("both fail: %v", err)
	}
}
