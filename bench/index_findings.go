package bench

import (
	"math"

	"github.com/farhash/farhash/index"
)

// IndexFinding is what LP says of an experiment in words, beside what comes out here.
type IndexFinding struct {
	What      string   `json:"what"`
	Simulated *float64 `json:"simulated"` // null: not all that it takes was done
	Here      *float64 `json:"here"`
	Paper     float64  `json:"paper"`
}

// pacing gives what was measured of a case, NaN where nothing was.
type pacing func(c IndexTrialCase) IndexPace

// finding is how a number comes about; it is NaN where something is missing.
type finding struct {
	what  string
	paper float64
	find  func(of pacing) float64
}

// findings are those of the experiment.
func (r *IndexRateReport) findings() []IndexFinding {
	find := func(f finding, pace func(*IndexRate) *IndexPace) *float64 {
		v := f.find(func(c IndexTrialCase) IndexPace {
			for i := range r.Rates {
				if p := pace(&r.Rates[i]); p != nil && r.Rates[i].of == c {
					return *p
				}
			}
			nan := math.NaN()
			return IndexPace{Mops: nan, Latency: &IndexLatency{nan, nan, nan, nan, nan}}
		})
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	all := []IndexFinding{}
	for _, f := range r.Trial.findings() {
		all = append(all, IndexFinding{What: f.what, Paper: f.paper,
			Simulated: find(f, simulated), Here: find(f, here)})
	}
	return all
}

// simulated and here are the two ways in which a case is measured.
func simulated(is *IndexRate) *IndexPace { return is.Simulated }
func here(is *IndexRate) *IndexPace      { return is.Here }

func (t IndexTrial) findings() []finding {
	switch t {
	case LPTable2:
		return []finding{{"most that is lost with the read size of a neighbouring load", 0.2,
			neighbourLoss}}
	case LPFigure6:
		return []finding{{"buckets of four slots by those of one, mean", 0.97, bucketRatio},
			{"sequential by parallel, mean", 1, sequentialRatio}}
	case LPFigure7:
		return figure7Findings()
	case LPFigure9:
		return figure9Findings()
	case LPFigure10:
		return []finding{{"read size of the model by the best one, load 0.5", 1, modelRatio(0.5)},
			{"read size of the model by the best one, load 0.85", 1, modelRatio(0.85)}}
	case LPFigure11:
		return []finding{
			{"heap by inline, linear/model, 128 bytes", 2.4, func(of pacing) float64 {
				return heapRatio(of, 128)
			}},
			{"bytes of a record from which the heap is ahead, linear/model", 32, heapFrom}}
	case LPFigure12:
		return []finding{
			{"with clusters by without, linear/model, most", 1.7, clusterRatio(math.Max)},
			{"with clusters by without, linear/model, least", 1, clusterRatio(math.Min)}}
	}
	return nil
}

// neighbourLoss is of LP 5.6.
func neighbourLoss(of pacing) float64 {
	cells := assumedCases()
	n := len(table2Loads)
	most := 0.0
	for i := range n {
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < n {
				most = math.Max(most, 1-of(cells[i*n+j]).Mops/of(cells[i*n+i]).Mops)
			}
		}
	}
	return most
}

// meanRatio is the mean over loads of the throughput of one kind of cuckoo by another's.
func meanRatio(of pacing, loads []float64, a, b func(c IndexTrialCase) IndexTrialCase) float64 {
	total := 0.0
	for _, load := range loads {
		c := newTrialCase(CuckooParallel, load)
		c.Repeated = true
		total += of(a(c)).Mops / of(b(c)).Mops
	}
	return total / float64(len(loads))
}

// bucketRatio is of LP 5.2; one slot has no table at load 0.95.
func bucketRatio(of pacing) float64 {
	loads := IndexLoads()
	return meanRatio(of, loads[:len(loads)-1],
		func(c IndexTrialCase) IndexTrialCase { return c },
		func(c IndexTrialCase) IndexTrialCase { c.BucketSlots = 1; return c })
}

func sequentialRatio(of pacing) float64 {
	return meanRatio(of, IndexLoads(),
		func(c IndexTrialCase) IndexTrialCase { c.Impl = CuckooSequential; return c },
		func(c IndexTrialCase) IndexTrialCase { return c })
}

// extreme is the most or the least, over all loads, of the throughput of one by another's.
func extreme(pick func(a, b float64) float64, a, b IndexImpl) func(of pacing) float64 {
	return func(of pacing) float64 {
		var v float64
		for i, load := range IndexLoads() {
			ratio := of(newTrialCase(a, load)).Mops / of(newTrialCase(b, load)).Mops
			if i == 0 {
				v = ratio
			}
			v = pick(v, ratio)
		}
		return v
	}
}

