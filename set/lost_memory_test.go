package set

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

const (
	lostRanks   = 4
	lostBuckets = 16 * lostRanks
	lostAtNs    = 1_000_000_000 // when ranks are killed, long after the others have begun to sleep
	lostWords   = 60
)

// lostMemory is a set whose ranks are lost with their memory, some before it grows and some while
// it does. Every answer that the others get is right, and they get some. Ranks take turns, so that
// they need no lock for this.
type lostMemory struct {
	words    []uint64
	answered map[uint64]bool // a call has found or inserted it
	inserted map[uint64]bool // a call has inserted it
	calls    int             // after the loss
	right    int             // of these were answered
	mover    int             // the first rank that moves a table
}

// TestLostMemory has ranks reach the memory of all others by queues, or address the memory of
// their host: also of a rank that is lost, of which the other host then has nothing.
func TestLostMemory(t *testing.T) {
	lostCannotMove.Claim(t)
	seeds := uint64(replay.Often(3, 12))
	if slow {
		seeds = 2
	}
	for _, view := range []sim.View{sim.ViewNone, sim.ViewHost} {
		for _, victims := range [][]int{{0}, {1}, {3}, {2, 3}} {
			t.Run(fmt.Sprint("view ", view, " lost ", victims), func(t *testing.T) {
				replay.Seeds(t, seeds, func(t *testing.T, seed uint64) {
					runLost(t, view, victims, seed)
				})
			})
		}
	}
}

func runLost(t *testing.T, view sim.View, victims []int, seed uint64) {
	t.Helper()
	opts := sim.Options{Ranks: lostRanks, RanksPerHost: 2, Seed: seed, View: view}
	for _, rank := range victims {
		opts.Faults.Kills = append(opts.Faults.Kills, sim.Kill{Rank: rank, AtNs: lostAtNs})
	}
	l := lostMemory{answered: map[uint64]bool{}, inserted: map[uint64]bool{},
		mover: int(seed % lostRanks)}
	for i := range uint64(lostWords) {
		l.words = append(l.words, hashWord(seed<<32|i)&MaxWord)
	}
	_, err := sim.Run(opts, func(job rma.Job) error { return l.rank(job.(*sim.Job)) })
	must(t, err)
	if l.right < l.calls/10 {
		t.Errorf("of %d calls %d were answered", l.calls, l.right)
	}
}

// rank is the function of a rank.
func (l *lostMemory) rank(job *sim.Job) error {
	s, err := New(context.Background(), job, Config{Buckets: lostBuckets, MaxBytes: 1 << 16})
	if err != nil {
		return err
	}
	rng := job.Rand()
	for range 5 + rng.IntN(7) {
		if err := l.call(s, rng.IntN(lostWords), true); err != nil {
			return err
		}
	}
	job.Sleep(lostAtNs)
	const last = 4
	for round := range last + 1 { // another rank moves what it can, and inserts
		moves := (l.mover+round)%lostRanks == job.Rank()
		for range 2 * lostRanks { // errors come again in the calls
			if t := s.oldest.Load().moves(); moves && t.gen <= round {
				_, _ = t.help(1, true)
			}
		}
		job.Sleep(lostAtNs)
		inserts := round > 0 && moves || round == last
		for i := range lostWords {
			if err := l.goOn(s, i, inserts && rng.IntN(2) == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// goOn is call after the loss.
func (l *lostMemory) goOn(s *Set, i int, insert bool) error {
	l.calls++
	err := l.call(s, i, insert)
	if gone := (*rma.RankError)(nil); errors.As(err, &gone) {
		return nil
	}
	l.right++
	return err
}

// call finds or puts a word, and compares the answer with what was answered before.
func (l *lostMemory) call(s *Set, i int, insert bool) error {
	word, results := l.words[i], make([]Result, 1)
	there, run := l.answered[word], s.ContainsBatch
	if insert {
		run = s.FindOrPutBatch
	}
	if err := run([]uint64{word}, results); err != nil {
		return err
	}
	r := results[0]
	if there && r != Found || r == Inserted && l.inserted[word] {
		return fmt.Errorf("rank %d: %#x is %v; before the call it was there: %v", s.job.Rank(),
			word, r, there)
	}
	l.answered[word] = l.answered[word] || r != NotFound
	l.inserted[word] = l.inserted[word] || r == Inserted
	return nil
}

// TestLostMoveEndsTwice has two calls find at the same time that no piece is left that can move.
// The second must not take the table for moved because the first has gone on meanwhile: searches
// would begin at the next table and miss what the lost rank had.
func TestLostMoveEndsTwice(t *testing.T) {
	opts := sim.Options{Ranks: 2, View: sim.ViewNone,
		Faults: sim.Faults{Kills: []sim.Kill{{Rank: 1, AtNs: lostAtNs}}}}
	_, err := sim.Run(opts, func(job rma.Job) error {
		s, err := New(context.Background(), job, Config{Buckets: 32, MaxBytes: 1 << 16})
		if err != nil {
			return err
		}
		job.(*sim.Job).Sleep(2 * lostAtNs)
		first := s.oldest.Load()
		for first.progress.state.Load() != growthRest {
			if done, err := first.help(1, true); done || err != nil {
				return fmt.Errorf("the table has moved: %v, %w", done, err)
			}
		}
		if done, err := first.endMove(); done || err != nil {
			return fmt.Errorf("the second call says that the table has moved: %v, %w", done, err)
		}
		if s.oldest.Load() != first {
			return errors.New("searches begin after a table that a lost rank has a part of")
		}
		return nil
	})
	must(t, err)
}
