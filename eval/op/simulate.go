package op

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/op/cluster"
)

// Simulate predicts the throughput of find-or-put by hosts and ranks of each.
func Simulate() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "simulate",
		Short: "Predict the throughput of find-or-put on clusters, beside OP Table 1",
		Long: `Runs the set in virtual time on simulated clusters: every request of every rank, on
one core. Presets are das5 (the cluster of OP, fitted to four cells of its Table 1), edr, ndr, roce
and tcp (networks; how much slower they are with more hosts and ranks is not known, so that
predictions for many are upper bounds). --latency-ns to --word-ns change a preset. The same
flags print the same figures. Package eval/op/cluster says what the model leaves out.`,
		Takes:        "10 s",
		Reproducible: true,
		Example:      "--hosts 2,48,1000 --procs 1,16 --preset ndr",
		Views:        []view.View{rateView("Simulated"), summaryView("SimulatedErrors")},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &simulation{table1: false}
			flags.IntSliceVar(&s.hosts, "hosts", []int{2, 4, 8, 16, 32, 48}, "numbers of hosts")
			flags.IntSliceVar(&s.procs, "procs", []int{1, 4, 16}, "ranks of each host, a list")
			experiment.ChoiceVar(flags, &s.workloads, "workload", cluster.Workloads(),
				[]cluster.Workload{cluster.Mixed}, "what ranks do, a list of")
			flags.Float64Var(&s.load, "load", 0, "load of the table before")
			flags.IntVar(&s.chunk, "chunk", cluster.DefaultChunk, "C, buckets of one get")
			flags.IntVar(&s.chunks, "chunks", 0, "M, gets before a search gives up; 0: enough")
			flags.IntVar(&s.batch, "batch", 1, "words of one call; 1: one at a time")
			flags.IntVar(&s.operations, "ops", 0, "operations of each rank; 0: 100000 by all "+
				"together, but at least 20")
			s.clusterFlags(flags)
			return s
		},
	}
}

// SimulatedTable1 is all of OP Table 1 in virtual time.
func SimulatedTable1() *experiment.Experiment {
	latency := func(title string, here, paper view.Column, p view.Plot) view.View {
		v := table1View(title, here, paper, p)
		v.Name, v.Title = "SimulatedLatency", "OP Table 1, simulated: "+title
		return v
	}
	failed := view.Column{Unit: "error-%", Head: "error", Digits: 1}
	ns := latency("latency in ns", view.Column{Unit: "ns/op", Whole: true},
		view.Column{Unit: "op-ns/op", Head: "OP", Whole: true},
		view.Plot{Title: "average latency of find-or-put, simulated", X: "load", Y: "ns/op",
			YName: "ns", Paper: "op-ns/op", PaperName: "OP Table 1", LogY: true})
	ns.Columns = append(ns.Columns, failed)
	trips := latency("round trips", view.Column{Unit: "trips/op", Digits: 2},
		view.Column{Unit: "op-trips/op", Head: "OP", Digits: 1},
		view.Plot{Title: "average round trips, simulated", X: "load", Y: "trips/op",
			YName: "round trips", Paper: "op-trips/op", PaperName: "OP Table 1"})
	trips.Notes = "Four parameters were fitted to one cell each; their error has no meaning. " +
		"All else is predicted."
	return &experiment.Experiment{
		Name:         "simulated-table1",
		Short:        "Simulate all of OP Table 1, with the error of every cell",
		Takes:        "20 s",
		Reproducible: true,
		Views:        []view.View{trips, ns, rateView("SimulatedRate"), summaryView(table1Errors)},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &simulation{table1: true, batch: 1, chunk: cluster.DefaultChunk,
				chunks: printedChunks, workloads: []cluster.Workload{cluster.Mixed}}
			experiment.CountVar(flags, &s.buckets, "buckets", cluster.DefaultLatencyBuckets,
				"size of the table for latencies")
			flags.IntVar(&s.latencies, "latencies", 20_000, "operations measured for each latency")
			flags.IntVar(&s.operations, "ops", 0, "operations of each rank for a throughput; 0: "+
				"100000 by all together, but at least 20")
			s.clusterFlags(flags)
			return s
		},
	}
}

