package star

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// isLost reports whether err says that a rank has died, and of no other one that it has.
func isLost(err error, rank int) bool {
	var gone *rma.RankError
	return errors.As(err, &gone) && *gone == rma.RankError{Rank: rank}
}

// newHub is the hub of a job of so many ranks, as rank 0 opens it, when these others have come. The
// test ends when they have, so they must not heed its context.
func newHub(t *testing.T, ranks int, others ...func(cfg Config)) *hub {
	t.Helper()
	cfg := Config{Size: ranks, Address: twohosts.FreeAddress(t), Token: token, Timeout: time.Hour,
		Beat: 5 * time.Second}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	h, c, err := openHub(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	rank0 := newConn(c, cfg.Beat)
	go rank0.pulse()
	go func() {
		_, _, err := rank0.receive(1 << 28)
		for err == nil {
			_, _, err = rank0.receive(1 << 28)
		}
	}()
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	for i, other := range others {
		cfg := cfg
		cfg.Rank = i + 1
		wg.Go(func() { other(cfg) })
	}
	for range 1 + len(others) {
		<-h.arrived
	}
	for range 1 + len(others) {
		h.arrived <- struct{}{}
	}
	return h
}

// A rank that is lost before all have come ends the wait of those who have, at once, and is named.
// So is it to one that comes later.
func TestLostEarly(t *testing.T) {
	h := newHub(t, 4, func(cfg Config) {
		for _, cfg.Rank = range []int{1, 3} {
			_, err := Join(context.Background(), cfg)
			if !isLost(err, 2) || !strings.Contains(fmt.Sprint(err), "[3] had not yet come") {
				t.Errorf("rank %d: %v", cfg.Rank, err)
			}
		}
	}, func(cfg Config) {
		c, err := connect(context.Background(), cfg)
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.Close()
	})
	if err := h.assemble(t.Context()); !isLost(err, 2) {
		t.Errorf("rank 0: %v", err)
	}
}

// Where rank 0 is lost before all have come, it is rank 0 that is named.
func TestHubLostEarly(t *testing.T) {
	h := newHub(t, 3, func(cfg Config) {
		if _, err := Join(context.Background(), cfg); !isLost(err, 0) {
			t.Error(err)
		}
	})
	h.close()
}

// A rank that is interrupted while it waits has not died. The error says how long it has waited,
// not how long it would have.
func TestInterruptedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHub(t, 3, func(cfg Config) {
		_, err := Join(ctx, cfg)
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "1h") {
			t.Errorf("rank 1: %v", err)
		}
		cfg.Rank = 2
		_, err = Join(context.Background(), cfg)
		if !strings.Contains(fmt.Sprint(err), "rank 1 has left") {
			t.Errorf("rank 2: %v", err)
		}
	})
	cancel()
	err := h.assemble(t.Context())
	var gone *rma.RankError
	if !errors.As(err, &gone) || *gone != (rma.RankError{Rank: 1, Left: true}) {
		t.Errorf("rank 0: %v", err)
	}
}

// A rank that gives up because it has lost another one is not blamed: that one is. For the one
// that was lost, it is the other way round.
func TestGiveUp(t *testing.T) {
	job(t, 4, func(s *Star) error {
		if _, err := s.Gather(t.Context(), nil); err != nil {
			return err
		}
		switch s.cfg.Rank {
		case 1:
			s.GiveUp(3)
			return nil
		case 2:
			_, err := s.Gather(t.Context(), nil)
			if !isLost(err, 3) {
				return fmt.Errorf("gathering without rank 1: %v", err)
			}
			s.GiveUp(3)
			return nil
		}
		want := 3
		if s.cfg.Rank == 3 {
			want = 1
		}
		if _, err := s.Gather(t.Context(), nil); !isLost(err, want) {
			return fmt.Errorf("gathering without rank 1: %v", err)
		}
		return nil
	})
}
