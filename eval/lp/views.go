package lp

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/view"
)

const (
	rateNotes = `"sim" is simulated: 28 workers of a client look keys up in the table of a server, with the
latency, bandwidth and rate of messages of LP 5.1. "here" is this machine, the one-sided path.
Requests and bytes are those of a simulated lookup, M/s millions of records found in a second.`

	sequentialNotes = `Sequential lookups end with the record where all keys are distinct: they need 1.10 to 1.96
requests of buckets of 4, by load, and not 2.0, as LP's model (farhash model) has at any load.`
)

// rateColumns show throughput.
func rateColumns() []view.Column {
	return []view.Column{{Unit: "sim-requests/op", Head: "requests", Digits: 3},
		{Unit: "sim-B/op", Head: "bytes", Whole: true},
		{Unit: "sim-Mrecords/s", Head: "sim M/s", Digits: 1},
		{Unit: "lp-Mrecords/s", Head: "LP", Digits: 1},
		{Unit: "sim-GB/s", Head: "sim GB/s", Digits: 2},
		{Unit: "lp-GB/s", Head: "LP", Digits: 1},
		{Unit: "Mrecords/s", Head: "here M/s", Digits: 2, Spread: true}}
}

// ratePlots draw throughput, simulated and here.
func ratePlots(x, xName string) []view.Plot {
	plot := view.Plot{Title: "throughput, simulated", X: x, XName: xName, Y: "sim-Mrecords/s",
		YName: "million records/s", Paper: "lp-Mrecords/s", PaperName: "LP"}
	here := plot
	here.Title, here.Y, here.Paper = "throughput, on this machine", "Mrecords/s", ""
	return []view.Plot{plot, here}
}

// trials are the experiments with lookups.
func trials() []*trial {
	return []*trial{table1(), table2(), table3(), figure6(), figure9(), figure10(), figure12()}
}

func table1() *trial {
	block := func(title, unit, yName string, digits int) view.View {
		v := view.View{Title: "LP Table 1: " + title, Across: "impl", Columns: []view.Column{
			{Unit: unit, Head: " ", Digits: digits, Whole: digits == 0},
			{Unit: "law-" + unit, Head: "law", Digits: digits, Whole: digits == 0},
			{Unit: "lp-" + unit, Head: "LP", Digits: digits - 1, Whole: digits <= 1}}}
		if yName != "" {
			v.Plots = []view.Plot{{Title: title, X: "load", Y: unit, YName: yName, LogY: true,
				Paper: "lp-" + unit, PaperName: "LP Table 1"}}
		}
		return v
	}
	requests := block("requests of a lookup", "requests/op", "requests", 3)
	requests.Notes = `Counted here, for keys that are there. "law" is what package readsize expects of tables
without bounds, "LP" what the paper prints (120Mi records), ns are those of its cost model (3.2).`
	rates := view.View{Title: "LP Fig. 7 and 8: throughput and bandwidth by load and policy",
		Notes: rateNotes + `
LP's numbers are those of its Table 2; of others it has curves alone.`,
		Columns: rateColumns(), Plots: ratePlots("load", "")}
	rates.Plots = slices.Insert(rates.Plots, 1, view.Plot{Title: "bandwidth, simulated", X: "load",
		Y: "sim-GB/s", YName: "GB/s of payload", Paper: "lp-GB/s", PaperName: "LP"})
	return &trial{name: "LPTable1", cases: loadCases(), paper: paperTable1,
		findings: table1Findings(), command: experiment.Experiment{
			Name: "table1", Aliases: []string{"figure7", "figure8"},
			Short: "LP Table 1, Fig. 7 and 8: requests, bytes and throughput by load and policy",
			Views: []view.View{requests, block("slots of a read", "slots/read", "", 1),
				block("bytes of a lookup", "B/op", "bytes", 0),
				block("ns of a lookup", "model-ns/op", "ns", 0), rates}}}
}

func table2() *trial {
	return &trial{name: "LPTable2", cases: assumedCases(), paper: paperTable2,
		findings: []finding{{"most that is lost with the read size of a neighbouring load", 0.2,
			neighbourLoss}},
		command: experiment.Experiment{Name: "table2",
			Short: "LP Table 2: throughput with the read size for another load",
			Views: []view.View{{Title: "LP Table 2: throughput where reads have the size that " +
				"LP's model gives for another load", Notes: rateNotes, Columns: rateColumns(),
				Plots: ratePlots("assumed", "load that the read size is for")}}}}
}

