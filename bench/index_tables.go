package bench

import (
	"slices"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/readsize"
)

// IndexTable names a table of LP that is counted.
type IndexTable string

// The tables.
const (
	// LPTable1 has requests and read sizes of lookups by load, records of 8 bytes (LP 5.3).
	LPTable1 IndexTable = "table1"
	// LPTable3 has read sizes by record size, inline and in a heap (LP 5.7).
	LPTable3 IndexTable = "table3"
	// LPTable4 has requests to table and heap (LP 5.7).
	LPTable4 IndexTable = "table4"
)

// IndexTables lists them.
func IndexTables() []IndexTable { return []IndexTable{LPTable1, LPTable3, LPTable4} }

// IndexLoads are the loads of LP Table 1.
func IndexLoads() []float64 { return []float64{0.25, 0.5, 0.65, 0.8, 0.85, 0.9, 0.95} }

// table1Impls are the columns of LP Table 1, and what is better.
var table1Impls = []IndexImpl{LinearFixed, LinearUncapped, LinearModel, CuckooParallel,
	OrderedAdaptive, OrderedGuided}

// cases lists what is counted. Those of the same table are neighbours.
func (t IndexTable) cases() (all []IndexCase) {
	switch t {
	case LPTable1:
		for _, load := range IndexLoads() {
			for _, impl := range table1Impls {
				all = append(all, IndexCase{Impl: impl, Load: load, RecordBytes: 8,
					Storage: index.Inline})
			}
		}
	case LPTable3:
		all = append(storageCases(index.Inline), storageCases(index.Heap)...)
	case LPTable4:
		all = storageCases(index.Heap)
	}
	return all
}

// storageLoad is the load of LP 5.7.
const storageLoad = 0.65

// storageImpls are those of LP Tables 3 and 4, and what is better.
var storageImpls = []IndexImpl{CuckooParallel, LinearFixed, LinearModel, OrderedAdaptive,
	OrderedGuided}

// storageBytes are the sizes of records of LP 5.7.
var storageBytes = []int{8, 32, 128}

// storageCases are those of LP 5.7 with one kind of storage, by record size.
func storageCases(storage index.Storage) (all []IndexCase) {
	for _, bytes := range storageBytes {
		for _, impl := range storageImpls {
			all = append(all, IndexCase{Impl: impl, Load: storageLoad, RecordBytes: bytes,
				Storage: storage})
		}
	}
	return all
}

// skewCases are those of LP 5.8, with what is better.
func skewCases() (all []IndexCase) {
	for _, skew := range []float64{0, 0.25, 0.5, 0.75} {
		of := IndexCase{Load: storageLoad, RecordBytes: 8, Storage: index.Inline, Skew: skew}
		for _, impl := range []IndexImpl{LinearModel, OrderedAdaptive} {
			for _, of.Clusters = range []int{0, index.DefaultClusters} {
				of.Impl = impl
				all = append(all, of)
			}
		}
		of.Impl, of.Clusters = OrderedGuided, 0
		all = append(all, of)
	}
	return all
}

// LPCount is what a table of LP has for a case. Zero stands for nothing.
type LPCount struct {
	Requests     float64 `json:"requests,omitempty"`     // of a lookup, to the table
	HeapRequests float64 `json:"heapRequests,omitempty"` // of a lookup, to the heap
	ReadSlots    int     `json:"readSlots,omitempty"`    // of one read of the table
}

// lpTable1 are the rows of LP Table 1: requests and read sizes of fixed, uncapped, capped.
var lpTable1 = map[float64][3]LPCount{
	0.25: {{1.00, 0, 32}, {1.03, 0, 5}, {1.03, 0, 5}},
	0.50: {{1.00, 0, 32}, {1.03, 0, 13}, {1.03, 0, 13}},
	0.65: {{1.01, 0, 32}, {1.02, 0, 29}, {1.04, 0, 23}},
	0.80: {{1.22, 0, 32}, {1.02, 0, 96}, {1.39, 0, 23}},
	0.85: {{1.53, 0, 32}, {1.01, 0, 174}, {1.85, 0, 23}},
	0.90: {{2.46, 0, 32}, {1.08, 0, 201}, {3.17, 0, 23}},
	0.95: {{7.41, 0, 32}, {1.16, 0, 547}, {10.05, 0, 23}},
}

