package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

// KVBench measures the workloads of YCSB on a map, in rounds, and keeps the samples: the
// command farhash bench kv.
//
// For each size of batches the ranks load an empty map with records, and then do the
// workloads one after the other. Records are drawn with a skew of 0.99, in workload D the
// newest ones most often. Operations are generated into memory and what was read is verified
// while no clock runs: every read has to find its record, with a value that was written for
// it. A rate is the operations of all ranks divided by the time of the slowest. In workload F
// a read and a write of the same record are one operation.
type KVBench struct {
	cfg KVConfig
	law *keyLaw

	mu      sync.Mutex
	samples []KVSample
	huge    HugePages
}

// KVCase is what a sample is of.
type KVCase struct {
	Workload KVWorkload
	Ranks    int
	Batch    int
}

// KVSample is one workload done once by all ranks. Counts are of all ranks.
type KVSample struct {
	KVCase
	Operations uint64
	Elapsed    time.Duration
	Calls      uint64 // of the map: in workload F some operations are two
	RoundTrips uint64
	Lost       uint64 // compare-and-swaps lost to others
	Wrong      uint64 // reads that have not found what was written

	took kvLatencies
}

// Kops is the rate in thousands of operations per second.
func (s *KVSample) Kops() float64 {
	return float64(s.Operations) / float64(max(s.Elapsed, 1)) * float64(time.Second) / 1e3
}

// NewKV checks and completes cfg.
func NewKV(cfg KVConfig) (*KVBench, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &KVBench{cfg: cfg, law: newKeyLaw(ZipfKeys, cfg.Records)}, nil
}

// Config is what is measured, with the defaults filled in.
func (b *KVBench) Config() KVConfig { return b.cfg }

// Wrong is how many reads so far have not found what was written. It is not 0 only where the
// map is broken. Rank 0 knows.
func (b *KVBench) Wrong() (n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.samples {
		n += b.samples[i].Wrong
	}
	return n
}

// Round measures everything once on the ranks of job. Collective. When it fails or ctx ends,
// the samples so far remain.
func (b *KVBench) Round(ctx context.Context, job rma.Job) error {
	for _, batch := range b.cfg.Batches {
		r := kvRun{bench: b, job: job, of: KVCase{Ranks: job.Size(), Batch: batch},
			piece: newKVPiece(&b.cfg, batch)}
		if err := r.measure(ctx); err != nil {
			return fmt.Errorf("bench: kv, batches of %d: %w", batch, err)
		}
	}
	return nil
}

// kvRun measures the workloads with one map on one rank.
type kvRun struct {
	bench *KVBench
	job   rma.Job
	of    KVCase
	piece *kvPiece
	m     *kv.Map
	stamp uint64 // the last one
}

func (r *kvRun) measure(ctx context.Context) (err error) {
	runtime.GC() // what the last map left is not this one's to collect
	cfg := r.bench.cfg.mapConfig(r.job.Size())
	huge := newHugeCount()
	if r.m, err = kv.New(ctx, touchedJob{r.job}, cfg); err != nil {
		return err
	}
	if r.job.Rank() == 0 {
		r.bench.sawHuge(huge.since(cfg.BytesPerRank))
	}
	const rankShift = 40 // ranks have stamps of their own
	r.stamp = uint64(r.job.Rank()) << rankShift
	return errors.Join(r.workloads(ctx), r.m.Close())
}

func (b *KVBench) sawHuge(h HugePages) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.huge = b.huge.with(h)
}

// workloads does what is asked for, and the loading in any case.
func (r *kvRun) workloads(ctx context.Context) error {
	wanted := r.bench.cfg.Workloads
	for _, w := range KVWorkloads() {
		if w != YCSBLoad && !slices.Contains(wanted, w) {
			continue
		}
		s, err := r.workload(ctx, w)
		if err != nil {
			return fmt.Errorf("workload %s: %w", w, err)
		}
		if r.job.Rank() == 0 && slices.Contains(wanted, w) {
			r.bench.keep(s)
		}
	}
	return nil
}

// workload does one of them and returns its sample, which is the same on every rank.
func (r *kvRun) workload(ctx context.Context, w KVWorkload) (*KVSample, error) {
	before := r.m.Stats()
	s := newKVStream(w, r.bench.law, &r.bench.cfg, r.job.Rank(), r.job.Size(), &r.stamp)
	mine := s.left
	most := mine // of any rank: they meet as often
	if w == YCSBLoad {
		most = (s.records + s.ranks - 1) / s.ranks
	}
	took := newKVLatencies()
	var elapsed time.Duration
	var wrong uint64
	for done := uint64(0); done < most; done += uint64(len(r.piece.calls)) {
		r.piece.fill(s)
		spent, err := r.timed(ctx, took)
		if err != nil {
			return nil, err
		}
		elapsed += spent
		wrong += r.piece.wrong()
	}
	return r.sum(ctx, w, &KVSample{Operations: mine, Elapsed: elapsed, Wrong: wrong, took: *took},
		before)
}

// timed does the operations of the piece. Ranks begin together, and those that are done wait
// for the others.
func (r *kvRun) timed(ctx context.Context, took *kvLatencies) (time.Duration, error) {
	if err := r.job.Barrier(ctx); err != nil {
		return 0, err
	}
	batches := len(r.piece.ends)
	step := max(1, DefaultBatch/r.of.Batch)
	start := time.Now()
	for from := 0; from < batches; from += step {
		if err := r.piece.run(r.m, from, min(from+step, batches), took); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), r.job.Barrier(ctx)
}

// sum brings together what the ranks have seen: s is this rank's part. Collective.
func (r *kvRun) sum(ctx context.Context, w KVWorkload, s *KVSample,
	before kv.Stats) (*KVSample, error) {
	s.KVCase, s.Workload = r.of, w
	after := r.m.Stats()
	for kind := range after.Kinds {
		was, is := before.Kinds[kind], after.Kinds[kind]
		s.Calls += is.Calls - was.Calls
		s.RoundTrips += is.RoundTrips - was.RoundTrips
		s.Lost += is.Lost - was.Lost
	}
	for _, count := range []*uint64{&s.Operations, &s.Calls, &s.RoundTrips, &s.Lost, &s.Wrong} {
		all, err := gather(ctx, r.job, *count)
		if err != nil {
			return nil, err
		}
		*count = sum(all)
	}
	times, err := gather(ctx, r.job, uint64(s.Elapsed))
	if err != nil {
		return nil, err
	}
	s.Elapsed = time.Duration(slices.Max(times))
	if s.took.reads, err = mergeHistograms(ctx, r.job, s.took.reads); err != nil {
		return nil, err
	}
	s.took.writes, err = mergeHistograms(ctx, r.job, s.took.writes)
	return s, err
}

// keep keeps a sample, on rank 0.
func (b *KVBench) keep(s *KVSample) {
	b.mu.Lock()
	b.samples = append(b.samples, *s)
	b.mu.Unlock()
	if b.cfg.Progress != nil {
		b.cfg.Progress(*s)
	}
}
