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
	// SizeBytes is about how much memory each table takes, of all ranks together.
	SizeBytes uint64
	// Operations is how many each rank does in a case.
	Operations int
	Batch      int // operations of one call
	Runs       int
	// Progress is called with each case on rank 0, if not nil.
	Progress func(Result)
}

// Bytes is about what a process takes that has so many ranks: the largest table, which has room for
// what its ranks put, and their operations.
func (c *Config) Bytes(ranks int) uint64 {
	const operationBytes = 2 << 10
	return c.SizeBytes + uint64(ranks)*uint64(c.Operations)*operationBytes
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
	// LimitMops is what the machine allows for such an operation.
	LimitMops  float64 `json:"limitMops"`
	Operations int     `json:"operations"` // of a run, of all ranks

	lines int  // cache lines that the operation touches
	swaps bool // and whether it changes them
	rates []float64
}

// workload is a table that is measured.
type workload interface {
	// open makes the table and fills it. Collective.
	open(ctx context.Context, job rma.Job, cfg *Config) error
	cases() []testCase
	// close is collective.
	close() error
}

// testCase is an operation of a table.
type testCase struct {
	operation string
	lines     int
	swaps     bool
	// ready prepares n operations of this rank, while no clock runs.
	ready func(n int)
	// run does operations from to to, batch at a time.
	run func(from, to, batch int) error
	// check verifies the answers of n operations.
	check func(n int) error
}

// Run measures everything. Collective. Results are those of rank 0; with an error or when ctx
// ends they are those so far.
func Run(ctx context.Context, job rma.Job, cfg Config) ([]Result, error) {
	m := &measurement{job: job, cfg: cfg}
	for range cfg.Runs {
		if err := m.limits(ctx); err != nil {
			return m.sumUp(), fmt.Errorf("bench: the machine's limit: %w", err)
		}
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
	results []*Result
	swaps   []float64 // million cache lines a second
	reads   []float64
}

// table measures one of them.
func (m *measurement) table(ctx context.Context, name string, w workload) (err error) {
	if err := w.open(ctx, m.job, &m.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for _, c := range w.cases() {
		for _, batch := range []int{1, m.cfg.Batch} {
			n := m.cfg.Operations
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
			m.keep(name, &c, batch, rate)
		}
	}
	return nil
}

func (m *measurement) keep(table string, c *testCase, batch int, rate float64) {
	at := slices.IndexFunc(m.results, func(r *Result) bool {
		return r.Table == table && r.Operation == c.operation && r.Batch == batch
	})
	if at < 0 {
		at = len(m.results)
		m.results = append(m.results, &Result{Table: table, Operation: c.operation, Batch: batch,
			Ranks: m.job.Size(), Operations: m.cfg.Operations * m.job.Size(), lines: c.lines,
			swaps: c.swaps})
	}
	r := m.results[at]
	r.rates = append(r.rates, rate)
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
	limit := median(m.reads)
	if r.swaps {
		limit = median(m.swaps)
	}
	is.LimitMops = limit / float64(r.lines)
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
