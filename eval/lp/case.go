package lp

import (
	"slices"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/readsize"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/lp/baseline"
)

// lookupCase is a kind of lookups in a kind of table: a case of an experiment.
type lookupCase struct {
	impl     impl
	load     float64
	bytes    int // of a record, of which keyBytes are the key's
	short    int // bytes of short records; 0: all have bytes
	long     int // percent of records that are not short
	storage  index.Storage
	bucket   int     // slots of a bucket of cuckoo; 0: 4
	repeated bool    // a key has two records, so that a search never ends with the first
	random   bool    // keys are random, as in LP: some have several records
	assumed  float64 // the load that slots are best for; 0: the policy knows the load
	slots    int     // of every read; 0: what the policy chooses
	skew     float64 // exponent of the law of Zipf that keys follow; 0: all differ
	clusters int     // that a worker knows
	flying   int     // reads of a worker in flight; 0: simulatedDepth
}

const keyBytes = 4 // LP 5.1

// caseKeys are the fields of a lookupCase as keys of records.
var caseKeys = []struct {
	name string
	of   func(*lookupCase) any
}{
	{"load", func(c *lookupCase) any { return c.load }},
	{"assumed", func(c *lookupCase) any { return c.assumed }},
	{"skew", func(c *lookupCase) any { return c.skew }},
	{"record", func(c *lookupCase) any { return c.bytes }},
	{"long", func(c *lookupCase) any { return c.long }},
	{"storage", func(c *lookupCase) any { return c.storage }},
	{"impl", func(c *lookupCase) any { return string(c.impl) }},
	{"clusters", func(c *lookupCase) any { return c.clusters }},
	{"bucket", func(c *lookupCase) any { return c.bucket }},
	{"keys", func(c *lookupCase) any {
		switch {
		case c.repeated:
			return "repeated"
		case c.random:
			return "random"
		}
		return "distinct"
	}},
	{"slots", func(c *lookupCase) any { return c.slots }},
	{"in-flight", func(c *lookupCase) any { return c.flying }},
}

// keys are the keys of a case: the fields that some case of the experiment has set.
func (t *trial) keys(of *lookupCase) (all []record.Key) {
	for _, k := range caseKeys {
		unset := k.of(&lookupCase{})
		if slices.ContainsFunc(t.cases, func(c lookupCase) bool { return k.of(&c) != unset }) {
			all = append(all, record.K(k.name, k.of(of)))
		}
	}
	return all
}

// newCase has records of 8 bytes, inline.
func newCase(impl impl, load float64) lookupCase {
	return lookupCase{impl: impl, load: load, bytes: 8, storage: index.Inline}
}

// sameTable reports whether two cases differ in how they look keys up alone.
func (c lookupCase) sameTable(other lookupCase) bool {
	if c.impl.kind().layout != other.impl.kind().layout {
		return false
	}
	other.impl, other.clusters, other.slots, other.assumed = c.impl, c.clusters, c.slots, c.assumed
	other.flying = c.flying
	return c == other
}

// shape is the shape of the table.
func (c *lookupCase) shape() shape {
	return shape{layout: c.impl.kind().layout, load: c.load, storage: c.storage, bucket: c.bucket}
}

// newKeys has the records of a table of so many.
func (c *lookupCase) newKeys(seed uint64, records int) keys {
	k := keys{keyBytes: keyBytes, valueBytes: c.bytes - keyBytes, seed: seed, records: records}
	if c.short > 0 {
		k.short, k.long = c.short-keyBytes, float64(c.long)/100
		k.padded = c.storage == index.Inline
	}
	if c.skew > 0 {
		k.skew(c.skew)
	}
	if c.repeated {
		k.repeat()
	}
	if c.random {
		k.random()
	}
	return k
}

func (c *lookupCase) lookups() lookups {
	return lookups{impl: c.impl, slots: c.slots, clusters: c.clusters, depth: c.flying}
}

