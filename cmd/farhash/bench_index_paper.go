package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
)

// indexPaper says which experiments of LP are asked for.
type indexPaper struct {
	table, figure int
	all           bool

	plot string // of --all: names of files derive from it
	done *indexPapers
}

// paperFlags exclude what the paper decides, and each other.
var paperFlags = []string{"table", "figure", "all", "ranks", "impl", "load", "batch", "key-bytes",
	"value-bytes", "direct"}

func (p *indexPaper) given() bool { return p.table != 0 || p.figure != 0 || p.all }

// names are the experiments that are asked for, as in the names of their files.
func (p *indexPaper) names() []string {
	switch {
	case p.all:
		return []string{"table1", "table2", "table3", "table4", "figure6", "figure7", "figure9",
			"figure10", "figure11", "figure12", "figure13"}
	case p.table != 0:
		return []string{fmt.Sprintf("table%d", p.table)}
	case p.figure == 8:
		return []string{"figure7"} // with its bandwidth
	}
	return []string{fmt.Sprintf("figure%d", p.figure)}
}

// checkPaper refuses experiments that LP does not have, and flags that its experiments would
// not heed.
func (f *indexFlags) checkPaper() error {
	p := &f.paper
	for _, n := range []struct {
		flag               string
		given, first, last int
	}{{"table", p.table, 1, 4}, {"figure", p.figure, 6, 13}} {
		if f.changed(n.flag) && (n.given < n.first || n.given > n.last) {
			return fmt.Errorf("--%s must be %d to %d, not %d", n.flag, n.first, n.last, n.given)
		}
	}
	if !p.given() {
		return nil
	}
	var flags []string
	for _, flag := range paperFlags {
		if f.changed(flag) {
			flags = append(flags, "--"+flag)
		}
	}
	if len(flags) > 1 {
		return fmt.Errorf("%s exclude each other: an experiment of the paper is what the paper "+
			"says", strings.Join(flags, " and "))
	}
	return nil
}

// indexPapers are experiments and what they have come to.
type indexPapers struct {
	names   []string
	rounds  []func(context.Context, rma.Job) error
	reports []func() benchReport
	made    []benchReport // the last reports
}

// experiments are those that are asked for.
func (f *indexFlags) experiments() (round func(context.Context, rma.Job) error,
	report func() benchReport, err error) {
	is := &indexPapers{names: f.paper.names()}
	for _, name := range is.names {
		round, report, err := f.experiment(name)
		if err != nil {
			return nil, nil, err
		}
		is.rounds, is.reports = append(is.rounds, round), append(is.reports, report)
	}
	if !f.paper.all {
		return is.rounds[0], is.reports[0], nil
	}
	f.paper.done, f.paper.plot, f.plot = is, f.plot, ""
	return is.round, func() benchReport { return is.report() }, nil
}

// experiment is one of LP by its name.
func (f *indexFlags) experiment(name string) (round func(context.Context, rma.Job) error,
	report func() benchReport, err error) {
	if slices.Contains(bench.IndexTables(), bench.IndexTable(name)) {
		c, err := bench.NewIndexCounts(bench.IndexCountsConfig{Table: bench.IndexTable(name),
			Records: f.counts.records, Lookups: f.counts.lookups, Progress: f.counted})
		if err != nil {
			return nil, nil, err
		}
		return c.Round, func() benchReport { return c.Report(commandLine()) }, nil
	}
	if slices.Contains(bench.IndexTrials(), bench.IndexTrial(name)) {
		r, err := bench.NewIndexRates(bench.IndexRatesConfig{Trial: bench.IndexTrial(name),
			Records: f.counts.records, Lookups: f.counts.lookups, Progress: f.paced})
		if err != nil {
			return nil, nil, err
		}
		return r.Round, func() benchReport { return r.Report(commandLine()) }, nil
	}
	h, err := bench.NewIndexHints(commandLine())
	nothing := func(context.Context, rma.Job) error { return nil } // it is computed
	return nothing, func() benchReport { return h }, err
}

// round does each experiment once.
func (p *indexPapers) round(ctx context.Context, job rma.Job) error {
	for _, round := range p.rounds {
		if err := round(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// report is what all of them have come to.
func (p *indexPapers) report() *indexPapers {
	p.made = nil
	for _, report := range p.reports {
		p.made = append(p.made, report())
	}
	return p
}

// WriteText writes one after the other.
func (p *indexPapers) WriteText(w io.Writer) error {
	for i, r := range p.made {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := r.WriteText(w); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes an object with the names of experiments for keys.
func (p *indexPapers) WriteJSON(w io.Writer) error {
	all := map[string]json.RawMessage{}
	for i, r := range p.made {
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			return err
		}
		all[p.names[i]] = b.Bytes()
	}
	return json.NewEncoder(w).Encode(all)
}

// WriteBenchfmt writes one after the other.
func (p *indexPapers) WriteBenchfmt(w io.Writer) error {
	for _, r := range p.made {
		if err := r.WriteBenchfmt(w); err != nil {
			return err
		}
	}
	return nil
}

// WritePlot is not for several experiments: each has a file of its own.
func (p *indexPapers) WritePlot(io.Writer, string) error {
	return errors.New("each experiment has a plot of its own")
}

// draw writes a plot of each experiment of --all, in the process that has the reports.
func (p *indexPaper) draw() error {
	if p.plot == "" || p.done == nil {
		return nil
	}
	nothing := func(io.Writer) error { return nil }
	ext := filepath.Ext(p.plot)
	for i, r := range p.done.made {
		path := strings.TrimSuffix(p.plot, ext) + "-" + p.done.names[i] + ext
		if err := printResults(nothing, path, r.WritePlot); err != nil {
			return err
		}
	}
	return nil
}

// counted prints what has been counted of a case.
func (f *indexFlags) counted(c bench.IndexCase, s index.Stats) {
	requests, _, bytes := s.PerLookup()
	f.tell("%s, load %v, records of %d bytes, %s: %.3f requests, %.0f bytes\n", c.Impl, c.Load,
		c.RecordBytes, c.StorageName(), requests, bytes)
}

// paced prints what has been measured of a case.
func (f *indexFlags) paced(c bench.IndexTrialCase, simulated bool, mops float64) {
	where := "here"
	if simulated {
		where = "simulated"
	}
	f.tell("%s, load %v, records of %d bytes, %s: %s %.2f M/s\n", c.Impl, c.Load, c.RecordBytes,
		c.StorageName(), where, mops)
}
