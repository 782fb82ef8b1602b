package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

const (
	// DefaultTable1Buckets is the size of the table of Table1: 32 MiB.
	DefaultTable1Buckets = 1 << 22

	// loadSteps intervals of 1/loadStepsOf lead to OP's largest load, 0.92.
	loadSteps   = 46
	loadStepsOf = 50

	// reachBuckets is the least C*M: then nothing is Full before the last interval.
	reachBuckets = 1 << 13
)

// Table1Chunks are the C of OP Table 1.
func Table1Chunks() []int { return []int{8, 16, 32, 64, 128} }

// table1Columns are these and the C that the set chooses itself.
func table1Columns() []int { return append(Table1Chunks(), set.Auto) }

// columnName is how a C is written.
func columnName(chunk int) string {
	if chunk == set.Auto {
		return "C=auto"
	}
	return fmt.Sprintf("C=%d", chunk)
}

// reachChunks is M, so that nothing is Full too early.
func reachChunks(chunk int) int {
	if chunk == set.Auto {
		chunk = set.DefaultChunk
	}
	return reachBuckets / chunk
}

// Table1Config says how OP Table 1 is measured. All ranks give the same.
type Table1Config struct {
	Buckets uint64 // of all ranks together; 0: DefaultTable1Buckets
	Keys    Keys   // empty: Random
	// Progress is told when a chunk size, "C=8", has been measured, and whether it is the
	// last one of a round, if not nil.
	Progress func(column string, last bool)
}

// Table1 measures OP Table 1 and keeps what it finds.
type Table1 struct {
	cfg Table1Config

	mu    sync.Mutex
	cells map[cell]*measured
	huge  HugePages
}

// cell is a chunk size and an interval, which ends at load step/loadStepsOf.
type cell struct{ chunk, step int }

type measured struct {
	trips, nanoseconds []float64 // one for each round
	operations         int       // of the last round
}

// NewTable1 checks and completes cfg.
func NewTable1(cfg Table1Config) (*Table1, error) {
	if cfg.Buckets == 0 {
		cfg.Buckets = DefaultTable1Buckets
	}
	if cfg.Keys == "" {
		cfg.Keys = Random
	}
	if cfg.Buckets < minBuckets || cfg.Buckets > MaxBuckets {
		return nil, fmt.Errorf("bench: buckets must be %d to %d, not %d",
			minBuckets, MaxBuckets, cfg.Buckets)
	}
	if cfg.Keys != Random && cfg.Keys != Sequential {
		return nil, fmt.Errorf("bench: keys must be random or sequential, not %q", cfg.Keys)
	}
	return &Table1{cfg: cfg, cells: map[cell]*measured{}}, nil
}

// Round measures every chunk size once: rank 0 inserts, as OP's first process does,
// and the other ranks give their memory. Collective. When it fails or ctx ends, what
// was measured remains.
func (t *Table1) Round(ctx context.Context, job rma.Job) error {
	for _, chunk := range table1Columns() {
		huge := newHugeCount()
		s, err := set.New(ctx, touchedJob{job}, set.Config{Buckets: t.cfg.Buckets,
			Chunk: chunk, Chunks: reachChunks(chunk), Home: set.HomeWord, Depth: 1})
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			t.sawHuge(huge.since(t.cfg.Buckets * 8 / uint64(job.Size())))
			err = t.insert(ctx, s, chunk)
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return fmt.Errorf("bench: table 1 with %s: %w", columnName(chunk), err)
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// insert raises the load of s and measures each interval.
func (t *Table1) insert(ctx context.Context, s *set.Set, chunk int) error {
	words := make([]uint64, t.cfg.Buckets/loadStepsOf+1)
	from := newStream(t.cfg.Keys, 0, 1, 0)
	inserted := uint64(0)
	for step := 1; step <= loadSteps; step++ {
		n := t.cfg.Buckets*uint64(step)/loadStepsOf - inserted
		inserted += n
		from.plan(n, 0)
		from.fill(words[:n])
		before := s.Stats()
		start := time.Now()
		for _, word := range words[:n] {
			if _, err := s.FindOrPut(word); err != nil {
				return err
			}
		}
		elapsed := time.Since(start)
		after := s.Stats()
		if got := after.Inserted - before.Inserted; got != n {
			return fmt.Errorf("%d of %d distinct words were inserted: the table is wrong", got, n)
		}
		t.keep(cell{chunk, step}, float64(after.RoundTrips()-before.RoundTrips())/float64(n),
			float64(elapsed.Nanoseconds())/float64(n), int(n))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if t.cfg.Progress != nil {
		t.cfg.Progress(columnName(chunk), chunk == set.Auto)
	}
	return nil
}

func (t *Table1) sawHuge(h HugePages) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.huge = t.huge.with(h)
}

func (t *Table1) keep(c cell, trips, nanoseconds float64, operations int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.cells[c]
	if m == nil {
		m = &measured{}
		t.cells[c] = m
	}
	m.trips = append(m.trips, trips)
	m.nanoseconds = append(m.nanoseconds, nanoseconds)
	m.operations = operations
}

// Table1Row is one chunk size and one interval, beside what the paper printed. The
// field names are those of the JSON output.
type Table1Row struct {
	Chunk          int     `json:"chunk"` // C, buckets; 0: chosen by the set from the load
	LoadFrom       float64 `json:"loadFrom"`
	LoadTo         float64 `json:"loadTo"`
	RoundTrips     float64 `json:"roundTrips"`  // average of an operation, the median
	Nanoseconds    float64 `json:"nanoseconds"` // average of an operation, the median
	NanosecondsMin float64 `json:"nanosecondsMin"`
	NanosecondsMax float64 `json:"nanosecondsMax"`
	// What OP Table 1 has; null where it has nothing.
	PaperRoundTrips  *float64 `json:"paperRoundTrips"`
	PaperNanoseconds *float64 `json:"paperNanoseconds"`

	samples    measured
	operations int
}

// Table1Report is what has been measured, by chunk size and load.
type Table1Report struct {
	Machine Machine     `json:"machine"`
	Rows    []Table1Row `json:"table1"`
}

// Report sums up the rounds so far. command is how they were asked for.
func (t *Table1) Report(command string) *Table1Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Table1Report{Machine: thisMachine(command), Rows: []Table1Row{}}
	r.Machine.Buckets, r.Machine.HugePages = t.cfg.Buckets, t.huge
	r.Machine.TableBytes = t.cfg.Buckets * 8
	for _, chunk := range table1Columns() {
		for step := 1; step <= loadSteps; step++ {
			m := t.cells[cell{chunk, step}]
			if m == nil {
				continue
			}
			row := Table1Row{Chunk: chunk, LoadFrom: float64(step-1) / loadStepsOf,
				LoadTo: float64(step) / loadStepsOf, RoundTrips: median(m.trips),
				Nanoseconds: median(m.nanoseconds), NanosecondsMin: slices.Min(m.nanoseconds),
				NanosecondsMax: slices.Max(m.nanoseconds), operations: m.operations,
				samples: measured{nanoseconds: slices.Clone(m.nanoseconds),
					trips: slices.Clone(m.trips)}}
			if p := paperPoint(row.LoadTo, chunk); p != nil {
				nanoseconds := p.Microseconds * 1000
				row.PaperRoundTrips, row.PaperNanoseconds = &p.RoundTrips, &nanoseconds
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}
