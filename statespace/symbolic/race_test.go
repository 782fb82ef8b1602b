package symbolic

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// The first answer of a race ends the other strategy, and a strategy that fails does not.
func TestRace(t *testing.T) {
	failed := errors.New("failed")
	for _, winner := range []Strategy{Saturation, Loops} {
		waits := func(ctx context.Context, s Strategy, cfg Config) (*Strategy, error) {
			if cfg.MaxBytes != 50 || cfg.Goroutines != max(1, runtime.GOMAXPROCS(0)/2) {
				t.Errorf("%s has %+v of 100 bytes", s, cfg)
			}
			if s == winner {
				return &s, nil
			}
			<-ctx.Done()
			return &s, context.Cause(ctx) // a part of an answer
		}
		fails := func(_ context.Context, s Strategy, _ Config) (*Strategy, error) {
			if s == winner {
				return &s, nil
			}
			return nil, failed
		}
		for _, explore := range []func(context.Context, Strategy, Config) (*Strategy, error){
			waits, fails} {
			if s, err := Race(t.Context(), 100, explore); err != nil || s == nil || *s != winner {
				t.Errorf("%s has the answer; Race has %v, %v", winner, s, err)
			}
		}
	}
	_, err := Race(t.Context(), 100, func(_ context.Context, s Strategy, _ Config) (*int, error) {
		return nil, errors.New(string(s))
	})
	if err == nil || err.Error() != string(Saturation) {
		t.Errorf("both fail: %v", err)
	}
}
