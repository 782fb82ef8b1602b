package bench

import (
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/readsize"
)

// IndexTrial names an experiment of LP with throughput or latency.
type IndexTrial string

// The experiments.
const (
	// LPTable2 has throughput where the read size is that for another load (LP 5.6).
	LPTable2 IndexTrial = "table2"
	// LPFigure6 has kinds of cuckoo hashing (LP 5.2).
	LPFigure6 IndexTrial = "figure6"
	// LPFigure7 has throughput by load and policy (LP 5.3), with its bandwidth, Fig. 8.
	LPFigure7 IndexTrial = "figure7"
	// LPFigure9 has latencies of lookups, one at a time (LP 5.4).
	LPFigure9 IndexTrial = "figure9"
	// LPFigure10 has throughput and predicted cost by read size (LP 5.5).
	LPFigure10 IndexTrial = "figure10"
	// LPFigure11 has throughput by record size, inline and in a heap (LP 5.7).
	LPFigure11 IndexTrial = "figure11"
	// LPFigure12 has the rate of records found of skewed keys, with and without clusters
	// (LP 5.8).
	LPFigure12 IndexTrial = "figure12"
)

// IndexTrials lists them.
func IndexTrials() []IndexTrial {
	return []IndexTrial{LPTable2, LPFigure6, LPFigure7, LPFigure9, LPFigure10, LPFigure11,
		LPFigure12}
}

// IndexTrialCase is what is measured: lookups of one kind in one table.
type IndexTrialCase struct {
	IndexCase
	BucketSlots int     // of cuckoo; 0: not cuckoo
	Repeated    bool    // a key has two records, so that a search never ends with the first
	AssumedLoad float64 // that ReadSlots are best for; 0: the policy knows the load
	ReadSlots   int     // of every read; 0: what the policy chooses
}

// newTrialCase is one of records of 8 bytes, inline.
func newTrialCase(impl IndexImpl, load float64) IndexTrialCase {
	of := IndexTrialCase{IndexCase: IndexCase{Impl: impl, Load: load, RecordBytes: 8,
		Storage: index.Inline}}
	if impl.of().layout == index.Cuckoo {
		of.BucketSlots = 4
	}
	return of
}

// cases lists what is measured. Those of the same table are neighbours.
func (t IndexTrial) cases() (all []IndexTrialCase) {
	switch t {
	case LPTable2:
		return assumedCases()
	case LPFigure6:
		return cuckooCases()
	case LPFigure7:
		for _, load := range IndexLoads() {
			for _, impl := range table1Impls {
				all = append(all, newTrialCase(impl, load))
			}
		}
	case LPFigure9:
		return latencyCases()
	case LPFigure10:
		return sizeCases()
	case LPFigure11:
		for _, storage := range []index.Storage{index.Inline, index.Heap} {
			for _, c := range storageCases(storage) {
				of := newTrialCase(c.Impl, c.Load)
				of.IndexCase = c
				all = append(all, of)
			}
		}
	case LPFigure12:
		for _, c := range skewCases() {
			all = append(all, IndexTrialCase{IndexCase: c})
		}
	}
	return all
}

// table2Loads are those of LP Table 2.
var table2Loads = []float64{0.25, 0.5, 0.65}

// lpConfig is a table of LP with records of 8 bytes on its machine.
func lpConfig() readsize.Config {
	return readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}
}

// absentLaw is the law that LP's model goes by.
func absentLaw(load float64) *readsize.Law {
	law, err := readsize.Absent(load)
	if err != nil {
		panic(err) // the loads are ours
	}
	return law
}

// modelSlots is the read size of LP's model for records of 8 bytes.
func modelSlots(load float64) int { return lpConfig().Capped(absentLaw(load)) }

func assumedCases() (all []IndexTrialCase) {
	for _, load := range table2Loads {
		for _, assumed := range table2Loads {
			of := newTrialCase(LinearModel, load)
			of.AssumedLoad, of.ReadSlots = assumed, modelSlots(assumed)
			all = append(all, of)
		}
	}
	return all
}

// cuckooCases are the four kinds of LP Fig. 6, whose searches never end with the first
// record that is found, and what can be done where all keys differ.
func cuckooCases() (all []IndexTrialCase) {
	for _, load := range IndexLoads() {
		for _, slots := range []int{4, 1} {
			if load > index.CuckooMaxLoad(3, slots) {
				continue // LP has none either
			}
			of := newTrialCase(CuckooParallel, load)
			of.BucketSlots, of.Repeated = slots, true
			all = append(all, of)
			of.Impl = CuckooSequential
			all = append(all, of)
			of.Repeated = false
			all = append(all, of)
		}
	}
	return all
}

// figure9Impls are those of LP Fig. 9, and what is better.
var figure9Impls = []IndexImpl{LinearFixed, LinearUncapped, LinearModel, OrderedAdaptive,
	OrderedGuided, CuckooParallel, CuckooSequential}

