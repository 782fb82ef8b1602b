package md

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// What MD 5.4 says of POET: in each of 500 steps each cell of a grid of 500 x 1500 needs an answer,
// and so many of the answers are in the table.
const (
	poetCells   = 500 * 1500 * 500
	poetHitRate = 91.8 // %
)

// fittedChemistryUs is fitted so that POET takes 350 s with 128 ranks and the lock-free table.
const fittedChemistryUs = 138

// maxPoetCells bounds the cells of a worker, whose keys are drawn before.
const maxPoetCells = 1 << 20

// noTable is POET without a table.
const noTable = "none"

// Poet is MD 5.4, Table 3: how long POET takes without a table and with each.
func Poet() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "poet",
		Short: "MD Table 3: POET without a table, with MD's protocols and with the cache",
		Long: `Predicts how long the chemistry of POET takes without a table, with the table of MD
and with the cache. Simulated workers read the answer of one cell after the other. If it is not
there, they compute for --chemistry-us and write it. POET's master is not simulated.

From MD 5.4 are the cells, the steps and the 91.8 % of answers that are there. Their keys are drawn
by the law of MD 5.2, which MD takes for the best model of POET's; the other keys are new.

Three times are fitted to three of MD's. --chemistry-us is fitted to 350 s for the lock-free table
on 128 ranks. What MD's 603 s and 491 s for no table leave of it, on 128 and 640 ranks, neither a
table nor workers change; it grows in a straight line. All other times are predicted.

A worker does --cells cells, or --waiting-cells with a lock for each rank, where it takes long until
as many workers wait as later on. The first third is not timed.`,
		Takes:        "60 s",
		Example:      "--hosts 1,5 --same-% 60 --atomic-ns 400",
		Reproducible: true,
		Views: []view.View{{Name: "Poet", Title: "POET in virtual time",
			Columns: []view.Column{{Unit: "cell-us", Head: "us a cell", Digits: 1},
				{Unit: "s", Whole: true, Spread: true}, {Unit: "md-s", Head: "MD", Whole: true},
				{Unit: "gain-%", Head: "gain %", Digits: 1, Spread: true},
				{Unit: "md-gain-%", Head: "MD", Digits: 1},
				{Unit: "error", Head: "error, points", Digits: 1},
				{Unit: "hits-%", Head: "hits %", Digits: 1},
				{Unit: "rest-s", Head: "s besides cells", Whole: true}},
			Plots: []view.Plot{{Title: "POET", X: "ranks", Y: "s", YName: "seconds",
				Paper: "md-s", PaperName: "MD 5.4"}, {Title: "POET: time saved", X: "ranks",
				Y: "gain-%", YName: "% of the time without a table", Paper: "md-gain-%",
				PaperName: "MD Table 3"}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			r := &poet{}
			r.clusterFlags(flags, 1, 2, 3, 4, 5)
			experiment.ChoiceVar(flags, &r.modes, "mode", slices.Concat(protocolNames, modeNames),
				slices.Concat(protocolNames, modeNames[:1]), "protocols and modes, a list of")
			experiment.CountVar(flags, &r.keys, "key-space", standardKeys,
				"how many keys there are that are in the table")
			experiment.CountVar(flags, &r.buckets, "buckets", 2039, "buckets of each rank")
			flags.IntVar(&r.cells, "cells", 150, "cells of each worker")
			flags.IntVar(&r.waitingCells, "waiting-cells", 600,
				"cells of each worker with a lock for each rank")
			flags.Float64Var(&r.chemistryUs, "chemistry-us", fittedChemistryUs,
				"time to compute a cell")
			flags.Float64Var(&r.hitRate, "hits-%", poetHitRate, "answers that are in the table")
			flags.Float64Var(&r.same, "same-%", 0,
				"cells with the most frequent key, such as those that no reaction has reached")
			return r
		},
	}
}

// poet simulates what the flags say.
type poet struct {
	cacheRunner
	clusters
	cells, waitingCells        int
	chemistryUs, hitRate, same float64
}

// Check refuses what makes no sense.
func (r *poet) Check() error {
	r.one()
	r.laws = []measure.LawName{measure.Zipf}
	err := errors.Join(inTime("chemistry-us", r.chemistryUs), r.checkClusters(),
		r.cacheRunner.Check(), experiment.InRange("cells", r.cells, 3, maxPoetCells),
		experiment.InRange("waiting-cells", r.waitingCells, 3, maxPoetCells))
	for _, of := range []float64{r.hitRate, r.same} {
		if !(of >= 0 && of <= 100) {
			err = errors.Join(err, errors.New("--hits-% and --same-% must be 0 to 100"))
		}
	}
	return errors.Join(err, experiment.InRange("procs", r.procs, 2, sim.MaxRanks))
}

// Round simulates everything once.
func (r *poet) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, hosts := range r.hosts {
		c := &poetCase{r: r, ranks: hosts * r.procs}
		c.emit(noTable, []float64{r.chemistryUs}, -1, emit)
		for _, mode := range r.modes {
			if err := c.run(ctx, mode, emit); err != nil {
				return fmt.Errorf("%s, %d ranks: %w", mode, c.ranks, err)
			}
		}
	}
	return job.Barrier(ctx)
}

// poetCase is a cluster.
type poetCase struct {
	r     *poet
	ranks int // of which one is the master
	cells int // of each worker

	keys  [][]uint64 // of the cells of each worker
	there [][]uint64 // what each worker writes before: all keys that are in the table
	ns    int64      // that the workers have taken for their cells
	done  counts     // for these
}

