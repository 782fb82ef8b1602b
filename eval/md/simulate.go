package md

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Simulate is MD 5.3, Tables 1 and 2 and Fig. 4 to 6, on simulated clusters.
func Simulate() *experiment.Experiment {
	over := func(mode string) view.Column {
		return view.Column{Unit: "Mop/s", Over: record.K("mode", mode), Digits: 2}
	}
	return &experiment.Experiment{
		Name:  "simulate",
		Short: "MD 5.3: MD's protocols and the cache on 128 to 640 simulated ranks",
		Long: `Runs the three protocols of MD (md-lock-free, md-fine, md-coarse) and the cache in
its default mode (lock-free) in virtual time on simulated clusters: every request of every rank,
with the workloads of MD 5.2. Each seed draws its own keys and times; the table has the median, the
least and the largest. A workload takes --us of virtual time, and an operation counts if it ends in
the second half. Every value that is read is compared with what was written for its key.

MD does not give the time of its MPI library. Two times are fitted to lock-free writes and reads of
uniform keys on 640 ranks: --send-ns for each message, and --answer-ns more if a rank waits for an
answer. All other figures are predicted.

Mismatches are checksums that were wrong. A read fails if the checksum is wrong again (MD Table 2).
Its percentage is an interval of 95 % confidence. Reads fail in groups, one for each bucket that was
marked as invalid. The same flags print the same figures.`,
		Takes:        "60 s",
		Example:      "--hosts 1,3 --procs 24 --preset roce --mode md-coarse,coarse --keys uniform",
		Reproducible: true,
		Views: []view.View{{Name: "CacheSimulated",
			Title: "in virtual time, million operations a second",
			Columns: []view.Column{{Unit: "Mop/s", Digits: 3, Spread: true},
				{Unit: "md-Mop/s", Head: "MD", Digits: 2},
				{Unit: "error-%", Head: "error %", Whole: true},
				over("md-fine"), over("md-coarse"), {Unit: "gets/op", Digits: 2},
				{Unit: "mismatches", Whole: true}, {Unit: "failed", Whole: true},
				{Unit: "operations", Head: "of", Whole: true},
				{Unit: "low-%", Head: "failed % from", Digits: 5},
				{Unit: "high-%", Head: "to", Digits: 5},
				{Unit: "md-failed-%", Head: "MD", Digits: 7}},
			Plots: []view.Plot{simulatedPlot(writes), simulatedPlot(reads), simulatedPlot(mixes)}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &simulation{}
			s.clusterFlags(flags, 1, 2, 5)
			flags.Int64Var(&s.us, "us", 1500, "virtual time of a workload")
			flags.Int64Var(&s.waitingUs, "waiting-us", 60_000, "virtual time of a workload in "+
				"which ranks wait for each other: writes of Zipf keys with locks")
			s.workloadFlags(flags, 1021, slices.Concat(protocolNames, modeNames[:1]))
			return s
		},
	}
}

func simulatedPlot(of workload) view.Plot {
	return view.Plot{Title: string(of), Panel: "keys", Where: []record.Key{
		record.K("workload", string(of))}, X: "ranks", Y: "Mop/s", YName: "million operations/s",
		Paper: "md-Mop/s", PaperName: "MD", LogY: true}
}

// simulation runs what the flags say.
type simulation struct {
	cacheRunner
	clusters
	us, waitingUs int64
}

// Check refuses what makes no sense.
func (s *simulation) Check() error {
	s.one()
	return errors.Join(inTime("us", float64(s.us)-1), inTime("waiting-us", float64(s.waitingUs)-1),
		s.checkClusters(), s.cacheRunner.Check())
}

// Round simulates everything once.
func (s *simulation) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, hosts := range s.hosts {
		for _, law := range s.laws {
			for _, mode := range s.modes {
				c := simulatedCase{s: s, law: law, mode: mode, ranks: hosts * s.procs}
				if err := c.run(ctx, emit); err != nil {
					return fmt.Errorf("%s, %s keys, %d hosts with %d ranks each: %w", mode, law,
						hosts, s.procs, err)
				}
			}
		}
	}
	return job.Barrier(ctx)
}

// simulatedCase is one table on one cluster, with as many seeds as asked for.
type simulatedCase struct {
	s     *simulation
	law   measure.LawName
	mode  string
	ranks int

	seed  uint64
	inAll map[workload]*tally // of all seeds
	now   map[workload]*tally // of this one: one rank runs at a time
}

// tally is what all ranks have done in a workload.
type tally struct {
	timed  uint64    // operations that ended in the second half of the time
	counts           // of all
	mops   []float64 // of each seed
}

