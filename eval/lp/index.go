package lp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

const (
	indexLookups  = 1 << 18 // of each rank
	minValueBytes = 4       // so that a value identifies its record
	maxBatch      = 1 << 20
	minLoad       = 0.01
)

// indexExperiment is how fast an index is built and read on this machine.
func indexExperiment() *experiment.Experiment {
	columns := []view.Column{{Unit: "Mop/s", Head: "M/s", Spread: true},
		{Unit: "table-B", Head: "MiB", By: 1. / (1 << 20), Digits: 1}}
	return &experiment.Experiment{
		Name:  "index",
		Short: "Building and lookups of the index by layout, policy, batch and ranks",
		Long: `Measures how many records a second an index takes when it is built, and how many
keys a second are looked up. Every value that is found is compared with what was given to
its key. The direct implementations have loops over memory, the others take the one-sided
path.`,
		Takes:   "25 s",
		Example: "--impl ordered-direct --key-bytes 8 --value-bytes 8 --records 16Mi",
		Ranks:   []int{1, 2}, Runs: 3,
		Views: []view.View{
			{Name: "LPBuild", Title: "building, million records/s of all ranks", Columns: columns,
				Across: "ranks", Plots: []view.Plot{{Title: "building", X: "layout", Y: "Mop/s",
					YName: "million records/s"}}},
			{Name: "LPLookup", Title: "lookups, million keys/s of all ranks",
				Notes: sequentialNotes, NotesFor: record.K("impl", string(cuckooSequential)),
				Columns: columns[:1], Across: "ranks",
				Plots: []view.Plot{{Title: "lookups", Panel: "batch", X: "impl", Y: "Mop/s",
					YName: "million lookups/s"}}},
		},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			t := &throughput{}
			experiment.ChoiceVar(flags, &t.impls, "impl", impls(), impls(),
				"what is measured")
			flags.Float64SliceVar(&t.loads, "load", []float64{index.DefaultLoad},
				"loads of the tables, a list of `numbers`")
			flags.Lookup("load").DefValue = fmt.Sprint(index.DefaultLoad)
			flags.IntSliceVar(&t.batches, "batch", []int{1, batchKeys},
				"lookups of one call, a list; 1: one at a time")
			countFlags(flags, &t.records, &t.lookups, indexLookups)
			flags.IntVar(&t.keyBytes, "key-bytes", keyBytes, "length of keys")
			flags.IntVar(&t.valueBytes, "value-bytes", minValueBytes, "length of values")
			flags.BoolVar(&t.direct, "direct", true,
				"use memory directly; =false takes the one-sided path everywhere")
			return t
		},
	}
}

// throughput runs it.
type throughput struct {
	impls                []impl
	loads                []float64
	batches              []int
	records, lookups     experiment.Count
	keyBytes, valueBytes int
	direct               bool
}

// OneSided hides memory, so that nothing is measured that needs it.
func (t *throughput) OneSided() bool { return !t.direct }

// Check refuses what makes no sense, and brings implementations of one table together.
func (t *throughput) Check() error {
	t.impls = slices.DeleteFunc(t.impls, func(i impl) bool { return !t.direct && i.kind().direct })
	for flag, n := range map[string]int{"impl": len(t.impls), "load": len(t.loads),
		"batch": len(t.batches)} {
		if n == 0 {
			return fmt.Errorf("--%s has nothing to measure", flag)
		}
	}
	all := impls()
	slices.SortFunc(t.impls, func(a, b impl) int {
		return slices.Index(all, a) - slices.Index(all, b)
	})
	err := errors.Join(checkCounts(t.records, t.lookups),
		experiment.InRange("key-bytes", t.keyBytes, index.MinKeySize, index.MaxKeySize),
		experiment.InRange("value-bytes", t.valueBytes, minValueBytes, index.MaxValueSize))
	for _, batch := range t.batches {
		err = errors.Join(err, experiment.InRange("batch", batch, 1, maxBatch))
	}
	for _, load := range t.loads {
		for _, impl := range t.impls {
			of := shape{layout: impl.kind().layout}
			err = errors.Join(err, experiment.InRange("load", load, minLoad, of.maxLoad()))
		}
	}
	return err
}

// Round builds a table for each layout and load, and looks keys up in it.
func (t *throughput) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	sameLayout := func(a, b impl) bool { return a.kind().layout == b.kind().layout }
	for _, load := range t.loads {
		for _, impls := range byTable(t.impls, sameLayout) {
			if err := t.table(ctx, job, load, impls, emit); err != nil {
				return fmt.Errorf("%s, load %v: %w", impls[0], load, err)
			}
		}
	}
	return nil
}

// table builds an index, each rank from its part of the records, which are made while the
// clock runs. Then each rank looks up keys that are there, drawn evenly while no clock runs.
func (t *throughput) table(ctx context.Context, job rma.Job, load float64, impls []impl,
	emit experiment.Emit) error {
	keys := keys{keyBytes: t.keyBytes, valueBytes: t.valueBytes, records: int(t.records)}
	layout := impls[0].kind().layout
	runtime.GC() // what the last table left is not this one's to collect
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	start := time.Now()
	x, err := shape{layout: layout, load: load}.build(ctx, job, &keys)
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	err = t.keep(ctx, job, emit, "LPBuild", int(t.records), elapsed, []record.Key{
		record.K("layout", string(layout)), record.K("load", load)}, record.Value{Unit: "table-B",
		Value: float64(x.bytes()) * float64(job.Size())})
	for _, impl := range impls {
		for _, batch := range t.batches {
			if err != nil {
				break
			}
			l := lookupRun{ctx: ctx, table: x, keys: &keys, batch: batch}
			if elapsed, err = l.timed(job, lookups{impl: impl}, int(t.lookups)); err == nil {
				err = t.keep(ctx, job, emit, "LPLookup", int(t.lookups)*job.Size(), elapsed,
					[]record.Key{record.K("impl", string(impl)), record.K("load", load),
						record.K("batch", batch), record.K("lookups", t.lookups.String())})
			}
		}
	}
	return errors.Join(err, x.Close())
}

// keep emits a rate. Collective.
func (t *throughput) keep(ctx context.Context, job rma.Job, emit experiment.Emit, name string,
	operations int, elapsed time.Duration, keys []record.Key, values ...record.Value) error {
	return keepRate(ctx, job, emit, record.Record{Name: name, N: operations,
		Keys: append(keys, record.K("records", t.records.String()),
			record.K("key-bytes", t.keyBytes), record.K("value-bytes", t.valueBytes)),
		Values: values}, elapsed)
}

// keepRate emits a record with a rate, of all ranks by the time of the slowest. Collective.
func keepRate(ctx context.Context, job rma.Job, emit experiment.Emit, r record.Record,
	elapsed time.Duration) error {
	times, err := measure.Gather(ctx, job, uint64(elapsed))
	if err != nil {
		return err
	}
	ns := float64(max(slices.Max(times), 1))
	r.Values = append([]record.Value{{Value: float64(r.N) / ns * 1e3, Unit: "Mop/s"},
		{Value: ns / float64(r.N), Unit: "ns/op"}}, r.Values...)
	emit(r)
	return nil
}
