package tree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// isLost reports whether err says that a rank has died, and of no other one that it has.
func isLost(err error, rank int) bool {
	var gone *rma.RankError
	return errors.As(err, &gone) && *gone == rma.RankError{Rank: rank}
}

// unplug has the kernel at the other end of a connection answer no more, as this end sees it.
func unplug(c *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = 0
	c.ask = func(net.Conn) (answers, bool) { return answers{due: true, age: never}, true }
}

// newRoot is rank 0 of a job of so many ranks, before it waits for the others, when these have
// come. The test ends when they have, so they must not heed its context.
func newRoot(t *testing.T, ranks int, others ...func(cfg Config)) *root {
	t.Helper()
	cfg := Config{Size: ranks, Address: twohosts.FreeAddress(t), Token: token, Timeout: never,
		Silence: never}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	top := newTree(cfg)
	if err := openRoot(t.Context(), top); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(top.Close)
	for i, other := range others {
		cfg := cfg
		cfg.Rank = i + 1
		wg.Go(func() { other(cfg) })
	}
	for range others {
		<-top.root.arrived
	}
	for range others {
		top.root.arrived <- struct{}{}
	}
	return top.root
}

// A rank that is lost before all have come ends the wait of those who have, at once, and is named.
// So is it to one that comes later.
func TestLostEarly(t *testing.T) {
	h := newRoot(t, 4, func(cfg Config) {
		for _, cfg.Rank = range []int{1, 3} {
			_, err := Join(context.Background(), cfg)
			if !isLost(err, 2) || !strings.Contains(fmt.Sprint(err), "[3] had not yet come") {
				t.Errorf("rank %d: %v", cfg.Rank, err)
			}
		}
	}, func(cfg Config) {
		c, _, err := connect(context.Background(), cfg)
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
func TestRootLostEarly(t *testing.T) {
	h := newRoot(t, 3, func(cfg Config) {
		if _, err := Join(context.Background(), cfg); !isLost(err, 0) {
			t.Error(err)
		}
	})
	h.Close()
}

// A rank that is interrupted while it waits has not died. The error says how long it has waited,
// not how long it would have.
func TestInterruptedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newRoot(t, 3, func(cfg Config) {
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
	job(t, 4, func(s *Tree) error {
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