func latencyCases() (all []IndexTrialCase) {
	for _, load := range IndexLoads() {
		for _, impl := range figure9Impls {
			all = append(all, latencyCase(impl, load))
		}
		all = append(all, newTrialCase(CuckooSequential, load))
	}
	return all
}

// latencyCase is a case of LPFigure9. Cuckoo reads all places.
func latencyCase(impl IndexImpl, load float64) IndexTrialCase {
	of := newTrialCase(impl, load)
	of.Repeated = of.BucketSlots > 0
	return of
}

// figure10Loads and figure10Sizes are what LP Fig. 10 spans; it does not print its sizes but
// for 7, 13, 18, 23 and 32.
var (
	figure10Loads = []float64{0.5, 0.85}
	figure10Sizes = []int{3, 5, 7, 10, 13, 16, 18, 20, 23, 26, 32, 40, 48}
)

func sizeCases() (all []IndexTrialCase) {
	for _, load := range figure10Loads {
		for _, slots := range figure10Sizes {
			of := newTrialCase(LinearFixed, load)
			of.ReadSlots = slots
			all = append(all, of)
		}
	}
	return all
}

// sameTable reports whether two cases differ in how they look keys up alone.
func (c IndexTrialCase) sameTable(other IndexTrialCase) bool {
	return c.IndexCase.sameTable(other.IndexCase) && c.BucketSlots == other.BucketSlots &&
		c.Repeated == other.Repeated
}

// config is that of the table.
func (c *IndexTrialCase) config() index.Config {
	return index.Config{KeySize: indexKeyBytes, ValueSize: c.RecordBytes - indexKeyBytes,
		Layout: c.Impl.of().layout, Load: c.Load, Storage: c.Storage, BucketSlots: c.BucketSlots}
}

// keys are those of a table of so many records.
func (c *IndexTrialCase) keys(seed uint64, records int) indexKeys {
	k := indexKeys{keyBytes: indexKeyBytes, valueBytes: c.RecordBytes - indexKeyBytes,
		seed: seed, records: records}
	if c.Skew > 0 {
		k.skew(c.Skew)
	}
	if c.Repeated {
		k.repeat()
	}
	return k
}

// lookups are how keys are looked up.
func (c *IndexTrialCase) lookups() index.Lookups {
	l := c.IndexCase.lookups()
	if c.ReadSlots > 0 {
		l.Policy, l.FixedBytes = index.Fixed, c.ReadSlots*c.RecordBytes
	}
	return l
}

// LPRate is what LP prints for a case. Zero stands for nothing.
type LPRate struct {
	Mops     float64 `json:"mops,omitempty"`
	GBs      float64 `json:"gbs,omitempty"` // bytes of payload
	MedianNs float64 `json:"medianNs,omitempty"`
	P90Ns    float64 `json:"p90Ns,omitempty"`
}

// lpTable2 is LP Table 2 by actual load: assumed are those of table2Loads.
var lpTable2 = map[float64][]float64{0.25: {50.8, 43.0, 34.5}, 0.5: {42.3, 43.9, 35.1},
	0.65: {31.0, 39.2, 35.2}}

// lpFigure11 are millions of lookups that LP 5.7 has of Variable Linear, by record size.
var lpFigure11 = map[index.Storage]map[int]float64{
	index.Inline: {8: 36, 128: 8}, index.Heap: {8: 23, 128: 19}}

// lpP90Ns are those of LP 5.4 at load 0.8.
var lpP90Ns = map[IndexImpl]float64{LinearFixed: 5400, LinearModel: 6200, CuckooParallel: 5100}

// paper is what LP prints for a case, in its tables or in words; nil if nothing.
func (t IndexTrial) paper(c *IndexTrialCase) *LPRate {
	var p LPRate
	switch t {
	case LPTable2, LPFigure10:
		p.Mops = paperTable2(c.Load, c.ReadSlots)
	case LPFigure7:
		if c.Impl == LinearModel { // LP 5.6: the diagonal of its table
			p.Mops = paperTable2(c.Load, lpTable1[c.Load][2].ReadSlots)
		}
		if c.Impl == LinearFixed && c.Load <= 0.5 {
			p.GBs = 8 // "almost"
		}
	case LPFigure9:
		switch {
		case c.Impl.of().layout == index.Linear && c.Load <= 0.8:
			p.MedianNs = 2900
		case c.Impl == CuckooParallel && c.Load <= storageLoad:
			p.MedianNs = 4700
		}
		if sameLoad(c.Load, 0.8) {
			p.P90Ns = lpP90Ns[c.Impl]
		}
	case LPFigure11:
		if c.Impl == LinearModel {
			p.Mops = lpFigure11[c.Storage][c.RecordBytes]
		}
	}
	if p == (LPRate{}) {
		return nil
	}
	return &p
}

// paperTable2 is the cell of LP Table 2 whose reads have so many slots, 0 if there is none.
func paperTable2(load float64, slots int) float64 {
	for i, assumed := range table2Loads {
		if row := lpTable2[load]; row != nil && lpTable1[assumed][2].ReadSlots == slots {
			return row[i]
		}
	}
	return 0
}
