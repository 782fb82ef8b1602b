package bench

import (
	"slices"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/ship"
)

// CacheResult sums up the samples of a case. The field names are those of the JSON output.
type CacheResult struct {
	Mode     string        `json:"mode"`
	Access   string        `json:"access"` // how batches reach other hosts
	Keys     CacheKeys     `json:"keys"`
	Workload CacheWorkload `json:"workload"`
	Ranks    int           `json:"ranks"`
	Batch    int           `json:"batch"` // 1: one operation at a time
	Kops     float64       `json:"kops"`  // thousands of operations per second, the median
	KopsMin  float64       `json:"kopsMin"`
	KopsMax  float64       `json:"kopsMax"`
	// Kops divided by that of the other modes; null if these were not measured.
	RatioToFine   *float64 `json:"ratioToFine"`
	RatioToCoarse *float64 `json:"ratioToCoarse"`
	// Kops divided by that of the same mode with one-sided operations; null for itself.
	RatioToOneSided *float64 `json:"ratioToOneSided"`
	// Counts of all ranks and runs.
	Reads      uint64 `json:"reads"`
	Hits       uint64 `json:"hits"` // reads that found their key
	Writes     uint64 `json:"writes"`
	Evicted    uint64 `json:"evicted"`    // writes over another key
	Mismatches uint64 `json:"mismatches"` // buckets read that failed their checksum
	LockWaits  uint64 `json:"lockWaits"`  // looks at a lock that another had
	Wrong      uint64 `json:"wrong"`      // values read that nobody has written for that key
	Runs       int    `json:"runs"`

	of CacheCase
}

// CacheSetting is what all results have in common.
type CacheSetting struct {
	KeyBytes       int    `json:"keyBytes"`
	ValueBytes     int    `json:"valueBytes"`
	KeySpace       int    `json:"keySpace"` // keys to draw from
	Operations     int    `json:"operations"`
	BucketsPerRank uint64 `json:"bucketsPerRank"`
}

// CacheReport is what has been measured of caches. The sizes of Machine are those of the job
// with most ranks.
type CacheReport struct {
	Machine Machine       `json:"machine"`
	Setting CacheSetting  `json:"setting"`
	Results []CacheResult `json:"results"`
	// Samples are all measurements in the order in which they were made.
	Samples []CacheSample `json:"-"`
}

// Report sums up the samples so far. command is how they were asked for.
func (b *CacheBench) Report(command string) *CacheReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	cfg := &b.cfg
	r := &CacheReport{Machine: thisMachine(command), Samples: slices.Clone(b.samples),
		Setting: CacheSetting{KeyBytes: cfg.KeyBytes, ValueBytes: cfg.ValueBytes,
			KeySpace: cfg.KeySpace, Operations: cfg.Operations,
			BucketsPerRank: cfg.BucketsPerRank},
		Results: []CacheResult{}}
	for _, of := range r.cases(cfg) {
		r.Results = append(r.Results, r.sumUp(of))
	}
	for i := range r.Results {
		r.relate(&r.Results[i])
	}
	most := uint64(slices.Max(append(r.ranks(), 1)))
	r.Machine.HugePages = b.huge
	r.Machine.Buckets, r.Machine.TableBytes = cfg.BucketsPerRank*most, cfg.rankBytes()*most
	return r
}

// cases lists what was measured in the order of printing.
func (r *CacheReport) cases(cfg *CacheConfig) (all []CacheCase) {
	for _, keys := range cfg.Keys {
		for _, w := range CacheWorkloads() {
			for _, batch := range cfg.Batches {
				for _, ranks := range r.ranks() {
					for _, v := range cfg.variants() {
						of := CacheCase{keys, w, ranks, batch, v.Mode, v.Access}
						if len(r.of(of)) > 0 {
							all = append(all, of)
						}
					}
				}
			}
		}
	}
	return all
}

// ranks lists the numbers of ranks, rising.
func (r *CacheReport) ranks() (all []int) {
	for i := range r.Samples {
		all = append(all, r.Samples[i].Ranks)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// of is the samples of a case.
func (r *CacheReport) of(c CacheCase) (samples []*CacheSample) {
	for i := range r.Samples {
		if r.Samples[i].CacheCase == c {
			samples = append(samples, &r.Samples[i])
		}
	}
	return samples
}

func (r *CacheReport) sumUp(of CacheCase) CacheResult {
	is := CacheResult{Mode: of.Mode.String(), Access: of.Access.String(), Keys: of.Keys,
		Workload: of.Workload, Ranks: of.Ranks, Batch: of.Batch, of: of}
	var rates []float64
	for _, s := range r.of(of) {
		rates = append(rates, s.Kops())
		is.Reads += s.Stats.Reads()
		is.Hits += s.Stats.Hits
		is.Writes += s.Stats.Writes()
		is.Evicted += s.Stats.Evicted
		is.Mismatches += s.Stats.Mismatches
		is.LockWaits += s.Stats.LockWaits
		is.Wrong += s.Wrong
	}
	is.Runs = len(rates)
	is.Kops, is.KopsMin, is.KopsMax = median(rates), slices.Min(rates), slices.Max(rates)
	return is
}

// find is the result of a case, nil if there is none.
func (r *CacheReport) find(of CacheCase) *CacheResult {
	for i := range r.Results {
		if r.Results[i].of == of {
			return &r.Results[i]
		}
	}
	return nil
}

func (r *CacheReport) relate(to *CacheResult) {
	ratio := func(mode cache.Mode, access ship.Access) *float64 {
		of := to.of
		of.Mode, of.Access = mode, access
		other := r.find(of)
		if other == nil || other.Kops == 0 {
			return nil
		}
		q := to.Kops / other.Kops
		return &q
	}
	mode, access := to.of.Mode, to.of.Access
	to.RatioToFine, to.RatioToCoarse = ratio(cache.Fine, access), ratio(cache.Coarse, access)
	if access != ship.OneSided {
		to.RatioToOneSided = ratio(mode, ship.OneSided)
	}
}