// table1Errors names the records of the errors of all of OP Table 1.
const table1Errors = "SimulatedTable1Errors"

func (s *simulation) errorsName() string {
	if s.table1 {
		return table1Errors
	}
	return "SimulatedErrors"
}

// printedChunks is the M of OP 4.2.
const printedChunks = 32

func rateView(name string) view.View {
	return view.View{Name: name, Title: "find-or-put in virtual time",
		Columns: []view.Column{{Unit: "Mop/s"}, {Unit: "Mop/s/host", Head: "a host"},
			{Unit: "ns/op", Whole: true}, {Unit: "op-Mop/s", Head: "OP", Digits: 2},
			{Unit: "error-%", Head: "error", Digits: 1}, {Unit: "speedup", Digits: 1},
			{Unit: "op-speedup", Head: "OP", Digits: 1}},
		Plots: []view.Plot{{Title: "throughput of find-or-put, simulated", Panel: "workload",
			X: "hosts", Y: "Mop/s", YName: "million operations/s",
			Paper: "op-Mop/s", PaperName: "OP Table 1", LogX: true, LogY: true,
			Only: func(c *record.Case) bool { return c.Number("hosts") > 1 }}}}
}

// summaryView sums up the errors of cells that nothing was fitted to.
func summaryView(name string) view.View {
	return view.View{Name: name, Title: "errors where nothing was fitted, percent",
		Columns: []view.Column{{Unit: "cells", Whole: true}, {Unit: "mean", Digits: 1},
			{Unit: "largest", Digits: 1}}}
}

// simulation runs what the flags say.
type simulation struct {
	table1       bool
	hosts, procs []int
	workloads    []cluster.Workload
	load         float64
	chunk        int
	chunks       int
	batch        int
	operations   int
	latencies    int
	buckets      experiment.Count
	seed         uint64

	preset  string
	flags   *pflag.FlagSet
	over    map[string]*float64
	cluster cluster.Cluster

	// base is the rate of 2 hosts with a rank each, and printedBase what OP prints of it: speedups
	// of more are relative to these (OP Fig. 3, right). 0 where it is not simulated.
	base, printedBase float64
}

// overrides are flags that change a parameter of the preset, and what one of them is.
var overrides = []struct {
	flag, help string
	unit       float64
	of         func(c *cluster.Cluster) *float64
}{
	{"latency-ns", "latency of an empty message from host to host", 1,
		func(c *cluster.Cluster) *float64 { return &c.LatencyNs }},
	{"gbps", "bandwidth of a card in each direction, Gb/s", 1.0 / 8,
		func(c *cluster.Cluster) *float64 { return &c.BytesPerNs }},
	{"mops", "million messages a second of a card in each direction; 0: no limit", 1e6,
		func(c *cluster.Cluster) *float64 { return &c.MessagesPerSecond }},
	{"doubling-ns", "by how much the latency grows when the hosts double", 1,
		func(c *cluster.Cluster) *float64 { return &c.DoublingNs }},
	{"sharing-ns", "by how much the latency grows with each further rank of a host", 1,
		func(c *cluster.Cluster) *float64 { return &c.SharingNs }},
	{"word-ns", "time of a processor for a word that a get brings", 1,
		func(c *cluster.Cluster) *float64 { return &c.WordNs }},
}

func (s *simulation) clusterFlags(flags *pflag.FlagSet) {
	s.flags, s.over = flags, map[string]*float64{}
	flags.StringVar(&s.preset, "preset", "das5", fmt.Sprintf("kind of cluster, one of %v",
		sim.Presets()))
	flags.Uint64Var(&s.seed, "seed", 1, "decides everything that is left to chance")
	for _, o := range overrides {
		s.over[o.flag] = flags.Float64(o.flag, 0, o.help+" (default: as in the preset)")
	}
}

