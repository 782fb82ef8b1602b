package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/farhash/farhash/set"
)

// table1Loads are the rows of OP Table 1.
var table1Loads = []float64{0.5, 0.6, 0.7, 0.8, 0.9}

// row is the measurement of an interval by its end, nil if there is none.
func (r *Table1Report) row(load float64, chunk int) *Table1Row {
	for i := range r.Rows {
		if is := &r.Rows[i]; is.Chunk == chunk && sameLoad(is.LoadTo, load) {
			return is
		}
	}
	return nil
}

// WriteText writes the rows that OP Table 1 has, as two tables for people.
func (r *Table1Report) WriteText(w io.Writer) error {
	p := printer{w: w}
	p.machine(&r.Machine, nil)
	p.printf("Averages of find-or-put over the inserts between load-0.02 and load, table of %s "+
		"buckets;\n\"OP\" is Table 1 of the paper, measured between two machines.\n",
		Count(r.Machine.Buckets))
	r.block(&p, "round trips", func(row *Table1Row) string {
		return fmt.Sprintf("%.3f", row.RoundTrips)
	}, func(row *Table1Row) string {
		return fmt.Sprintf("%.1f", *row.PaperRoundTrips)
	})
	r.block(&p, "latency in ns", func(row *Table1Row) string {
		return fmt.Sprintf("%.0f", row.Nanoseconds)
	}, func(row *Table1Row) string {
		return fmt.Sprintf("%.0f", *row.PaperNanoseconds)
	})
	return p.err
}

// block writes one table: what was measured, and beside it what the paper has.
func (r *Table1Report) block(to *printer, title string, here, paper func(*Table1Row) string) {
	to.printf("\n%s\n", title)
	t := tabwriter.NewWriter(to.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: to.err}
	p.printf("load\t")
	for _, chunk := range Table1Chunks() {
		p.printf("%s\tOP\t", columnName(chunk))
	}
	p.printf("%s\t\n", columnName(set.Auto))
	for _, load := range table1Loads {
		p.printf("%s\t", number(load))
		for _, chunk := range Table1Chunks() {
			if row := r.row(load, chunk); row != nil && row.PaperRoundTrips != nil {
				p.printf("%s\t%s\t", here(row), paper(row))
			} else {
				p.printf("-\t-\t")
			}
		}
		if row := r.row(load, set.Auto); row != nil {
			p.printf("%s\t\n", here(row))
		} else {
			p.printf("-\t\n")
		}
	}
	if to.err = p.err; to.err == nil {
		to.err = t.Flush()
	}
}

// WriteJSON writes one object with the keys machine and table1, all intervals.
func (r *Table1Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes every round of every interval in the format of Go benchmarks.
func (r *Table1Report) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Rows {
		row := &r.Rows[i]
		for k, nanoseconds := range row.samples.nanoseconds {
			p.printf("BenchmarkTable1/%s/load=%.2f-%d\t%d\t%.5g ns/op\t%.5g roundtrips/op\n",
				columnName(row.Chunk), row.LoadTo, runtime.GOMAXPROCS(0), row.operations,
				nanoseconds, row.samples.trips[k])
		}
	}
	return p.err
}
