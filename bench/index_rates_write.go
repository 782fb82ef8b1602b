package bench

import (
	"errors"
	"io"
	"strconv"
	"text/tabwriter"
)

// trialTexts say what an experiment is, and what LP says of it beside numbers.
var trialTexts = map[IndexTrial]string{
	LPTable2: "LP Table 2: throughput where reads have the size that LP's model gives for " +
		"another load.\n",
	LPFigure6: "LP Fig. 6: cuckoo hashing by slots of a bucket, with reads of all places at " +
		"once or one after the other.\nWhere a key may have two records (repeated), searches " +
		"read all places, as LP's do. LP has no table of\none slot at load 0.95: it would have " +
		"taken weeks.\n",
	LPFigure7: "LP Fig. 7 and 8: throughput and bandwidth by load and policy. LP's numbers are " +
		"those of its Table 2;\nof others it has curves alone.\n",
	LPFigure9: "LP Fig. 9: lookups one at a time by each worker, percentiles in ns. LP measures " +
		"2.9 us where its\nmodel has 1.3 us, so that ratios are what compares. Where a key may " +
		"have two records (repeated), cuckoo\nreads all places; LP's reads them in random order " +
		"until it has found the key.\n",
	LPFigure10: "LP Fig. 10: throughput by read size, and the cost that LP's model predicts, " +
		"E[X(R)]*T(R). LP has curves\nalone; its numbers here are those of its Table 2. It " +
		"found no significant difference from 7 slots at\nload 0.5, and from 18 and 32 slots at " +
		"load 0.85.\n",
	LPFigure11: "LP Fig. 11: throughput by size of the records, inline and in a heap, load " +
		"0.65.\n",
	LPFigure12: "LP Fig. 12: records found where keys follow a law of Zipf, by workers that know " +
		"so many clusters, load\n0.65. LP has curves alone.\n",
}

// WriteText writes tables for people.
func (r *IndexRateReport) WriteText(w io.Writer) error {
	p := printer{w: w}
	m, is := &r.Machine, &r.Setting
	p.printf("%s, %d cores, %s %s/%s\n%s\n", m.CPU, m.Cores, m.Go, m.OS, m.Arch, m.Command)
	p.printf("%s", trialTexts[r.Trial])
	p.printf("\"sim\" is simulated: %d workers of a client do %s lookups in the table of a "+
		"server, with the latency,\nbandwidth and rate of messages of LP 5.1. \"here\" is this "+
		"machine, ranks: %d, with %s records, the one-sided\npath. Requests and bytes are those "+
		"of a lookup, M/s millions of records found in a second.\n\n", is.Workers,
		Count(uint64(is.Simulated)), is.Ranks, Count(uint64(is.Records)))
	if r.tabulate(&p, r.list); len(r.Rates) > 0 {
		p.printf("\n")
		r.tabulate(&p, r.listFindings)
	}
	return p.err
}

// tabulate writes a table.
func (r *IndexRateReport) tabulate(to *printer, list func(p *printer)) {
	t := tabwriter.NewWriter(to.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: to.err}
	list(&p)
	to.err = errors.Join(p.err, t.Flush())
}

// rateColumn is a column of the list.
type rateColumn struct {
	name string
	of   func(is *IndexRate) string
	same bool // it is left out where all cells are the same
}

// none stands in a cell without a value; columns of nothing else are left out.
const none = "-"

// paceCell prints a number of what was simulated, or measured here.
func paceCell(of func(*IndexRate) *IndexPace, digits int,
	value func(*IndexPace) float64) func(*IndexRate) string {
	return func(is *IndexRate) string {
		if p := of(is); p != nil {
			return strconv.FormatFloat(value(p), 'f', digits, 64)
		}
		return none
	}
}

// paperCell prints a number of LP.
func paperCell(digits int, value func(*LPRate) float64) func(*IndexRate) string {
	return func(is *IndexRate) string {
		if is.Paper == nil {
			return none
		}
		return orNone(value(is.Paper), digits)
	}
}

