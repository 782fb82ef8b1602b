package bench

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/kv"
)

// KVWorkload names what ranks do with a map.
type KVWorkload string

// Loading, and the core workloads of Cooper et al.: Benchmarking Cloud Serving Systems with
// YCSB, SoCC 2010, but for E, which asks for ranges. They are done in this order.
const (
	YCSBLoad KVWorkload = "load"
	YCSBA    KVWorkload = "a" // 50% reads, 50% updates
	YCSBB    KVWorkload = "b" // 95% reads, 5% updates
	YCSBC    KVWorkload = "c" // reads
	YCSBF    KVWorkload = "f" // 50% reads, 50% a read and a write of what was read
	YCSBD    KVWorkload = "d" // 95% reads of what is new, 5% inserts
)

// KVWorkloads lists them.
func KVWorkloads() []KVWorkload {
	return []KVWorkload{YCSBLoad, YCSBA, YCSBB, YCSBC, YCSBF, YCSBD}
}

// writePercent is how many of 100 operations write.
func (w KVWorkload) writePercent() uint64 {
	return map[KVWorkload]uint64{YCSBLoad: 100, YCSBA: 50, YCSBB: 5, YCSBF: 50, YCSBD: 5}[w]
}

// What KVConfig has where it is left at zero.
const (
	// DefaultKVRecords is how many are loaded.
	DefaultKVRecords = 1_000_000
	// DefaultKVOperations is how many each rank does of a workload.
	DefaultKVOperations = 100_000
	// DefaultKVKeyBytes and DefaultKVValueBytes are the lengths.
	DefaultKVKeyBytes, DefaultKVValueBytes = 8, 100
	// DefaultKVBatch is how many operations kv keeps in flight.
	DefaultKVBatch = 64
)

const (
	// MaxKVRecords is the most records to load.
	MaxKVRecords = 1 << 26

	kvLoad         = .75 // of the slots, in the end
	kvOperations   = 1 << 32
	kvBatchMax     = 1 << 16
	kvBatchBytes   = 1 << 30
	kvInsertsSlack = 1.2 // workloads draw how many inserts they have
)

// KVConfig says what is measured of a map. All ranks give the same.
type KVConfig struct {
	Workloads []KVWorkload // empty: all
	Impls     []KVImpl     // empty: KVMap, and KVRedis where there is a server
	// Batches are operations of one call. Empty: 1 and DefaultKVBatch.
	Batches []int
	Records int // of all ranks; 0: DefaultKVRecords
	// Operations is how many each rank does of each workload. 0: DefaultKVOperations.
	Operations           int
	KeyBytes, ValueBytes int // 0: DefaultKVKeyBytes, DefaultKVValueBytes
	// Redis is a server without keys to measure beside the map: HOST:PORT, unix:PATH, or
	// RedisStart. Empty: none.
	Redis string
	// Progress is told every sample on rank 0, if not nil.
	Progress func(KVSample)
}

// complete fills in defaults and refuses what makes no sense.
func (c *KVConfig) complete() error {
	c.Workloads = orAll(c.Workloads, KVWorkloads())
	c.Batches = orAll(c.Batches, []int{1, DefaultKVBatch})
	for number, standard := range map[*int]int{&c.Records: DefaultKVRecords,
		&c.Operations: DefaultKVOperations, &c.KeyBytes: DefaultKVKeyBytes,
		&c.ValueBytes: DefaultKVValueBytes} {
		if *number == 0 {
			*number = standard
		}
	}
	if err := checkList("workload", c.Workloads, KVWorkloads()); err != nil {
		return err
	}
	if err := checkList("batch", c.Batches, nil); err != nil {
		return err
	}
	if err := c.completeImpls(); err != nil {
		return err
	}
	return c.checkNumbers()
}

func (c *KVConfig) completeImpls() error {
	standard := []KVImpl{KVMap}
	if c.Redis != "" {
		standard = append(standard, KVRedis)
	}
	c.Impls = orAll(c.Impls, standard)
	if err := checkList("implementation", c.Impls, KVImpls()); err != nil {
		return err
	}
	if c.Redis == "" && slices.Contains(c.Impls, KVRedis) {
		return fmt.Errorf("bench: to measure Redis give a server or %q", RedisStart)
	}
	if c.Redis == "" || c.Redis == RedisStart {
		return nil
	}
	_, _, err := redisNetwork(c.Redis)
	return err
}

func (c *KVConfig) checkNumbers() error {
	switch {
	case c.Records < 1 || c.Records > MaxKVRecords:
		return fmt.Errorf("bench: there must be 1 to %d records, not %d", MaxKVRecords, c.Records)
	case c.Operations < 1 || c.Operations > kvOperations:
		return fmt.Errorf("bench: a rank must do 1 to %d operations, not %d", kvOperations,
			c.Operations)
	case min(c.KeyBytes, c.ValueBytes) < minPartBytes || max(c.KeyBytes, c.ValueBytes) > kv.MaxSize:
		return fmt.Errorf("bench: keys and values must have %d to %d bytes, not %d and %d: values "+
			"tell their keys", minPartBytes, kv.MaxSize, c.KeyBytes, c.ValueBytes)
	}
	for _, batch := range c.Batches {
		if batch < 1 || batch > kvBatchMax || batch*(c.KeyBytes+c.ValueBytes) > kvBatchBytes {
			return fmt.Errorf("bench: a batch must have 1 to %d operations and at most %d bytes, "+
				"not %d with keys and values of %d bytes", kvBatchMax, kvBatchBytes, batch,
				c.KeyBytes+c.ValueBytes)
		}
	}
	return nil
}

// inserts is about how many records all ranks add to those that were loaded.
func (c *KVConfig) inserts(ranks int) uint64 {
	return uint64(float64(uint64(c.Operations)*YCSBD.writePercent()*uint64(ranks))/100*
		kvInsertsSlack) + kvSpare
}

// mapConfig has room for everything. A rank owns what it has put last: in the worst case all
// that it puts while the others have not begun.
func (c *KVConfig) mapConfig(ranks int) kv.Config {
	records, n := uint64(c.Records), uint64(ranks)
	most := records + c.inserts(ranks)
	puts := uint64(0)
	for _, w := range KVWorkloads()[1:] {
		puts += uint64(c.Operations) * w.writePercent() / 100
	}
	mine := min(most, (records+n-1)/n+uint64(float64(puts)*kvInsertsSlack)) + 2*kvSpare
	return kv.Config{SlotsPerRank: uint64(float64(most)/kvLoad)/n + 8,
		BytesPerRank: mine * kvItemBytes(c.KeyBytes, c.ValueBytes), MaxKey: c.KeyBytes,
		MaxValue: c.ValueBytes, Copies: c.copies()}
}

// copies tells whether the slots of the map have copies: where pairs fit.
func (c *KVConfig) copies() bool { return KVPair{c.KeyBytes, c.ValueBytes, true}.fits() }
