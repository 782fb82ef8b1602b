package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
)

// IndexRates does an experiment of LP twice: simulated, by the workers of a client that
// look keys up in the table of a server, with the latency, bandwidth and rate of messages of
// LP 5.1; and on this machine, by the ranks of a job, through queues: the command farhash
// bench index --figure 7 and others.
//
// What is simulated is time alone: an index is built, and its lookups run, request by
// request. It is done once, on rank 0, and the same everywhere. What is measured here is
// done in rounds, each with other keys. The read sizes are those for LP's machine in both.
type IndexRates struct {
	cfg IndexRatesConfig

	mu        sync.Mutex
	rounds    uint64
	ranks     int
	simulated map[IndexTrialCase]*indexPace
	here      map[IndexTrialCase][]*indexPace // one for each round
}

// IndexRatesConfig says what is measured. All ranks give the same.
type IndexRatesConfig struct {
	Trial   IndexTrial
	Records int // of all ranks, and the most simulated; 0: DefaultIndexRecords
	Lookups int // of each rank in a case; 0: DefaultIndexCounted
	Workers int // of the simulated client; 0: 28, as in LP 5.1
	// Simulated is how many lookups all workers do in a case; 0: DefaultIndexSimulated, in
	// LPFigure12 four times as many, or Lookups if these are fewer.
	Simulated int
	// Progress is told on rank 0 what has been measured, if not nil; simulated or here.
	Progress func(c IndexTrialCase, simulated bool, mops float64)
}

const (
	// DefaultIndexSimulated is how many lookups of a case are simulated.
	DefaultIndexSimulated = 28 << 10
	// simulatedBytes is the size of the slots of a simulated table: enough for the laws of
	// readsize, from which one strays by a tenth at load 0.95.
	simulatedBytes = 2 << 20
	// latencyShare is how many lookups there would be for each whose latency is measured.
	latencyShare = 8
	// maxIndexWorkers bounds the memory of the simulated client.
	maxIndexWorkers = 1024
)

// indexPace is what was measured of a case once.
type indexPace struct {
	mops  float64 // records found, which are lookups where keys differ
	stats index.Stats
	ns    []float64 // of single lookups, sorted
}

// NewIndexRates checks and completes cfg.
func NewIndexRates(cfg IndexRatesConfig) (*IndexRates, error) {
	if cfg.Records == 0 {
		cfg.Records = DefaultIndexRecords
	}
	if cfg.Lookups == 0 {
		cfg.Lookups = DefaultIndexCounted
	}
	if cfg.Workers == 0 {
		cfg.Workers = lpCluster().workers
	}
	if cfg.Workers < 1 || cfg.Workers > maxIndexWorkers {
		return nil, fmt.Errorf("bench: simulated workers must be 1 to %d, not %d",
			maxIndexWorkers, cfg.Workers)
	}
	if cfg.Simulated == 0 {
		cfg.Simulated = max(min(cfg.Lookups, cfg.Trial.simulated()), cfg.Workers)
	}
	if len(cfg.Trial.cases()) == 0 {
		return nil, fmt.Errorf("bench: there is no experiment %q, only %v", cfg.Trial,
			IndexTrials())
	}
	if cfg.Simulated < cfg.Workers || cfg.Simulated > MaxIndexRecords {
		return nil, fmt.Errorf("bench: simulated lookups must be %d to %d, not %d", cfg.Workers,
			MaxIndexRecords, cfg.Simulated)
	}
	if err := checkIndexNumbers(cfg.Records, cfg.Lookups); err != nil {
		return nil, err
	}
	return &IndexRates{cfg: cfg, simulated: map[IndexTrialCase]*indexPace{},
		here: map[IndexTrialCase][]*indexPace{}}, nil
}

// simulated is how many lookups are simulated: clusters must be learnt.
func (t IndexTrial) simulated() int {
	if t == LPFigure12 {
		return 4 * DefaultIndexSimulated
	}
	return DefaultIndexSimulated
}

// batch is how many lookups are given at once: LP 5.4 has one at a time.
func (t IndexTrial) batch() int {
	if t == LPFigure9 {
		return 1
	}
	return DefaultBatch
}

