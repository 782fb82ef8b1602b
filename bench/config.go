package bench

import (
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/set"
)

// Impl names an implementation that is measured.
type Impl string

// The implementations; the manual of the package tells what they are.
const (
	Scalar        Impl = "scalar"
	CASLoop       Impl = "cas-loop"
	Batch         Impl = "batch"
	BatchAVX512   Impl = "batch-avx512"
	BatchAVX2     Impl = "batch-avx2"
	BatchPortable Impl = "batch-portable"
	SyncMap       Impl = "syncmap"
	XSync         Impl = "xsync"
	Sharded       Impl = "sharded"
	Limit         Impl = "limit"
	LimitReads    Impl = "limit-reads" // measured whenever Limit is
)

// Impls lists what Config.Impls may have where words are measured.
func Impls() []Impl {
	return []Impl{Scalar, CASLoop, Batch, BatchAVX512, BatchAVX2, BatchPortable,
		SyncMap, XSync, Sharded, Limit}
}

// DefaultImpls are measured when words are and none are named.
func DefaultImpls() []Impl {
	return []Impl{Scalar, CASLoop, Batch, BatchPortable, SyncMap, XSync, Sharded, Limit}
}

// ElementImpls lists what Config.Impls may have with Config.ElementBytes. All are
// measured when none are named.
func ElementImpls() []Impl { return []Impl{Scalar, Batch, SyncMap, XSync, Sharded} }

// peer tells whether i is not part of this project and runs on a table of its own size.
func (i Impl) peer() bool { return i == SyncMap || i == XSync || i == Sharded }

// limit tells whether i measures the memory.
func (i Impl) limit() bool { return i == Limit || i == LimitReads }

// direct tells whether i works on memory without the engine.
func (i Impl) direct() bool { return i == CASLoop || i == Limit }

// kernel is what an implementation asks of the set.
func (i Impl) kernel() set.Kernel {
	switch i {
	case BatchAVX512:
		return set.KernelAVX512
	case BatchAVX2:
		return set.KernelAVX2
	case BatchPortable:
		return set.KernelPortable
	}
	return set.KernelAuto
}

// Workload names a mix of finds and inserts.
type Workload string

// The workloads; Mixed, Read and Write are those of OP 4.2.
const (
	Fill  Workload = "fill"  // inserts only
	Mixed Workload = "mixed" // 50% inserts
	Read  Workload = "read"  // 20% inserts
	Write Workload = "write" // 80% inserts
	Find  Workload = "find"  // no inserts while the clock runs
)

// Workloads lists them all.
func Workloads() []Workload { return []Workload{Fill, Mixed, Read, Write, Find} }

// finds is how many finds go with a number of inserts.
func (w Workload) finds(inserts uint64) uint64 {
	switch w {
	case Mixed, Find:
		return inserts
	case Read:
		return inserts * 4
	case Write:
		return inserts / 4
	}
	return 0
}

// Keys names the kind of words.
type Keys string

const (
	Random     Keys = "random"     // 63 random bits
	Sequential Keys = "sequential" // each rank counts upwards in a range of its own
)

const (
	// DefaultBuckets is the size of the table where memory allows: 1 GiB.
	DefaultBuckets = 1 << 27
	// DefaultBatch is the number of words or elements of one call of FindOrPutBatch.
	DefaultBatch = 1024
	// DefaultPeerElements is how many words or elements the peers hold at the end.
	DefaultPeerElements = 1 << 22
	// MaxBuckets is the largest table.
	MaxBuckets = 1 << 40

	// MinElementBytes is the shortest element: it has room for a word of the stream.
	MinElementBytes = 8

	minBuckets = 1 << 10
)

// Config says what is measured. All ranks give the same.
type Config struct {
	Impls     []Impl     // empty: DefaultImpls, or ElementImpls
	Workloads []Workload // empty: Fill
	Keys      Keys       // empty: Random
	// ElementBytes is the length of the elements of a set.Elements; 0: words are
	// measured, on a set.Set.
	ElementBytes int
	Buckets      uint64  // of all ranks together; 0: the largest that memory affords
	From, To     float64 // the load of the table before and after, 0 to 1
	Batch        int     // words or elements per call; 0: DefaultBatch
	// Chunk and Chunks are C and M of the set; 0 is the set's own default.
	Chunk, Chunks int
	// PeerElements bounds what the peers hold; 0: DefaultPeerElements.
	PeerElements uint64
	// OneSided says that the jobs hide memory from load and store.
	OneSided bool
	// Processes says that the ranks of jobs with more than one are processes.
	Processes bool
	// Progress is told every sample on rank 0, if not nil.
	Progress func(Sample)
}

// slotBytes is what an element takes in an arena: whole words.
func (c *Config) slotBytes() uint64 { return uint64(c.ElementBytes+7) / 8 * 8 }

// tableBytes is the memory of a table of that many buckets, arenas included.
func (c *Config) tableBytes(buckets uint64) uint64 {
	return buckets*8 + uint64(c.To*float64(buckets))*c.slotBytes()
}

