package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
)

// IndexBench measures how fast an index is built and read on this machine, in rounds, and
// keeps the samples: the command farhash bench index.
//
// For each layout the ranks build a table, each from its part of the records, which are made
// while the clock runs. Then each rank looks up keys that are there, drawn evenly while no
// clock runs, by each policy, one at a time or in batches. A rate is that of all ranks by
// the time of the slowest. Every value that is found is compared with what was given to its
// key. Results are medians of rounds, as in the rest of this package.
type IndexBench struct {
	cfg IndexConfig

	mu      sync.Mutex
	samples []IndexSample
	bytes   uint64 // of the largest table
}

// IndexWork names what is timed.
type IndexWork string

// What is timed: the first is done once for each layout.
const (
	IndexBuild  IndexWork = "build"
	IndexLookup IndexWork = "lookup"
)

// IndexPoint is what a sample is of.
type IndexPoint struct {
	Work  IndexWork
	Impl  IndexImpl // of IndexBuild one with the layout
	Load  float64
	Ranks int
	Batch int // 1: one at a time; 0: of IndexBuild
}

// Name is the implementation, of a build its layout alone.
func (p IndexPoint) Name() string {
	if p.Work == IndexBuild {
		return p.Impl.of().layout.String()
	}
	return string(p.Impl)
}

// IndexSample is one work done once by all ranks.
type IndexSample struct {
	IndexPoint
	Operations uint64 // records or lookups, of all ranks
	Elapsed    time.Duration
}

// Mops is the rate in millions of operations per second.
func (s *IndexSample) Mops() float64 {
	return float64(s.Operations) / float64(max(s.Elapsed, 1)) * float64(time.Second) / 1e6
}

// NewIndex checks and completes cfg.
func NewIndex(cfg IndexConfig) (*IndexBench, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &IndexBench{cfg: cfg}, nil
}

// Config is what is measured, with the defaults filled in.
func (b *IndexBench) Config() IndexConfig { return b.cfg }

// Round measures everything once on the ranks of job. Collective. When it fails or ctx ends,
// the samples so far remain.
func (b *IndexBench) Round(ctx context.Context, job rma.Job) error {
	for _, load := range b.cfg.Loads {
		for _, impls := range byTable(b.cfg.Impls, IndexImpl.sameLayout) {
			r := indexRun{bench: b, job: job, load: load}
			if err := r.measure(ctx, impls); err != nil {
				return fmt.Errorf("bench: index, %s, load %v: %w", impls[0], load, err)
			}
		}
	}
	return nil
}

// indexRun measures with one table on one rank.
type indexRun struct {
	bench *IndexBench
	job   rma.Job
	load  float64
	keys  indexKeys
	index *index.Index
}

func (r *indexRun) measure(ctx context.Context, impls []IndexImpl) error {
	cfg := &r.bench.cfg
	r.keys = indexKeys{keyBytes: cfg.KeyBytes, valueBytes: cfg.ValueBytes, records: cfg.Records}
	if err := r.build(ctx, impls[0]); err != nil {
		return err
	}
	var err error
	for _, impl := range impls {
		for _, batch := range cfg.Batches {
			if err == nil {
				err = r.lookUp(ctx, impl, batch)
			}
		}
	}
	return errors.Join(err, r.index.Close())
}

// build makes the table, which is timed. Collective.
func (r *indexRun) build(ctx context.Context, impl IndexImpl) (err error) {
	runtime.GC() // what the last table left is not this one's to collect
	cfg := &r.bench.cfg
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	start := time.Now()
	r.index, err = index.Build(ctx, r.job, index.Config{KeySize: cfg.KeyBytes,
		ValueSize: cfg.ValueBytes, Layout: impl.of().layout, Load: r.load},
		r.keys.stream(r.job.Rank(), r.job.Size()))
	if err != nil {
		return err
	}
	r.bench.sawBytes(r.index.Info().SegmentBytes * uint64(r.job.Size()))
	point := IndexPoint{IndexBuild, impl, r.load, r.job.Size(), 0}
	if err = r.keep(ctx, point, uint64(cfg.Records), time.Since(start)); err != nil {
		err = errors.Join(err, r.index.Close())
	}
	return err
}

func (b *IndexBench) sawBytes(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes = max(b.bytes, n)
}

// lookUp measures lookups. Ranks begin together, and those that are done wait for the
// others: what comes next is not to disturb them.
func (r *indexRun) lookUp(ctx context.Context, impl IndexImpl, batch int) error {
	l := indexLooker{ctx: ctx, index: r.index, keys: &r.keys, batch: batch}
	if err := l.open(impl.of().lookups(0)); err != nil {
		return err
	}
	n := r.bench.cfg.Lookups
	l.draw(r.job.Rank(), n)
	elapsed, err := r.timed(ctx, &l)
	if err = errors.Join(err, l.close()); err != nil {
		return err
	}
	return r.keep(ctx, IndexPoint{IndexLookup, impl, r.load, r.job.Size(), batch},
		uint64(n*r.job.Size()), elapsed)
}

func (r *indexRun) timed(ctx context.Context, l *indexLooker) (time.Duration, error) {
	if err := r.job.Barrier(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := l.run(); err != nil {
		return 0, err
	}
	return time.Since(start), r.job.Barrier(ctx)
}

// keep keeps a sample on rank 0. Collective.
func (r *indexRun) keep(ctx context.Context, of IndexPoint, operations uint64,
	elapsed time.Duration) error {
	times, err := gather(ctx, r.job, uint64(elapsed))
	if err != nil || r.job.Rank() != 0 {
		return err
	}
	s := IndexSample{of, operations, time.Duration(slices.Max(times))}
	r.bench.mu.Lock()
	r.bench.samples = append(r.bench.samples, s)
	r.bench.mu.Unlock()
	if r.bench.cfg.Progress != nil {
		r.bench.cfg.Progress(s)
	}
	return nil
}