// lpConfig is a table of LP with slots of so many bytes on its machine.
func lpConfig(slotBytes int) readsize.Config {
	return readsize.Config{Machine: readsize.EDR(), SlotBytes: slotBytes}
}

// modelSlots is the read size of LP's model for records of 8 bytes.
func modelSlots(load float64) int { return sizes(lpConfig(8), load).Capped }

func sizes(c readsize.Config, load float64) *readsize.Sizes {
	s, err := readsize.NewSizes(c, load)
	if err != nil {
		panic(err) // sizes and loads are constants
	}
	return s
}

func laws(load float64) *readsize.Laws {
	laws, err := readsize.NewLaws(load)
	if err != nil {
		panic(err) // the loads are constants
	}
	return laws
}

// fixedBytes is the size of fixed reads (LP 5.1).
const fixedBytes = 256

// expected is what lookups of a case take by the laws of package readsize. There is no law of
// a heap, of skewed keys, of clusters, and of lookups that end early.
func (c *lookupCase) expected() (cost readsize.Cost, ok bool) {
	if c.storage != index.Inline || c.skew > 0 || c.random || c.clusters > 0 {
		return cost, false
	}
	m := lpConfig(c.bytes)
	s, is := sizes(m, c.load), laws(c.load)
	switch c.impl {
	case linearFixed:
		return m.Cost(is.Present, max(1, fixedBytes/m.SlotBytes)), c.slots == 0
	case linearUncapped:
		return m.Cost(is.Present, s.Uncapped), true
	case linearModel:
		return m.Cost(is.Present, s.Capped), c.slots == 0
	case orderedAdaptive:
		return m.Cost(is.OrderedPresent, s.Ordered...), true
	case cuckooParallel:
		return readsize.Cuckoo{Ways: 3, Slots: 4}.Parallel(m), c.bucket != 1
	}
	return cost, false
}

// unfinished is the share of lookups with linear probing that take so many reads or more, by the
// laws.
func (c *lookupCase) unfinished(reads int) float64 {
	s := sizes(lpConfig(c.bytes), c.load)
	slots := map[impl]int{linearFixed: max(1, fixedBytes/c.bytes), linearUncapped: s.Uncapped,
		linearModel: s.Capped}[c.impl]
	return laws(c.load).Present.Unfinished((reads - 1) * slots)
}

// loads are the loads of LP Table 1.
func loads() []float64 { return []float64{0.25, 0.5, 0.65, 0.8, 0.85, 0.9, 0.95} }

// loadCases are the cases of LP 5.3 (Table 1, Fig. 7, 8), and what is better.
func loadCases() (all []lookupCase) {
	for _, load := range loads() {
		for _, impl := range []impl{linearFixed, linearUncapped, linearModel, cuckooParallel,
			orderedAdaptive, orderedGuided} {
			all = append(all, newCase(impl, load))
		}
	}
	return all
}

// table2Loads are the loads of LP Table 2.
var table2Loads = []float64{0.25, 0.5, 0.65}

func assumedCases() (all []lookupCase) {
	for _, load := range table2Loads {
		for _, assumed := range table2Loads {
			of := newCase(linearModel, load)
			of.assumed, of.slots = assumed, modelSlots(assumed)
			all = append(all, of)
		}
	}
	return all
}

// cuckooCases are the four kinds of LP Fig. 6, whose searches never end with the first
// record that is found, and what can be done where all keys differ.
func cuckooCases() (all []lookupCase) {
	for _, load := range loads() {
		for _, bucket := range []int{4, 1} {
			if load > baseline.MaxLoad(bucket) {
				continue // LP has none either
			}
			of := newCase(cuckooParallel, load)
			of.bucket, of.repeated = bucket, true
			all = append(all, of)
			of.impl = cuckooSequential
			all = append(all, of)
			of.repeated = false
			all = append(all, of)
		}
	}
	return all
}

