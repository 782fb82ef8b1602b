package page

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names are the figures of the prose: a reference to a cell that is printed.
var Names = map[string]string{
	"op-peak":       "op-table1-simulated | virtual time | hosts=48; procs=16 | Mop/s",
	"op-peak-paper": "op-table1-simulated | virtual time | hosts=48; procs=16 | OP",
	"op-one-paper":  "op-table1-simulated | virtual time | hosts=1; procs=1 | OP",
	"op-speedup":    "op-table1-simulated | virtual time | hosts=48; procs=16 | speedup",
	"op-speedup-paper": "op-table1-simulated | virtual time | hosts=48; procs=16 | " +
		"OP@speedup",

	"clusters-mixed": "op-clusters | virtual time | workload=mixed; hosts=48; procs=16 | speedup",
	"clusters-read":  "op-clusters | virtual time | workload=read; hosts=48; procs=16 | speedup",
	"clusters-write": "op-clusters | virtual time | workload=write; hosts=48; procs=16 | speedup",

	"schemes-probes": "op-schemes | gets of an insert | scheme=linear-32 | load=0.75",
	"schemes-pilaf": "op-schemes | round trips of a find, present word | " +
		"scheme=cuckoo-3x1-in-turn | load=0.75",

	"cells-trips": "op-table1-simulated | errors where | of=round trips | cells",
	"cells-times": "op-table1-simulated | errors where | of=latency | cells",
	"cells-rates": "op-table1-simulated | errors where | " +
		"of=throughput, 2 machines and more | cells",
	"heap-cuckoo-paper": "lp-figure11 | Tables 3 | " +
		"record=8; impl=cuckoo-parallel; keys=random | LP@to the heap",
	"lp-law-f90":  "lp-table1 | requests of | load=0.9 | law@linear-fixed",
	"lp-law-f95":  "lp-table1 | requests of | load=0.95 | law@linear-fixed",
	"lp-law-c90":  "lp-table1 | requests of | load=0.9 | law@linear-model",
	"lp-law-c95":  "lp-table1 | requests of | load=0.95 | law@linear-model",
	"lp-r174":     "lp-table1 | slots of | load=0.85 | LP@linear-uncapped",
	"lp-r174-gbs": "lp-table1 | Fig. 7 | load=0.85; impl=linear-uncapped | sim GB/s",

	"header-mean":    "lp-table2 | errors of | header=charged | mean",
	"header-largest": "lp-table2 | errors of | header=charged | largest",
	"bare-mean":      "lp-table2 | errors of | header=not charged | mean",
	"bare-largest":   "lp-table2 | errors of | header=not charged | largest",

	"hybrid-least":     "lp-hybrid | in words | what=hybrid by either of them, least | sim",
	"hybrid-to-inline": "lp-hybrid | in words | what=hybrid by inline, most | sim",
	"hybrid-to-heap":   "lp-hybrid | in words | what=hybrid by heap, most | sim",
	"hybrid-inline-ns": "lp-hybrid | LP 7 | long=0; storage=inline | ns",
	"hybrid-first-ns":  "lp-hybrid | LP 7 | long=0; storage=hybrid | ns",
	"hybrid-last-ns":   "lp-hybrid | LP 7 | long=100; storage=hybrid | ns",

	"sequential-first": "lp-figure6 | Fig. 6 | " +
		"load=0.25; impl=cuckoo-sequential; bucket=4; keys=distinct | requests",
	"sequential-last": "lp-figure6 | Fig. 6 | " +
		"load=0.95; impl=cuckoo-sequential; bucket=4; keys=distinct | requests",
	"reads-ours": "lp-reads | in words |  | sim",

	"md-uniform-fine":     mdAt + "md-lock-free; keys=uniform; workload=read | / md-fine",
	"md-uniform-coarse":   mdAt + "md-lock-free; keys=uniform; workload=read | / md-coarse",
	"md-zipf-fine":        mdAt + "md-lock-free; keys=zipf; workload=read | / md-fine",
	"md-zipf-coarse":      mdAt + "md-lock-free; keys=zipf; workload=read | / md-coarse",
	"md-reads-uniform":    mdAt + "md-lock-free; keys=uniform; workload=read | of",
	"md-reads-zipf":       mdAt + "md-lock-free; keys=zipf; workload=read | of",
	"md-reads-mixed":      mdAt + "md-lock-free; keys=uniform; workload=mixed | of",
	"md-reads-zipf-mixed": mdAt + "md-lock-free; keys=zipf; workload=mixed | of",
	"md-examined":         "md-hits | buckets of a put |  | paper",
	"md-examined-spread":  "md-hits | buckets of a put |  | spread",
	"poet-128":            "md-poet | POET | mode=none; ranks=128 | s besides cells",
	"poet-640":            "md-poet | POET | mode=none; ranks=640 | s besides cells",

	"server-64":      "ne-table1 | first needs | slots=64Ki | load",
	"server-64-min":  "ne-table1 | first needs | slots=64Ki | min",
	"server-64-max":  "ne-table1 | first needs | slots=64Ki | max",
	"server-256":     "ne-table1 | first needs | slots=256Ki | load",
	"server-256-min": "ne-table1 | first needs | slots=256Ki | min",
	"server-256-max": "ne-table1 | first needs | slots=256Ki | max",
	"ne-trips-75":    "ne-table1 | puts of new keys | load=0.75 | NE",
}

