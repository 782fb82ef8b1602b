package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Tables are the tables of eval/docs by the file of their page and by name. The first row of one
// is its head.
var Tables = map[string]map[string]func(f *Figures) [][]string{
	"papers.md": {
		"op-table1":    opTable1,
		"op-schemes":   opSchemes,
		"lp-table1":    lpTable1,
		"lp-table2":    lpTable2,
		"lp-words":     lpWords,
		"lp-hybrid":    lpHybrid,
		"lp-two-sided": lpTwoSided,
		"lp-gather":    lpGather,
		"md-hits":      mdHits,
		"md-simulate":  mdSimulate,
		"md-poet":      mdPoet,
		"ne-table1":    neTable1,
		"ne-simulate":  neSimulate,
	},
	"nessie.md": {"ne-faults": neFaults},
}

// column is a column of a table of the page: a reference, in which %s is the first cell of the row.
type column struct {
	head, of string
	as       func(f *Figures, cell string) string // nil: as it is printed
}

// grid makes a table with a row for each key.
func (f *Figures) grid(head string, keys []string, columns ...column) [][]string {
	rows := [][]string{{head}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
	}
	for _, key := range keys {
		row := []string{key}
		for _, c := range columns {
			cell := f.cell(strings.ReplaceAll(c.of, "%s", key))
			if c.as != nil {
				cell = c.as(f, cell)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// whole rounds to a whole number.
func whole(f *Figures, cell string) string {
	return strconv.FormatFloat(math.Round(f.parse(cell)), 'f', 0, 64)
}

// short leaves out zeros at the end of a fraction.
func short(f *Figures, cell string) string {
	return strconv.FormatFloat(f.parse(cell), 'f', -1, 64)
}

// opAgrees reports whether a figure is the one of OP, which has one digit after the point.
func (f *Figures) opAgrees(ours, paper string) bool {
	return strconv.FormatFloat(f.parse(ours), 'f', 1, 64) == paper
}

var opChunks = []string{"8", "16", "32", "64", "128"}

// opTable1 has OP's figures in bold where ours differ.
func opTable1(f *Figures) [][]string {
	const of = "op-table1 | round trips | load=%s | "
	loads := f.cells("op-table1 | round trips |  | load")
	var columns []column
	for _, c := range opChunks {
		columns = append(columns, column{head: "C=" + c, of: of + "C=" + c},
			column{of: of + "OP@C=" + c})
	}
	rows := f.grid("load", loads, append(columns, column{head: "C chosen by the set",
		of: of + "C=auto"})...)
	for _, row := range rows[1:] {
		for i := 1; i+1 < len(row); i += 2 {
			if !f.opAgrees(row[i], row[i+1]) {
				row[i+1] = "**" + row[i+1] + "**"
			}
		}
	}
	return rows
}

// opSchemes has finds at one load, and inserts at some, also those of NE's protocol.
func opSchemes(f *Figures) [][]string {
	const trips, bytes = "op-schemes | round trips of ", "op-schemes | bytes read by "
	const insert = trips + "an insert | scheme=%s | load="
	const present, absent = "a find, present word | scheme=%s | load=0.9",
		"a find, absent word | scheme=%s | load=0.9"
	const full = "op-schemes | first finds no room"
	rows := f.grid("", []string{"linear-8", "linear-32", "quadratic", "line-32", "hopscotch-32",
		"cuckoo-2x4", "cuckoo-2x8", "cuckoo-2x8-breadth", "chained"},
		column{head: "find, load 0.9", of: trips + present},
		column{head: "absent, 0.9", of: trips + absent},
		column{head: "insert, 0.5", of: insert + "0.5"}, column{head: "0.75", of: insert + "0.75"},
		column{head: "0.9", of: insert + "0.9"}, column{head: "0.95", of: insert + "0.95"},
		column{head: "bytes of a find, 0.9", of: bytes + present},
		column{head: "of an insert", of: bytes + "an insert | scheme=%s | load=0.9"})
	rows[0] = append(rows[0], "first full at")
	moving := f.cells(full + " |  | scheme")
	for i, row := range rows[1:] {
		load := ""
		if slices.Contains(moving, row[0]) {
			load = f.cell(full + " | scheme=" + row[0] + " | load")
		}
		rows[1+i] = append(row, load)
	}
	nessie := func(load string) string {
		return f.cell("ne-table1 | puts of new keys | load=" + load + " | counted")
	}
	return append(rows, []string{"Nessie", "", "", nessie("0.5"), nessie("0.75"), nessie("0.9"), "",
		"", "", f.cell("ne-table1 | first needs | slots=64Ki | load")})
}

func lpTable1(f *Figures) [][]string {
	const requests = "lp-table1 | requests of | load=%s | "
	const slots = "lp-table1 | slots of | load=%s | "
	loads := f.cells("lp-table1 | requests of |  | load")
	for _, of := range []string{"linear-uncapped", "linear-model"} {
		for _, load := range loads { // the page has them once
			ref := strings.ReplaceAll(slots, "%s", load)
			ours, paper := whole(f, f.cell(ref+of)), f.cell(ref+"LP@"+of)
			if ours != paper {
				f.fail("a read has %s slots at load %s, and %s in LP", ours, load, paper)
			}
		}
	}
	return f.grid("load", loads,
		column{head: "fixed 32", of: requests + "linear-fixed"},
		column{of: requests + "LP@linear-fixed"},
		column{head: "uncapped", of: requests + "linear-uncapped"},
		column{of: requests + "LP@linear-uncapped"},
		column{"slots", slots + "linear-uncapped", whole},
		column{head: "capped", of: requests + "linear-model"},
		column{of: requests + "LP@linear-model"},
		column{"slots", slots + "linear-model", whole},
		column{head: "ordered", of: requests + "ordered-adaptive"},
		column{"slots", slots + "ordered-adaptive", whole})
}

func lpTable2(f *Figures) [][]string {
	loads := []string{"0.25", "0.5", "0.65"}
	var columns []column
	for _, load := range loads {
		ref := "lp-table2 | throughput where | load=%s; assumed=" + load + " | "
		columns = append(columns, column{head: "for " + load, of: ref + "sim M/s"},
			column{of: ref + "LP"})
	}
	return f.grid("", loads, columns...)
}

// word is something that LP says in words: a figure or several.
type word struct {
	text, file string
	what       []string
}

var lpSays = []word{
	{"variable linear to cuckoo, to fixed, fixed to cuckoo, at most", "lp-table1",
		[]string{"linear-model by cuckoo-parallel, most", "linear-model by linear-fixed, most",
			"linear-fixed by cuckoo-parallel, most"}},
	{"load from which cuckoo is ahead", "lp-table1",
		[]string{"load from which cuckoo-parallel is ahead of linear-model"}},
	{"uncapped to fixed, at least", "lp-table1",
		[]string{"linear-uncapped by linear-fixed, least"}},
	{"share of lookups with one read, uncapped, at least", "lp-table1",
		[]string{"share of lookups with one read, linear-uncapped, least"}},
	{"share with 4 and 16 reads or more, fixed, load 0.95", "lp-table1",
		[]string{"share with 4 reads or more, linear-fixed, load 0.95",
			"share with 16 reads or more, linear-fixed, load 0.95"}},
	{"share that is lost with the size of a neighbouring load, at most", "lp-table2",
		[]string{"most that is lost with the read size of a neighbouring load"}},
	{"heap to inline, records of 128 bytes", "lp-figure11",
		[]string{"heap by inline, linear-model, 128 bytes"}},
	{"bytes of a record from which the heap is ahead", "lp-figure11",
		[]string{"bytes of a record from which the heap is ahead, linear-model"}},
	{"Fig. 6: buckets of four slots to buckets of one", "lp-figure6",
		[]string{"buckets of four slots by buckets of one, mean"}},
	{"Fig. 9, load 0.8: 90th percentile to median, fixed and variable", "lp-figure9",
		[]string{"90th percentile by median, linear-fixed, load 0.8",
			"90th percentile by median, linear-model, load 0.8"}},
	{"Fig. 9, load 0.65: median of cuckoo to variable linear", "lp-figure9",
		[]string{"median of cuckoo-parallel by linear-model, load 0.65"}},
	{"cuckoo, sequential to parallel: reads of all places, and of some", "lp-figure9",
		[]string{"median of cuckoo-sequential, all places, by cuckoo-parallel, load 0.65",
			"median of cuckoo-sequential, keys distinct, by cuckoo-parallel, load 0.65"}},
	{"Fig. 10: size of the model to the best one, loads 0.5 and 0.85", "lp-figure10",
		[]string{"read size of the model by the best one, load 0.5",
			"read size of the model by the best one, load 0.85"}},
	{"Fig. 12: with clusters to without, at most and at least", "lp-figure12",
		[]string{"with clusters by without, linear-model, most",
			"with clusters by without, linear-model, least"}},
	{"16 reads in flight to one, at most", "lp-reads",
		[]string{"16 reads in flight by one, most"}},
}

// lpWords is what LP says in words, and what the simulation says of the same.
func lpWords(f *Figures) [][]string {
	rows := [][]string{{"What LP says in words", "LP", "Ours"}}
	for _, w := range lpSays {
		var paper, ours []string
		for _, what := range w.what {
			ref := w.file + " | in words | what=" + what + " | "
			paper = append(paper, short(f, f.cell(ref+"LP")))
			ours = append(ours, strings.TrimSuffix(f.cell(ref+"sim"), ".00"))
		}
		rows = append(rows, []string{w.text, strings.Join(paper, ", "), strings.Join(ours, ", ")})
	}
	var paper, ours []string
	for _, at := range [][2]string{{"inline", "distinct"}, {"heap", "random"}} {
		for _, record := range []string{"8", "128"} {
			ref := fmt.Sprintf("lp-figure11 | Fig. 11 | record=%s; storage=%s; impl=linear-model; "+
				"keys=%s | ", record, at[0], at[1])
			paper = append(paper, whole(f, f.cell(ref+"LP")))
			ours = append(ours, f.cell(ref+"sim M/s"))
		}
	}
	return append(rows, []string{"Fig. 11: variable linear, inline 8 and 128 bytes, heap 8 and 128",
		strings.Join(paper, ", "), strings.Join(ours, ", ")}, []string{
		"bandwidth of fixed reads at load 0.65, GB/s", "almost 8",
		f.cell("lp-table1 | Fig. 7 | load=0.65; impl=linear-fixed | sim GB/s")})
}

func lpHybrid(f *Figures) [][]string {
	rows := [][]string{{"records of 128 bytes", "inline", "heap", "hybrid",
		"bytes of memory a record: inline, heap, hybrid"}}
	for _, long := range []string{"0", "10", "25", "50", "100"} {
		row, memory := []string{long + " %"}, []string{}
		for _, storage := range []string{"inline", "heap", "hybrid"} {
			ref := "lp-hybrid | LP 7 | long=" + long + "; storage=" + storage + " | "
			row = append(row, f.cell(ref+"sim M/s"))
			memory = append(memory, f.cell(ref+"memory"))
		}
		rows = append(rows, append(row, strings.Join(memory, ", ")))
	}
	return rows
}

func lpTwoSided(f *Figures) [][]string {
	const rate, even = "lp-two-sided | LP 7 | load=%s | ", "lp-two-sided | Time of | load=%s | "
	return f.grid("load", []string{"0.5", "0.8", "0.9", "0.95"},
		column{head: "one-sided cuckoo", of: rate + "cuckoo-parallel"},
		column{head: "one-sided linear", of: rate + "linear-model"},
		column{head: "two-sided, 500 ns", of: rate + "two-sided-500-ns"},
		column{head: "1,000 ns", of: rate + "two-sided-1000-ns"},
		column{head: "2,000 ns", of: rate + "two-sided-2000-ns"},
		column{head: "lines searched", of: even + "lines searched"},
		column{"as fast as cuckoo at, ns", even + "ns",
			func(_ *Figures, cell string) string { return thousands(cell) }})
}

func lpGather(f *Figures) [][]string {
	const rate = "lp-gather | LP 7 | load=%s; impl="
	var columns []column
	for _, of := range [][2]string{{"cuckoo-parallel", "cuckoo"}, {"linear-model", "linear"},
		{"ordered-adaptive", "ordered"}} {
		for _, places := range []string{"1", "3", "48"} {
			head := places
			if places == "1" {
				head = of[1] + ", 1"
			}
			columns = append(columns, column{head: head,
				of: rate + of[0] + " | places=" + places + " M/s"})
		}
	}
	return f.grid("load", []string{"0.5", "0.8", "0.9", "0.95"}, columns...)
}

func mdHits(f *Figures) [][]string {
	const of = "md-hits | hit rates | candidates="
	return f.grid("t", []string{"0.5", "1", "1.5"},
		column{head: "law, 6 candidates", of: of + "paper; is=law | %s"},
		column{head: "counted, as in MD", of: of + "paper; is=counted | %s"},
		column{head: "counted, groups of 4 (default)", of: of + "groups of 4; is=counted | %s"})
}

// mdRows are the rows of the table on MD Table 1: name, keys, workload and ranks. Times were fitted
// to the lock-free table in the first two.
var mdRows = [][4]string{{"uniform, writes", "uniform", "write", "640"},
	{"uniform, reads", "uniform", "read", "640"}, {"uniform, mixed", "uniform", "mixed", "640"},
	{"Zipf, writes", "zipf", "write", "640"}, {"Zipf, reads", "zipf", "read", "640"},
	{"Zipf, mixed", "zipf", "mixed", "640"}, {"Zipf, mixed, 128 ranks", "zipf", "mixed", "128"},
	{"Zipf, mixed, 256 ranks", "zipf", "mixed", "256"}}

// mdSimulate has MD's figures and the errors beside ours.
func mdSimulate(f *Figures) [][]string {
	rows := [][]string{{"", "MD's lock-free", "", "", "MD's fine", "", "", "MD's coarse", "", "",
		"farhash, lock-free"}}
	for i, at := range mdRows {
		row := []string{at[0]}
		for _, mode := range []string{"md-lock-free", "md-fine", "md-coarse", "lock-free"} {
			ref := fmt.Sprintf("md-simulate | in virtual time | mode=%s; keys=%s; workload=%s; "+
				"ranks=%s | ", mode, at[1], at[2], at[3])
			ours := million(f, f.cell(ref+"Mop/s"))
			if mode == "lock-free" {
				row = append(row, ours)
				continue
			}
			paper, percent := f.optional(ref+"MD"), ""
			if paper == "" {
				paper = "-"
			} else {
				paper, percent = short(f, paper), signed(f.cell(ref+"error %"))+" %"
			}
			if mode == "md-lock-free" && i < 2 {
				ours = "*" + ours + "*"
			}
			row = append(row, ours, paper, percent)
		}
		rows = append(rows, row)
	}
	return rows
}

// million has two digits after the point, and three if it is less than one.
func million(f *Figures, cell string) string {
	v, digits := f.parse(cell), 2
	if v < 1 {
		digits = 3
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// signed has a sign unless it is zero.
func signed(cell string) string {
	if cell == "0" || cell == "0.0" || cell[0] == '-' || cell == missing {
		return cell
	}
	return "+" + cell
}

// mdPoet has in italics what times were fitted to.
func mdPoet(f *Figures) [][]string {
	const of, same = "md-poet | POET | ranks=%s; mode=", "md-poet-same | POET | ranks=%s; mode="
	none := of + "none | "
	rows := f.grid("ranks", f.cells("md-poet | POET | mode=none | ranks"),
		column{head: "no table, s", of: none + "s"}, column{head: "lock-free", of: of +
			"md-lock-free | gain %"}, column{head: "MD", of: of + "md-lock-free | MD@gain %"},
		column{"error", of + "md-lock-free | error, points",
			func(_ *Figures, cell string) string { return signed(cell) }},
		column{head: "fine", of: of + "md-fine | gain %"},
		column{head: "coarse", of: of + "md-coarse | gain %"},
		column{head: "farhash", of: of + "lock-free | gain %"},
		column{head: "fine, one key for 60 %", of: same + "md-fine | gain %"},
		column{head: "coarse, too", of: same + "md-coarse | gain %"})
	for _, row := range rows[1:] {
		if f.optional("md-poet | POET | mode=none; ranks="+row[0]+" | MD") != "" {
			row[1] = "*" + row[1] + "*"
		}
		if f.optional("md-poet | POET | mode=md-lock-free; ranks="+row[0]+" | MD") != "" {
			row[2] = "*" + row[2] + "*"
		}
	}
	return rows
}

func neTable1(f *Figures) [][]string {
	const puts, ours = "ne-table1 | puts of new keys | load=%s | ", "ne-table1 | of the map | "
	loads := f.cells("ne-table1 | puts of new keys |  | load")
	return f.grid("load", loads, column{head: "NE", of: puts + "NE"},
		column{head: "fitted", of: puts + "fitted"}, column{head: "literal", of: puts + "literal"},
		column{head: "repaired", of: puts + "repaired"},
		column{head: "counted", of: puts + "counted"},
		column{head: "server", of: puts + "server@counted"},
		column{head: "with transactions", of: puts + "at-once"},
		column{head: "`kv` 8+8 bytes", of: ours + "value=8; copies=true; load=%s | put-new"},
		column{head: "`kv` 8+100, no copies",
			of: ours + "value=100; copies=false; load=%s | put-new"})
}

func neSimulate(f *Figures) [][]string {
	const of = "ne-simulate | latencies | load=%s | "
	loads := f.cells("ne-simulate | latencies |  | load")
	return f.grid("load", loads,
		column{head: "put: the paper's protocol", of: of + "Nessie put"},
		column{head: "server", of: of + "server"}, column{head: "`kv`", of: of + "map put"},
		column{head: "get: the paper's protocol", of: of + "Nessie get"},
		column{head: "secondary", of: of + "secondary"},
		column{head: "`kv`", of: of + "map get"})
}

// neFaults has a row for each fault, and columns by load.
func neFaults(f *Figures) [][]string {
	loads := []string{"0.15", "0.25", "0.4"}
	const lost, back, wrong = "ne-faults | writes lost | ", "ne-faults | are back | ",
		"ne-faults | wrong reads | "
	rows := [][]string{{"fault", "per million", "to the letter, load 0.15", "0.25", "0.4",
		"favourable, 0.15", "0.25", "0.4", "`kv`"}}
	for _, of := range []struct{ fault, per, table, percent, killed, column string }{
		{"1: a key is missed", "reads", wrong, "50", "0", "missed"},
		{"7: a deleted key is back", "deletes", back, "50", "0", "kept"},
		{"2 to 6: lost", "writes", lost, "50", "0", "kept"},
		{"8: lost, nobody cleans up; no new keys", "writes", lost, "0", "4", "dead"},
		{"8: lost, nobody cleans up", "writes", lost, "50", "4", "dead"},
		{"8: lost, invalid items removed", "writes", lost, "50", "4", "removed"},
		{"8: lost, published", "writes", lost, "50", "4", "published"},
		{"7 and 8: back, published", "deletes", back, "50", "4", "published"},
	} {
		row := []string{of.fault, of.per}
		cell := func(impl, load string) string {
			return f.cell(of.table + "new=" + of.percent + "; load=" + load + "; killed=" +
				of.killed + "; impl=" + impl + " | " + of.column)
		}
		for _, impl := range []string{"nessie-literal", "nessie"} {
			for _, load := range loads {
				row = append(row, cell(impl, load))
			}
		}
		ours := cell("kv", loads[0])
		for _, load := range loads[1:] {
			if is := cell("kv", load); is != ours {
				ours += ", " + is
			}
		}
		rows = append(rows, append(row, ours))
	}
	return rows
}
