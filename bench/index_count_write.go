package bench

import (
	"encoding/json"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/farhash/farhash/readsize"
)

// WriteText writes tables for people.
func (r *IndexCountReport) WriteText(w io.Writer) error {
	p := printer{w: w}
	m := &r.Machine
	p.printf("%s, %d cores, %s %s/%s\n%s\n", m.CPU, m.Cores, m.Go, m.OS, m.Arch, m.Command)
	p.printf("Counted in tables of %s records: means of lookups for keys that are there. \"law\" "+
		"is what package\nreadsize expects of tables without bounds, \"LP\" what the paper "+
		"printed (%s records), ns are\nthose of the cost model of LP 3.2 on its machine.\n",
		Count(uint64(r.Setting.Records)), Count(lpRecords))
	if r.Table != LPTable1 {
		r.list(&p)
		return p.err
	}
	for _, of := range indexCosts {
		r.block(&p, &of)
	}
	return p.err
}

// indexCost is a part of the cost of a lookup.
type indexCost struct {
	name, unit string
	digits     int
	of         func(*readsize.Cost) float64
	paper      bool // LP Table 1 has it
}

var indexCosts = []indexCost{
	{"requests of a lookup", "requests", 3, func(c *readsize.Cost) float64 { return c.Requests },
		true},
	{"bytes of a lookup", "bytes", 0, func(c *readsize.Cost) float64 { return c.Bytes }, false},
	{"ns of a lookup", "ns", 0, func(c *readsize.Cost) float64 { return c.Ns }, false},
}

func (of *indexCost) text(c *readsize.Cost) string {
	return strconv.FormatFloat(of.of(c), 'f', of.digits, 64)
}

// lpRecords is how many LP has in its tables (5.1).
const lpRecords = 120 << 20

// block writes one part of LP Table 1: what was counted, beside it what is expected, and
// what LP has.
func (r *IndexCountReport) block(to *printer, of *indexCost) {
	to.printf("\n%s\n", of.name)
	t := tabwriter.NewWriter(to.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: to.err}
	layouts, policies := "\t", "load\t"
	for _, impl := range table1Impls {
		layout, policy, _ := strings.Cut(string(impl), "/")
		layouts += layout + "\t"
		policies += policy + "\t"
		if hasLaw(impl) {
			layouts += "\t"
			policies += "law\t"
		}
		if of.paper && paperTable1(IndexCase{Impl: impl}) != nil {
			layouts += "\t"
			policies += "LP\t"
		}
	}
	p.printf("%s\n%s\n", layouts, policies)
	for _, load := range IndexLoads() {
		p.printf("%s\t", number(load))
		for _, impl := range table1Impls {
			r.cells(&p, of, impl, load)
		}
		p.printf("\n")
	}
	if to.err = p.err; to.err == nil {
		to.err = t.Flush()
	}
}

// hasLaw reports whether expectations change with the load.
func hasLaw(impl IndexImpl) bool { return impl != OrderedGuided && impl != CuckooParallel }

// cells writes a number of block, and those beside it.
func (r *IndexCountReport) cells(p *printer, of *indexCost, impl IndexImpl, load float64) {
	is := r.count(impl, load)
	if is == nil {
		p.printf("-\t")
	} else {
		p.printf("%s\t", of.text(&is.Cost))
	}
	if hasLaw(impl) && is != nil {
		p.printf("%s\t", of.text(is.Expected))
	} else if hasLaw(impl) {
		p.printf("-\t")
	}
	if paper := paperTable1(IndexCase{Impl: impl, Load: load}); of.paper && paper != nil {
		p.printf("%.2f\t", paper.Requests)
	}
}

// list writes a row for each case.
func (r *IndexCountReport) list(to *printer) {
	t := tabwriter.NewWriter(to.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: to.err}
	p.printf("\nrecord\tstorage\timpl\tload\tslots of a read\tLP\trequests\tlaw\tLP\tto the " +
		"heap\tLP\tbytes\tns\t\n")
	for i := range r.Counts {
		is := &r.Counts[i]
		paper := is.Paper
		if paper == nil {
			paper = &LPCount{}
		}
		law := 0.0
		if is.Expected != nil {
			law = is.Expected.Requests
		}
		p.printf("%d\t%s\t%s\t%s\t%.1f\t%s\t%.3f\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t\n",
			is.RecordBytes, is.Storage, is.Impl, number(is.Load), is.ReadSlots,
			orNone(float64(paper.ReadSlots), 0), is.TableRequests, orNone(law, 3),
			orNone(paper.Requests, 2), orNone(is.HeapRequests, 3), orNone(paper.HeapRequests, 2),
			is.Bytes, is.Ns)
	}
	if to.err = p.err; to.err == nil {
		to.err = t.Flush()
	}
}

// orNone prints a number that is not 0.
func orNone(v float64, digits int) string {
	if v == 0 {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// WriteJSON writes one object with the keys machine, table, setting and counts.
func (r *IndexCountReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes every round of every case in the format of Go benchmarks.
func (r *IndexCountReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Counts {
		is := &r.Counts[i]
		for k := range is.rounds {
			s := &is.rounds[k]
			c := lookupCost(s, is.Impl)
			p.printf("BenchmarkIndexCount/impl=%s/load=%s/bytes=%d/storage=%s-%d\t%d\t%.5g "+
				"requests/op\t%.5g B/lookup\t%.5g model-ns/op\n", is.Impl, number(is.Load),
				is.RecordBytes, is.Storage, runtime.GOMAXPROCS(0), s.Lookups, c.Requests, c.Bytes,
				c.Ns)
		}
	}
	return p.err
}
