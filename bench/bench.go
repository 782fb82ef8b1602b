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

const (
	// pieceBytes bounds the words or elements that a rank generates at a time.
	pieceBytes = 128 << 20

	// stepWords is about how many operations are done between looks at the context.
	stepWords = 1 << 16

	// findPieces is how often at least the load rises between finds.
	findPieces = 16
)

// Bench measures rounds and keeps the samples.
type Bench struct {
	cfg Config

	mu      sync.Mutex
	peer    any // the store being measured, for the ranks of this process
	samples []Sample
	notes   []string
	huge    HugePages
}

// Sample is one implementation doing one workload once.
type Sample struct {
	Impl       Impl
	Workload   Workload
	Ranks      int
	Buckets    uint64 // that the loads refer to
	Operations uint64 // of all ranks
	Elapsed    time.Duration
}

// Mops is the rate in millions of operations per second.
func (s *Sample) Mops() float64 {
	return float64(s.Operations) / float64(max(s.Elapsed, 1)) * float64(time.Second) / 1e6
}

// New checks and completes cfg.
func New(cfg Config) (*Bench, error) {
	notes, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Bench{cfg: cfg, notes: notes}, nil
}

// Config is what is measured, with the defaults filled in.
func (b *Bench) Config() Config { return b.cfg }

// Round measures every implementation with every workload once on the ranks of job.
// Collective. When it fails or ctx ends, the samples so far remain.
func (b *Bench) Round(ctx context.Context, job rma.Job) error {
	// Every rank works with the table size of rank 0, should defaults differ.
	sizes, err := gather(ctx, job, b.cfg.Buckets)
	if err != nil {
		return err
	}
	cfg := b.cfg
	cfg.Buckets = sizes[0]
	words := make([]uint64, min(pieceBytes/max(8, cfg.ElementBytes),
		int(cfg.Buckets)*10/job.Size()))
	for _, workload := range cfg.Workloads {
		for _, impl := range cfg.Impls {
			if impl.peer() && cfg.Processes && job.Size() > 1 {
				b.note(job, fmt.Sprintf("%s is left out: processes cannot share it", impl))
				continue
			}
			r := run{bench: b, job: job, cfg: cfg, impl: impl, workload: workload, words: words}
			if err := r.measure(ctx); err != nil {
				return fmt.Errorf("bench: %s, workload %s: %w", impl, workload, err)
			}
		}
	}
	return nil
}

func (b *Bench) note(job rma.Job, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if job.Rank() == 0 && !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

func (b *Bench) sawHuge(h HugePages) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.huge = b.huge.with(h)
}

// run measures one sample on one rank.
type run struct {
	bench    *Bench
	job      rma.Job
	cfg      Config // Buckets is that of this implementation
	impl     Impl
	workload Workload
	words    []uint64 // memory for words

	stream *stream
	table  table
}

// share is this rank's part of n.
func (r *run) share(n uint64) uint64 { return part(n, r.job.Rank(), r.job.Size()) }

// part is the i-th of several parts of n, as equal as can be.
func part(n uint64, i, of int) uint64 { return n*uint64(i+1)/uint64(of) - n*uint64(i)/uint64(of) }

func (r *run) measure(ctx context.Context) error {
	if r.impl.peer() {
		r.cfg.Buckets = peerBuckets(&r.cfg)
	}
	before := uint64(r.cfg.From * float64(r.cfg.Buckets))
	inserts := uint64(r.cfg.To*float64(r.cfg.Buckets)) - before
	mine := r.share(inserts)
	finds := r.workload.finds(mine)
	r.stream = newStream(r.cfg.Keys, r.job.Rank(), r.job.Size(),
		(before+inserts)/uint64(r.job.Size())+1)
	runtime.GC() // what the last sample left is not this one's to collect

	huge := newHugeCount()
	err := r.open(ctx, before+inserts)
	if err != nil {
		return err
	}
	if r.job.Rank() == 0 && !r.impl.peer() {
		r.bench.sawHuge(huge.since(r.cfg.tableBytes(r.cfg.Buckets) / uint64(r.job.Size())))
	}
	elapsed, err := r.phases(ctx, r.share(before), mine, finds)
	if err == nil {
		operations := finds
		if r.workload != Find {
			operations += mine
		}
		err = r.record(ctx, before+inserts, operations, elapsed)
	}
	return errors.Join(err, r.table.close())
}

