package lp

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/eval/lp/baseline"
)

// impl names a table and how lookups read it.
type impl string

const (
	orderedDirect    impl = "ordered-direct"
	orderedGuided    impl = "ordered-guided"
	orderedAdaptive  impl = "ordered-adaptive"
	linearModel      impl = "linear-model"
	linearUncapped   impl = "linear-uncapped"
	linearFixed      impl = "linear-fixed"
	cuckooParallel   impl = "cuckoo-parallel"
	cuckooSequential impl = "cuckoo-sequential"
)

// layout says where the records of a table are.
type layout string

const (
	ordered layout = "ordered" // package index
	linear  layout = "linear"  // package baseline
	cuckoo  layout = "cuckoo"  // package baseline
)

// kind is what a name stands for. Direct lookups have loops over memory where that is
// directly addressable, the others have queues everywhere.
type kind struct {
	name   impl
	layout layout
	policy baseline.Policy
	direct bool
}

// kinds are in the order of printing. Kinds of the same layout are neighbours.
var kinds = []kind{
	{orderedDirect, ordered, 0, true},
	{orderedGuided, ordered, 0, false},
	{orderedAdaptive, ordered, 0, false},
	{linearModel, linear, baseline.Model, false},
	{linearUncapped, linear, baseline.Uncapped, false},
	{linearFixed, linear, baseline.Fixed, false},
	{cuckooParallel, cuckoo, baseline.Parallel, false},
	{cuckooSequential, cuckoo, baseline.Sequential, false},
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
