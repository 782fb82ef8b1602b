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

// Impls lists what Config.Impls may have.
func Impls() []Impl {
	return []Impl{Scalar, Batch, BatchAVX512, BatchAVX2, BatchPortable,
		SyncMap, XSync, Sharded, Limit}
}

// DefaultImpls are measured when none are named.
func DefaultImpls() []Impl {
	return []Impl{Scalar, Batch, BatchPortable, SyncMap, XSync, Sharded, Limit}
}

// peer tells whether i is not part of this project and runs on a table of its own size.
func (i Impl) peer() bool { return i == SyncMap || i == XSync || i == Sharded }

// limit tells whether i measures the memory.
func (i Impl) limit() bool { return i == Limit || i == LimitReads }

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
)

// Workloads lists them all.
func Workloads() []Workload { return []Workload{Fill, Mixed, Read, Write} }

// insertsOf10 is how many of 10 operations insert.
func (w Workload) insertsOf10() uint64 {
	switch w {
	case Mixed:
		return 5
	case Read:
		return 2
	case Write:
		return 8
	}
	return 10
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
	// DefaultBatch is the number of words of one call of FindOrPutBatch.
	DefaultBatch = 1024
	// DefaultPeerElements is how many words the peers hold at the end.
	DefaultPeerElements = 1 << 22
	// MaxBuckets is the largest table.
	MaxBuckets = 1 << 40

	minBuckets = 1 << 10
)

// Config says what is measured. All ranks give the same.
type Config struct {
	Impls     []Impl     // empty: DefaultImpls
	Workloads []Workload // empty: Fill
	Keys      Keys       // empty: Random
	Buckets   uint64     // of all ranks together; 0: AffordableBuckets
	From, To  float64    // the load of the table before and after, 0 to 1
	Batch     int        // words per call; 0: DefaultBatch
	// Chunk and Chunks are C and M of the set; 0 is the set's own default.
	Chunk, Chunks int
	// PeerElements bounds the words that the peers hold; 0: DefaultPeerElements.
	PeerElements uint64
	// OneSided says that the jobs hide memory from load and store.
	OneSided bool
	// Processes says that the ranks of jobs with more than one are processes.
	Processes bool
	// Progress is told every sample on rank 0, if not nil.
	Progress func(Sample)
}

// AffordableBuckets is the largest power of two up to DefaultBuckets whose table
// takes no more than a quarter of the available memory.
func AffordableBuckets() uint64 {
	buckets := uint64(DefaultBuckets)
	avail, err := memory.Now()
	for err == nil && buckets > minBuckets && buckets*8 > avail.Bytes/4 {
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
	}
	if c.Keys == "" {
		c.Keys = Random
	}
	if c.Buckets == 0 {
		c.Buckets = AffordableBuckets()
	}
	if c.Batch == 0 {
		c.Batch = DefaultBatch
	}
	if c.PeerElements == 0 {
		c.PeerElements = DefaultPeerElements
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
		if slices.Contains(c.Impls[:i], impl) {
			return fmt.Errorf("bench: implementation %q is named twice; once will do", impl)
		}
	}
	if c.Keys != Random && c.Keys != Sequential {
		return fmt.Errorf("bench: keys must be random or sequential, not %q", c.Keys)
	}
	return nil
}

func (c *Config) checkNumbers() error {
	switch {
	case c.Buckets < minBuckets || c.Buckets > MaxBuckets:
		return fmt.Errorf("bench: buckets must be %d to %d, not %d",
			minBuckets, MaxBuckets, c.Buckets)
	case !(c.From >= 0 && c.From < c.To && c.To <= 1):
		return fmt.Errorf("bench: loads must be 0 <= from < to <= 1, not from %v to %v",
			c.From, c.To)
	case c.Batch < 1 || c.Batch > 1<<24:
		return fmt.Errorf("bench: batch must be 1 to %d words, not %d", 1<<24, c.Batch)
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
		case impl == Limit && c.OneSided:
			notes = append(notes, "limit is left out: it needs direct memory")
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
