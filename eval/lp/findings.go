package lp

import (
	"math"
	"slices"

	"github.com/farhash/farhash/index"

	"github.com/farhash/farhash/eval/internal/record"
)

// finding is what LP says of an experiment in words, and how it comes about here; NaN where
// something is missing.
type finding struct {
	what  string
	paper float64
	find  func(r results) float64
}

// derive makes records of the findings: simulated and here.
func (t *trial) derive(table *record.Table) (all []record.Record) {
	if len(table.Cases) == 0 {
		return nil
	}
	for _, f := range t.findings {
		is := record.Record{Name: t.findingName(), N: 1, Keys: []record.Key{
			record.K("what", f.what)}, Values: []record.Value{{Value: f.paper, Unit: "lp"}}}
		for unit, prefix := range map[string]string{"sim": "sim-", "here": ""} {
			if v := f.find(results{t, table, prefix}); !math.IsNaN(v) && !math.IsInf(v, 0) {
				is.Values = append(is.Values, record.Value{Value: v, Unit: unit})
			}
		}
		all = append(all, is)
	}
	return all
}

// results are what was simulated, or measured here.
type results struct {
	of     *trial
	table  *record.Table
	prefix string
}

// at is the figure of a case, NaN if there is none.
func (r results) at(c look, unit string) float64 {
	if is := r.table.Find(r.of.keys(&c)...); is != nil {
		if v, ok := is.Median(r.prefix + unit); ok {
			return v
		}
	}
	return math.NaN()
}

func (r results) rate(c look) float64 { return r.at(c, "Mrecords/s") }

// firstLoad is the lowest load of LP for which something holds, NaN if there is none.
func firstLoad(holds func(load float64) bool) float64 {
	for _, load := range loads() {
		if holds(load) {
			return load
		}
	}
	return math.NaN()
}

// table1Findings are those of LP 5.3.
func table1Findings() []finding {
	extreme := func(pick func([]float64) float64, a, b impl) func(r results) float64 {
		return func(r results) float64 {
			var ratios []float64
			for _, load := range loads() {
				ratios = append(ratios, r.rate(newLook(a, load))/r.rate(newLook(b, load)))
			}
			return pick(ratios)
		}
	}
	return []finding{
		{"linear-model by cuckoo-parallel, most", 2.8,
			extreme(slices.Max, linearModel, cuckooParallel)},
		{"linear-model by linear-fixed, most", 1.7, extreme(slices.Max, linearModel, linearFixed)},
		{"linear-fixed by cuckoo-parallel, most", 1.6,
			extreme(slices.Max, linearFixed, cuckooParallel)},
		{"linear-uncapped by linear-fixed, least", 0.5,
			extreme(slices.Min, linearUncapped, linearFixed)},
		{"load from which cuckoo-parallel is ahead of linear-model", 0.9,
			func(r results) float64 {
				return firstLoad(func(load float64) bool {
					return r.rate(newLook(cuckooParallel, load)) > r.rate(newLook(linearModel, load))
				})
			}},
	}
}

// neighbourLoss is of LP 5.6.
func neighbourLoss(r results) float64 {
	cells := assumedCases()
	n := len(table2Loads)
	most := 0.0
	for i := range n {
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < n {
				most = max(most, 1-r.rate(cells[i*n+j])/r.rate(cells[i*n+i]))
			}
		}
	}
	return most
}

// cuckooFindings are of LP 5.2: means over loads of the throughput of one kind by another's.
func cuckooFindings() []finding {
	mean := func(loads []float64, a, b func(*look)) func(r results) float64 {
		return func(r results) float64 {
			total := 0.0
			for _, load := range loads {
				x := look{impl: cuckooParallel, load: load, bytes: 8, storage: index.Inline,
					bucket: 4, repeated: true}
				y := x
				a(&x)
				b(&y)
				total += r.rate(x) / r.rate(y)
			}
			return total / float64(len(loads))
		}
	}
	all, same := loads(), func(*look) {}
	return []finding{
		{"buckets of four slots by those of one, mean", 0.97, // which have no table at load 0.95
			mean(all[:len(all)-1], same, func(c *look) { c.bucket = 1 })},
		{"sequential by parallel, mean", 1,
			mean(all, func(c *look) { c.impl = cuckooSequential }, same)},
	}
}

// latencyFindings are of LP 5.4.
func latencyFindings() []finding {
	median := func(r results, impl impl, load float64) float64 {
		return r.at(latencyCase(impl, load), "p50-ns")
	}
	tail := func(impl impl) func(r results) float64 {
		return func(r results) float64 {
			return r.at(latencyCase(impl, 0.8), "p90-ns") / median(r, impl, 0.8)
		}
	}
	return []finding{
		{"median of cuckoo-parallel by linear-model, load 0.65", 4.7 / 2.9,
			func(r results) float64 {
				return median(r, cuckooParallel, 0.65) / median(r, linearModel, 0.65)
			}},
		{"median of cuckoo-sequential, all places, by cuckoo-parallel, load 0.65", 1.7,
			func(r results) float64 {
				return median(r, cuckooSequential, 0.65) / median(r, cuckooParallel, 0.65)
			}},
		{"median of cuckoo-sequential, keys distinct, by cuckoo-parallel, load 0.65", 1.7,
			func(r results) float64 {
				return r.at(newLook(cuckooSequential, 0.65), "p50-ns") /
					median(r, cuckooParallel, 0.65)
			}},
		{"90th percentile by median, linear-fixed, load 0.8", 5.4 / 2.9, tail(linearFixed)},
		{"90th percentile by median, linear-model, load 0.8", 6.2 / 2.9, tail(linearModel)},
		{"load from which the median of cuckoo-parallel is below that of linear-model", 0.95,
			func(r results) float64 {
				return firstLoad(func(load float64) bool {
					return median(r, cuckooParallel, load) < median(r, linearModel, load)
				})
			}},
	}
}

// modelRatio is the throughput with the read size of LP's model by that with the best size.
func modelRatio(load float64) func(r results) float64 {
	return func(r results) float64 {
		c := newLook(linearFixed, load)
		best := 0.0
		for _, c.slots = range figure10Sizes {
			best = max(best, r.rate(c))
		}
		c.slots = modelSlots(load)
		return r.rate(c) / best
	}
}

// heapRatio is of LP 5.7.
func heapRatio(r results, bytes int) float64 {
	c := newLook(linearModel, storageLoad)
	c.bytes = bytes
	inline := r.rate(c)
	c.storage = index.Heap
	return r.rate(c) / inline
}

func heapFrom(r results) float64 {
	for _, bytes := range storageBytes {
		if heapRatio(r, bytes) > 1 {
			return float64(bytes)
		}
	}
	return math.NaN()
}

// clusterRatio is of LP 5.8.
func clusterRatio(pick func([]float64) float64) func(r results) float64 {
	return func(r results) float64 {
		var ratios []float64
		for _, c := range skewCases() {
			if with := c; c.impl == linearModel && c.clusters == 0 {
				with.clusters = index.DefaultClusters
				ratios = append(ratios, r.rate(with)/r.rate(c))
			}
		}
		return pick(ratios)
	}
}
