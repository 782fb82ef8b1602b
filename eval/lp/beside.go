package lp

import (
	"math"
	"slices"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// errorsOf are the errors of predictions, in percent: the mean of all without their signs, and the
// largest.
func errorsOf(ours, paper []float64) (mean, largest float64) {
	for i := range ours {
		percent := 100 * (ours[i]/paper[i] - 1)
		mean += math.Abs(percent) / float64(len(ours))
		if math.Abs(percent) > math.Abs(largest) {
			largest = percent
		}
	}
	return mean, largest
}

// finite are the values that are there where a run was interrupted.
func finite(values ...record.Value) []record.Value {
	return slices.DeleteFunc(values, func(v record.Value) bool {
		return math.IsNaN(v.Value) || math.IsInf(v.Value, 0)
	})
}

// table2Errors are the errors of the throughputs of LP Table 2, with the header and without.
func (t *trial) table2Errors(table *record.Table) (all []record.Record) {
	for _, of := range []struct{ header, prefix string }{{"charged", "sim-"},
		{"not charged", "bare-"}} {
		var ours, paper []float64
		for _, c := range t.cases {
			ours = append(ours, t.figure(table, &c, of.prefix, ""))
			paper = append(paper, t.figure(table, &c, "lp-", ""))
		}
		mean, largest := errorsOf(ours, paper)
		all = append(all, record.Record{Name: table2ErrorsName, N: len(ours),
			Keys: []record.Key{record.K("header", of.header)},
			Values: finite(record.Value{Value: float64(len(ours)), Unit: "cells"},
				record.Value{Value: mean, Unit: "mean"},
				record.Value{Value: largest, Unit: "largest"})})
	}
	return all
}

const table2ErrorsName = "LPTable2Errors"

func errorsView() view.View {
	return view.View{Name: table2ErrorsName, Title: "errors of \"sim\", percent of LP's cells",
		Rows: []string{"header"}, Columns: []view.Column{{Unit: "cells", Whole: true},
			{Unit: "mean", Digits: 1}, {Unit: "largest", Digits: 1}}}
}

// workerTimes are two times that LP's latencies have and its model has not: of a lookup, and of
// each read that is posted.
type workerTimes struct{ lookupNs, readNs float64 }

// fittedLoad is the load at which the times are fitted.
const fittedLoad = 0.65

// fitTimes finds the two times from two medians of LP 5.4: of linear probing, which posts one read,
// and of parallel cuckoo hashing, which posts three.
func (t *trial) fitTimes(table *record.Table) workerTimes {
	lacking := func(of impl) (ns, reads float64) {
		c := latencyCase(of, fittedLoad)
		return t.figure(table, &c, "lp-", "p50-ns") - t.figure(table, &c, "sim-", "p50-ns"),
			t.figure(table, &c, "sim-", "p50-reads")
	}
	linearNs, m := lacking(linearModel)
	cuckooNs, n := lacking(cuckooParallel)
	readNs := (cuckooNs - linearNs) / (n - m)
	return workerTimes{lookupNs: linearNs - m*readNs, readNs: readNs}
}

// figure9Latencies are the latencies that LP has in figures. The first two are fitted.
var figure9Latencies = []struct {
	load float64
	impl impl
	at   string
}{
	{fittedLoad, linearModel, "p50"}, {fittedLoad, cuckooParallel, "p50"},
	{fittedLoad, cuckooSequential, "p50"},
	{0.8, linearFixed, "p50"}, {0.8, linearModel, "p50"},
	{0.8, linearFixed, "p90"}, {0.8, linearModel, "p90"}, {0.8, cuckooParallel, "p90"},
}

const (
	figure9TimesName     = "LPFigure9Times"
	figure9LatenciesName = "LPFigure9Fitted"
)

// figure9Times adds the fitted times to simulated latencies. LP does not say whether the time of a
// lookup passes once, or in every round of its Algorithm 1: here are both.
func (t *trial) figure9Times(table *record.Table) (all []record.Record) {
	times := t.fitTimes(table)
	for _, of := range []struct {
		of string
		ns float64
	}{{"a lookup", times.lookupNs}, {"a posted read", times.readNs}} {
		all = append(all, record.Record{Name: figure9TimesName, N: 1,
			Keys:   []record.Key{record.K("of", of.of)},
			Values: finite(record.Value{Value: of.ns, Unit: "ns"})})
	}
	for _, of := range figure9Latencies {
		c := latencyCase(of.impl, of.load)
		paperNs := t.figure(table, &c, "lp-", of.at+"-ns")
		if of.impl == cuckooSequential {
			paperNs = lpSequential * lpCuckooNs
		}
		ns := t.figure(table, &c, "sim-", of.at+"-ns")
		reads := t.figure(table, &c, "sim-", of.at+"-reads")
		rounds := reads
		if of.impl == cuckooParallel {
			rounds = 1
		}
		fittedNs := ns + reads*times.readNs
		all = append(all, record.Record{Name: figure9LatenciesName, N: 1,
			Keys: []record.Key{record.K("load", of.load), record.K("impl", string(of.impl)),
				record.K("at", of.at)},
			Values: finite(record.Value{Value: paperNs, Unit: "lp-ns"},
				record.Value{Value: ns, Unit: "sim-ns"},
				record.Value{Value: fittedNs + times.lookupNs, Unit: "once-ns"},
				record.Value{Value: fittedNs + rounds*times.lookupNs, Unit: "rounds-ns"})})
	}
	return all
}

func timesViews() []view.View {
	return []view.View{{Name: figure9TimesName, Title: "Times fitted to LP's medians at load " +
		"0.65, of linear-model and cuckoo-parallel", Rows: []string{"of"},
		Columns: []view.Column{{Unit: "ns", Whole: true}}},
		{Name: figure9LatenciesName, Title: "Latencies with the fitted times, ns",
			Notes: `"once" has the time of a lookup once, "each round" each time that the worker
waits.`,
			Rows: []string{"load", "impl", "at"},
			Columns: []view.Column{{Unit: "lp-ns", Head: "LP", Whole: true},
				{Unit: "sim-ns", Head: "sim", Whole: true},
				{Unit: "once-ns", Head: "once", Whole: true},
				{Unit: "rounds-ns", Head: "each round", Whole: true}}}}
}
