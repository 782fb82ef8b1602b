package lp

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/index"
)

// impl names a layout of an index and how lookups read it.
type impl string

const (
	orderedDirect    impl = "ordered-direct"
	orderedGuided    impl = "ordered-guided"
	orderedAdaptive  impl = "ordered-adaptive"
	linearDirect     impl = "linear-direct"
	linearAdaptive   impl = "linear-adaptive"
	linearModel      impl = "linear-model"
	linearUncapped   impl = "linear-uncapped"
	linearFixed      impl = "linear-fixed"
	cuckooDirect     impl = "cuckoo-direct"
	cuckooParallel   impl = "cuckoo-parallel"
	cuckooSequential impl = "cuckoo-sequential"
)

// kind is what a name stands for. Direct lookups have loops over memory where that is
// directly addressable, the others have queues everywhere.
type kind struct {
	name   impl
	layout index.Layout
	policy index.Policy
	direct bool
}

// kinds are in the order of printing. Those of the same layout are neighbours.
var kinds = []kind{
	{orderedDirect, index.Ordered, index.Best, true},
	{orderedGuided, index.Ordered, index.Guided, false},
	{orderedAdaptive, index.Ordered, index.Adaptive, false},
	{linearDirect, index.Linear, index.Best, true},
	{linearAdaptive, index.Linear, index.Adaptive, false},
	{linearModel, index.Linear, index.Model, false},
	{linearUncapped, index.Linear, index.Uncapped, false},
	{linearFixed, index.Linear, index.Fixed, false},
	{cuckooDirect, index.Cuckoo, index.Best, true},
	{cuckooParallel, index.Cuckoo, index.Parallel, false},
	{cuckooSequential, index.Cuckoo, index.Sequential, false},
}

func impls() (names []impl) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func (i impl) kind() kind {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == i })
	if at < 0 {
		panic(fmt.Sprintf("lp: unchecked name %q", string(i)))
	}
	return kinds[at]
}

// lookups are those of an implementation, with so many clusters.
func (i impl) lookups(clusters int) index.Lookups {
	k := i.kind()
	return index.Lookups{Policy: k.policy, Clusters: clusters, OneSided: !k.direct}
}

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
