package cluster

import (
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// Config says what is simulated.
type Config struct {
	Cluster  Cluster
	Hosts    int
	Procs    int      // ranks of each host
	Workload Workload // empty: Mixed
	Load     float64  // of the table before, 0 to MaxLoad; inserts raise it by at most 0.02
	Chunk    int      // C; 0: DefaultChunk
	Chunks   int      // M; 0: enough for every load
	Batch    int      // words of a call of FindOrPutBatch; 0 or 1: FindOrPut
	// Operations of each rank that are measured, on average; 0: DefaultOperations by all
	// ranks together, but at least leastOperations and a batch by each.
	Operations int
	Seed       uint64

	total   int            // instead of DefaultOperations, if not 0
	counted func(done int) // for tests: called as operations are done
}

const (
	// DefaultChunk is the C of OP 4.2.
	DefaultChunk = 32
	// MaxLoad is the largest load of a table that is simulated.
	MaxLoad = 0.95
	// MaxOperations is the largest number of operations of all ranks together.
	MaxOperations = 1 << 32

	// DefaultOperations is how many operations are measured, of all ranks together.
	DefaultOperations = 100_000

	// reachBuckets is C*M by default: then nothing is Full up to MaxLoad.
	reachBuckets = 1 << 14

	maxChunk        = 1 << 16
	mostDepth       = 64 // operations in flight, as a set has by default
	leastOperations = 20
)

// insertShare is the part of operations that insert (OP 4.2).
var insertShare = map[Workload]float64{Fill: 1, Mixed: 0.5, Read: 0.2,
	Write: 0.8, Find: 0}

// Workload is a mix of finds and inserts, as in OP 4.2.
type Workload string

const (
	Fill  Workload = "fill"  // inserts only
	Mixed Workload = "mixed" // 50% inserts
	Read  Workload = "read"  // 20% inserts
	Write Workload = "write" // 80% inserts
	Find  Workload = "find"  // no inserts
)

// Workloads lists them all.
func Workloads() []Workload { return []Workload{Fill, Mixed, Read, Write, Find} }

func (c *Config) ranks() int { return c.Hosts * c.Procs }

// Check refuses what makes no sense.
func (c Config) Check() error { return c.complete() }

// complete fills in defaults and refuses what makes no sense.
func (c *Config) complete() error {
	if c.Workload == "" {
		c.Workload = Mixed
	}
	if c.Chunk == 0 {
		c.Chunk = DefaultChunk
	}
	if c.Chunks == 0 {
		c.Chunks = max(1, reachBuckets/max(c.Chunk, 1))
	}
	if c.Batch == 0 {
		c.Batch = 1
	}
	if c.Hosts < 1 || c.Procs < 1 || c.Hosts > sim.MaxRanks || c.Procs > sim.MaxRanks ||
		c.ranks() > sim.MaxRanks {
		return fmt.Errorf("%d hosts with %d ranks each cannot be simulated: both must "+
			"be at least 1, and all ranks together at most %d", c.Hosts, c.Procs, sim.MaxRanks)
	}
	if c.total == 0 {
		c.total = DefaultOperations
	}
	if c.Operations == 0 {
		c.Operations = max(c.total/c.ranks(), leastOperations, c.Batch)
	}
	return errors.Join(c.checkWorkload(), c.checkNumbers(), c.Cluster.check(c.Hosts, c.Procs))
}

func (c *Config) checkWorkload() error {
	share, known := insertShare[c.Workload]
	switch {
	case !known:
		return fmt.Errorf("there is no workload %q, only %v", c.Workload,
			Workloads())
	case !(c.Load >= 0 && c.Load <= MaxLoad):
		return fmt.Errorf("the load must be 0 to %v, not %v", MaxLoad, c.Load)
	case share == 0 && c.Load == 0:
		return fmt.Errorf("workload %s needs a load above 0: words to be found",
			c.Workload)
	}
	return nil
}

func (c *Config) checkNumbers() error {
	switch {
	case c.Chunk < 0 || c.Chunk%8 != 0 || c.Chunk > maxChunk:
		return fmt.Errorf("a chunk must be a multiple of 8 up to %d buckets, not %d",
			maxChunk, c.Chunk)
	case c.Chunks < 1 || c.Chunks > 1<<24:
		return fmt.Errorf("chunks must be 1 to %d, not %d", 1<<24, c.Chunks)
	case c.Batch < 1 || c.Batch > 1<<20:
		return fmt.Errorf("a batch must be 1 to %d words, not %d", 1<<20, c.Batch)
	case c.Operations < 1 || c.Operations > MaxOperations/c.ranks():
		return fmt.Errorf("operations of a rank must be 1 to %d with %d ranks, not %d",
			MaxOperations/c.ranks(), c.ranks(), c.Operations)
	}
	return nil
}

const (
	// leastBuckets is the size of the smallest table.
	leastBuckets = 1 << 18
	// segmentChunks is how many chunks the memory of a rank has at least, so that few
	// of them reach into the memory of the next one.
	segmentChunks = 64
	// segmentUnit divides the memory of a rank: no set rounds it up.
	segmentUnit = 64
	// loadShare is one over by how much the inserts may raise the load.
	loadShare = 50
	// warmShare is how many operations are measured for each that comes before, for
	// the ranks to fall out of step.
	warmShare = 4
)

// goal is how many operations all ranks do together.
func (c *Config) goal() int { return c.ranks()*c.Operations + c.warm() }

// warm is how many of them come before the measurement.
func (c *Config) warm() int { return c.ranks() * ((c.Operations + warmShare - 1) / warmShare) }

// paperHomes has searches begin at any bucket, as in OP.
var paperHomes = variant.Set{WordHomes: true}

// set is the table: one of the load with room for what is inserted.
func (c *Config) set() set.Config {
	inserts := float64(c.goal()/c.ranks()+c.Batch) * insertShare[c.Workload]
	segment := max(segmentChunks*c.Chunk, leastBuckets/c.ranks(),
		int(math.Ceil(inserts*loadShare)))
	segment = (segment + segmentUnit - 1) / segmentUnit * segmentUnit
	return set.Config{Buckets: uint64(segment * c.ranks()), Chunk: c.Chunk, Chunks: c.Chunks,
		Depth: min(c.Batch, mostDepth)}.WithVariant(paperHomes)
}

// RoundTrips is what OP Table 1 counts: chunks that an operation needed. Chunks requested in
// advance and compare-and-swaps are not among them.
func RoundTrips(s set.Stats) uint64 {
	return s.Inserted + s.Found + s.NotFound + s.Full + s.ExtraChunks
}