// run simulates a table with each seed.
func (c *poetCase) run(ctx context.Context, mode string, emit experiment.Emit) error {
	c.cells = c.r.cells
	if strings.HasSuffix(mode, "coarse") {
		c.cells = c.r.waitingCells
	}
	var us []float64
	var done counts
	for seed := range c.r.seeds {
		c.draw(uint64(seed))
		c.ns, c.done = 0, counts{}
		err := c.r.run(ctx, c.ranks-1, uint64(seed), func(job *libraryJob) error {
			return c.worker(ctx, job, mode)
		})
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		us = append(us, float64(c.ns)/1e3/float64(c.done.reads))
		done = done.plus(c.done)
	}
	c.emit(mode, us, 100*float64(done.hits)/float64(done.reads), emit)
	return nil
}

// draw chooses the keys of all cells.
func (c *poetCase) draw(seed uint64) {
	workers := c.ranks - 1
	law, rng := c.r.draw[measure.Zipf], rand.New(rand.NewPCG(seed, uint64(c.ranks)))
	c.keys, c.there = make([][]uint64, workers), make([][]uint64, workers)
	fresh, known := uint64(c.r.keys), map[uint64]bool{}
	for range c.cells {
		for w := range workers {
			of := 100 * rng.Float64()
			if of >= c.r.hitRate {
				c.keys[w] = append(c.keys[w], fresh)
				fresh++
				continue
			}
			number := uint64(0)
			if of >= c.r.same {
				number = law.Draw(rng)
			}
			c.keys[w] = append(c.keys[w], number)
			if !known[number] {
				writer := len(known) % workers
				c.there[writer] = append(c.there[writer], number)
				known[number] = true
			}
		}
	}
}

// worker does the cells of one worker.
func (c *poetCase) worker(ctx context.Context, job *libraryJob, mode string) error {
	p := newPiece(&c.r.cacheRunner, standardValueBytes)
	st, err := openTable(ctx, job, mode, "one-sided", p, uint64(c.r.buckets))
	if err != nil {
		return err
	}
	return errors.Join(c.work(ctx, job, p, st), st.close(ctx))
}

// work writes what is in the table, and then does the cells.
func (c *poetCase) work(ctx context.Context, job *libraryJob, p *piece, st store) error {
	for _, number := range c.there[job.Rank()] {
		p.one(number, true)
		if err := st.run(p, 0, 1); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	before, start := st.counts(), job.NowNs()
	for i, number := range c.keys[job.Rank()] {
		if i == c.cells/3 {
			before, start = st.counts(), job.NowNs()
		}
		p.one(number, false)
		if err := st.run(p, 0, 1); err != nil {
			return err
		}
		if p.wrong() > 0 {
			return errors.New("a value was read that nobody has written for its key")
		}
		if p.found[0] {
			continue
		}
		job.owe(1e3 * c.r.chemistryUs)
		p.one(number, true)
		if err := st.run(p, 0, 1); err != nil {
			return err
		}
	}
	c.ns += job.NowNs() - start
	c.done = c.done.plus(st.counts().minus(before))
	return job.Barrier(ctx)
}

// seconds is how long POET takes if a cell takes a worker so long.
func (c *poetCase) seconds(us float64) float64 {
	work := func(ranks int, us float64) float64 { return poetCells * us / 1e6 / float64(ranks-1) }
	// What neither a table nor more workers change, where MD has times without a table.
	first := printedSeconds[noTable][128] - work(128, c.r.chemistryUs)
	last := printedSeconds[noTable][640] - work(640, c.r.chemistryUs)
	between := float64(c.ranks-128) / (640 - 128)
	return work(c.ranks, us) + first + between*(last-first)
}

// emit gives the records of a table: one for each seed, and what follows from all of them.
func (c *poetCase) emit(mode string, us []float64, hits float64, emit experiment.Emit) {
	is := record.Record{Name: "Poet", N: c.ranks, Keys: []record.Key{record.K("mode", mode),
		record.K("preset", c.r.preset), record.K("same-%", c.r.same),
		record.K("atomic-ns", c.r.atomicNs), record.K("ranks", c.ranks)}}
	none := c.seconds(c.r.chemistryUs)
	gain := func(us float64) float64 { return 100 * (1 - c.seconds(us)/none) }
	for _, us := range us {
		is.Values = []record.Value{{Value: us, Unit: "cell-us"}, {Value: c.seconds(us), Unit: "s"}}
		if mode != noTable {
			is.Values = append(is.Values, record.Value{Value: gain(us), Unit: "gain-%"})
		}
		emit(is)
	}
	is.Values = nil
	if s, ok := printedSeconds[mode][c.ranks]; ok && c.r.preset == "ndr" {
		is.Values = append(is.Values, record.Value{Value: s, Unit: "md-s"})
	}
	if percent, ok := printedGain[c.ranks]; ok && c.r.preset == "ndr" && mode == "md-lock-free" {
		is.Values = append(is.Values, record.Value{Value: percent, Unit: "md-gain-%"},
			record.Value{Value: gain(record.Median(us)) - percent, Unit: "error"})
	}
	if mode != noTable {
		is.Values = append(is.Values, record.Value{Value: hits, Unit: "hits-%"})
	} else {
		is.Values = append(is.Values, record.Value{Value: c.seconds(0), Unit: "rest-s"})
	}
	emit(is)
}