// latencyCases are the cases of LP Fig. 9, and what is better.
func latencyCases() (all []lookupCase) {
	for _, load := range loads() {
		for _, impl := range []impl{linearFixed, linearUncapped, linearModel, orderedAdaptive,
			orderedGuided, cuckooParallel, cuckooSequential} {
			all = append(all, latencyCase(impl, load))
		}
		all = append(all, newCase(cuckooSequential, load))
	}
	return all
}

// latencyCase reads all places of cuckoo.
func latencyCase(impl impl, load float64) lookupCase {
	of := newCase(impl, load)
	of.repeated = impl.kind().layout == cuckoo
	return of
}

// figure10Loads and figure10Sizes are what LP Fig. 10 spans; of its sizes it prints only
// 7, 13, 18, 23 and 32.
var (
	figure10Loads = []float64{0.5, 0.85}
	figure10Sizes = []int{3, 5, 7, 10, 13, 16, 18, 20, 23, 26, 32, 40, 48}
)

func sizeCases() (all []lookupCase) {
	for _, load := range figure10Loads {
		for _, slots := range figure10Sizes {
			of := newCase(linearFixed, load)
			of.slots = slots
			all = append(all, of)
		}
	}
	return all
}

// storageLoad and storageBytes are the load and sizes of LP 5.7.
const storageLoad = 0.65

var storageBytes = []int{8, 32, 128}

// storageCases are the cases of LP 5.7 (Tables 3 and 4, Fig. 11), and what is better.
func storageCases() (all []lookupCase) {
	for _, storage := range []index.Storage{index.Inline, index.Heap} {
		for _, bytes := range storageBytes {
			for _, impl := range []impl{cuckooParallel, linearFixed, linearModel,
				orderedAdaptive, orderedGuided} {
				all = append(all, lookupCase{impl: impl, load: storageLoad, bytes: bytes,
					storage: storage})
			}
		}
	}
	for _, bytes := range storageBytes {
		for _, impl := range []impl{cuckooParallel, linearFixed, linearModel} {
			all = append(all, lookupCase{impl: impl, load: storageLoad, bytes: bytes,
				storage: index.Heap, random: true})
		}
	}
	return all
}

// hybridLong are percents of records that have the longest size of storageBytes. The others have
// the shortest.
var hybridLong = []int{0, 1, 5, 10, 25, 50, 75, 100}

// hybridCases are what LP 7 asks for: records of two sizes, inline, in a heap, and divided.
func hybridCases() (all []lookupCase) {
	for _, long := range hybridLong {
		for _, storage := range []index.Storage{index.Inline, index.Heap, index.Hybrid} {
			all = append(all, lookupCase{impl: orderedGuided, load: storageLoad, storage: storage,
				bytes: storageBytes[len(storageBytes)-1], short: storageBytes[0], long: long})
		}
	}
	return all
}

// flyingReads are reads in flight: LP 5.1 compares the first and the last.
var flyingReads = []int{1, 2, 4, 8, simulatedDepth}

// flyingCases are of LP 5.1.
func flyingCases() (all []lookupCase) {
	for _, load := range table2Loads {
		for _, flying := range flyingReads {
			of := newCase(linearModel, load)
			of.flying = flying
			all = append(all, of)
		}
	}
	return all
}

// defaultClusters is how many clusters a worker knows in LP 5.8.
const defaultClusters = 1000

// skewCases are the cases of LP 5.8 (Fig. 12), with what is better.
func skewCases() (all []lookupCase) {
	for _, skew := range []float64{0, 0.25, 0.5, 0.75} {
		for _, impl := range []impl{linearModel, orderedAdaptive, orderedGuided} {
			of := newCase(impl, storageLoad)
			of.skew = skew
			all = append(all, of)
			if impl == linearModel {
				of.clusters = defaultClusters
				all = append(all, of)
			}
		}
	}
	return all
}
