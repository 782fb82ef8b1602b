package bench

import (
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/readsize"
)

// IndexCount is what was counted of a case: means of a lookup. The field names are those of
// the JSON output.
type IndexCount struct {
	Impl        IndexImpl `json:"impl"`
	Load        float64   `json:"load"`
	RecordBytes int       `json:"recordBytes"`
	Storage     string    `json:"storage"`
	Skew        float64   `json:"skew"`     // exponent of the law of Zipf; 0: keys differ
	Clusters    int       `json:"clusters"` // that a worker knows
	// Requests and Bytes are of reads of the table and of the heap, and Ns is what they
	// cost by the model of LP 3.2.
	readsize.Cost
	TableRequests float64 `json:"tableRequests"`
	HeapRequests  float64 `json:"heapRequests"`
	ReadSlots     float64 `json:"readSlots"` // of one read of the table
	Matches       float64 `json:"matches"`   // records found by a lookup
	Lookups       uint64  `json:"lookups"`   // that were counted
	Runs          int     `json:"runs"`
	// Expected is what the laws of package readsize say; null where there is none.
	Expected *readsize.Cost `json:"expected"`
	// Paper is what LP printed; null where it has nothing.
	Paper *LPCount `json:"paper"`

	of     IndexCase
	rounds []index.Stats
}

// IndexCountSetting is what all counts have in common.
type IndexCountSetting struct {
	Records int `json:"records"`
	Lookups int `json:"lookups"` // of each rank in a case and run
}

// IndexCountReport is what has been counted.
type IndexCountReport struct {
	Machine Machine           `json:"machine"`
	Table   IndexTable        `json:"table"`
	Setting IndexCountSetting `json:"setting"`
	Counts  []IndexCount      `json:"counts"`
}

// Report sums up the rounds so far. command is how they were asked for.
func (c *IndexCounts) Report(command string) *IndexCountReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &IndexCountReport{Machine: thisMachine(command), Table: c.cfg.Table,
		Setting: IndexCountSetting{c.cfg.Records, c.cfg.Lookups}, Counts: []IndexCount{}}
	book := newLawBook()
	for _, of := range c.cfg.Table.cases() {
		rounds := c.counts[of]
		if len(rounds) == 0 {
			continue
		}
		is := IndexCount{Impl: of.Impl, Load: of.Load, RecordBytes: of.RecordBytes,
			Storage: of.StorageName(), Skew: of.Skew, Clusters: of.Clusters,
			Paper: c.cfg.Table.paper(of), of: of,
			rounds: rounds[:len(rounds):len(rounds)], Runs: len(rounds)}
		is.sumUp()
		is.Expected, _ = book.expected(of) // of cases that are listed here
		r.Counts = append(r.Counts, is)
		r.Machine.Buckets = max(r.Machine.Buckets, uint64(float64(c.cfg.Records)/of.Load))
		r.Machine.TableBytes = max(r.Machine.TableBytes,
			uint64(float64(c.cfg.Records*of.RecordBytes)/of.Load))
	}
	return r
}

// StorageName says where the records lie.
func (c IndexCase) StorageName() string {
	if c.Storage == index.Heap {
		return "heap"
	}
	return "inline"
}

// sumUp makes means of the rounds.
func (is *IndexCount) sumUp() {
	var all index.Stats
	for _, s := range is.rounds {
		all.Add(s)
	}
	n := float64(max(all.Lookups, 1))
	is.Lookups, is.Matches = all.Lookups, float64(all.Matches)/n
	is.TableRequests, is.HeapRequests = float64(all.Requests)/n, float64(all.HeapRequests)/n
	is.ReadSlots = float64(all.Slots) / float64(max(all.Requests, 1))
	is.Cost = lookupCost(&all, is.of.Impl)
}

// lookupCost is what a lookup took in the mean, by the cost model of LP 3.2. Requests of
// cuckoo, parallel, follow one another at the rate of messages and share one latency.
func lookupCost(s *index.Stats, impl IndexImpl) readsize.Cost {
	m, n := readsize.EDR(), float64(max(s.Lookups, 1))
	table, heap := float64(s.Requests)/n, float64(s.HeapRequests)/n
	c := readsize.Cost{Requests: table + heap, Bytes: float64(s.Bytes+s.HeapBytes) / n}
	c.Ns = c.Requests*m.LatencyNs + c.Bytes*m.ByteNs
	if impl == CuckooParallel {
		c.Ns -= (table - 1) * (m.LatencyNs - 1e9/m.MessagesPerSecond)
	}
	return c
}

// count is that of a case, nil if there is none.
func (r *IndexCountReport) count(impl IndexImpl, load float64) *IndexCount {
	for i := range r.Counts {
		if is := &r.Counts[i]; is.Impl == impl && sameLoad(is.Load, load) {
			return is
		}
	}
	return nil
}
