package lp

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/eval/internal/view"
)

const (
	rateNotes = `"sim" is simulated: 28 workers of a client look keys up in the table of a
server, with the latency, bandwidth and rate of messages of LP 5.1. "here" is this machine,
the one-sided path. Requests and bytes are of a simulated lookup, M/s millions of
records found in a second.`

	sequentialNotes = `Sequential lookups end with the record where all keys are distinct: they
need fewer requests of buckets of 4 than the 2.0 of LP's model (farhash-eval model).`
)

// rateView shows throughput, simulated and here.
func rateView(title, notes, x, xName string) view.View {
	plot := view.Plot{Title: "throughput, simulated", X: x, XName: xName, Y: "sim-Mrecords/s",
		YName: "million records/s", Paper: "lp-Mrecords/s", PaperName: "LP"}
	here := plot
	here.Title, here.Y, here.Paper = "throughput, on this machine", "Mrecords/s", ""
	here.Here = true
	return view.View{Title: title, Notes: rateNotes + notes, Plots: []view.Plot{plot, here},
		Columns: []view.Column{{Unit: "sim-requests/op", Head: "requests", Digits: 3},
			{Unit: "sim-B/op", Head: "bytes", Whole: true},
			{Unit: "sim-Mrecords/s", Head: "sim M/s", Digits: 1},
			{Unit: "lp-Mrecords/s", Head: "LP", Digits: 1},
			{Unit: "sim-GB/s", Head: "sim GB/s", Digits: 2},
			{Unit: "lp-GB/s", Head: "LP", Digits: 1},
			{Unit: "Mrecords/s", Head: "here M/s", Digits: 2, Spread: true, Here: true}}}
}

// trials are the experiments with lookups.
func trials() []*trial {
	return []*trial{
		{name: "LPTable1", takes: "20 s", aliases: []string{"figure7", "figure8"},
			short: "LP Table 1, Fig. 7 and 8: requests, bytes and throughput by load and policy",
			cases: loadCases(), paper: paperTable1, findings: table1Findings(),
			views: table1Views()},
		{name: "LPTable2", takes: "3 s",
			short: "LP Table 2: throughput with the read size for another load",
			cases: assumedCases(), paper: paperTable2, findings: table2Findings(), bare: true,
			views: []view.View{table2View()}, further: (*trial).table2Errors,
			moreViews: []view.View{errorsView()}},
		{name: "LPTable3", takes: "20 s", aliases: []string{"table4", "figure11"},
			short: "LP Tables 3 and 4, Fig. 11: records by size, inline and in a heap",
			cases: storageCases(), paper: paperTable3, findings: table3Findings(),
			views: table3Views()},
		{name: "LPHybrid", takes: "10 s",
			short: "LP 7: records of two sizes, inline, in a heap, and hybrid",
			cases: hybridCases(), findings: hybridFindings(), views: []view.View{hybridView()}},
		{name: "LPReads", takes: "3 s",
			short: "LP 5.1: throughput by reads of a worker in flight",
			cases: flyingCases(), findings: flyingFindings(), views: []view.View{rateView(
				"LP 5.1: throughput by how many reads each worker has in flight", `
LP has up to 4 times the throughput with 16 reads in flight in place of one. Workers here wait 1.29
us for a read, which is the c of LP's model; LP measures 2.9 us.`, "in-flight",
				"reads of a worker in flight")}},
		{name: "LPFigure6", takes: "40 s",
			short: "LP Fig. 6: cuckoo hashing by slots of a bucket, parallel and sequential",
			cases: cuckooCases(), findings: figure6Findings(), views: []view.View{rateView(
				"LP Fig. 6: cuckoo hashing by slots of a bucket, with reads of all places at "+
					"once or one by one", `
Where a key has two records (repeated), searches read all places, as LP's do. LP has no
table of one slot at load 0.95: it would have taken weeks.
`+sequentialNotes, "load", "")}},
		{name: "LPFigure9", takes: "20 s",
			short: "LP Fig. 9: latency of lookups one at a time", single: true,
			cases: latencyCases(), paper: paperFigure9, findings: figure9Findings(),
			views: []view.View{latencyView()}, further: (*trial).figure9Times,
			moreViews: timesViews()},
		{name: "LPFigure10", takes: "7 s",
			short: "LP Fig. 10: throughput and predicted cost by read size",
			cases: sizeCases(), paper: paperFigure10, findings: figure10Findings(),
			views: []view.View{sizeView()}},
		{name: "LPFigure12", takes: "30 s",
			short: "LP Fig. 12: records found of skewed keys, with and without clusters",
			cases: skewCases(), learning: true, findings: figure12Findings(),
			views: []view.View{rateView("LP Fig. 12: records found where keys follow a law of "+
				"Zipf, by workers that know so many clusters", "\nLP has curves alone.", "skew",
				"skew of keys")}},
	}
}

func table1Views() []view.View {
	block := func(title, unit, yName string, digits int) view.View {
		return view.View{Title: "LP Table 1: " + title, Across: "impl", Columns: []view.Column{
			{Unit: unit, Head: " ", Digits: digits, Whole: digits == 0},
			{Unit: "law-" + unit, Head: "law", Digits: digits, Whole: digits == 0},
			{Unit: "lp-" + unit, Head: "LP", Digits: digits - 1, Whole: digits <= 1}},
			Plots: []view.Plot{{Title: title, X: "load", Y: unit, YName: yName, LogY: true,
				Paper: "lp-" + unit, PaperName: "LP Table 1"}}}
	}
	requests := block("requests of a lookup", "requests/op", "requests", 3)
	requests.Notes = `Counted here, for keys that are there. "law" is what package readsize expects
of tables without bounds, "LP" what the paper prints (120Mi records), ns are from its
cost model (3.2).`
	rates := rateView("LP Fig. 7 and 8: throughput and bandwidth by load and policy", `
LP's numbers are from its Table 2; of others it has curves alone.`, "load", "")
	rates.Plots = slices.Insert(rates.Plots, 1, view.Plot{Title: "bandwidth, simulated", X: "load",
		Y: "sim-GB/s", YName: "GB/s of payload", Paper: "lp-GB/s", PaperName: "LP"})
	return []view.View{requests, block("slots of a read", "slots/read", "slots", 1),
		block("bytes of a lookup", "B/op", "bytes", 0),
		block("ns of a lookup", "model-ns/op", "ns", 0), rates}
}