// mdAt begins a reference to the simulation of MD 5.3 with 640 ranks.
const mdAt = "md-simulate | in virtual time | ranks=640; mode="

// computed are figures of the prose that are made of several cells.
var computed = map[string]func(f *Figures) string{
	"op-agree":  func(f *Figures) string { return strconv.Itoa(f.opAgreement(true)) },
	"op-differ": func(f *Figures) string { return strconv.Itoa(f.opAgreement(false)) },
	"schemes-fours": func(f *Figures) string {
		_, before := f.overtakes("cuckoo-2x4-breadth", 0)
		return before
	},
	"schemes-eights": func(f *Figures) string {
		from, _ := f.overtakes("cuckoo-2x8", 0)
		return from
	},
	"schemes-locks": func(f *Figures) string {
		_, before := f.overtakes("cuckoo-2x8-breadth", 1)
		return before
	},
	"schemes-line": func(f *Figures) string {
		from, _ := f.overtakes("line-32", 0)
		return from
	},
	"two-sided": func(f *Figures) string {
		return f.ratio(1, "lp-two-sided | LP 7 | load=0.9 | two-sided-500-ns",
			"lp-two-sided | LP 7 | load=0.9 | cuckoo-parallel")
	},
	"gather-linear-8":  gathered("linear-model", "0.8"),
	"gather-ordered-8": gathered("ordered-adaptive", "0.8"),
	"gather-linear-9":  gathered("linear-model", "0.9"),
	"gather-ordered-9": gathered("ordered-adaptive", "0.9"),
	"two-sided-95": func(f *Figures) string {
		return f.ratio(1, "lp-two-sided | LP 7 | load=0.95 | two-sided-500-ns",
			"lp-two-sided | LP 7 | load=0.95 | cuckoo-parallel")
	},
	"fit-lookup":  func(f *Figures) string { return f.us("a lookup") },
	"fit-read":    func(f *Figures) string { return f.us("a posted read") },
	"fit-once":    func(f *Figures) string { return f.fitted("once") },
	"fit-rounds":  func(f *Figures) string { return f.fitted("each round") },
	"uncapped-80": func(f *Figures) string { return f.uncapped("0.8") },
	"uncapped-85": func(f *Figures) string { return f.uncapped("0.85") },
	"uncapped-90": func(f *Figures) string { return f.uncapped("0.9") },
	"heap-cuckoo": (*Figures).heapOfCuckoo,
	"error-trips": func(f *Figures) string { return f.errors("round trips") },
	"error-times": func(f *Figures) string { return f.errors("latency") },
	"error-rates": func(f *Figures) string {
		return f.errors("throughput, 2 machines and more")
	},
	"md-gets-ours": func(f *Figures) string { return f.mdGets("lock-free") },
	"md-gets":      func(f *Figures) string { return f.mdGets("md-lock-free") },
	"md-ahead":     (*Figures).mdAhead,
	"md-below": func(f *Figures) string {
		return strconv.FormatFloat(f.number(mdAt+"md-lock-free; keys=zipf; workload=mixed | to"),
			'f', 4, 64)
	},
	"md-failed": func(f *Figures) string {
		return short(f, f.cell(mdAt+"md-lock-free; keys=zipf; workload=mixed | MD@to"))
	},
	"poet-us": func(f *Figures) string {
		return short(f, f.cell("md-poet | POET | mode=none; ranks=128 | us a cell"))
	},
	"poet-error":   (*Figures).poetError,
	"poet-spread":  (*Figures).poetSpread,
	"get-copy":     func(f *Figures) string { return f.span("value=8; copies=true", "get") },
	"get-none":     func(f *Figures) string { return f.span("value=100; copies=true", "get") },
	"present-copy": func(f *Figures) string { return f.span("value=8; copies=true", present) },
	"present-none": func(f *Figures) string { return f.span("value=100; copies=true", present) },
	"faults-least": func(f *Figures) string { return f.deathsPerLoss(slices.Min[[]float64]) },
	"faults-most":  func(f *Figures) string { return f.deathsPerLoss(slices.Max[[]float64]) },
	"ne-us-75":     func(f *Figures) string { return short(f, f.cell(neWrite)) },
	"ne-us-50":     func(f *Figures) string { return f.tenUs("0.5") },
	"ne-us-25":     func(f *Figures) string { return f.tenUs("0.25") },
	"one-move": func(f *Figures) string {
		return strconv.FormatFloat(1-math.Pow(0.75, 4), 'f', 2, 64)
	},
	"one-move-ours": func(f *Figures) string {
		return strconv.FormatFloat(
			1-f.number("ne-table1 | puts of new keys | load=0.75 | server@counted"), 'f', 2, 64)
	},
}