// open makes the table. Collective.
func (r *run) open(ctx context.Context, elements uint64) (err error) {
	switch {
	case r.impl.peer():
		r.table, err = r.openPeer(ctx, elements)
	case r.impl.limit():
		r.stream.apart = true
		r.table, err = newLimitTable(ctx, r.job, &r.cfg, r.impl)
	case r.impl == CASLoop:
		r.table, err = newCASTable(ctx, r.job, &r.cfg)
	case r.cfg.ElementBytes > 0:
		r.table, err = newElementsTable(ctx, r.job, &r.cfg, r.impl, elements)
	default:
		r.table, err = newSetTable(ctx, r.job, &r.cfg, r.impl)
	}
	return err
}

// phases fills the table to where the workload begins and does the workload. It
// returns the time of the latter.
func (r *run) phases(ctx context.Context, before, inserts, finds uint64) (time.Duration, error) {
	if err := r.prefill(ctx, before); err != nil {
		return 0, err
	}
	pieces, err := r.pieces(ctx, inserts+finds)
	if err != nil {
		return 0, err
	}
	r.stream.plan(inserts, finds)
	var elapsed time.Duration
	for i := range pieces {
		if r.workload == Find {
			if err := r.prefill(ctx, part(inserts, i, pieces)); err != nil {
				return 0, err
			}
			r.stream.plan(0, part(finds, i, pieces))
		}
		n, first := r.stream.fill(r.words)
		r.table.ready(r.words[:n], first)
		if err := r.job.Barrier(ctx); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := r.timed(ctx, n); err != nil {
			return 0, err
		}
		elapsed += time.Since(start)
	}
	return elapsed, nil
}

// pieces is how often the ranks meet to do operations: as often as the rank with
// most of them needs.
func (r *run) pieces(ctx context.Context, operations uint64) (int, error) {
	all, err := gather(ctx, r.job, operations)
	if err != nil {
		return 0, err
	}
	pieces := int((slices.Max(all) + uint64(len(r.words)) - 1) / uint64(len(r.words)))
	if r.workload == Find {
		pieces = max(pieces, findPieces)
	}
	return pieces, nil
}

func (r *run) prefill(ctx context.Context, words uint64) error {
	r.stream.plan(words, 0)
	for {
		n, _ := r.stream.fill(r.words[:min(len(r.words), stepWords)])
		if n == 0 {
			return nil
		}
		if err := errors.Join(ctx.Err(), r.table.prefill(r.words[:n])); err != nil {
			return err
		}
	}
}

func (r *run) timed(ctx context.Context, operations int) error {
	step := max(1, stepWords/r.cfg.Batch) * r.cfg.Batch
	if r.impl.limit() {
		step = max(1, operations)
	}
	for begin := 0; begin < operations; begin += step {
		if err := r.table.run(begin, min(begin+step, operations)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// record brings the ranks' times together and keeps the sample on rank 0.
func (r *run) record(ctx context.Context, elements, operations uint64,
	elapsed time.Duration) error {
	times, err := gather(ctx, r.job, uint64(elapsed))
	if err != nil {
		return err
	}
	inserted, err := gather(ctx, r.job, r.table.inserted())
	if err != nil {
		return err
	}
	done, err := gather(ctx, r.job, operations)
	if err != nil {
		return err
	}
	if n := sum(inserted); n != elements {
		return fmt.Errorf("%d words were inserted, and %d distinct ones given to insert: "+
			"the table is wrong", n, elements)
	}
	if r.job.Rank() != 0 {
		return nil
	}
	s := Sample{Impl: r.impl, Workload: r.workload, Ranks: r.job.Size(),
		Buckets: r.cfg.Buckets, Operations: sum(done), Elapsed: time.Duration(slices.Max(times))}
	r.bench.mu.Lock()
	r.bench.samples = append(r.bench.samples, s)
	r.bench.mu.Unlock()
	if r.cfg.Progress != nil {
		r.cfg.Progress(s)
	}
	return nil
}

// peerBuckets is the size of the table whose load the peers have.
func peerBuckets(cfg *Config) uint64 {
	buckets := cfg.Buckets
	for float64(buckets)*cfg.To > float64(cfg.PeerElements) && buckets > minBuckets {
		buckets /= 2
	}
	return buckets
}

func sum(values []uint64) (total uint64) {
	for _, v := range values {
		total += v
	}
	return total
}