func table2View() view.View {
	v := rateView("LP Table 2: throughput where reads have the size that LP's model gives for "+
		"another load", `
"no header" charges the cards nothing for the 30 bytes of LP 3.1.`, "assumed",
		"load that the read size is for")
	v.Columns = slices.Insert(v.Columns, 4,
		view.Column{Unit: "bare-Mrecords/s", Head: "no header", Digits: 1})
	return v
}

func table3Views() []view.View {
	counts := view.View{Title: "LP Tables 3 and 4: read sizes and requests, by size of records, " +
		"inline and in a heap",
		Notes: `Counted here, for keys that are there. "law" is what package readsize expects,
ns are from LP's cost model. Where keys are distinct each lookup in a heap needs one request
there, and more for signatures that agree by chance. Random keys are as in the paper: 120 Mi
draws of 4 bytes have 2.9 % more records than keys, and lookups are of keys, drawn evenly.`,
		Columns: []view.Column{{Unit: "slots/read", Head: "slots of a read", Digits: 1},
			{Unit: "lp-slots/read", Head: "LP", Whole: true},
			{Unit: "table-requests/op", Head: "requests", Digits: 3},
			{Unit: "law-requests/op", Head: "law", Digits: 3},
			{Unit: "lp-requests/op", Head: "LP", Digits: 2},
			{Unit: "heap-requests/op", Head: "to the heap", Digits: 3},
			{Unit: "lp-heap-requests/op", Head: "LP", Digits: 2},
			{Unit: "B/op", Head: "bytes", Whole: true},
			{Unit: "model-ns/op", Head: "ns", Whole: true}}}
	for _, of := range [][2]string{{"requests/op", "requests"}, {"B/op", "bytes"},
		{"model-ns/op", "ns"}} {
		counts.Plots = append(counts.Plots, view.Plot{Title: of[1] + " of a lookup",
			Panel: "storage", X: "record",
			XName: "bytes of a record", Y: of[0], YName: of[1], LogX: true, LogY: true})
	}
	rates := rateView("LP Fig. 11: throughput by size of the records, inline and in a heap", "",
		"record", "bytes of a record")
	for i := range rates.Plots {
		rates.Plots[i].LogX, rates.Plots[i].Panel = true, "storage"
	}
	return []view.View{counts, rates}
}

func hybridView() view.View {
	v := rateView("LP 7: throughput where some records are long: records of 128 bytes among "+
		"records of 8", `
Inline has room for the longest record in every slot. Hybrid decides for each record: "in a slot" is
the longest that it keeps there. ns are from LP's cost model, memory is of a record.`, "long",
		"percent of records that are long")
	v.Columns = slices.Insert(v.Columns, 2,
		view.Column{Unit: "sim-heap-requests/op", Head: "to the heap", Digits: 3},
		view.Column{Unit: "sim-model-ns/op", Head: "ns", Whole: true},
		view.Column{Unit: "sim-inline-B", Head: "in a slot", Whole: true},
		view.Column{Unit: "sim-memory-B", Head: "memory", Whole: true})
	return v
}

func latencyView() view.View {
	v := rateView("LP Fig. 9: lookups one at a time by each worker, percentiles in ns", `
LP measures 2.9 us where its model has 1.3 us, so that ratios are what compares. Where a
key has two records (repeated), cuckoo reads all places; LP's reads them in random order
until it has found the key.
`+sequentialNotes, "load", "")
	v.Columns = v.Columns[:2]
	for _, p := range percents {
		name := fmt.Sprintf("p%d", p)
		v.Columns = append(v.Columns, view.Column{Unit: "sim-" + name + "-ns",
			Head: "sim " + name, Whole: true},
			view.Column{Unit: "lp-" + name + "-ns", Head: "LP", Whole: true},
			view.Column{Unit: name + "-ns", Head: "here " + name, Whole: true, Here: true})
	}
	for i, prefix := range []string{"sim-", ""} {
		v.Plots[i] = view.Plot{Title: []string{"latency, simulated", "latency, on this machine"}[i],
			X: "load", Y: prefix + "p50-ns", YName: "ns", Low: prefix + "p10-ns",
			High: prefix + "p90-ns", LogY: true, Here: prefix == ""}
	}
	v.Plots[0].Paper, v.Plots[0].PaperName = "lp-p50-ns", "LP, medians"
	return v
}

func sizeView() view.View {
	v := rateView("LP Fig. 10: throughput by read size, and the cost that LP's model predicts, "+
		"E[X(R)]*T(R)", `
LP has curves alone; its numbers here are from its Table 2. It found no significant
difference from 7 slots at load 0.5, and from 18 and 32 slots at load 0.85.`, "slots",
		"slots of a read")
	v.Columns = slices.Insert(v.Columns, 0, view.Column{Unit: "predicted-ns", Head: "E*T ns",
		Whole: true})
	v.Plots = append(v.Plots, view.Plot{Title: "cost that LP's model predicts", X: "slots",
		XName: "slots of a read", Y: "predicted-ns", YName: "ns", Paper: "picked-ns",
		PaperName: "picked by LP's model"})
	return v
}