func (s *simulation) Check() (err error) {
	if s.cluster, err = cluster.Preset(s.preset); err != nil {
		return fmt.Errorf("--preset: %w", err)
	}
	for _, o := range overrides {
		if !s.flags.Changed(o.flag) {
			continue
		}
		v := *s.over[o.flag]
		if !(v >= 0 && v <= 1e9) || o.flag == "gbps" && v == 0 {
			return fmt.Errorf("--%s must be positive and at most 1e9, not %v", o.flag, v)
		}
		*o.of(&s.cluster) = v * o.unit
	}
	if s.table1 {
		s.hosts, s.procs = nil, nil
		return errors.Join(experiment.InRange("buckets", s.buckets, minBuckets, maxBuckets),
			experiment.InRange("latencies", s.latencies, 1, 1<<20))
	}
	if len(s.hosts) == 0 || len(s.procs) == 0 {
		return errors.New("--hosts and --procs need a number")
	}
	return s.each(func(cfg cluster.Config) error { return cfg.Check() })
}

// each calls a function for all numbers of hosts and ranks.
func (s *simulation) each(of func(cfg cluster.Config) error) error {
	cfg := cluster.Config{Cluster: s.cluster, Load: s.load, Chunk: s.chunk, Chunks: s.chunks,
		Batch: s.batch, Operations: s.operations, Seed: s.seed}
	if s.table1 {
		cfg.Workload = cluster.Mixed
		for _, p := range printedMops {
			cfg.Hosts, cfg.Procs = p.machines, p.processes
			if err := of(cfg); err != nil {
				return err
			}
		}
		return nil
	}
	for _, cfg.Workload = range s.workloads {
		s.base = 0
		for _, cfg.Procs = range s.procs {
			for _, cfg.Hosts = range s.hosts {
				if err := of(cfg); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// simulatedLoads are the loads of OP Table 1 and some between for the plot.
var simulatedLoads = []float64{0.1, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92}

// Round simulates everything once; one seed gives the same figures in every round.
func (s *simulation) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	var errs errorsOf
	if s.table1 {
		if err := s.roundLatencies(ctx, emit, &errs); err != nil {
			return err
		}
	}
	err := s.each(func(cfg cluster.Config) error {
		rate, err := cluster.Throughput(ctx, cfg)
		if err == nil {
			emit(s.rate(&cfg, rate, &errs))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range errs.records(s.errorsName()) {
		emit(r)
	}
	return job.Barrier(ctx)
}

func (s *simulation) roundLatencies(ctx context.Context, emit experiment.Emit,
	errs *errorsOf) error {
	for _, chunk := range table1Chunks {
		all, err := cluster.Latencies(ctx, cluster.LatencyConfig{Cluster: s.cluster, Chunk: chunk,
			Loads: simulatedLoads, Operations: s.latencies, Buckets: uint64(s.buckets),
			Seed: s.seed})
		if err != nil {
			return err
		}
		for _, l := range all {
			r := record.Record{Name: "SimulatedLatency", N: s.latencies, Keys: []record.Key{
				record.K("preset", s.preset), record.K("load", l.Load), record.K("C", chunk)},
				Values: []record.Value{{Value: l.LatencyNs, Unit: "ns/op"},
					{Value: l.RoundTrips, Unit: "trips/op"}}}
			if p, ok := printedTable1(r.Keys[1].Value, chunk); ok {
				where := fmt.Sprintf("C=%d,load=%v", chunk, l.Load)
				percent := errs.add("latency", where, l.LatencyNs, p.microseconds*1e3,
					s.das5() && cluster.Fitted(chunk, l.Load))
				errs.add("round_trips", where, l.RoundTrips, p.roundTrips, false)
				r.Values = append(r.Values,
					record.Value{Value: p.microseconds * 1e3, Unit: "op-ns/op"},
					record.Value{Value: p.roundTrips, Unit: "op-trips/op"},
					record.Value{Value: percent, Unit: "error-%"})
			}
			emit(r)
		}
	}
	return nil
}

func (s *simulation) das5() bool { return s.cluster == cluster.DAS5() }

// printedLoad is a load that OP's tables did not reach: 10^7 integers a process, half of them
// new at most, in 2^27 buckets.
const printedLoad = 0.05

// likePaper reports whether the throughput is to be compared with the paper's.
func (s *simulation) likePaper(w cluster.Workload) bool {
	return s.table1 || s.das5() && w == cluster.Mixed &&
		s.chunk == cluster.DefaultChunk && s.batch == 1 && s.load < printedLoad
}

func (s *simulation) rate(cfg *cluster.Config, rate *cluster.Rate, errs *errorsOf) record.Record {
	name := "Simulated"
	if s.table1 {
		name = "SimulatedRate"
	}
	r := record.Record{Name: name, N: rate.Operations, Keys: []record.Key{
		record.K("preset", s.preset), record.K("workload", string(cfg.Workload)),
		record.K("load", s.load), record.K("C", s.chunk), record.K("batch", s.batch),
		record.K("hosts", cfg.Hosts), record.K("procs", cfg.Procs)}, Values: []record.Value{
		{Value: rate.Mops, Unit: "Mop/s"},
		{Value: rate.Mops / float64(cfg.Hosts), Unit: "Mop/s/host"},
		{Value: rate.LatencyNs, Unit: "ns/op"}}}
	p := printedRates(cfg.Hosts, cfg.Procs)
	if cfg.Hosts == 2 && cfg.Procs == 1 && p != nil {
		s.base, s.printedBase = rate.Mops, p[0].Value
	}
	if s.base > 0 {
		r.Values = append(r.Values, record.Value{Value: rate.Mops / s.base, Unit: "speedup"})
	}
	if p != nil && s.likePaper(cfg.Workload) {
		kind := "throughput,_2_machines_and_more"
		if cfg.Hosts == 1 {
			kind = "throughput,_1_machine"
		}
		percent := errs.add(kind, fmt.Sprintf("%d_machines,%d_processes", cfg.Hosts, cfg.Procs),
			rate.Mops, p[0].Value, s.das5() && cluster.FittedRate(cfg.Hosts, cfg.Procs))
		r.Values = append(r.Values, p[0], record.Value{Value: percent, Unit: "error-%"})
		if s.base > 0 {
			r.Values = append(r.Values, record.Value{Value: p[0].Value / s.printedBase,
				Unit: "op-speedup"})
		}
	}
	return r
}

// errorsOf sums up errors by what they are of.
type errorsOf struct{ all []*errorSum }

type errorSum struct {
	of, where     string
	cells         int
	sum, greatest float64
}

// add adds a cell unless it was fitted, and returns its error in percent.
func (e *errorsOf) add(of, where string, got, want float64, fitted bool) float64 {
	percent := 100 * (got/want - 1)
	if fitted {
		return percent
	}
	at := slices.IndexFunc(e.all, func(s *errorSum) bool { return s.of == of })
	if at < 0 {
		at = len(e.all)
		e.all = append(e.all, &errorSum{of: of})
	}
	s := e.all[at]
	s.cells++
	s.sum += math.Abs(percent)
	if math.Abs(percent) > math.Abs(s.greatest) {
		s.greatest, s.where = percent, where
	}
	return percent
}

func (e *errorsOf) records(name string) (all []record.Record) {
	for _, s := range e.all {
		all = append(all, record.Record{Name: name, N: s.cells, Keys: []record.Key{
			record.K("of", s.of), record.K("where", s.where)}, Values: []record.Value{
			{Value: float64(s.cells), Unit: "cells"},
			{Value: s.sum / float64(s.cells), Unit: "mean"}, {Value: s.greatest, Unit: "largest"}}})
	}
	return all
}
