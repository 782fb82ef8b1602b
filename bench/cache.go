package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// CacheBench measures what MD 5.2 measures, in rounds, and keeps the samples: the command
// farhash bench cache.
//
// For each law of keys and size of batches it makes an empty cache in each mode, and the
// ranks write, then read the same keys, then mix 95% reads and 5% writes. What a workload
// needs is generated into memory and what was read is verified while no clock runs. A
// rate is the operations of all ranks divided by the time of the slowest. The modes are
// measured in turn, and results are medians of rounds, as in the rest of this package.
//
// Keys are drawn from a numbered supply. A value is a stamp of its writer and bytes that
// derive from key and stamp: every value that is read is held against its key.
type CacheBench struct {
	cfg  CacheConfig
	laws map[CacheKeys]*keyLaw

	mu      sync.Mutex
	samples []CacheSample
	huge    HugePages
}

// CacheCase is what a sample is of.
type CacheCase struct {
	Keys     CacheKeys
	Workload CacheWorkload
	Ranks    int
	Batch    int
	Mode     cache.Mode
	Access   ship.Access
}

// Variant names the mode, and the access where one was asked for.
func (c *CacheCase) Variant() string {
	if c.Access == ship.Auto {
		return c.Mode.String()
	}
	return c.Mode.String() + ", " + c.Access.String()
}

// CacheSample is one workload done once by all ranks. Counts are of all ranks.
type CacheSample struct {
	CacheCase
	Operations uint64
	Elapsed    time.Duration
	Stats      cache.Stats
	Wrong      uint64 // values read that nobody has written for that key
}

// Kops is the rate in thousands of operations per second.
func (s *CacheSample) Kops() float64 {
	return float64(s.Operations) / float64(max(s.Elapsed, 1)) * float64(time.Second) / 1e3
}

// NewCache checks and completes cfg.
func NewCache(cfg CacheConfig) (*CacheBench, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	b := &CacheBench{cfg: cfg, laws: map[CacheKeys]*keyLaw{}}
	for _, keys := range cfg.Keys {
		b.laws[keys] = newKeyLaw(keys, cfg.KeySpace)
	}
	return b, nil
}

// Config is what is measured, with the defaults filled in.
func (b *CacheBench) Config() CacheConfig { return b.cfg }

// Wrong is how many values that were read so far nobody had written for their key. It is
// not 0 only where the cache is broken. Rank 0 knows.
func (b *CacheBench) Wrong() (n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.samples {
		n += b.samples[i].Wrong
	}
	return n
}

// Round measures everything once on the ranks of job. Collective. When it fails or ctx ends,
// the samples so far remain.
func (b *CacheBench) Round(ctx context.Context, job rma.Job) error {
	piece := newCachePiece(&b.cfg)
	for _, keys := range b.cfg.Keys {
		for _, batch := range b.cfg.Batches {
			for _, v := range b.cfg.variants() {
				r := cacheRun{bench: b, job: job, piece: piece, of: CacheCase{Keys: keys,
					Ranks: job.Size(), Batch: batch, Mode: v.Mode, Access: v.Access}}
				if err := r.measure(ctx); err != nil {
					return fmt.Errorf("bench: cache, %v, %v, %s keys: %w", v.Mode, v.Access, keys,
						err)
				}
			}
		}
	}
	return nil
}

// variants are the modes by all accesses, those of a mode in turn. Only they are filled in.
func (c *CacheConfig) variants() (all []CacheCase) {
	for _, mode := range c.Modes {
		for _, access := range c.Accesses {
			all = append(all, CacheCase{Mode: mode, Access: access})
		}
	}
	return all
}

// cacheRun measures the workloads with one cache on one rank.
type cacheRun struct {
	bench *CacheBench
	job   rma.Job
	of    CacheCase
	piece *cachePiece
	cache *cache.Cache
	stamp uint64 // the last one
}

func (r *cacheRun) measure(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	err := r.workloads(ctx)
	return errors.Join(err, r.cache.Close())
}

