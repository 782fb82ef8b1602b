package lp

import (
	"slices"

	"github.com/farhash/farhash/index"

	"github.com/farhash/farhash/eval/internal/record"
)

// lpTable1 is LP Table 1 by load: requests and read sizes of fixed, uncapped, capped.
var lpTable1 = map[float64][3]struct {
	requests float64
	slots    int
}{
	0.25: {{1.00, 32}, {1.03, 5}, {1.03, 5}},
	0.50: {{1.00, 32}, {1.03, 13}, {1.03, 13}},
	0.65: {{1.01, 32}, {1.02, 29}, {1.04, 23}},
	0.80: {{1.22, 32}, {1.02, 96}, {1.39, 23}},
	0.85: {{1.53, 32}, {1.01, 174}, {1.85, 23}},
	0.90: {{2.46, 32}, {1.08, 201}, {3.17, 23}},
	0.95: {{7.41, 32}, {1.16, 547}, {10.05, 23}},
}

// lpTable2 is LP Table 2: throughput by actual load, and by the load of table2Loads which the
// read size is for.
var lpTable2 = map[float64][]float64{0.25: {50.8, 43.0, 34.5}, 0.5: {42.3, 43.9, 35.1},
	0.65: {31.0, 39.2, 35.2}}

// lpTable3 has read sizes inline, by size of records, and those in a heap (0).
var lpTable3 = map[impl]map[int]int{
	cuckooParallel: {8: 4, 32: 4, 128: 4, 0: 4},
	linearFixed:    {8: 32, 32: 8, 128: 2, 0: 51},
	linearModel:    {8: 23, 32: 9, 128: 6, 0: 29},
}

// lpTable4 has requests to table and heap.
var lpTable4 = map[impl][2]float64{cuckooParallel: {3.00, 1.08}, linearFixed: {1.00, 1.04},
	linearModel: {1.02, 1.04}}

// lpFigure11 has millions of lookups that LP 5.7 says of Variable Linear, by size of records.
var lpFigure11 = map[index.Storage]map[int]float64{
	index.Inline: {8: 36, 128: 8}, index.Heap: {8: 23, 128: 19}}

// lpP90Ns are the latencies of LP 5.4 at load 0.8.
var lpP90Ns = map[impl]float64{linearFixed: 5400, linearModel: 6200, cuckooParallel: 5100}

// The medians of LP 5.4 at load 0.65, and how much longer than parallel cuckoo sequential takes.
const (
	lpLinearNs   = 2900.0
	lpCuckooNs   = 4700.0
	lpSequential = 1.7
)

// nonzero are the values that are there.
func nonzero(values []record.Value) []record.Value {
	return slices.DeleteFunc(values, func(v record.Value) bool { return v.Value == 0 })
}

// paperRate is the cell of LP Table 2 whose reads have so many slots.
func paperRate(load float64, slots int) record.Value {
	v := record.Value{Unit: "lp-Mrecords/s"}
	for i, assumed := range table2Loads {
		if row := lpTable2[load]; row != nil && lpTable1[assumed][2].slots == slots {
			v.Value = row[i]
		}
	}
	return v
}

func paperTable1(c *lookupCase) []record.Value {
	var requests, slots, gbs float64
	column := slices.Index([]impl{linearFixed, linearUncapped, linearModel}, c.impl)
	switch {
	case column >= 0:
		cell := lpTable1[c.load][column]
		requests, slots = cell.requests, float64(cell.slots)
	case c.impl == cuckooParallel:
		requests, slots = 3, 4
	}
	if c.impl == linearFixed && c.load <= 0.5 {
		gbs = 8 // "almost"
	}
	values := []record.Value{{Value: requests, Unit: "lp-requests/op"},
		{Value: slots, Unit: "lp-slots/read"}, {Value: gbs, Unit: "lp-GB/s"}}
	if c.impl == linearModel { // LP 5.6: the diagonal of its Table 2
		values = append(values, paperRate(c.load, int(slots)))
	}
	return nonzero(values)
}

func paperTable2(c *lookupCase) []record.Value {
	return nonzero([]record.Value{paperRate(c.load, c.slots)})
}

// paperFigure10 adds the cost that LP's model predicts, E[X(R)]*T(R) of LP Eq. 1, and marks
// the size that it picks.
func paperFigure10(c *lookupCase) []record.Value {
	ns := laws(c.load).Absent.ModelReads(c.slots) * lpConfig(c.bytes).ReadNs(c.slots)
	values := append(paperTable2(c), record.Value{Value: ns, Unit: "predicted-ns"})
	if c.slots == modelSlots(c.load) {
		values = append(values, record.Value{Value: ns, Unit: "picked-ns"})
	}
	return values
}

// paperTable3 is also LP Table 4 and Fig. 11.
func paperTable3(c *lookupCase) []record.Value {
	bytes := c.bytes
	var requests [2]float64
	if c.storage == index.Heap {
		requests, bytes = lpTable4[c.impl], 0
	}
	values := []record.Value{{Value: requests[0], Unit: "lp-requests/op"},
		{Value: requests[1], Unit: "lp-heap-requests/op"},
		{Value: float64(lpTable3[c.impl][bytes]), Unit: "lp-slots/read"}}
	if c.impl == linearModel {
		values = append(values, record.Value{Value: lpFigure11[c.storage][c.bytes],
			Unit: "lp-Mrecords/s"})
	}
	return nonzero(values)
}

func paperFigure9(c *lookupCase) []record.Value {
	var median, p90 float64
	switch {
	case c.impl.kind().layout == linear && c.load <= 0.8:
		median = lpLinearNs
	case c.impl == cuckooParallel && c.load <= 0.65:
		median = lpCuckooNs
	}
	if c.load == 0.8 {
		p90 = lpP90Ns[c.impl]
	}
	return nonzero([]record.Value{{Value: median, Unit: "lp-p50-ns"},
		{Value: p90, Unit: "lp-p90-ns"}})
}
