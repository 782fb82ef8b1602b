package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// Rate is the throughput of a cluster.
type Rate struct {
	Operations int     // measured, of all ranks
	Mops       float64 // million operations per second of virtual time
	LatencyNs  float64 // how long an operation takes a rank, on average
}

// Throughput has all ranks of a cluster do the workload until they have done as many
// operations as asked for, all together, so that none is idle at the end.
func Throughput(ctx context.Context, cfg Config) (*Rate, error) {
	t, err := newThroughput(cfg)
	if err != nil {
		return nil, err
	}
	return t.simulate(ctx)
}

func newThroughput(cfg Config) (*throughput, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	// A rank alone would see all memory and need no operations. So another one beside it
	// has half of the memory, and nothing to do.
	ranks := max(cfg.ranks(), 2)
	t := &throughput{cfg: cfg, table: cfg.set(), words: words{cfg.Seed},
		memory: make(segments, ranks)}
	if err := memory.Check(t.bytes(), fmt.Sprintf("simulating %d ranks", ranks)); err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	return t, nil
}

func (t *throughput) simulate(ctx context.Context) (*Rate, error) {
	cfg, ranks := &t.cfg, len(t.memory)
	err := run(ctx, cfg.Cluster.of(cfg.Hosts, cfg.Procs), ranks, ranks/cfg.Hosts, cfg.Seed,
		func(job *sim.Job) error { return t.rank(ctx, job) })
	if err != nil {
		return nil, fmt.Errorf("%d hosts with %d ranks each: %w", cfg.Hosts, cfg.Procs, err)
	}
	n := t.end.done - t.begin.done
	perNs := float64(n) / float64(t.end.ns-t.begin.ns)
	return &Rate{Operations: n, Mops: perNs * 1e3, LatencyNs: float64(cfg.ranks()) / perNs}, nil
}

// bytes is about the memory that a run takes.
func (t *throughput) bytes() uint64 {
	const rankBytes = 24 << 10 // its stack, its queues and the rest
	chunks := 2 * t.table.Depth * t.table.Chunk * 8
	return t.table.Buckets*8 + uint64(len(t.memory)*(rankBytes+chunks))
}

// run starts the ranks of a simulated cluster.
func run(ctx context.Context, cost sim.Cost, ranks, procs int, seed uint64,
	fn func(job *sim.Job) error) error {
	_, err := sim.Run(sim.Options{Ranks: ranks, RanksPerHost: procs, Seed: seed, Cost: cost,
		View: sim.ViewOwn, Context: ctx, MaxTimeNs: sim.MaxNs, MaxSteps: math.MaxUint64},
		func(job rma.Job) error { return fn(job.(*sim.Job)) })
	return err
}

// throughput is what the ranks of a run share. Only one of them runs at a time.
type throughput struct {
	cfg    Config
	table  set.Config
	words  words
	memory segments
	filled uint64 // words in the table before

	done       int
	inserted   uint64 // words inserted since
	begin, end mark   // of the measurement
}

// mark is how many operations were done at a moment.
type mark struct {
	done int
	ns   int64
}

func (t *throughput) rank(ctx context.Context, job *sim.Job) error {
	m := &member{Job: job, wordNs: t.cfg.Cluster.WordNs, procs: job.Size() / t.cfg.Hosts,
		bucketWords: int(t.table.Buckets) / job.Size()}
	s, err := set.New(ctx, m, t.table)
	if err != nil {
		return err
	}
	t.memory[job.Rank()] = m.buckets.Words(job.Rank())
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	var f *filler
	if job.Rank() == 0 {
		if f, err = newFiller(ctx, t.memory, t.table, t.words); err != nil {
			return err
		}
		t.filled = uint64(t.cfg.Load * float64(t.table.Buckets))
		if err := f.fill(ctx, t.filled); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	if job.Rank() < t.cfg.ranks() {
		w := &worker{t: t, job: job, set: s, rng: job.Rand()}
		if err := w.work(ctx); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	if f != nil && f.occupied() != t.filled+t.inserted {
		return fmt.Errorf("%d buckets are occupied, and %d distinct words were inserted: "+
			"the table is wrong", f.occupied(), t.filled+t.inserted)
	}
	return errors.Join(s.Close(), job.Close())
}

// worker is a rank that does the workload.
type worker struct {
	t   *throughput
	job *sim.Job
	set *set.Set
	rng *rand.Rand

	mine uint64 // words inserted by this rank
}

// work does operations until all ranks have done enough of them.
func (w *worker) work(ctx context.Context) error {
	t := w.t
	batch := make([]uint64, t.cfg.Batch)
	results := make([]set.Result, t.cfg.Batch)
	for t.done < t.cfg.goal() {
		for i := range batch {
			batch[i] = w.next()
		}
		var err error
		if len(batch) == 1 {
			_, err = w.set.FindOrPut(batch[0])
		} else {
			err = w.set.FindOrPutBatch(batch, results)
		}
		if err := errors.Join(tooShort(err), ctx.Err()); err != nil {
			return err
		}
		t.count(w.job, len(batch))
	}
	return nil
}

// next is the word of the next operation: one to be inserted, or evenly one of those
// that the table was filled with or this rank has inserted.
func (w *worker) next() uint64 {
	t := w.t
	known := t.filled + w.mine
	if known == 0 || w.rng.Float64() < insertShare[t.cfg.Workload] {
		w.mine++
		t.inserted++
		return w.inserted(w.mine - 1)
	}
	if i := w.rng.Uint64N(known); i < t.filled {
		return t.words.at(i)
	} else {
		return w.inserted(i - t.filled)
	}
}

// inserted is the i-th word that this rank inserts.
func (w *worker) inserted(i uint64) uint64 {
	return w.t.words.at(w.t.filled + i*uint64(w.job.Size()) + uint64(w.job.Rank()))
}

// count counts operations that are done, and marks where the measurement begins and
// ends.
func (t *throughput) count(job *sim.Job, n int) {
	goal, warm, before := t.cfg.goal(), t.cfg.warm(), t.done
	t.done += n
	if before < warm && t.done >= warm {
		t.begin = mark{t.done, job.NowNs()}
	}
	if before < goal && t.done >= goal {
		t.end = mark{t.done, job.NowNs()}
	}
	if t.cfg.counted != nil {
		t.cfg.counted(t.done)
	}
}