func figure7Findings() []finding {
	return []finding{
		{"linear/model by cuckoo/parallel, most", 2.8,
			extreme(math.Max, LinearModel, CuckooParallel)},
		{"linear/model by linear/fixed, most", 1.7, extreme(math.Max, LinearModel, LinearFixed)},
		{"linear/fixed by cuckoo/parallel, most", 1.6,
			extreme(math.Max, LinearFixed, CuckooParallel)},
		{"linear/uncapped by linear/fixed, least", 0.5,
			extreme(math.Min, LinearUncapped, LinearFixed)},
		{"load from which cuckoo/parallel is ahead of linear/model", 0.9,
			func(of pacing) float64 {
				return firstLoad(func(load float64) bool {
					return of(newTrialCase(CuckooParallel, load)).Mops >
						of(newTrialCase(LinearModel, load)).Mops
				})
			}},
	}
}

// firstLoad is the lowest load of LP for which something holds, NaN if there is none.
func firstLoad(holds func(load float64) bool) float64 {
	for _, load := range IndexLoads() {
		if holds(load) {
			return load
		}
	}
	return math.NaN()
}

func figure9Findings() []finding {
	median := func(of pacing, impl IndexImpl, load float64) float64 {
		return of(latencyCase(impl, load)).Latency.P50
	}
	tail := func(impl IndexImpl) func(of pacing) float64 {
		return func(of pacing) float64 {
			return of(latencyCase(impl, 0.8)).Latency.P90 / median(of, impl, 0.8)
		}
	}
	return []finding{
		{"median of cuckoo/parallel by linear/model, load 0.65", 4.7 / 2.9,
			func(of pacing) float64 {
				return median(of, CuckooParallel, 0.65) / median(of, LinearModel, 0.65)
			}},
		{"median of cuckoo/sequential, all places, by cuckoo/parallel, load 0.65", 1.7,
			func(of pacing) float64 {
				return median(of, CuckooSequential, 0.65) / median(of, CuckooParallel, 0.65)
			}},
		{"median of cuckoo/sequential, keys differ, by cuckoo/parallel, load 0.65", 1.7,
			func(of pacing) float64 {
				return of(newTrialCase(CuckooSequential, 0.65)).Latency.P50 /
					median(of, CuckooParallel, 0.65)
			}},
		{"90th percentile by median, linear/fixed, load 0.8", 5.4 / 2.9, tail(LinearFixed)},
		{"90th percentile by median, linear/model, load 0.8", 6.2 / 2.9, tail(LinearModel)},
		{"load from which the median of cuckoo/parallel is below that of linear/model", 0.95,
			func(of pacing) float64 {
				return firstLoad(func(load float64) bool {
					return median(of, CuckooParallel, load) < median(of, LinearModel, load)
				})
			}},
	}
}

// modelRatio is the throughput with the read size of LP's model by that with the best size.
func modelRatio(load float64) func(of pacing) float64 {
	return func(of pacing) float64 {
		c := newTrialCase(LinearFixed, load)
		best := 0.0
		for _, c.ReadSlots = range figure10Sizes {
			best = math.Max(best, of(c).Mops)
		}
		c.ReadSlots = modelSlots(load)
		return of(c).Mops / best
	}
}

// heapRatio is of LP 5.7.
func heapRatio(of pacing, bytes int) float64 {
	c := newTrialCase(LinearModel, storageLoad)
	c.RecordBytes = bytes
	inline := of(c).Mops
	c.Storage = index.Heap
	return of(c).Mops / inline
}

func heapFrom(of pacing) float64 {
	for _, bytes := range storageBytes {
		if heapRatio(of, bytes) > 1 {
			return float64(bytes)
		}
	}
	return math.NaN()
}

// clusterRatio is of LP 5.8.
func clusterRatio(pick func(a, b float64) float64) func(of pacing) float64 {
	return func(of pacing) float64 {
		v := math.NaN()
		for i, c := range skewCases() {
			if c.Impl != LinearModel || c.Clusters > 0 {
				continue
			}
			without := IndexTrialCase{IndexCase: c}
			with := without
			with.Clusters = index.DefaultClusters
			ratio := of(with).Mops / of(without).Mops
			if i == 0 {
				v = ratio
			}
			v = pick(v, ratio)
		}
		return v
	}
}