// lpReadSlots are those of LP Table 3: inline by record size, and in a heap (0).
var lpReadSlots = map[IndexImpl]map[int]int{
	CuckooParallel: {8: 4, 32: 4, 128: 4, 0: 4},
	LinearFixed:    {8: 32, 32: 8, 128: 2, 0: 51},
	LinearModel:    {8: 23, 32: 9, 128: 6, 0: 29},
}

// lpTable4 are the rows of LP Table 4.
var lpTable4 = map[IndexImpl]LPCount{
	CuckooParallel: {3.00, 1.08, 0},
	LinearFixed:    {1.00, 1.04, 0},
	LinearModel:    {1.02, 1.04, 0},
}

// paper is what LP printed for a case, nil if nothing.
func (t IndexTable) paper(c IndexCase) *LPCount {
	if t == LPTable1 {
		return paperTable1(c)
	}
	if lpReadSlots[c.Impl] == nil {
		return nil
	}
	bytes := c.RecordBytes
	var p LPCount
	if c.Storage == index.Heap {
		p, bytes = lpTable4[c.Impl], 0
	}
	p.ReadSlots = lpReadSlots[c.Impl][bytes]
	return &p
}

func paperTable1(c IndexCase) *LPCount {
	if c.Impl == CuckooParallel {
		return &LPCount{Requests: 3, ReadSlots: 4}
	}
	i := slices.Index(table1Impls[:3], c.Impl)
	if i < 0 {
		return nil
	}
	p := lpTable1[c.Load][i]
	return &p
}

// lawBook has what the laws of package readsize say, each found once.
type lawBook struct {
	laws  map[float64]*readsize.Laws
	plans map[int]*readsize.Plan // by the bytes of a slot
}

func newLawBook() *lawBook {
	return &lawBook{map[float64]*readsize.Laws{}, map[int]*readsize.Plan{}}
}

// expected is what lookups of a case take, nil where no law says so: none is of a heap,
// of keys with several records, or of clusters.
func (b *lawBook) expected(c IndexCase) (*readsize.Cost, error) {
	if c.Storage == index.Heap || c.Skew > 0 || c.Clusters > 0 {
		return nil, nil
	}
	m := readsize.Config{Machine: readsize.EDR(), SlotBytes: c.RecordBytes}
	var err error
	if b.laws[c.Load] == nil {
		if b.laws[c.Load], err = readsize.NewLaws(c.Load); err != nil {
			return nil, err
		}
	}
	if b.plans[c.RecordBytes] == nil {
		if b.plans[c.RecordBytes], err = readsize.NewPlan(m); err != nil {
			return nil, err
		}
	}
	laws, sizes := b.laws[c.Load], b.plans[c.RecordBytes].Sizes(c.Load)
	var cost readsize.Cost
	switch c.Impl {
	case LinearFixed:
		cost = m.Cost(laws.Present, max(1, lpFixedBytes/m.SlotBytes))
	case LinearUncapped:
		cost = m.Cost(laws.Present, sizes.Uncapped)
	case LinearModel:
		cost = m.Cost(laws.Present, sizes.Capped)
	case LinearAdaptive:
		cost = m.Cost(laws.Present, sizes.Adaptive...)
	case OrderedAdaptive:
		cost = m.Cost(laws.OrderedPresent, sizes.Ordered...)
	case CuckooParallel:
		cost = readsize.Cuckoo{Ways: 3, Slots: 4}.Parallel(m)
	default:
		return nil, nil
	}
	return &cost, nil
}

// lpFixedBytes is the size of fixed reads (LP 5.1).
const lpFixedBytes = 256

// byTable divides cases into those that have the same table, which are neighbours.
func byTable[T any](cases []T, same func(a, b T) bool) (groups [][]T) {
	for len(cases) > 0 {
		n := 1
		for n < len(cases) && same(cases[n], cases[0]) {
			n++
		}
		groups, cases = append(groups, cases[:n]), cases[n:]
	}
	return groups
}
