package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// LatencyConfig says what single operations are measured: inserts by one rank into
// memory of another host, while the load of the table rises (OP 4.1).
type LatencyConfig struct {
	Cluster Cluster
	Chunk   int // C
	// Loads at which measurements end, rising, each at least LoadStep after the one
	// before it.
	Loads []float64
	// Operations are measured, evenly spread over the inserts of an interval.
	Operations int
	Buckets    uint64 // of the table, a power of two; 0: DefaultLatencyBuckets
	Seed       uint64
}

const (
	// LoadStep is by how much the load rises while the operations of a load are
	// measured (OP 4.1).
	LoadStep = 0.02
	// DefaultLatencyBuckets is the size of the table: 32 MiB.
	DefaultLatencyBuckets = 1 << 22

	// latencyHosts have one rank each.
	latencyHosts = 2
)

// Latency is what single operations take.
type Latency struct {
	Chunk      int
	Load       float64 // at the end
	LatencyNs  float64 // mean of an operation
	RoundTrips float64 // mean of an operation, as OP Table 1 counts them
}

// Latencies measures single operations. Only rank 0 does any.
func Latencies(ctx context.Context, cfg LatencyConfig) ([]Latency, error) {
	if cfg.Buckets == 0 {
		cfg.Buckets = DefaultLatencyBuckets
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &latency{cfg: cfg, memory: make(segments, latencyHosts), words: words{cfg.Seed},
		table: set.Config{Buckets: cfg.Buckets, Chunk: cfg.Chunk,
			Chunks: max(1, reachBuckets/cfg.Chunk), Depth: 1}.WithVariant(paperHomes)}
	cost := cfg.Cluster.of(latencyHosts, 1)
	// Rank 0's own half of the memory is as far as the other one.
	cost.HostLatencyNs, cost.HostBytesPerNs = cost.LatencyNs, cost.BytesPerNs
	err := run(ctx, cost, latencyHosts, 1, cfg.Seed,
		func(job *sim.Job) error { return l.rank(ctx, job) })
	if err != nil {
		return nil, fmt.Errorf("single operations with C=%d: %w", cfg.Chunk, err)
	}
	return l.measured, nil
}

func (c *LatencyConfig) check() error {
	if c.Chunk < 8 || c.Chunk%8 != 0 || c.Chunk > maxChunk {
		return fmt.Errorf("a chunk must be a multiple of 8 up to %d buckets, not %d",
			maxChunk, c.Chunk)
	}
	interval := float64(c.Buckets) * LoadStep
	if c.Operations < 1 || float64(c.Operations) > interval {
		return fmt.Errorf("an interval of a table of %d buckets has 1 to %.0f "+
			"operations, not %d", c.Buckets, interval, c.Operations)
	}
	least := 0.0
	for _, load := range c.Loads {
		if !(load-LoadStep >= least-1e-9 && load <= MaxLoad) {
			return fmt.Errorf("load %v must be at least %v after the one before it "+
				"and at most %v", load, LoadStep, MaxLoad)
		}
		least = load
	}
	return c.Cluster.check(latencyHosts, 1)
}

// latency is what the two ranks share.
type latency struct {
	cfg      LatencyConfig
	table    set.Config
	words    words
	memory   segments
	measured []Latency
}

func (l *latency) rank(ctx context.Context, job *sim.Job) error {
	m := &member{Job: job, wordNs: l.cfg.Cluster.WordNs,
		bucketWords: int(l.table.Buckets) / job.Size()}
	s, err := set.New(ctx, m, l.table)
	if err != nil {
		return err
	}
	l.memory[job.Rank()] = m.buckets.Words(job.Rank())
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	if job.Rank() == 0 {
		f, err := newFiller(ctx, l.memory, l.table, l.words)
		if err != nil {
			return err
		}
		for _, load := range l.cfg.Loads {
			if err := l.interval(ctx, job, s, f, load); err != nil {
				return err
			}
		}
	}
	return errors.Join(job.Barrier(ctx), s.Close(), job.Close())
}

// interval raises the load and measures some of the inserts of its last step.
func (l *latency) interval(ctx context.Context, job *sim.Job, s *set.Set, f *filler,
	load float64) error {
	end := uint64(load * float64(l.cfg.Buckets))
	begin := end - uint64(LoadStep*float64(l.cfg.Buckets))
	if begin > f.filled {
		if err := f.fill(ctx, begin-f.filled); err != nil {
			return err
		}
	}
	n := uint64(l.cfg.Operations)
	before, beginNs := s.Stats(), job.NowNs()
	for i := range n {
		if err := f.fill(ctx, (end-f.filled)/(n-i)-1); err != nil {
			return err
		}
		r, err := s.FindOrPut(l.words.at(f.filled))
		if err != nil {
			return err
		}
		if r != set.Inserted {
			return fmt.Errorf("a new word was %v: the table is wrong", r)
		}
		f.filled++
	}
	elapsedNs := job.NowNs() - beginNs
	trips := RoundTrips(s.Stats()) - RoundTrips(before)
	l.measured = append(l.measured, Latency{Chunk: l.cfg.Chunk, Load: load,
		LatencyNs: float64(elapsedNs) / float64(n), RoundTrips: float64(trips) / float64(n)})
	return nil
}