// Round measures all cases once, and simulates what has not been. Collective. When it fails
// or ctx ends, what was measured remains.
func (r *IndexRates) Round(ctx context.Context, job rma.Job) error {
	r.mu.Lock()
	round := r.rounds
	r.mu.Unlock()
	all, err := gather(ctx, job, round) // rank 0 knows
	if err != nil {
		return err
	}
	for _, cases := range byTable(r.cfg.Trial.cases(), IndexTrialCase.sameTable) {
		err := error(nil)
		if all[0] == 0 && job.Rank() == 0 {
			err = r.simulate(ctx, cases)
		}
		if err = rma.AllSucceeded(ctx, job, "bench: simulation", err); err == nil {
			err = r.measure(ctx, job, all[0], cases)
		}
		if err != nil {
			return fmt.Errorf("bench: %s, %s, load %v: %w", r.cfg.Trial, cases[0].Impl,
				cases[0].Load, err)
		}
	}
	if job.Rank() == 0 {
		r.mu.Lock()
		r.rounds++
		r.ranks = job.Size()
		r.mu.Unlock()
	}
	return nil
}

// simulate does the cases of one table in virtual time.
func (r *IndexRates) simulate(ctx context.Context, cases []IndexTrialCase) (err error) {
	of := &cases[0]
	records := int(of.Load * simulatedBytes / float64(of.RecordBytes))
	cluster := lpCluster()
	cluster.workers = r.cfg.Workers
	t, err := newSimulatedTable(ctx, cluster, of.config(),
		of.keys(0, min(records, r.cfg.Records)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	each := r.cfg.Simulated / t.cluster.workers
	batch := each
	if r.cfg.Trial.batch() == 1 {
		each, batch = max(each/latencyShare, 1), 1
	}
	for _, of := range cases {
		s, err := t.simulate(ctx, of.lookups(), each, batch)
		if err != nil {
			return err
		}
		slices.Sort(s.ns)
		r.keep(of, &indexPace{mops: s.mops(), stats: s.stats, ns: s.ns}, true)
	}
	return nil
}

// keep keeps what was measured, on rank 0.
func (r *IndexRates) keep(of IndexTrialCase, is *indexPace, simulated bool) {
	r.mu.Lock()
	if simulated {
		r.simulated[of] = is
	} else {
		r.here[of] = append(r.here[of], is)
	}
	r.mu.Unlock()
	if r.cfg.Progress != nil {
		r.cfg.Progress(of, simulated, is.mops)
	}
}

// measure does the cases of one table on the ranks of job. Collective.
func (r *IndexRates) measure(ctx context.Context, job rma.Job, seed uint64,
	cases []IndexTrialCase) error {
	of := &cases[0]
	keys := of.keys(seed, r.cfg.Records)
	x, err := index.Build(ctx, job, of.config(), keys.stream(job.Rank(), job.Size()))
	if err != nil {
		return err
	}
	for _, of := range cases {
		if err = r.lookUp(ctx, job, of, x, &keys); err != nil {
			break
		}
	}
	return errors.Join(err, x.Close())
}

// lookUp does one case. Ranks begin together; a rate is that of all by the time of the
// slowest, latencies are those of rank 0.
func (r *IndexRates) lookUp(ctx context.Context, job rma.Job, of IndexTrialCase,
	x *index.Index, keys *indexKeys) error {
	l := indexLooker{ctx: ctx, index: x, keys: keys, batch: r.cfg.Trial.batch()}
	if err := l.open(of.lookups()); err != nil {
		return err
	}
	lookups := r.cfg.Lookups
	var watch stopwatch
	if l.batch == 1 {
		lookups = max(lookups/latencyShare, 1)
		watch.ns = make([]float64, 0, 2*lookups)
		l.seen = watch.seen
	}
	l.draw(job.Rank(), lookups)
	err := job.Barrier(ctx)
	start := time.Now()
	watch.last = start
	if err == nil {
		err = l.run()
	}
	elapsed := time.Since(start)
	if err = errors.Join(err, l.close()); err != nil {
		return err
	}
	times, err := gather(ctx, job, uint64(elapsed))
	if err != nil {
		return err
	}
	found, err := gather(ctx, job, l.stats.Matches)
	if err != nil || job.Rank() != 0 {
		return err
	}
	slices.Sort(watch.ns)
	ns := float64(max(slices.Max(times), 1))
	r.keep(of, &indexPace{mops: float64(sum(found)) / ns * 1e3, stats: l.stats, ns: watch.ns},
		false)
	return nil
}

// stopwatch takes the time from one lookup to the next.
type stopwatch struct {
	last time.Time
	ns   []float64
}

func (w *stopwatch) seen() {
	now := time.Now()
	w.ns = append(w.ns, float64(now.Sub(w.last)))
	w.last = now
}
