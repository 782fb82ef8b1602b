package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// insertions has the ranks insert the same few words in orders of their own and notes who
// inserted what.
type insertions struct {
	inserted map[uint64]int  // times that a word was Inserted
	known    map[uint64]bool // words that some rank has found or inserted
}

const (
	distinctWords = 40
	wordsEach     = 25
)

func (in *insertions) run(ctx context.Context, s *set.Set, job *sim.Job) error {
	rng := job.Rand()
	for range wordsEach {
		word := rng.Uint64N(distinctWords)
		result, err := s.FindOrPut(word)
		if err != nil {
			return err
		}
		switch {
		case result == set.Inserted:
			in.inserted[word]++
		case result != set.Found:
			return fmt.Errorf("word %d: %v", word, result)
		}
		in.known[word] = true
	}
	return nil
}

// onCluster runs insertions on a cluster, then what is to be checked afterwards.
func (in *insertions) onCluster(opts sim.Options,
	after func(ctx context.Context, s *set.Set, job *sim.Job) error) (sim.Report, error) {
	in.inserted, in.known = map[uint64]int{}, map[uint64]bool{}
	return sim.Run(opts, func(job rma.Job) error {
		ctx := context.Background()
		s, err := set.New(ctx, job, set.Config{Buckets: 96, Chunk: 8, Depth: 4})
		if err != nil {
			return err
		}
		if err := in.run(ctx, s, job.(*sim.Job)); err != nil {
			return err
		}
		return after(ctx, s, job.(*sim.Job))
	})
}

// Whatever the network does, each word is inserted once.
func TestSetOnRandomClusters(t *testing.T) {
	var total sim.Report
	replay.Seeds(t, 200, func(t *testing.T, seed uint64) {
		var in insertions
		r, err := in.onCluster(sim.Random(3, seed),
			func(ctx context.Context, s *set.Set, job *sim.Job) error {
				if err := job.Barrier(ctx); err != nil {
					return err
				}
				return errors.Join(s.Check(ctx), job.Barrier(ctx))
			})
		if err != nil {
			t.Fatal(err)
		}
		for word := range in.known {
			if in.inserted[word] != 1 {
				t.Errorf("word %d was inserted %d times", word, in.inserted[word])
			}
		}
		total.Add(r)
	})
	t.Log(total)
}

// Where memory outlives its rank, what any rank has found or inserted stays in the set when
// ranks die, and is not inserted again.
func TestSetOutlivesRanks(t *testing.T) {
	kills := uint64(0)
	replay.Seeds(t, 200, func(t *testing.T, seed uint64) {
		opts := sim.Random(4, seed)
		opts.Faults.MemorySurvives, opts.Faults.KillEvery = true, 500
		var in insertions
		r, err := in.onCluster(opts, func(_ context.Context, s *set.Set, job *sim.Job) error {
			for word := range uint64(distinctWords) {
				if !in.known[word] {
					continue
				}
				if there, err := s.Contains(word); err != nil || !there {
					t.Errorf("rank %d: word %d is in the set: %v, %v", job.Rank(), word, there, err)
				}
			}
			return nil
		})
		var gone *rma.RankError // it died while the set was made
		if err != nil && !errors.As(err, &gone) {
			t.Fatal(err)
		}
		for word, times := range in.inserted {
			if times > 1 {
				t.Errorf("word %d was inserted %d times", word, times)
			}
		}
		kills += r.Kills
	})
	if !t.Failed() && kills == 0 {
		t.Error("nobody was killed")
	}
}
