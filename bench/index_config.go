package bench

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/index"
)

// IndexConfig says what is measured of an index. All ranks give the same.
type IndexConfig struct {
	Impls []IndexImpl // empty: all, but for direct ones with OneSided
	Loads []float64   // of the tables; empty: index.DefaultLoad
	// Batches are lookups of one call: 1 stands for Lookup, more for LookupBatch. Empty: 1
	// and DefaultBatch.
	Batches []int
	Records int // of all ranks; 0: DefaultIndexRecords
	Lookups int // of each rank; 0: DefaultIndexLookups
	// KeyBytes and ValueBytes are those of a record; 0: 4, as in LP 5.1.
	KeyBytes, ValueBytes int
	// OneSided says that the job lets no memory be used directly, so that nothing is
	// measured that needs it.
	OneSided bool
	// Progress is told every sample on rank 0, if not nil.
	Progress func(IndexSample)
}

// DefaultIndexLookups is how many lookups of a rank are timed.
const DefaultIndexLookups = 1 << 18

// minIndexValueBytes lets a value tell its record.
const minIndexValueBytes = 4

// complete fills in defaults and refuses what makes no sense.
func (c *IndexConfig) complete() error {
	c.Impls = orAll(c.Impls, c.impls())
	c.Loads = orAll(c.Loads, []float64{index.DefaultLoad})
	c.Batches = orAll(c.Batches, []int{1, DefaultBatch})
	for number, standard := range map[*int]int{
		&c.Records: DefaultIndexRecords, &c.Lookups: DefaultIndexLookups,
		&c.KeyBytes: indexKeyBytes, &c.ValueBytes: minIndexValueBytes,
	} {
		if *number == 0 {
			*number = standard
		}
	}
	for _, err := range []error{
		checkList("implementation", c.Impls, c.impls()), checkList("load", c.Loads, nil),
		checkList("batch", c.Batches, nil), checkIndexNumbers(c.Records, c.Lookups),
		c.checkNumbers(),
	} {
		if err != nil {
			return err
		}
	}
	if err := c.checkLoads(); err != nil {
		return err
	}
	// Those of one layout have one table, whatever the order in which they were given.
	all := c.impls()
	c.Impls = slices.Clone(c.Impls)
	slices.SortFunc(c.Impls, func(a, b IndexImpl) int {
		if la, lb := a.of().layout, b.of().layout; la != lb {
			return int(la) - int(lb)
		}
		return slices.Index(all, a) - slices.Index(all, b)
	})
	return nil
}

// impls are those that can be measured.
func (c *IndexConfig) impls() []IndexImpl {
	return slices.DeleteFunc(IndexImpls(), func(i IndexImpl) bool {
		return c.OneSided && i.of().direct
	})
}

func (c *IndexConfig) checkNumbers() error {
	const batchMax, sampleBytesMax = 1 << 20, 4 << 30
	switch {
	case c.KeyBytes < index.MinKeySize || c.KeyBytes > index.MaxKeySize:
		return fmt.Errorf("bench: keys must have %d to %d bytes, not %d", index.MinKeySize,
			index.MaxKeySize, c.KeyBytes)
	case c.ValueBytes < minIndexValueBytes || c.ValueBytes > index.MaxValueSize:
		return fmt.Errorf("bench: values must have %d to %d bytes, not %d: they tell their "+
			"record", minIndexValueBytes, index.MaxValueSize, c.ValueBytes)
	case c.Lookups*c.KeyBytes > sampleBytesMax:
		return fmt.Errorf("bench: %d lookups of keys of %d bytes are too many; at most %d bytes",
			c.Lookups, c.KeyBytes, sampleBytesMax)
	}
	for _, batch := range c.Batches {
		if batch < 1 || batch > batchMax {
			return fmt.Errorf("bench: a batch must have 1 to %d lookups, not %d", batchMax, batch)
		}
	}
	return nil
}

// checkLoads refuses loads that a layout does not take.
func (c *IndexConfig) checkLoads() error {
	for _, load := range c.Loads {
		for _, impl := range c.Impls {
			most := index.MaxLoad
			if impl.of().layout == index.Cuckoo {
				most = index.CuckooMaxLoad(3, 4) // what an index has by default
			}
			if !(load > 0 && load <= most) {
				return fmt.Errorf("bench: %s has loads above 0 up to %v, not %v", impl, most, load)
			}
		}
	}
	return nil
}
