package lp

import (
	"fmt"
	"math"
	"slices"

	"github.com/farhash/farhash/index"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// finding is what LP says of an experiment in words, and how it comes about here: by ratios
// of what was measured of pairs of cases.
type finding struct {
	what  string
	paper float64 // 0: LP asks for it
	pairs []pair
	pick  func(ratios []float64) float64
}

// pair is two cases of which the figure of one is divided by the figure of the other.
type pair struct {
	a, b         lookupCase // without b it is the figure of a
	unitA, unitB string     // empty: millions of records a second
}

// pairs has the cases that are chosen, as b, and what change makes of them, as a.
func pairs(cases []lookupCase, choose func(c *lookupCase) bool,
	change func(c *lookupCase)) (all []pair) {
	for _, c := range cases {
		if choose(&c) {
			changed := c
			change(&changed)
			all = append(all, pair{a: changed, b: c})
		}
	}
	return all
}

// findingName is the name of the records of findings.
func (t *trial) findingName() string { return t.name + "Findings" }

func (t *trial) findingView() view.View {
	return view.View{Name: t.findingName(), Title: "What LP says in words",
		Rows: []string{"what"}, Columns: []view.Column{{Unit: "lp", Head: "LP", Digits: 2},
			{Unit: "law", Digits: 2}, {Unit: "sim", Digits: 2},
			{Unit: "here", Digits: 2, Here: true}}}
}

// derive makes records of the findings: simulated and here.
func (t *trial) derive(table *record.Table) (all []record.Record) {
	if len(table.Cases) == 0 {
		return nil
	}
	for _, f := range t.findings {
		is := record.Record{Name: t.findingName(), N: 1, Keys: []record.Key{
			record.K("what", f.what)},
			Values: nonzero([]record.Value{{Value: f.paper, Unit: "lp"}})}
		for unit, prefix := range map[string]string{"law": "law-", "sim": "sim-", "here": ""} {
			var ratios []float64
			for _, p := range f.pairs {
				ratios = append(ratios, t.figure(table, &p.a, prefix, p.unitA)/
					t.figure(table, &p.b, prefix, p.unitB))
			}
			if v := f.pick(ratios); !math.IsNaN(v) && !math.IsInf(v, 0) {
				is.Values = append(is.Values, record.Value{Value: v, Unit: unit})
			}
		}
		all = append(all, is)
	}
	if t.further != nil {
		all = append(all, t.further(t, table)...)
	}
	return all
}

// figure is the figure of a case, NaN if there is none.
func (t *trial) figure(table *record.Table, c *lookupCase, prefix, unit string) float64 {
	if c.impl == "" {
		return 1
	}
	if unit == "" {
		unit = "Mrecords/s"
	}
	if is := table.Find(t.keys(c)...); is != nil {
		if v, ok := is.Median(prefix + unit); ok {
			return v
		}
	}
	return math.NaN()
}

func maxRatio(ratios []float64) float64 { return slices.Max(ratios) }
func minRatio(ratios []float64) float64 { return slices.Min(ratios) }

func mean(ratios []float64) float64 {
	total := 0.0
	for _, v := range ratios {
		total += v
	}
	return total / float64(len(ratios))
}

// firstAhead is where a ratio is above 1 for the first time, NaN if nowhere.
func firstAhead[T int | float64](at []T) func(ratios []float64) float64 {
	return func(ratios []float64) float64 {
		i := slices.IndexFunc(ratios, func(ratio float64) bool { return ratio > 1 })
		if i < 0 {
			return math.NaN()
		}
		return float64(at[i])
	}
}

// table1Findings are the findings of LP 5.3.
func table1Findings() []finding {
	by := func(a, b impl) []pair {
		return pairs(loadCases(), func(c *lookupCase) bool { return c.impl == b },
			func(c *lookupCase) { c.impl = a })
	}
	return []finding{
		{"linear-model by cuckoo-parallel, most", 2.8, by(linearModel, cuckooParallel), maxRatio},
		{"linear-model by linear-fixed, most", 1.7, by(linearModel, linearFixed), maxRatio},
		{"linear-fixed by cuckoo-parallel, most", 1.6, by(linearFixed, cuckooParallel), maxRatio},
		{"linear-uncapped by linear-fixed, least", 0.5, by(linearUncapped, linearFixed), minRatio},
		{"load from which cuckoo-parallel is ahead of linear-model", 0.9,
			by(cuckooParallel, linearModel), firstAhead(loads())},
		{"share of lookups with one read, linear-uncapped, least", 0.89,
			shareOf(linearUncapped, "one-read", loads()...), minRatio},
		{"share with 4 reads or more, linear-fixed, load 0.95", 0.48,
			shareOf(linearFixed, "4-reads", 0.95), minRatio},
		{"share with 16 reads or more, linear-fixed, load 0.95", 0.13,
			shareOf(linearFixed, "16-reads", 0.95), minRatio},
	}
}

// shareOf are the shares of lookups at some loads, of what [shares] has.
func shareOf(of impl, unit string, at ...float64) (all []pair) {
	for _, load := range at {
		all = append(all, pair{a: newCase(of, load), unitA: unit})
	}
	return all
}

// flyingFindings are of LP 5.1.
func flyingFindings() []finding {
	flying := pairs(flyingCases(), func(c *lookupCase) bool { return c.flying == 1 },
		func(c *lookupCase) { c.flying = simulatedDepth })
	return []finding{{"16 reads in flight by one, most", 4, flying, maxRatio}}
}

// table2Findings are of LP 5.6.
func table2Findings() []finding {
	neighbours := pairs(assumedCases(), func(c *lookupCase) bool {
		by := slices.Index(table2Loads, c.load) - slices.Index(table2Loads, c.assumed)
		return by*by == 1
	}, func(c *lookupCase) { c.assumed, c.slots = c.load, modelSlots(c.load) })
	return []finding{{"most that is lost with the read size of a neighbouring load", 0.2,
		neighbours, func(ratios []float64) float64 { return max(0, 1-1/slices.Max(ratios)) }}}
}

// table3Findings are of LP 5.7.
func table3Findings() []finding {
	heap := pairs(storageCases(), func(c *lookupCase) bool {
		return c.impl == linearModel && c.storage == index.Inline
	}, func(c *lookupCase) { c.storage = index.Heap })
	return []finding{
		{"heap by inline, linear-model, 128 bytes", 2.4, heap[len(heap)-1:], maxRatio},
		{"bytes of a record from which the heap is ahead, linear-model", 32, heap,
			firstAhead(storageBytes)},
		{"requests to the heap, cuckoo-parallel, random keys", 1.08,
			heapOf(cuckooParallel), mean},
		{"requests to the heap, linear-fixed, random keys", 1.04, heapOf(linearFixed), mean},
		{"requests to the heap, linear-model, random keys", 1.04, heapOf(linearModel), mean}}
}

// heapOf are the requests to the heap of lookups of random keys.
func heapOf(of impl) (all []pair) {
	for _, c := range storageCases() {
		if c.impl == of && c.random {
			all = append(all, pair{a: c, unitA: "heap-requests/op"})
		}
	}
	return all
}

// hybridFindings are of LP 7, which has no figures.
func hybridFindings() []finding {
	by := func(a, b index.Storage) []pair {
		return pairs(hybridCases(), func(c *lookupCase) bool { return c.storage == b },
			func(c *lookupCase) { c.storage = a })
	}
	both := append(by(index.Hybrid, index.Inline), by(index.Hybrid, index.Heap)...)
	return []finding{
		{"inline by heap, least", 0, by(index.Inline, index.Heap), minRatio},
		{"heap by inline, least", 0, by(index.Heap, index.Inline), minRatio},
		{"hybrid by either of them, least", 0, both, minRatio},
		{"hybrid by inline, most", 0, by(index.Hybrid, index.Inline), maxRatio},
		{"hybrid by heap, most", 0, by(index.Hybrid, index.Heap), maxRatio}}
}

// figure6Findings are of LP 5.2.
func figure6Findings() []finding {
	parallel := func(bucket int) func(c *lookupCase) bool {
		return func(c *lookupCase) bool { return c.impl == cuckooParallel && c.bucket == bucket }
	}
	return []finding{
		{"buckets of four slots by buckets of one, mean", 0.97,
			pairs(cuckooCases(), parallel(1), func(c *lookupCase) { c.bucket = 4 }), mean},
		{"sequential by parallel, mean", 1,
			pairs(cuckooCases(), parallel(4),
				func(c *lookupCase) { c.impl = cuckooSequential }), mean}}
}

// figure9Findings are of LP 5.4.
func figure9Findings() []finding {
	of := func(load float64, a, b lookupCase, unitA string) (all []pair) {
		for _, a.load = range loads() {
			if b.load = a.load; load == 0 || load == a.load {
				all = append(all, pair{a, b, unitA, "p50-ns"})
			}
		}
		return all
	}
	parallel, sequential := latencyCase(cuckooParallel, 0), latencyCase(cuckooSequential, 0)
	fixed, model := latencyCase(linearFixed, 0), latencyCase(linearModel, 0)
	return []finding{
		{"median of cuckoo-parallel by linear-model, load 0.65", lpCuckooNs / lpLinearNs,
			of(0.65, parallel, model, "p50-ns"), maxRatio},
		{"median of cuckoo-sequential, all places, by cuckoo-parallel, load 0.65",
			lpSequential,
			of(0.65, sequential, parallel, "p50-ns"), maxRatio},
		{"median of cuckoo-sequential, keys distinct, by cuckoo-parallel, load 0.65",
			lpSequential,
			of(0.65, newCase(cuckooSequential, 0), parallel, "p50-ns"), maxRatio},
		{"90th percentile by median, linear-fixed, load 0.8", 5.4 / 2.9,
			of(0.8, fixed, fixed, "p90-ns"), maxRatio},
		{"90th percentile by median, linear-model, load 0.8", 6.2 / 2.9,
			of(0.8, model, model, "p90-ns"), maxRatio},
		{"load from which the median of cuckoo-parallel is below linear-model's", 0.95,
			of(0, model, parallel, "p50-ns"), firstAhead(loads())},
	}
}

// figure10Findings are of LP 5.5.
func figure10Findings() (all []finding) {
	for _, load := range figure10Loads {
		sizes := pairs(sizeCases(), func(c *lookupCase) bool { return c.load == load },
			func(c *lookupCase) { c.slots = modelSlots(load) })
		what := fmt.Sprintf("read size of the model by the best one, load %v", load)
		all = append(all, finding{what, 1, sizes, minRatio})
	}
	return all
}

// figure12Findings are of LP 5.8.
func figure12Findings() []finding {
	clusters := pairs(skewCases(), func(c *lookupCase) bool {
		return c.impl == linearModel && c.clusters == 0
	}, func(c *lookupCase) { c.clusters = defaultClusters })
	return []finding{{"with clusters by without, linear-model, most", 1.7, clusters, maxRatio},
		{"with clusters by without, linear-model, least", 1, clusters, minRatio}}
}