// deathsPerLoss is how many clients die for one lost write, the least or most of all tables of
// the paper's protocol.
func (f *Figures) deathsPerLoss(of func([]float64) float64) string {
	const table = "ne-faults | writes lost | "
	var all []float64
	for _, impl := range []string{"nessie", "nessie-literal"} {
		rows := "killed=4; impl=" + impl + " | "
		lost, writes := f.numbers(table+rows+"kept"), f.numbers(table+rows+"writes")
		for i, deaths := range f.numbers(table + rows + "deaths") {
			if i < len(lost) && i < len(writes) {
				all = append(all, deaths/(lost[i]*writes[i]/1e6))
			}
		}
	}
	if len(all) == 0 {
		return f.fail("no deaths")
	}
	return strconv.FormatFloat(of(all), 'f', 0, 64)
}

// neWrite is the one latency that NE 4 prints.
const neWrite = "ne-simulate | latencies | load=0.75 | NE put"

// present is a column of NE Table 1.
const present = "put-present"

// opAgreement counts the cells of OP Table 1 that agree, or do not.
func (f *Figures) opAgreement(agree bool) (n int) {
	for _, chunk := range opChunks {
		ours := f.cells("op-table1 | round trips |  | C=" + chunk)
		paper := f.cells("op-table1 | round trips |  | OP@C=" + chunk)
		for i := range min(len(ours), len(paper)) {
			if f.opAgrees(ours[i], paper[i]) == agree {
				n++
			}
		}
	}
	return n
}

// overtakes is the load from which on a scheme needs fewer round trips for an insert than linear
// probing with C=32, if it needs more besides, and the load before.
func (f *Figures) overtakes(scheme string, more float64) (from, before string) {
	const ref = "op-schemes | round trips of an insert | scheme="
	for _, head := range f.table("op-schemes", "round trips of an insert").heads {
		load, is := strings.CutPrefix(head, "load=")
		switch {
		case !is:
		case f.number(ref+scheme+" | "+head)+more >= f.number(ref+"linear-32 | "+head):
			from, before = "", load
		case from == "":
			from = load
		}
	}
	if from == "" || before == "" {
		f.fail("%s overtakes linear probing from load %q on, after %q", scheme, from, before)
	}
	return from, before
}

// mdGets is how many gets an operation on uniform keys needs, from the least to the most.
func (f *Figures) mdGets(mode string) string {
	all := append(f.cells(mdAt+mode+"; keys=uniform | gets/op"), missing)
	all = all[:max(1, len(all)-1)]
	slices.Sort(all)
	if least, most := all[0], all[len(all)-1]; least != most {
		return least + " to " + most
	}
	return all[0]
}

// mdAhead is by how much the cache is ahead of MD's lock-free table with uniform keys, in percent.
func (f *Figures) mdAhead() string {
	ours := f.numbers(mdAt + "lock-free; keys=uniform | Mop/s")
	paper := f.numbers(mdAt + "md-lock-free; keys=uniform | Mop/s")
	var all []float64
	for i := range min(len(ours), len(paper)) {
		all = append(all, 100*(ours[i]/paper[i]-1))
	}
	if len(all) == 0 {
		return missing
	}
	return fmt.Sprintf("%.0f to %.0f", slices.Min(all), slices.Max(all))
}

// poetError is the largest error where nothing was fitted.
func (f *Figures) poetError() string {
	const ref = "md-poet | POET | mode=md-lock-free; ranks="
	largest := 0.0
	for _, ranks := range f.cells("md-poet | POET | mode=none | ranks") {
		if f.optional(ref+ranks+" | MD") == "" {
			largest = max(largest, math.Abs(f.number(ref+ranks+" | error, points")))
		}
	}
	return strconv.FormatFloat(largest, 'f', 1, 64)
}

