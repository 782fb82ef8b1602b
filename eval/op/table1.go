package op

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/op/cluster"
)

const (
	// table1Buckets is the size of the table unless said otherwise: 32 MiB.
	table1Buckets = 1 << 22

	minBuckets = 1 << 10
	maxBuckets = 1 << 40

	// loadSteps intervals of 1/loadStepsOf lead to OP's largest load, 0.92.
	loadSteps   = 46
	loadStepsOf = 50

	// seeds is how many rounds have words of their own.
	seeds = 1 << 10

	// autoChunk has the set choose C.
	autoChunk = 0

	// reachBuckets is the least C*M: then nothing is Full before the last interval.
	reachBuckets = 1 << 13
)

// Table1 is OP Table 1, the left half, and Fig. 2.
func Table1() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "table1",
		Short: "OP Table 1 and Fig. 2: latency and round trips of find-or-put by load",
		Long: `Inserts distinct words one at a time, on the one-sided path, with C = 8 to 128
buckets in a get and with the C that the set chooses by itself, up to a load of 0.92. Averages
are those over the inserts between load-0.02 and load. OP measured between two machines: round
trips compare, of which 23 of 25 cells agree with OP to the printed digit and 2 within 0.1;
latencies do not.

OP's limit, full from a load of 0.92 on with C=8, needs an M of about 384. With OP's M of 32 the
formula expects the first full at a load near 0.74. Here M is large enough for all loads.`,
		Takes:        "45 s",
		Example:      "--runs 1 --panels 'round trips' --plot trips.svg",
		Runs:         3,
		OneSided:     true,
		Reproducible: true,
		Views: []view.View{
			table1View("round trips", view.Column{Unit: "trips/op", Head: "", Digits: 3},
				view.Column{Unit: "op-trips/op", Head: "OP", Digits: 1},
				view.Plot{Title: "average round trips of find-or-put", X: "load", Y: "trips/op",
					YName: "round trips", Paper: "op-trips/op", PaperName: "OP Table 1"}),
			table1View("latency in ns", view.Column{Unit: "ns/op", Whole: true, Here: true},
				view.Column{Unit: "op-ns/op", Head: "OP", Whole: true, Here: true},
				view.Plot{Title: "average latency of find-or-put", X: "load", Y: "ns/op",
					YName: "ns", Paper: "op-ns/op", PaperName: "OP Table 1", LogY: true,
					Here: true}),
		},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			t := &table1{keys: measure.Random}
			experiment.CountVar(flags, &t.buckets, "buckets", table1Buckets, "size of the table")
			flags.StringVar((*string)(&t.keys), "keys", string(t.keys),
				"words: random or sequential")
			return t
		},
	}
}

// table1View shows the rows that OP Table 1 has; the plot has all.
func table1View(title string, here, paper view.Column, plot view.Plot) view.View {
	return view.View{Name: "OPTable1", Title: "OP Table 1: " + title, Across: "C",
		Columns: []view.Column{here, paper}, Plots: []view.Plot{plot},
		Only: func(c *record.Case) bool { return slices.Contains(table1Loads, c.Get("load")) }}
}

type table1 struct {
	buckets experiment.Count
	keys    measure.Keys
}

func (t *table1) Check() error {
	return errors.Join(t.keys.Check(),
		experiment.InRange("buckets", t.buckets, minBuckets, maxBuckets))
}

// Round measures every chunk size once: rank 0 inserts, as OP's first process does, and the
// other ranks give their memory.
func (t *table1) Round(ctx context.Context, job rma.Job, seed uint64,
	emit experiment.Emit) error {
	for _, chunk := range append(slices.Clone(table1Chunks), autoChunk) {
		cfg := set.Config{Buckets: uint64(t.buckets), Chunk: chunk, Chunks: reachChunks(chunk),
			Depth: 1}
		s, err := set.New(ctx, measure.TouchedJob{Job: job},
			cfg.WithVariant(variant.Set{WordHomes: true}))
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			err = t.insert(ctx, s, chunk, seed, emit)
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return fmt.Errorf("with C=%s: %w", chunkName(chunk), err)
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// chunkName is how a C is written.
func chunkName(chunk int) string {
	if chunk == autoChunk {
		return "auto"
	}
	return fmt.Sprint(chunk)
}

// reachChunks is M, so that nothing is Full too early.
func reachChunks(chunk int) int {
	if chunk == autoChunk {
		chunk = 64 // as which the set counts it
	}
	return reachBuckets / chunk
}

// insert raises the load of s and measures each interval.
func (t *table1) insert(ctx context.Context, s *set.Set, chunk int, seed uint64,
	emit experiment.Emit) error {
	buckets := uint64(t.buckets)
	words := make([]uint64, buckets/loadStepsOf+1)
	from := measure.NewStream(t.keys, int(seed), seeds, buckets)
	inserted := uint64(0)
	for step := 1; step <= loadSteps; step++ {
		n := buckets*uint64(step)/loadStepsOf - inserted
		inserted += n
		from.Plan(n, 0)
		from.Fill(words[:n])
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
		load := float64(step) / loadStepsOf
		r := record.Record{Name: "OPTable1", N: int(n), Keys: []record.Key{
			record.K("buckets", t.buckets.String()), record.K("load", load),
			record.K("C", chunkName(chunk))}, Values: []record.Value{
			{Value: float64(elapsed.Nanoseconds()) / float64(n), Unit: "ns/op"},
			{Value: float64(cluster.RoundTrips(after)-cluster.RoundTrips(before)) / float64(n),
				Unit: "trips/op"}}}
		if p, ok := printedTable1(r.Keys[1].Value, chunk); ok {
			r.Values = append(r.Values,
				record.Value{Value: p.microseconds * 1000, Unit: "op-ns/op"},
				record.Value{Value: p.roundTrips, Unit: "op-trips/op"})
		}
		emit(r)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
