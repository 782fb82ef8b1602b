package net

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Scale is what a rank of a large job does, on a simulated cluster.
func Scale() *experiment.Experiment {
	column := func(unit, head string, digits int) view.Column {
		return view.Column{Unit: unit, Head: head, Digits: digits}
	}
	return &experiment.Experiment{
		Name:  "scale",
		Short: "what a rank of up to 10,000 sends, keeps and waits for, on a simulated cluster",
		Long: `Has the ranks of simulated clusters wait for each other (barrier), make a set (make),
make one and insert words (set), and make a cache, put pairs into it and get them (cache). The code
of the tables is the real one, the network and the time are simulated. Each rank does the same
work, whatever the number of ranks. Messages and bytes are what a rank sends to other hosts, on
average; a barrier has none here, as the engine simulates only its time. Microseconds are virtual
time, and memory is what this process keeps for a rank.

What does not grow with the ranks has the same figures in all rows; log2 is there to compare with.`,
		Takes:   "a minute",
		Runs:    1,
		Example: "--sizes 16,1000 --preset tcp",
		Views: []view.View{{Name: "NetScale", Title: "work of one rank of many",
			Columns: []view.Column{column("log2", "log2", 1),
				column("messages/rank", "messages", 1), column("KiB/rank", "KiB sent", 2),
				column("virtual-us", "us", 1), column("kept-KiB/rank", "KiB kept", 1)},
			Plots: []view.Plot{{Title: "messages of a rank", Panel: "phase", X: "ranks",
				Y: "messages/rank"}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &scale{}
			flags.IntSliceVar(&s.sizes, "sizes", []int{16, 128, 1024, 10_000},
				"numbers of ranks")
			flags.IntVar(&s.perHost, "per-host", 16, "ranks of a host")
			flags.StringVar(&s.preset, "preset", "edr", fmt.Sprintf("network, one of %v",
				sim.Presets()))
			flags.IntVar(&s.batches, "batches", 1, "batches of 16 operations of each rank")
			return s
		},
	}
}

// scale runs what the flags say.
type scale struct {
	sizes            []int
	perHost, batches int
	preset           string
	cost             sim.Cost
}

const (
	scaleBatch   = 16
	scaleBuckets = 2 * scaleBatch // of each rank for each batch
)

// Check refuses what makes no sense.
func (s *scale) Check() (err error) {
	if s.cost, err = sim.Preset(s.preset); err != nil {
		return fmt.Errorf("--preset: %w", err)
	}
	for _, ranks := range s.sizes {
		err = errors.Join(err, experiment.InRange("sizes", ranks, 2, sim.MaxRanks))
	}
	return errors.Join(err, experiment.InRange("per-host", s.perHost, 1, 1<<10),
		experiment.InRange("batches", s.batches, 1, 1<<10))
}

// phases are what the ranks do, each in a run of its own.
var phases = []struct {
	name string
	work func(s *scale, ctx context.Context, job *sim.Job) error
}{
	{"barrier", (*scale).barrier}, {"make", (*scale).makeSet}, {"set", (*scale).set},
	{"cache", (*scale).cache},
}

// Round simulates everything once.
func (s *scale) Round(ctx context.Context, job rma.Job, seed uint64, emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, phase := range phases {
		for _, ranks := range s.sizes {
			kept := uint64(0)
			report, err := sim.Run(sim.Options{Ranks: ranks, RanksPerHost: s.perHost, Seed: seed,
				Cost: s.cost, View: sim.ViewOwn, Context: ctx, MaxTimeNs: sim.MaxNs,
				MaxSteps: math.MaxUint64}, func(job rma.Job) error {
				if err := phase.work(s, ctx, job.(*sim.Job)); err != nil {
					return err
				}
				kept = max(kept, keptBytes(job))
				return job.Close()
			})
			if err != nil {
				return fmt.Errorf("%s of %d ranks: %w", phase.name, ranks, err)
			}
			emit(s.record(phase.name, ranks, report, kept))
		}
	}
	return job.Barrier(ctx)
}

// keptBytes is what the process has for all ranks, as the first of them sees it at the end.
func keptBytes(job rma.Job) uint64 {
	if job.Rank() != 0 {
		return 0
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func (s *scale) record(phase string, ranks int, r sim.Report, kept uint64) record.Record {
	n := float64(ranks)
	return record.Record{Name: "NetScale", N: ranks,
		Keys: []record.Key{record.K("preset", s.preset), record.K("phase", phase),
			record.K("ranks", ranks)},
		Values: []record.Value{{Value: math.Log2(n), Unit: "log2"},
			{Value: float64(r.Messages) / n, Unit: "messages/rank"},
			{Value: float64(r.Bytes) / n / 1024, Unit: "KiB/rank"},
			{Value: float64(r.TimeNs) / 1e3, Unit: "virtual-us"},
			{Value: float64(kept) / n / 1024, Unit: "kept-KiB/rank"}}}
}

// barrier waits for all ranks.
func (s *scale) barrier(ctx context.Context, job *sim.Job) error { return job.Barrier(ctx) }

// newSet makes a set.
func (s *scale) newSet(ctx context.Context, job *sim.Job) (*set.Set, error) {
	return set.New(ctx, job, set.Config{
		Buckets: uint64(job.Size() * s.batches * scaleBuckets), Chunk: 8, Depth: scaleBatch})
}

func (s *scale) makeSet(ctx context.Context, job *sim.Job) error {
	table, err := s.newSet(ctx, job)
	if err != nil {
		return err
	}
	return errors.Join(job.Barrier(ctx), table.Close())
}

// set makes a set and inserts words of this rank, each of which must be new.
func (s *scale) set(ctx context.Context, job *sim.Job) error {
	table, err := s.newSet(ctx, job)
	if err != nil {
		return err
	}
	words, results := make([]uint64, scaleBatch), make([]set.Result, scaleBatch)
	for batch := range s.batches {
		for i := range words {
			words[i] = 1 + uint64((job.Rank()*s.batches+batch)*scaleBatch+i)
		}
		if err := table.FindOrPutBatch(words, results); err != nil {
			return err
		}
		for i, r := range results {
			if r != set.Inserted {
				return fmt.Errorf("word %d, which is new: %v", words[i], r)
			}
		}
	}
	return errors.Join(job.Barrier(ctx), table.Close())
}

// cache makes a cache, and puts and gets pairs.
func (s *scale) cache(ctx context.Context, job *sim.Job) error {
	const valueBytes = 104
	table, err := cache.New(ctx, job, cache.Config{KeySize: 8, ValueSize: valueBytes,
		Buckets: uint64(job.Size() * s.batches * scaleBuckets), Depth: scaleBatch})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, uint64(job.Rank())))
	keys, values := make([]byte, 8*scaleBatch), make([]byte, valueBytes*scaleBatch)
	found, results := make([]bool, scaleBatch), make([]cache.Result, scaleBatch)
	for range s.batches {
		for i := range scaleBatch {
			binary.LittleEndian.PutUint64(keys[8*i:], rng.Uint64())
		}
		if err := table.PutBatch(keys, values, results); err != nil {
			return err
		}
		if err := table.GetBatch(keys, values, found); err != nil {
			return err
		}
	}
	return errors.Join(job.Barrier(ctx), table.Close())
}