// poetSpread is by how much the time saved differs between seeds, at most.
func (f *Figures) poetSpread() string {
	largest := 0.0
	for _, file := range []string{"md-poet", "md-poet-same"} {
		least := f.numbers(file + " | POET |  | min@gain %")
		most := f.numbers(file + " | POET |  | max@gain %")
		for i := range min(len(least), len(most)) {
			largest = max(largest, most[i]-least[i])
		}
	}
	return strconv.FormatFloat(largest, 'f', 1, 64)
}

// ratio divides a cell by another.
func (f *Figures) ratio(digits int, a, b string) string {
	return strconv.FormatFloat(f.number(a)/f.number(b), 'f', digits, 64)
}

// fitted is the latency of sequential cuckoo by the one of parallel, with the fitted times.
func (f *Figures) fitted(column string) string {
	const ref = "lp-figure9 | with the fitted | load=0.65; at=p50; impl=cuckoo-"
	return f.ratio(2, ref+"sequential | "+column, ref+"parallel | "+column)
}

// us is a time that was fitted to LP's medians, in µs.
func (f *Figures) us(of string) string {
	ns := f.number("lp-figure9 | Times fitted | of=" + of + " | ns")
	return strconv.FormatFloat(ns/1e3, 'f', 2, 64)
}

// uncapped is the rate of uncapped reads by the one of fixed reads.
func (f *Figures) uncapped(load string) string {
	const ref = "lp-table1 | Fig. 7 | load="
	return f.ratio(2, ref+load+"; impl=linear-uncapped | sim M/s",
		ref+load+"; impl=linear-fixed | sim M/s")
}

// heapOfCuckoo is the one figure of LP Tables 3 and 4 that is another than LP's.
func (f *Figures) heapOfCuckoo() (differs string) {
	t := f.table("lp-figure11", "Tables 3 and 4")
	ours, compared := []string{"slots of a read", "requests", "to the heap"}, 0
	for _, row := range t.rows {
		for _, name := range ours {
			a, b := t.column(name), t.column("LP@"+name)
			if a < 0 || b < 0 || len(row) != len(t.heads) {
				return f.fail("the table of LP Tables 3 and 4 has other columns")
			}
			if row[b] == "-" || row[t.column("keys")] != "random" && name == "to the heap" {
				continue
			}
			_, fraction, _ := strings.Cut(row[b], ".")
			compared++
			if strconv.FormatFloat(f.parse(row[a]), 'f', len(fraction), 64) == row[b] {
				continue
			}
			if name != "to the heap" || row[t.column("impl")] != "cuckoo-parallel" {
				f.fail("%s are %s, and %s in LP: %v", name, row[a], row[b], row)
			}
			if differs != "" && differs != row[a] {
				f.fail("cuckoo has %s and %s requests to the heap", differs, row[a])
			}
			differs = row[a]
		}
	}
	if compared < 40 {
		f.fail("only %d figures of LP Tables 3 and 4 are compared", compared)
	}
	return differs
}

// errors are the mean and the largest error of some cells of OP Table 1.
func (f *Figures) errors(of string) string {
	ref := "op-table1-simulated | errors where | of=" + of + " | "
	return f.cell(ref+"mean") + " % and " + f.cell(ref+"largest") + " %"
}

// span is the least and the largest figure of the map.
func (f *Figures) span(rows, unit string) string {
	all := f.numbers("ne-table1 | of the map | " + rows + " | " + unit)
	if len(all) == 0 {
		return missing
	}
	return strconv.FormatFloat(slices.Min(all), 'f', 3, 64) + " to " +
		strconv.FormatFloat(slices.Max(all), 'f', 3, 64)
}

// tenUs is the time of NE's round trips, of 10 us each.
func (f *Figures) tenUs(load string) string {
	trips := f.number("ne-table1 | puts of new keys | load=" + load + " | NE")
	return strconv.FormatFloat(10*trips, 'f', 0, 64)
}

// name is a place for a figure in a phrase.
var name = regexp.MustCompile(`\{[^}]*\}`)

// fill gives a phrase with its figures.
func (f *Figures) fill(phrase string) string {
	return name.ReplaceAllStringFunc(phrase, func(at string) string {
		at = at[1 : len(at)-1]
		if of, ok := computed[at]; ok {
			return of(f)
		}
		if of, ok := Names[at]; ok {
			return thousands(f.cell(of))
		}
		return f.fail("no figure is called %q", at)
	})
}

// gathered is the rate of cuckoo hashing by that of another table, with three places in a request.
func gathered(impl, load string) func(f *Figures) string {
	return func(f *Figures) string {
		const row = "lp-gather | LP 7 | load="
		return f.ratio(2, row+load+"; impl=cuckoo-parallel | places=3 M/s",
			row+load+"; impl="+impl+" | places=3 M/s")
	}
}