// open makes the cache and touches its memory. Collective.
func (r *cacheRun) open(ctx context.Context) (err error) {
	runtime.GC() // what the last cache left is not this one's to collect
	cfg := &r.bench.cfg
	huge := newHugeCount()
	r.cache, err = cache.New(ctx, touchedJob{r.job}, cache.Config{KeySize: cfg.KeyBytes,
		ValueSize: cfg.ValueBytes, BucketsPerRank: cfg.BucketsPerRank, Mode: r.of.Mode,
		Access: r.of.Access})
	if err != nil {
		return err
	}
	if r.job.Rank() == 0 {
		r.bench.sawHuge(huge.since(cfg.rankBytes()))
	}
	const rankShift = 40 // ranks have stamps of their own
	r.stamp = uint64(r.job.Rank()) << rankShift
	return nil
}

// rankBytes is what the buckets of a rank take, but for locks.
func (c *CacheConfig) rankBytes() uint64 {
	return c.BucketsPerRank * uint64(8+(c.KeyBytes+7)/8*8+(c.ValueBytes+7)/8*8)
}

func (b *CacheBench) sawHuge(h HugePages) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.huge = b.huge.with(h)
}

// workloads does what is asked for, and the writes before in any case.
func (r *cacheRun) workloads(ctx context.Context) error {
	wanted := r.bench.cfg.Workloads
	for _, w := range CacheWorkloads() {
		if w != CacheWrite && !slices.Contains(wanted, w) {
			continue
		}
		s, err := r.workload(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
		if r.job.Rank() == 0 && slices.Contains(wanted, w) {
			r.bench.keep(s)
		}
	}
	return nil
}

// workload does one of them and returns its sample, which is the same on every rank.
func (r *cacheRun) workload(ctx context.Context, w CacheWorkload) (*CacheSample, error) {
	cfg := &r.bench.cfg
	r.cache.ResetStats()
	s := newCacheStream(r.bench.laws[r.of.Keys], w, r.job.Rank(), cfg.Operations, &r.stamp)
	var elapsed time.Duration
	var wrong uint64
	for s.reads+s.puts > 0 { // as often on every rank
		r.piece.fill(s, r.of.Batch)
		spent, err := r.timed(ctx)
		if err != nil {
			return nil, err
		}
		elapsed += spent
		wrong += r.piece.wrong()
	}
	return r.sum(ctx, w, elapsed, wrong)
}

// timed does the operations of the piece. Ranks begin together, and those that are done wait
// for the others: what comes next is not to disturb them.
func (r *cacheRun) timed(ctx context.Context) (time.Duration, error) {
	if err := r.job.Barrier(ctx); err != nil {
		return 0, err
	}
	step := max(1, DefaultBatch/r.of.Batch) * r.of.Batch
	start := time.Now()
	for begin := 0; begin < r.piece.n; begin += step {
		if err := r.piece.run(r.cache, begin, min(begin+step, r.piece.n)); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), r.job.Barrier(ctx)
}

// sum brings together what the ranks have seen. Collective.
func (r *cacheRun) sum(ctx context.Context, w CacheWorkload, elapsed time.Duration,
	wrong uint64) (*CacheSample, error) {
	times, err := gather(ctx, r.job, uint64(elapsed))
	if err != nil {
		return nil, err
	}
	wrongs, err := gather(ctx, r.job, wrong)
	if err != nil {
		return nil, err
	}
	_, stats, err := r.cache.AllStats(ctx)
	if err != nil {
		return nil, err
	}
	s := &CacheSample{CacheCase: r.of, Stats: stats, Wrong: sum(wrongs),
		Operations: uint64(r.bench.cfg.Operations) * uint64(r.job.Size()),
		Elapsed:    time.Duration(slices.Max(times))}
	s.Workload = w
	if n := stats.Reads() + stats.Writes(); n != s.Operations {
		return nil, fmt.Errorf("the cache has done %d operations of %d: it is wrong", n,
			s.Operations)
	}
	return s, nil
}

// keep keeps a sample, on rank 0.
func (b *CacheBench) keep(s *CacheSample) {
	b.mu.Lock()
	b.samples = append(b.samples, *s)
	b.mu.Unlock()
	if b.cfg.Progress != nil {
		b.cfg.Progress(*s)
	}
}
