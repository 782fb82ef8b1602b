package bench

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/index"
)

// IndexImpl names a layout of an index and how lookups read it.
type IndexImpl string

// What there is. The direct ones have loops over memory where that is directly addressable,
// the others have queues everywhere.
const (
	OrderedDirect    IndexImpl = "ordered/direct"
	LinearDirect     IndexImpl = "linear/direct"
	CuckooDirect     IndexImpl = "cuckoo/direct"
	OrderedGuided    IndexImpl = "ordered/guided"
	OrderedAdaptive  IndexImpl = "ordered/adaptive"
	LinearAdaptive   IndexImpl = "linear/adaptive"
	LinearModel      IndexImpl = "linear/model"
	LinearUncapped   IndexImpl = "linear/uncapped"
	LinearFixed      IndexImpl = "linear/fixed"
	CuckooParallel   IndexImpl = "cuckoo/parallel"
	CuckooSequential IndexImpl = "cuckoo/sequential"
)

// indexImpl is what a name stands for.
type indexImpl struct {
	name   IndexImpl
	layout index.Layout
	policy index.Policy
	direct bool
}

// indexImpls are in the order of printing. Those with the same layout are neighbours among
// the direct ones and among the others.
var indexImpls = []indexImpl{
	{OrderedDirect, index.Ordered, index.Best, true},
	{LinearDirect, index.Linear, index.Best, true},
	{CuckooDirect, index.Cuckoo, index.Best, true},
	{OrderedGuided, index.Ordered, index.Guided, false},
	{OrderedAdaptive, index.Ordered, index.Adaptive, false},
	{LinearAdaptive, index.Linear, index.Adaptive, false},
	{LinearModel, index.Linear, index.Model, false},
	{LinearUncapped, index.Linear, index.Uncapped, false},
	{LinearFixed, index.Linear, index.Fixed, false},
	{CuckooParallel, index.Cuckoo, index.Parallel, false},
	{CuckooSequential, index.Cuckoo, index.Sequential, false},
}

// IndexImpls lists them.
func IndexImpls() (names []IndexImpl) {
	for _, is := range indexImpls {
		names = append(names, is.name)
	}
	return names
}

// of is what a name of the list stands for.
func (i IndexImpl) of() indexImpl {
	k := slices.IndexFunc(indexImpls, func(is indexImpl) bool { return is.name == i })
	if k < 0 {
		panic(fmt.Sprintf("bench: unchecked name %q", string(i)))
	}
	return indexImpls[k]
}

// sameLayout reports whether two have the same table.
func (i IndexImpl) sameLayout(other IndexImpl) bool { return i.of().layout == other.of().layout }

// lookups are those of an implementation, with so many clusters.
func (i indexImpl) lookups(clusters int) index.Lookups {
	return index.Lookups{Policy: i.policy, Clusters: clusters, OneSided: !i.direct}
}
