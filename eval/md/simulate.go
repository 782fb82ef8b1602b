package md

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Simulate is MD 5.3, Tables 1 and 2 and Fig. 3 to 6, on simulated clusters.
func Simulate() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "simulate",
		Short: "MD 5.3: the three modes on 128 to 640 simulated ranks, beside MD Tables 1 and 2",
		Long: `Runs the cache in virtual time on simulated clusters: every request of every rank,
with the workloads of MD 5.2. Every value that is read is compared with what was written for its
key. --library-ns is the time of the MPI library for a message, which MD does not give: for ndr,
the cluster of MD 5, it is fitted to one cell of MD Table 1. The others are predicted. The same
flags print the same figures.`,
		Takes:        "40 s",
		Example:      "--hosts 1,2,3 --procs 24 --preset roce --mode coarse --keys uniform",
		Reproducible: true,
		Views: []view.View{{Name: "CacheSimulated",
			Title: "the cache in virtual time, million operations a second",
			Columns: []view.Column{{Unit: "Mop/s", Digits: 3},
				{Unit: "md-Mop/s", Head: "MD", Digits: 2},
				{Unit: "error-%", Head: "error", Digits: 0, Whole: true},
				{Unit: "Mop/s", Over: record.K("mode", "fine")},
				{Unit: "Mop/s", Over: record.K("mode", "coarse")},
				{Unit: "mismatches", Whole: true},
				{Unit: "mismatches-%", Head: "percent", Digits: 4},
				{Unit: "md-mismatches-%", Head: "MD", Digits: 7}},
			Plots: []view.Plot{simulatedPlot(writes), simulatedPlot(reads), simulatedPlot(mixes)}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &simulation{}
			flags.IntSliceVar(&s.hosts, "hosts", []int{1, 2, 3, 4, 5}, "numbers of hosts")
			flags.IntVar(&s.procs, "procs", 128, "ranks of each host")
			flags.StringVar(&s.preset, "preset", "ndr", fmt.Sprintf("network, one of %v",
				sim.Presets()))
			flags.Float64Var(&s.libraryNs, "library-ns", fittedLibraryNs,
				"time of the MPI library for a message")
			flags.Int64Var(&s.tearNs, "tear-ns", 4, "how long a get or put of a bucket takes at "+
				"the memory; 4: its bytes at 400 Gb/s")
			flags.Uint64Var(&s.seed, "seed", 1, "decides everything that is left to chance")
			s.workloadFlags(flags, 1<<10)
			experiment.CountVar(flags, &s.operations, "ops", 100,
				"operations of each rank and workload")
			return s
		},
	}
}

func simulatedPlot(of workload) view.Plot {
	return view.Plot{Title: string(of), Panel: "keys", Where: []record.Key{
		record.K("workload", string(of))}, X: "ranks", Y: "Mop/s", YName: "million operations/s",
		Paper: "md-Mop/s", PaperName: "MD", LogY: true}
}

// fittedLibraryNs makes lock-free writes of uniform keys on 5 hosts as fast as in MD Table 1.
const fittedLibraryNs = 21_700

// simulation runs what the flags say.
type simulation struct {
	cacheRunner
	hosts     []int
	procs     int
	preset    string
	libraryNs float64
	tearNs    int64
	seed      uint64
	cost      sim.Cost
	gathered  [][]uint64 // by rank: one runs at a time
}

// together gathers without messages what all ranks have.
func (s *simulation) together(ctx context.Context, job rma.Job, mine []uint64) ([][]uint64, error) {
	s.gathered[job.Rank()] = mine
	return s.gathered, job.Barrier(ctx)
}

// Check refuses what makes no sense.
func (s *simulation) Check() (err error) {
	if s.cost, err = sim.Preset(s.preset); err != nil {
		return fmt.Errorf("--preset: %w", err)
	}
	s.batches, s.accesses = []int{1}, []string{"one-sided"}
	s.keyBytes, s.valueBytes = standardKeyBytes, []int{standardValueBytes}
	s.nowNs = func(job rma.Job) int64 { return job.(*sim.Job).NowNs() }
	s.gather = s.together
	s.cost.SubmitNs += s.libraryNs
	if len(s.hosts) == 0 {
		return errors.New("--hosts needs a number")
	}
	for _, hosts := range s.hosts {
		err = errors.Join(err, experiment.InRange("hosts", hosts, 1, sim.MaxRanks/max(s.procs, 1)))
	}
	return errors.Join(err, experiment.InRange("procs", s.procs, 1, sim.MaxRanks),
		s.cacheRunner.Check())
}

// Round simulates everything once.
func (s *simulation) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, hosts := range s.hosts {
		s.gathered = make([][]uint64, hosts*s.procs)
		_, err := sim.Run(sim.Options{Ranks: hosts * s.procs, RanksPerHost: s.procs, Seed: s.seed,
			Cost: s.cost, TearNs: s.tearNs, Context: ctx, MaxTimeNs: sim.MaxNs,
			MaxSteps: math.MaxUint64},
			func(job rma.Job) error {
				return errors.Join(s.cacheRunner.Round(ctx, job, s.seed, func(r record.Record) {
					if job.Rank() == 0 {
						emit(s.beside(r, job.Size()))
					}
				}), job.Close())
			})
		if err != nil {
			return fmt.Errorf("%d hosts with %d ranks each: %w", hosts, s.procs, err)
		}
	}
	return job.Barrier(ctx)
}

// beside is a record of the cache as the simulation shows it, with what MD prints of it.
func (s *simulation) beside(r record.Record, ranks int) record.Record {
	is := record.Record{Name: "CacheSimulated", N: r.N}
	cell := printedCell{ranks: ranks}
	for _, k := range r.Keys {
		switch k.Name {
		case "mode":
			cell.mode = k.Value
		case "keys":
			cell.keys = measure.LawName(k.Value)
		case "workload":
			cell.workload = workload(k.Value)
		default:
			continue
		}
		is.Keys = append(is.Keys, k)
	}
	is.Keys = append(is.Keys, record.K("preset", s.preset), record.K("ranks", ranks))
	for _, v := range r.Values {
		switch v.Unit {
		case "kop/s":
			is.Values = append(is.Values, record.Value{Value: v.Value / 1e3, Unit: "Mop/s"})
			if mops, ok := printedMops[cell]; ok && s.preset == "ndr" {
				is.Values = append(is.Values, record.Value{Value: mops, Unit: "md-Mop/s"},
					record.Value{Value: 100 * (v.Value/1e3/mops - 1), Unit: "error-%"})
			}
		case "mismatches":
			is.Values = append(is.Values, v,
				record.Value{Value: 100 * v.Value / float64(r.N), Unit: "mismatches-%"})
			if percent, ok := printedMismatches[cell]; ok && s.preset == "ndr" {
				is.Values = append(is.Values, record.Value{Value: percent,
					Unit: "md-mismatches-%"})
			}
		}
	}
	return is
}
