package symbolic

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"
)

// TestProgress: progress is reported within operations, and Least is never more than what Reach
// finds then.
func TestProgress(t *testing.T) {
	tokens := []uint32{0, 0, 12, 0, 0, 0, 0, 9}
	if testing.Short() {
		tokens = []uint32{0, 0, 6, 0, 0, 0, 0, 4}
	}
	for i, strategy := range []Strategy{Saturation, Loops, Saturation, Loops} {
		calls, levelsDone, least := 0, 0, new(big.Int)
		cfg := Config{Levels: 8, MaxBytes: 64 << 20, progressEvery: 50 * time.Microsecond,
			Goroutines: 1 + i, eager: true,
			Progress: func(s *Store) {
				calls++
				levelsDone = max(levelsDone, s.Saturated())
				if n := s.Least(1 << 20); n.Cmp(least) > 0 {
					least = n
				}
				if s.Least(0).Sign() != 0 {
					t.Error("Least counts more nodes than it may")
				}
			}}
		for tries := 0; tries < 6 || calls < 25 || levelsDone == 0 || least.Sign() == 0; tries++ {
			s, err := New(t.Context(), cfg)
			must(t, err)
			from, err := s.Vector(tokens)
			must(t, err)
			var moves []Transition // around, of one or two
			for level := range cfg.Levels {
				next := (level + 1 + tries%3) % cfg.Levels
				x, err := s.NewTransition(adds(level, 1+uint32(tries)%2, -1), adds(next, 0, 1))
				must(t, err)
				moves = append(moves, x)
			}
			least.SetInt64(0)
			all, err := s.Reach(from, moves, strategy)
			must(t, err)
			n, err := s.Count(all)
			must(t, err)
			if least.Cmp(n) > 0 {
				t.Fatalf("%s: there are %v at least, and %v in the end", strategy, least, n)
			}
			if s.Saturated() != cfg.Levels || s.Least(1).Sign() != 0 {
				t.Fatalf("%s: after the end %d levels are saturated", strategy, s.Saturated())
			}
			must(t, s.Close())
			if calls == 0 && tries == 50 {
				t.Fatal("no call of Progress")
			}
		}
	}
}

// TestPause: an operation waits for Progress, and ends with the context.
func TestPause(t *testing.T) {
	ended := errors.New("that is enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := New(ctx, Config{Levels: 1, MaxBytes: MinBytes, progressEvery: time.Microsecond,
		Progress: func(*Store) {
			cancel(ended)
			<-ctx.Done()
		}})
	must(t, err)
	for err == nil {
		_, err = s.Vector([]uint32{1})
	}
	if !errors.Is(err, ended) {
		t.Errorf("an operation ends with %v", err)
	}
	if _, err := s.Vector([]uint32{2}); !errors.Is(err, ended) {
		t.Errorf("the next one ends with %v", err)
	}
	must(t, s.Close())
}
