package bench

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
)

// IndexPace is how fast lookups were. The field names are those of the JSON output.
type IndexPace struct {
	// Mops are millions of records found in a second, which are lookups where keys differ:
	// the median, the least and the largest of the runs.
	Mops    float64 `json:"mops"`
	MopsMin float64 `json:"mopsMin"`
	MopsMax float64 `json:"mopsMax"`
	Runs    int     `json:"runs"`
	// GBs are bytes of payload in nanoseconds: the effective bandwidth of LP Fig. 8.
	GBs float64 `json:"gbs"`
	// Latency is null where lookups were done in batches.
	Latency *IndexLatency `json:"latency"`
}

// IndexLatency is how long single lookups took: percentiles in ns, as in LP Fig. 9.
type IndexLatency struct {
	P10 float64 `json:"p10Ns"`
	P25 float64 `json:"p25Ns"`
	P50 float64 `json:"p50Ns"`
	P75 float64 `json:"p75Ns"`
	P90 float64 `json:"p90Ns"`
}

// IndexRate is a case of an experiment.
type IndexRate struct {
	Impl        IndexImpl `json:"impl"`
	Load        float64   `json:"load"`
	RecordBytes int       `json:"recordBytes"`
	Storage     string    `json:"storage"`
	BucketSlots int       `json:"bucketSlots"` // 0: not cuckoo
	Repeated    bool      `json:"repeated"`    // searches never end with the first record
	AssumedLoad float64   `json:"assumedLoad"` // 0: the policy knows the load
	ReadSlots   int       `json:"readSlots"`   // of all reads; 0: what the policy chooses
	Skew        float64   `json:"skew"`
	Clusters    int       `json:"clusters"` // that a worker knows
	// Requests and Bytes are means of a simulated lookup, with those of the heap.
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
	// PredictedNs is E[X(R)]*T(R) of LP Eq. 1, in LPFigure10.
	PredictedNs float64    `json:"predictedNs,omitempty"`
	Simulated   *IndexPace `json:"simulated"` // with LP's parameters; null: not done
	Here        *IndexPace `json:"here"`      // on this machine; null: not done
	// Paper is what LP prints, in tables or in words; null where it has only a curve.
	Paper *LPRate `json:"paper"`

	of   IndexTrialCase
	here []*indexPace
}

// IndexRateSetting is what all cases have in common.
type IndexRateSetting struct {
	Records   int `json:"records"`   // of all ranks, here
	Lookups   int `json:"lookups"`   // of each rank in a case and run, here
	Ranks     int `json:"ranks"`     // here; 0: no run is complete
	Workers   int `json:"workers"`   // simulated
	Simulated int `json:"simulated"` // lookups of all workers in a case
}

// IndexRateReport is what has been measured of an experiment.
type IndexRateReport struct {
	Machine  Machine          `json:"machine"`
	Trial    IndexTrial       `json:"trial"`
	Setting  IndexRateSetting `json:"setting"`
	Rates    []IndexRate      `json:"rates"`
	Findings []IndexFinding   `json:"findings"`
}

// Report sums up what was measured so far. command is how it was asked for.
func (r *IndexRates) Report(command string) *IndexRateReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := &IndexRateReport{Machine: thisMachine(command), Trial: r.cfg.Trial,
		Setting: IndexRateSetting{r.cfg.Records, r.cfg.Lookups, r.ranks, r.cfg.Workers,
			r.cfg.Simulated}, Rates: []IndexRate{}}
	for _, of := range r.cfg.Trial.cases() {
		simulated, here := r.simulated[of], r.here[of]
		if simulated == nil && len(here) == 0 {
			continue
		}
		is := IndexRate{Impl: of.Impl, Load: of.Load, RecordBytes: of.RecordBytes,
			Storage: of.StorageName(), BucketSlots: of.BucketSlots, Repeated: of.Repeated,
			AssumedLoad: of.AssumedLoad, ReadSlots: of.ReadSlots, Skew: of.Skew,
			Clusters: of.Clusters, Here: paceOf(here), Paper: r.cfg.Trial.paper(&of), of: of,
			here: here[:len(here):len(here)]}
		if simulated != nil {
			is.Simulated = paceOf([]*indexPace{simulated})
			c := lookupCost(&simulated.stats, of.Impl)
			is.Requests, is.Bytes = c.Requests, c.Bytes
		}
		if r.cfg.Trial == LPFigure10 {
			is.PredictedNs = predictedNs(of.Load, of.ReadSlots)
		}
		report.Rates = append(report.Rates, is)
	}
	report.Findings = report.findings()
	return report
}

// predictedNs is what LP's model expects of reads of so many slots (LP Fig. 10b).
func predictedNs(load float64, slots int) float64 {
	return absentLaw(load).ModelReads(slots) * lpConfig().ReadNs(slots)
}

// paceOf sums up what was measured of a case, nil if nothing was.
func paceOf(all []*indexPace) *IndexPace {
	if len(all) == 0 {
		return nil
	}
	var rates, ns []float64
	var bytes, matches uint64
	for _, p := range all {
		rates = append(rates, p.mops)
		ns = append(ns, p.ns...)
		bytes += p.stats.Bytes + p.stats.HeapBytes
		matches += p.stats.Matches
	}
	is := &IndexPace{Mops: median(rates), MopsMin: slices.Min(rates), MopsMax: slices.Max(rates),
		Runs: len(all)}
	is.GBs = is.Mops / 1e3 * float64(bytes) / float64(max(matches, 1))
	if len(ns) > 0 {
		slices.Sort(ns)
		at := func(share float64) float64 { return ns[int(share*float64(len(ns)-1))] }
		is.Latency = &IndexLatency{at(0.1), at(0.25), at(0.5), at(0.75), at(0.9)}
	}
	return is
}

// WriteJSON writes one object with the keys machine, trial, setting, rates and findings.
func (r *IndexRateReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes what was measured on this machine in the format of Go benchmarks.
func (r *IndexRateReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Rates {
		is := &r.Rates[i]
		for _, run := range is.here {
			p.printf("BenchmarkIndexRate/trial=%s/impl=%s/load=%s/bytes=%d/storage=%s/bucket=%d"+
				"/repeated=%t/assumed=%s/slots=%d/skew=%s/clusters=%d-%d\t%d\t%.4g ns/op"+
				"\t%.5g Mop/s\n", r.Trial, is.Impl, number(is.Load), is.RecordBytes, is.Storage,
				is.BucketSlots, is.Repeated, number(is.AssumedLoad), is.ReadSlots,
				number(is.Skew), is.Clusters, runtime.GOMAXPROCS(0), run.stats.Lookups,
				1e3/run.mops, run.mops)
		}
	}
	return p.err
}
