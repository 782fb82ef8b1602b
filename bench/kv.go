package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

// KVBench measures the workloads of YCSB on a map, in rounds, and keeps the samples: the
// command farhash bench kv.
//
// For each size of batches the ranks load an empty map with records, in batches where that is
// not to be measured, and then do the workloads one after the other. Records are drawn with a
// skew of 0.99, in workload D the newest ones most often. Operations are generated into memory
// and what was read is verified while no clock runs: every read has to find its record, with a
// value that was written for it. A rate is the operations of all ranks divided by the time of
// the slowest. In workload F a read and a write of the same record are one operation.
//
// A Redis server does the same beside the map, with KVConfig.Redis: the ranks are its clients,
// with a connection each, and a batch is a pipeline. It is always loaded in batches. What one
// core does is the operations divided by the CPU time of the server: that of its clients is a
// gift. With a map it is the operations divided by the time of all ranks. Close stops a server
// that was started.
type KVBench struct {
	cfg KVConfig
	law *keyLaw

	mu      sync.Mutex
	samples []KVSample
	huge    HugePages
	server  *redisServer // started here
	redis   string       // the one that was measured
}

// KVCase is what a sample is of.
type KVCase struct {
	Workload KVWorkload
	Impl     KVImpl
	Ranks    int
	Batch    int
}

// KVSample is one workload done once by all ranks. Counts are of all ranks.
type KVSample struct {
	KVCase
	Operations uint64
	Elapsed    time.Duration
	Served     time.Duration // CPU time of the server, 0 where there is none
	Calls      uint64        // of the map: in workload F some operations are two
	RoundTrips uint64
	Ships      uint64 // requests in which calls have travelled
	Lost       uint64 // compare-and-swaps lost to others
	Wrong      uint64 // reads that have not found what was written

	took kvLatencies
}

// Kops is the rate in thousands of operations per second.
func (s *KVSample) Kops() float64 {
	return float64(s.Operations) / float64(max(s.Elapsed, 1)) * float64(time.Second) / 1e3
}

// CoreKops is the rate of one core: of a server in its CPU time, else of a rank.
func (s *KVSample) CoreKops() float64 {
	if s.Impl != KVRedis {
		return s.Kops() / float64(s.Ranks)
	}
	return float64(s.Operations) / float64(max(s.Served, 1)) * float64(time.Second) / 1e3
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
		for _, impl := range b.cfg.Impls {
			r := kvRun{bench: b, job: job, of: KVCase{Impl: impl, Ranks: job.Size(), Batch: batch},
				piece: newKVPiece(&b.cfg, batch)}
			if err := r.measure(ctx); err != nil {
				return fmt.Errorf("bench: %s, batches of %d: %w", impl, batch, err)
			}
		}
	}
	return nil
}

// kvRun measures the workloads with one store on one rank.
type kvRun struct {
	bench *KVBench
	job   rma.Job
	of    KVCase
	piece *kvPiece
	store kvStore
	stamp uint64 // the last one
}

func (r *kvRun) measure(ctx context.Context) (err error) {
	runtime.GC() // what the last store left is not this one's to collect
	open := r.openMap
	if r.of.Impl == KVRedis {
		open = r.openRedis
	}
	if r.store, err = open(ctx); err != nil {
		return err
	}
	const rankShift = 40 // ranks have stamps of their own
	r.stamp = uint64(r.job.Rank()) << rankShift
	return errors.Join(r.workloads(ctx), r.store.close(ctx))
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
		piece, keep := r.piece, slices.Contains(wanted, w)
		if w == YCSBLoad && r.of.Batch == 1 && (!keep || r.of.Impl == KVRedis) {
			// One at a time would take longer than all else; it is no sample.
			piece, keep = newKVPiece(&r.bench.cfg, DefaultKVBatch), false
		} else if w != YCSBLoad && !keep {
			continue
		}
		s, err := r.workload(ctx, w, piece)
		if err != nil {
			return fmt.Errorf("workload %s: %w", w, err)
		}
		if r.job.Rank() == 0 && keep {
			r.bench.keep(s)
		}
	}
	return nil
}

// workload does one of them and returns its sample, which is the same on every rank.
func (r *kvRun) workload(ctx context.Context, w KVWorkload, piece *kvPiece) (*KVSample, error) {
	before := r.store.counts()
	s := newKVStream(w, r.bench.law, &r.bench.cfg, r.job.Rank(), r.job.Size(), &r.stamp)
	is := &KVSample{KVCase: r.of, Operations: s.left, took: *newKVLatencies()}
	is.Workload = w
	most := s.left // of any rank: they meet as often
	if w == YCSBLoad {
		most = (s.records + s.ranks - 1) / s.ranks
	}
	for done := uint64(0); done < most; done += uint64(len(piece.calls)) {
		piece.fill(s)
		if err := r.timed(ctx, piece, is); err != nil {
			return nil, err
		}
		is.Wrong += piece.wrong()
	}
	after := r.store.counts()
	is.Calls, is.RoundTrips = after.calls-before.calls, after.roundTrips-before.roundTrips
	is.Lost, is.Ships = after.lost-before.lost, after.ships-before.ships
	return is, r.sum(ctx, is)
}

// timed does the operations of the piece. Ranks begin together, and those that are done wait
// for the others.
func (r *kvRun) timed(ctx context.Context, piece *kvPiece, s *KVSample) error {
	before, err := r.store.served()
	if err == nil {
		err = r.job.Barrier(ctx)
	}
	if err != nil {
		return err
	}
	batches := len(piece.ends)
	step := max(1, DefaultBatch/piece.batch)
	start := time.Now()
	for from := 0; from < batches; from += step {
		if err := piece.run(r.store, from, min(from+step, batches), &s.took); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	s.Elapsed += time.Since(start)
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	after, err := r.store.served()
	s.Served += after - before
	return err
}

// sum brings together what the ranks have seen: s is this rank's part. Collective.
func (r *kvRun) sum(ctx context.Context, s *KVSample) error {
	served := uint64(s.Served) // rank 0 knows
	for _, count := range []*uint64{&s.Operations, &s.Calls, &s.RoundTrips, &s.Lost, &s.Ships,
		&s.Wrong, &served} {
		all, err := gather(ctx, r.job, *count)
		if err != nil {
			return err
		}
		*count = sum(all)
	}
	s.Served = time.Duration(served)
	times, err := gather(ctx, r.job, uint64(s.Elapsed))
	if err != nil {
		return err
	}
	s.Elapsed = time.Duration(slices.Max(times))
	if s.took.reads, err = mergeHistograms(ctx, r.job, s.took.reads); err != nil {
		return err
	}
	s.took.writes, err = mergeHistograms(ctx, r.job, s.took.writes)
	return err
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
