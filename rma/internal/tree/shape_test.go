package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

// Every rank but the first has one parent, which names it among its children, and is a few steps
// from the first.
func TestShape(t *testing.T) {
	for _, c := range []struct{ size, fan, depth int }{
		{1, 8, 0}, {2, 8, 1}, {9, 8, 1}, {10, 8, 2}, {73, 8, 2}, {74, 8, 3}, {1000, 8, 4},
		{10_000, 8, 5}, {13, 2, 3}, {5, 1, 4},
	} {
		deepest := 0
		for rank := range c.size {
			parent, s := place(rank, c.size, c.fan)
			if s.first != rank || s.end <= rank || s.end > c.size || parent >= rank {
				t.Fatalf("rank %d of %d has the span %v and the parent %d", rank, c.size, s, parent)
			}
			depth := 0
			for at := parent; at >= 0; depth++ {
				at, _ = place(at, c.size, c.fan)
			}
			deepest = max(deepest, depth)
			if parent < 0 {
				continue
			}
			_, of := place(parent, c.size, c.fan)
			if below := of.children(c.fan); !slices.Contains(below, s) || len(below) > c.fan {
				t.Fatalf("rank %d of %d with the span %v is not among %v", rank, c.size, s, below)
			}
		}
		if deepest != c.depth {
			t.Errorf("%d ranks with %d children each have %d levels, want %d", c.size, c.fan,
				deepest, c.depth)
		}
	}
}

// Ranks that gave the same are one run, in the order of the ranks.
func TestRuns(t *testing.T) {
	var runs []run
	for rank := range 100 {
		runs = append(runs, run{rank, 1, []byte{byte(rank / 30)}})
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(100, func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	_, joined, err := decodeRuns(encodeRuns(7, joinRuns(runs)), span{0, 100})
	if err != nil || len(joined) != 4 {
		t.Fatalf("%v, %v", joined, err)
	}
	for rank, payload := range spread(joined, 100) {
		if !bytes.Equal(payload, []byte{byte(rank / 30)}) {
			t.Errorf("rank %d gave %v", rank, payload)
		}
	}
}

// rounds gathers some times, and checks what comes. before is called before each.
func rounds(ctx context.Context, s *Tree, count int, before func(round int)) error {
	for round := range count {
		before(round)
		if round%3 == 0 {
			if err := s.Barrier(ctx); err != nil {
				return err
			}
			continue
		}
		all, err := s.Gather(ctx, fmt.Appendf(nil, "%d of %d", round, s.cfg.Rank*(round%2)))
		if err != nil {
			return err
		}
		for rank, payload := range all {
			if string(payload) != fmt.Sprintf("%d of %d", round, rank*(round%2)) {
				return fmt.Errorf("round %d: rank %d gave %q", round, rank, payload)
			}
		}
	}
	return nil
}

// A barrier of many ranks sends a few bytes to a few.
func TestDeep(t *testing.T) {
	for _, c := range []Config{{Size: 13, fan: 2}, {Size: 40}, {Size: 6, fan: 1}} {
		jobAs(t, c, func(s *Tree) error {
			if err := rounds(t.Context(), s, 10, func(int) {}); err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.gathered == 10 && (len(s.last) > 40 || len(s.down) > s.cfg.fan) {
				return fmt.Errorf("a barrier of %d ranks is %d bytes to %d", s.cfg.Size,
					len(s.last), len(s.down))
			}
			return nil
		})
	}
}

// A connection between two ranks within the tree that ends costs nothing: the one below uses its
// line.
func TestCutOffParent(t *testing.T) {
	for seed := range uint64(8) {
		jobAs(t, Config{Size: 13, fan: 2}, func(s *Tree) error {
			rng := rand.New(rand.NewPCG(seed, uint64(s.cfg.Rank)))
			return rounds(t.Context(), s, 30, func(round int) {
				s.mu.Lock()
				up := s.up
				s.mu.Unlock()
				if up != nil && up != s.line && rng.IntN(10) == 0 {
					_ = up.Conn.Close()
				}
			})
		})
	}
}

// A parent whose host does not answer is done without as well, and is not lost as long as it
// answers rank 0.
func TestParentOutOfReach(t *testing.T) {
	jobAs(t, Config{Size: 7, fan: 2, Apart: true, Silence: shortSilence}, func(s *Tree) error {
		if err := s.Barrier(t.Context()); err != nil { // all have come to their parents
			return err
		}
		if s.cfg.Rank == 2 || s.cfg.Rank == 3 {
			s.mu.Lock()
			if s.up != s.line {
				unplug(s.up)
			}
			s.mu.Unlock()
			for s.hasParent() {
				time.Sleep(time.Millisecond)
			}
		}
		return rounds(t.Context(), s, 6, func(int) {})
	})
}

// hasParent reports whether a rank is still connected to a parent other than rank 0.
func (t *Tree) hasParent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.up != t.line
}

// A rank within the tree that dies is named to all others, also below it, and these learn as
// before who leaves.
func TestLostWithin(t *testing.T) {
	for _, lost := range []int{1, 2, 7} {
		jobAs(t, Config{Size: 13, fan: 2}, func(s *Tree) error {
			if err := rounds(t.Context(), s, 4, func(int) {}); err != nil {
				return err
			}
			if s.cfg.Rank == lost {
				s.Close()
				return nil
			}
			err := rounds(t.Context(), s, 4, func(int) {})
			var gone *rma.RankError
			if !errors.As(err, &gone) || gone.Rank != lost || gone.Left {
				return fmt.Errorf("without rank %d: %v", lost, err)
			}
			return nil
		})
	}
}

// A rank that was told apart by rank 0 is lost to it alone where its line ends: the ranks below it
// are not.
func TestLineLost(t *testing.T) {
	jobAs(t, Config{Size: 7, fan: 2}, func(s *Tree) error {
		if err := s.Barrier(t.Context()); err != nil {
			return err
		}
		if s.cfg.Rank == 1 {
			_ = s.line.Conn.Close()
		}
		err := s.Barrier(t.Context())
		var gone *rma.RankError
		want := 1
		if s.cfg.Rank == 1 {
			want = 0
		}
		if !errors.As(err, &gone) || gone.Rank != want || gone.Left {
			return fmt.Errorf("after the end of the line of rank 1: %v", err)
		}
		if s.cfg.Rank != 1 && s.Alone() {
			return errors.New("rank 0 is lost to this rank")
		}
		return nil
	})
}