func table3() *trial {
	counts := view.View{Title: "LP Tables 3 and 4: read sizes and requests, by size of records, " +
		"inline and in a heap",
		Notes: `Counted here, for keys that are there. "law" is what package readsize expects, ns are those of
LP's cost model. Keys here are distinct; those of the paper are random numbers of 4 bytes, some of
which are in the table twice. So each lookup in a heap needs 1.02 or 1.03 requests there, for
signatures that agree by chance, where LP has 1.04 and 1.08.`,
		Columns: []view.Column{{Unit: "slots/read", Head: "slots of a read", Digits: 1},
			{Unit: "lp-slots/read", Head: "LP", Whole: true},
			{Unit: "table-requests/op", Head: "requests", Digits: 3},
			{Unit: "law-requests/op", Head: "law", Digits: 3},
			{Unit: "lp-requests/op", Head: "LP", Digits: 2},
			{Unit: "heap-requests/op", Head: "to the heap", Digits: 3},
			{Unit: "lp-heap-requests/op", Head: "LP", Digits: 2},
			{Unit: "B/op", Head: "bytes", Whole: true},
			{Unit: "model-ns/op", Head: "ns", Whole: true}}}
	for _, name := range []string{"requests", "bytes", "ns"} {
		unit := map[string]string{"requests": "requests/op", "bytes": "B/op",
			"ns": "model-ns/op"}[name]
		counts.Plots = append(counts.Plots, view.Plot{Title: name + " of a lookup", X: "record",
			XName: "bytes of a record", Y: unit, YName: name, LogX: true, LogY: true})
	}
	plots := ratePlots("record", "bytes of a record")
	plots[0].LogX, plots[1].LogX = true, true
	return &trial{name: "LPTable3", cases: storageCases(), paper: paperTable3,
		findings: []finding{
			{"heap by inline, linear-model, 128 bytes", 2.4, func(r results) float64 {
				return heapRatio(r, 128)
			}},
			{"bytes of a record from which the heap is ahead, linear-model", 32, heapFrom}},
		command: experiment.Experiment{
			Name: "table3", Aliases: []string{"table4", "figure11"},
			Short: "LP Tables 3 and 4, Fig. 11: records by size, inline and in a heap",
			Views: []view.View{counts, {Title: "LP Fig. 11: throughput by size of the records, " +
				"inline and in a heap", Notes: rateNotes, Columns: rateColumns(),
				Plots: plots}}}}
}

func figure6() *trial {
	return &trial{name: "LPFigure6", cases: cuckooCases(), paper: paperNothing,
		findings: cuckooFindings(), command: experiment.Experiment{Name: "figure6",
			Short: "LP Fig. 6: cuckoo hashing by slots of a bucket, parallel and sequential",
			Views: []view.View{{Title: "LP Fig. 6: cuckoo hashing by slots of a bucket, with " +
				"reads of all places at once or one after the other",
				Notes: rateNotes + `
Where a key has two records (repeated), searches read all places, as LP's do. LP has no table of
one slot at load 0.95: it would have taken weeks.
` + sequentialNotes, Columns: rateColumns(), Plots: ratePlots("load", "")}}}}
}

func figure9() *trial {
	columns := rateColumns()[:2]
	for _, p := range percents {
		name := fmt.Sprintf("p%d", p)
		columns = append(columns, view.Column{Unit: "sim-" + name + "-ns", Head: "sim " + name,
			Whole: true}, view.Column{Unit: "lp-" + name + "-ns", Head: "LP", Whole: true},
			view.Column{Unit: name + "-ns", Head: "here " + name, Whole: true})
	}
	sim := view.Plot{Title: "latency, simulated", X: "load", Y: "sim-p50-ns", YName: "ns",
		Low: "sim-p10-ns", High: "sim-p90-ns", Paper: "lp-p50-ns", PaperName: "LP, medians",
		LogY: true}
	here := sim
	here.Title, here.Y, here.Low, here.High, here.Paper = "latency, on this machine", "p50-ns",
		"p10-ns", "p90-ns", ""
	return &trial{name: "LPFigure9", cases: latencyCases(), single: true, paper: paperFigure9,
		findings: latencyFindings(), command: experiment.Experiment{Name: "figure9",
			Short: "LP Fig. 9: latency of lookups one at a time",
			Views: []view.View{{Title: "LP Fig. 9: lookups one at a time by each worker, " +
				"percentiles in ns", Notes: rateNotes + `
LP measures 2.9 us where its model has 1.3 us, so that ratios are what compares. Where a key has
two records (repeated), cuckoo reads all places; LP's reads them in random order until it has found
the key.
` + sequentialNotes, Columns: columns, Plots: []view.Plot{sim, here}}}}}
}

func figure10() *trial {
	columns := append([]view.Column{{Unit: "predicted-ns", Head: "E*T ns", Whole: true}},
		rateColumns()...)
	plots := append(ratePlots("slots", "slots of a read"), view.Plot{
		Title: "cost that LP's model predicts", X: "slots", XName: "slots of a read",
		Y: "predicted-ns", YName: "ns", Paper: "picked-ns", PaperName: "picked by LP's model"})
	return &trial{name: "LPFigure10", cases: sizeCases(), paper: paperFigure10,
		findings: []finding{
			{"read size of the model by the best one, load 0.5", 1, modelRatio(0.5)},
			{"read size of the model by the best one, load 0.85", 1, modelRatio(0.85)}},
		command: experiment.Experiment{Name: "figure10",
			Short: "LP Fig. 10: throughput and predicted cost by read size",
			Views: []view.View{{Title: "LP Fig. 10: throughput by read size, and the cost that " +
				"LP's model predicts, E[X(R)]*T(R)", Notes: rateNotes + `
LP has curves alone; its numbers here are those of its Table 2. It found no significant difference
from 7 slots at load 0.5, and from 18 and 32 slots at load 0.85.`, Columns: columns,
				Plots: plots}}}}
}

func figure12() *trial {
	return &trial{name: "LPFigure12", cases: skewCases(), learning: true, paper: paperNothing,
		findings: []finding{
			{"with clusters by without, linear-model, most", 1.7, clusterRatio(slices.Max)},
			{"with clusters by without, linear-model, least", 1, clusterRatio(slices.Min)}},
		command: experiment.Experiment{Name: "figure12",
			Short: "LP Fig. 12: records found of skewed keys, with and without clusters",
			Views: []view.View{{Title: "LP Fig. 12: records found where keys follow a law of " +
				"Zipf, by workers that know so many clusters", Notes: rateNotes + `
LP has curves alone.`, Columns: rateColumns(), Plots: ratePlots("skew", "skew of keys")}}}}
}