// affordableBuckets is the largest power of two up to DefaultBuckets whose table
// takes no more than a quarter of the available memory.
func (c *Config) affordableBuckets() uint64 {
	buckets := uint64(DefaultBuckets)
	avail, err := memory.Now()
	for err == nil && buckets > minBuckets && c.tableBytes(buckets) > avail.Bytes/4 {
		buckets /= 2
	}
	return buckets
}

// complete fills in defaults and refuses what makes no sense. It returns a note on
// each implementation that cannot run.
func (c *Config) complete() (notes []string, err error) {
	if len(c.Workloads) == 0 {
		c.Workloads = []Workload{Fill}
	}
	if len(c.Impls) == 0 {
		c.Impls = DefaultImpls()
		if c.ElementBytes > 0 {
			c.Impls = ElementImpls()
		}
	}
	if c.Keys == "" {
		c.Keys = Random
	}
	if c.Batch == 0 {
		c.Batch = DefaultBatch
	}
	if c.PeerElements == 0 {
		c.PeerElements = DefaultPeerElements
	}
	if err := c.checkSizes(); err != nil {
		return nil, err
	}
	if c.Buckets == 0 {
		c.Buckets = c.affordableBuckets()
	}
	if err := errors.Join(c.checkNames(), c.checkNumbers()); err != nil {
		return nil, err
	}
	return c.leaveOut(), nil
}

func (c *Config) checkNames() error {
	for i, w := range c.Workloads {
		if !slices.Contains(Workloads(), w) {
			return fmt.Errorf("bench: there is no workload %q, only %v", w, Workloads())
		}
		if slices.Contains(c.Workloads[:i], w) {
			return fmt.Errorf("bench: workload %q is named twice; once will do", w)
		}
	}
	for i, impl := range c.Impls {
		if !slices.Contains(Impls(), impl) {
			return fmt.Errorf("bench: there is no implementation %q, only %v", impl, Impls())
		}
		if c.ElementBytes > 0 && !slices.Contains(ElementImpls(), impl) {
			return fmt.Errorf("bench: %s works on words; with elements of %d bytes there are %v",
				impl, c.ElementBytes, ElementImpls())
		}
		if slices.Contains(c.Impls[:i], impl) {
			return fmt.Errorf("bench: implementation %q is named twice; once will do", impl)
		}
	}
	if c.Keys != Random && c.Keys != Sequential {
		return fmt.Errorf("bench: keys must be random or sequential, not %q", c.Keys)
	}
	return nil
}

// checkSizes refuses what tableBytes could not count with.
func (c *Config) checkSizes() error {
	switch n := c.ElementBytes; {
	case !(c.From >= 0 && c.From < c.To && c.To <= 1):
		return fmt.Errorf("bench: loads must be 0 <= from < to <= 1, not from %v to %v",
			c.From, c.To)
	case n != 0 && (n < MinElementBytes || n > set.MaxElementBytes):
		return fmt.Errorf("bench: elements must have %d to %d bytes, not %d; 0 measures words",
			MinElementBytes, set.MaxElementBytes, n)
	}
	return nil
}

func (c *Config) checkNumbers() error {
	switch {
	case c.Buckets < minBuckets || c.Buckets > MaxBuckets:
		return fmt.Errorf("bench: buckets must be %d to %d, not %d",
			minBuckets, MaxBuckets, c.Buckets)
	case c.Batch < 1 || c.Batch > 1<<24:
		return fmt.Errorf("bench: batch must be 1 to %d, not %d", 1<<24, c.Batch)
	case c.Chunk < 0 || c.Chunk%8 != 0 || c.Chunk > 1<<16:
		return fmt.Errorf("bench: chunk must be a multiple of 8 up to %d buckets, not %d",
			1<<16, c.Chunk)
	case c.Chunks < 0 || c.Chunks > 1<<24:
		return fmt.Errorf("bench: chunks must be 1 to %d, not %d", 1<<24, c.Chunks)
	case c.PeerElements < minBuckets:
		return fmt.Errorf("bench: peers must hold at least %d words, not %d",
			minBuckets, c.PeerElements)
	}
	return nil
}

// leaveOut removes the implementations that cannot run here.
func (c *Config) leaveOut() (notes []string) {
	var keep []Impl
	for _, impl := range c.Impls {
		k := impl.kernel()
		switch {
		case k != set.KernelAuto && !slices.Contains(set.Kernels(), k):
			notes = append(notes, fmt.Sprintf("%s is left out: this processor or build runs "+
				"the kernels %v only", impl, set.Kernels()))
		case k != set.KernelAuto && c.OneSided:
			notes = append(notes, fmt.Sprintf("%s is left out: kernels need direct memory, "+
				"batch is the one-sided path", impl))
		case impl.direct() && c.OneSided:
			notes = append(notes, fmt.Sprintf("%s is left out: it needs direct memory", impl))
		default:
			keep = append(keep, impl)
		}
		if impl == Limit && !c.OneSided {
			keep = append(keep, LimitReads)
		}
	}
	c.Impls = keep
	return notes
}