// rateColumns are what is printed of a case.
func (r *IndexRateReport) rateColumns() []rateColumn {
	columns := []rateColumn{
		{"load", func(is *IndexRate) string { return number(is.Load) }, true},
		{"assumed", func(is *IndexRate) string { return orNone(is.AssumedLoad, 2) }, true},
		{"skew", func(is *IndexRate) string { return number(is.Skew) }, true},
		{"record", func(is *IndexRate) string { return strconv.Itoa(is.RecordBytes) }, true},
		{"storage", func(is *IndexRate) string { return is.Storage }, true},
		{"impl", func(is *IndexRate) string { return string(is.Impl) }, false},
		{"clusters", func(is *IndexRate) string { return orNone(float64(is.Clusters), 0) }, true},
		{"bucket", r.bucketCell, false},
		{"repeated", func(is *IndexRate) string { return strconv.FormatBool(is.Repeated) }, true},
		{"slots", func(is *IndexRate) string { return orNone(float64(is.ReadSlots), 0) }, true},
		{"E*T ns", func(is *IndexRate) string { return orNone(is.PredictedNs, 0) }, false},
		{"requests", func(is *IndexRate) string { return orNone(is.Requests, 3) }, false},
		{"bytes", func(is *IndexRate) string { return orNone(is.Bytes, 0) }, false},
	}
	if r.Trial == LPFigure9 {
		return append(columns, latencyColumns()...)
	}
	mops := func(p *IndexPace) float64 { return p.Mops }
	gbs := func(p *IndexPace) float64 { return p.GBs }
	least := func(p *IndexPace) float64 { return p.MopsMin }
	most := func(p *IndexPace) float64 { return p.MopsMax }
	return append(columns,
		rateColumn{"sim M/s", paceCell(simulated, 1, mops), false},
		rateColumn{"LP", paperCell(1, func(p *LPRate) float64 { return p.Mops }), false},
		rateColumn{"sim GB/s", paceCell(simulated, 2, gbs), false},
		rateColumn{"LP", paperCell(1, func(p *LPRate) float64 { return p.GBs }), false},
		rateColumn{"here M/s", paceCell(here, 2, mops), false},
		rateColumn{"min", paceCell(here, 2, least), false},
		rateColumn{"max", paceCell(here, 2, most), false})
}

// bucketCell is the slots of a bucket where they differ.
func (r *IndexRateReport) bucketCell(is *IndexRate) string {
	if r.Trial != LPFigure6 {
		return none
	}
	return strconv.Itoa(is.BucketSlots)
}

// latencyColumns are those of LPFigure9.
func latencyColumns() (columns []rateColumn) {
	for _, of := range []struct {
		name  string
		value func(l *IndexLatency) float64
		paper func(p *LPRate) float64
	}{
		{"p10", func(l *IndexLatency) float64 { return l.P10 }, nil},
		{"p25", func(l *IndexLatency) float64 { return l.P25 }, nil},
		{"p50", func(l *IndexLatency) float64 { return l.P50 },
			func(p *LPRate) float64 { return p.MedianNs }},
		{"p75", func(l *IndexLatency) float64 { return l.P75 }, nil},
		{"p90", func(l *IndexLatency) float64 { return l.P90 },
			func(p *LPRate) float64 { return p.P90Ns }},
	} {
		value := func(p *IndexPace) float64 { return of.value(p.Latency) }
		columns = append(columns,
			rateColumn{"sim " + of.name, paceCell(simulated, 0, value), false})
		if of.paper != nil {
			columns = append(columns, rateColumn{"LP", paperCell(0, of.paper), false},
				rateColumn{"here " + of.name, paceCell(here, 0, value), false})
		}
	}
	return columns
}

// list writes a row for each case.
func (r *IndexRateReport) list(p *printer) {
	var columns []rateColumn
	for _, c := range r.rateColumns() {
		same, empty := true, true
		for i := range r.Rates {
			cell := c.of(&r.Rates[i])
			same = same && cell == c.of(&r.Rates[0])
			empty = empty && cell == none
		}
		if !empty && !(same && c.same) {
			columns = append(columns, c)
			p.printf("%s\t", c.name)
		}
	}
	p.printf("\n")
	for i := range r.Rates {
		for _, c := range columns {
			p.printf("%s\t", c.of(&r.Rates[i]))
		}
		p.printf("\n")
	}
}

// listFindings writes what LP says in words.
func (r *IndexRateReport) listFindings(p *printer) {
	p.printf("in LP's words\tLP\tsim\there\t\n")
	text := func(v *float64) string {
		if v == nil {
			return none
		}
		return strconv.FormatFloat(*v, 'f', 2, 64)
	}
	for _, f := range r.Findings {
		p.printf("%s\t%.2f\t%s\t%s\t\n", f.What, f.Paper, text(f.Simulated), text(f.Here))
	}
}