func (c *simulatedCase) run(ctx context.Context, emit experiment.Emit) error {
	c.inAll = map[workload]*tally{}
	for _, w := range workloads() {
		c.inAll[w] = &tally{}
	}
	for seed := range c.s.seeds {
		c.seed, c.now = uint64(seed), map[workload]*tally{}
		for _, w := range workloads() {
			c.now[w] = &tally{}
		}
		err := c.s.run(ctx, c.ranks, c.seed, func(j *libraryJob) error { return c.rank(ctx, j) })
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		for _, w := range workloads() {
			c.inAll[w].add(c.now[w], c.limitNs(w))
		}
	}
	for _, w := range workloads() {
		if slices.Contains(c.s.workloads, w) {
			c.emit(w, emit)
		}
	}
	return nil
}

// add takes the counts of a seed.
func (t *tally) add(of *tally, limitNs int64) {
	t.counts = t.counts.plus(of.counts)
	t.mops = append(t.mops, float64(of.timed)/(float64(limitNs)/2e3))
}

// limitNs is the virtual time of a workload. It takes many operations until all ranks that may wait
// for a lock do.
func (c *simulatedCase) limitNs(w workload) int64 {
	us := c.s.us
	if c.law == measure.Zipf && w != reads && !strings.HasSuffix(c.mode, "lock-free") {
		us = c.s.waitingUs
	}
	return us * 1000
}

// rank does the workloads of one rank.
func (c *simulatedCase) rank(ctx context.Context, job *libraryJob) error {
	p := newPiece(&c.s.cacheRunner, standardValueBytes)
	st, err := openTable(ctx, job, c.mode, "one-sided", p, uint64(c.s.buckets))
	if err != nil {
		return err
	}
	stamp := uint64(job.Rank()) << rankShift
	for _, w := range workloads() {
		if w != writes && !slices.Contains(c.s.workloads, w) {
			continue
		}
		if err = c.workload(ctx, job, st, p, w, &stamp); err != nil {
			err = fmt.Errorf("%s: %w", w, err)
			break
		}
	}
	return errors.Join(err, st.close(ctx))
}

// workload does operations one after the other until the time is up.
func (c *simulatedCase) workload(ctx context.Context, job *libraryJob, st store, p *piece,
	w workload, stamp *uint64) error {
	before := st.counts()
	ops := newStream(c.s.draw[c.law], w, c.seed, job.Rank(), maxOperations, stamp)
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	all, limitNs := c.now[w], c.limitNs(w)
	for start, ns := job.NowNs(), int64(0); ns < limitNs; {
		p.fill(ops, 1)
		if err := st.run(p, 0, 1); err != nil {
			return err
		}
		if p.wrong() > 0 {
			return errors.New("a value was read that nobody has written for its key")
		}
		if ns = job.NowNs() - start; ns > limitNs/2 && ns <= limitNs {
			all.timed++
		}
	}
	all.counts = all.counts.plus(st.counts().minus(before))
	return job.Barrier(ctx)
}

// emit gives the records of a workload: one for each seed, and what follows from all of them.
func (c *simulatedCase) emit(w workload, emit experiment.Emit) {
	all := c.inAll[w]
	n := all.reads + all.writes
	is := record.Record{Name: "CacheSimulated", N: int(n), Keys: []record.Key{
		record.K("mode", c.mode), record.K("keys", string(c.law)), record.K("workload", string(w)),
		record.K("preset", c.s.preset), record.K("ranks", c.ranks)}}
	for _, mops := range all.mops {
		is.Values = []record.Value{{Value: mops, Unit: "Mop/s"}}
		emit(is)
	}
	is.Values = nil
	add := func(value float64, unit string) {
		is.Values = append(is.Values, record.Value{Value: value, Unit: unit})
	}
	add(float64(all.gets)/float64(n), "gets/op")
	cell := printedCell{mode: c.mode, keys: c.law, workload: w, ranks: c.ranks}
	if mops, ok := printedMops[cell]; ok && c.s.preset == "ndr" {
		add(mops, "md-Mop/s")
		add(100*(record.Median(all.mops)/mops-1), "error-%")
	}
	if c.mode == "md-lock-free" || c.mode == "lock-free" {
		add(float64(all.mismatches), "mismatches")
		add(float64(all.failed), "failed")
		add(float64(n), "operations")
		low, high := poissonInterval(all.marked)
		group := max(1, float64(all.failed)/float64(max(all.marked, 1)))
		add(100*group*low/float64(n), "low-%")
		add(100*group*high/float64(n), "high-%")
		if percent, ok := printedFailed(cell); ok && c.s.preset == "ndr" {
			add(percent, "md-failed-%")
		}
	}
	emit(is)
}
