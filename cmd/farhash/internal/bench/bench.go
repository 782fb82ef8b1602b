package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/rma"
)

// Config says how much is measured. All ranks give the same.
type Config struct {
	// SizeBytes is about how much memory each table takes, of all ranks together, and the memory
	// in which the limit is measured.
	SizeBytes uint64
	// Operations is how many each rank does in a case; 0: as many as the size has room for.
	Operations int
	Batch      int // operations of one call
	Runs       int
	// Progress is called with each case on rank 0, if not nil.
	Progress func(Result)
}

// Bytes is about what a process takes that has so many ranks: the memory of the limit, the largest
// table, which has room for what its ranks put, and their operations.
func (c *Config) Bytes(ranks int) uint64 {
	const operationBytes = 2 << 10
	operations := uint64(ranks) * uint64(c.Operations) * operationBytes
	if c.Operations == 0 {
		operations = 3 * c.SizeBytes
	}
	return 2*c.SizeBytes + operations
}

// Result is one case.
type Result struct {
	Table     string `json:"table"`
	Operation string `json:"operation"`
	Batch     int    `json:"batch"` // operations of one call; 1: one at a time
	Ranks     int    `json:"ranks"`
	// Mops are millions of operations a second of all ranks: the median, least and largest.
	Mops    float64 `json:"mops"`
	MopsMin float64 `json:"mopsMin"`
	MopsMax float64 `json:"mopsMax"`
	// LimitMops is what the machine allows for such an operation: the median of what was measured
	// directly before and after each run of the case.
	LimitMops float64 `json:"limitMops"`
	// OfLimit is the median of the runs' rates, each divided by the limit of that run.
	OfLimit    float64 `json:"ofLimit"`
	Operations int     `json:"operations"` // of a run, of all ranks
	Runs       int     `json:"runs"`       // that the medians are of

	rates, limits, shares []float64 // by run
}

// workload is a table that is measured.
type workload interface {
	// operations is how many each rank does in a case, so that all cases fill a table of share
	// bytes for each rank as far as they are meant to.
	operations(shareBytes int) int
	// open makes the table and fills it. Collective.
	open(ctx context.Context, job rma.Job, cfg *Config) error
	cases() []testCase
	// close is collective.
	close() error
}

// testCase is an operation of a table.
type testCase struct {
	operation string
	lines     int  // cache lines that the operation needs
	swaps     bool // and whether it changes them
	// ready prepares n operations of this rank, while no clock runs.
	ready func(n int)
	// run does operations from to to, batch at a time.
	run func(from, to, batch int) error
	// check verifies the answers of n operations.
	check func(n int) error
}

// Run measures everything. Collective. Results are rank 0's; with an error or when ctx
// ends they are those so far.
func Run(ctx context.Context, job rma.Job, cfg Config) (_ []Result, err error) {
	m := &measurement{job: job, cfg: cfg}
	if m.limit, err = newProbe(ctx, job, cfg.SizeBytes); err != nil {
		return nil, fmt.Errorf("bench: the machine's limit: %w", err)
	}
	defer func() { err = errors.Join(err, m.limit.close()) }()
	for range cfg.Runs {
		for _, w := range []struct {
			name  string
			table workload
		}{{"set", &setTable{}}, {"index", &indexTable{}}, {"cache", &cacheTable{}},
			{"kv", &mapTable{}}} {
			if err := m.table(ctx, w.name, w.table); err != nil {
				return m.sumUp(), fmt.Errorf("bench: %s: %w", w.name, err)
			}
		}
	}
	return m.sumUp(), nil
}

// measurement is what one rank has measured so far.
type measurement struct {
	job     rma.Job
	cfg     Config
	limit   *probe
	results []*Result
}

// table measures one of them.
func (m *measurement) table(ctx context.Context, name string, w workload) (err error) {
	cfg := m.cfg
	if cfg.Operations == 0 {
		cfg.Operations = m.limit.fitting(w.operations(int(cfg.SizeBytes) / m.job.Size()))
	}
	n := cfg.Operations
	if err := w.open(ctx, m.job, &cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	before, err := m.limit.measure(ctx)
	if err != nil {
		return err
	}
	for _, c := range w.cases() {
		for _, batch := range []int{1, cfg.Batch} {
			c.ready(n)
			rate, err := timed(ctx, m.job, n, func() error {
				const step = 1 << 14 // operations before the context is examined
				size := max(1, step/batch) * batch
				for from := 0; from < n; from += size {
					if err := c.run(from, min(from+size, n), batch); err != nil {
						return err
					}
					if ctx.Err() != nil {
						return ctx.Err()
					}
				}
				return nil
			})
			if err == nil {
				err = c.check(n)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.operation, err)
			}
			after, err := m.limit.measure(ctx)
			if err != nil {
				return err
			}
			m.keep(&Result{Table: name, Operation: c.operation, Batch: batch,
				Operations: n * m.job.Size()}, rate, before.and(after, &c))
			before = after
		}
	}
	return nil
}

// keep adds a run to the results of its case.
func (m *measurement) keep(is *Result, rate, limit float64) {
	at := slices.IndexFunc(m.results, func(r *Result) bool {
		return r.Table == is.Table && r.Operation == is.Operation && r.Batch == is.Batch
	})
	if at < 0 {
		at = len(m.results)
		is.Ranks = m.job.Size()
		m.results = append(m.results, is)
	}
	r := m.results[at]
	r.rates, r.limits = append(r.rates, rate), append(r.limits, limit)
	r.shares = append(r.shares, rate/limit)
	if m.cfg.Progress != nil && m.job.Rank() == 0 {
		m.cfg.Progress(m.result(r))
	}
}

func (m *measurement) sumUp() (all []Result) {
	for _, r := range m.results {
		all = append(all, m.result(r))
	}
	return all
}

// result is what the runs so far come to.
func (m *measurement) result(r *Result) Result {
	is := *r
	is.Mops, is.MopsMin, is.MopsMax = median(r.rates), slices.Min(r.rates), slices.Max(r.rates)
	is.LimitMops, is.OfLimit, is.Runs = median(r.limits), median(r.shares), len(r.rates)
	return is
}

// timed has all ranks begin together, and returns millions of operations a second of all by the
// time of the slowest. Collective.
func timed(ctx context.Context, job rma.Job, operations int, run func() error) (float64, error) {
	if err := job.Barrier(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	err := run()
	elapsed := time.Since(begin)
	// An error of one rank is an error on all: without it their answers would seem wrong.
	if err = rma.AllSucceeded(ctx, job, "bench", err); err != nil {
		return 0, err
	}
	slowest, err := largest(ctx, job, uint64(max(elapsed, 1)))
	return float64(operations*job.Size()) / float64(slowest) * 1e3, err
}

// largest is the largest value of all ranks. Collective.
func largest(ctx context.Context, job rma.Job, value uint64) (most uint64, err error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "bench: times", Words: 1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cells.Close()) }()
	if err := cells.Store(ctx, job.Rank(), 0, value); err != nil {
		return 0, err
	}
	if err := job.Barrier(ctx); err != nil {
		return 0, err
	}
	for rank := range job.Size() {
		word, err := cells.Load(ctx, rank, 0)
		if err != nil {
			return 0, err
		}
		most = max(most, word)
	}
	return most, job.Barrier(ctx) // nobody closes the window while others read
}

// median is the middle one of values, the mean of two where their number is even.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	i := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[i]
	}
	return (sorted[i-1] + sorted[i]) / 2
}
