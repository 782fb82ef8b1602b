package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/farhash/farhash/bench"
)

// RateRow is the throughput of a cluster beside what the paper printed.
type RateRow struct {
	Rate
	// OP Table 1; null where it has nothing for this workload.
	PaperMops    *float64 `json:"paperMops"`
	ErrorPercent *float64 `json:"errorPercent"`
	Fitted       bool     `json:"fitted"` // a parameter was fitted to this cell
}

// LatencyRow is what single operations take beside what the paper printed.
type LatencyRow struct {
	Chunk       int     `json:"chunk"`
	LoadFrom    float64 `json:"loadFrom"`
	LoadTo      float64 `json:"loadTo"`
	Nanoseconds float64 `json:"nanoseconds"` // mean of an operation
	RoundTrips  float64 `json:"roundTrips"`  // mean of an operation
	// OP Table 1; null where it has nothing.
	PaperNanoseconds *float64 `json:"paperNanoseconds"`
	PaperRoundTrips  *float64 `json:"paperRoundTrips"`
	ErrorPercent     *float64 `json:"errorPercent"` // of nanoseconds
	Fitted           bool     `json:"fitted"`
}

// Summary sums up the errors of cells that nothing was fitted to.
type Summary struct {
	What           string  `json:"what"`
	Cells          int     `json:"cells"`
	MeanPercent    float64 `json:"meanPercent"`    // without signs
	LargestPercent float64 `json:"largestPercent"` // with its sign
	Largest        string  `json:"largest"`        // where that is
}

// Parameters are a [Cluster] in the JSON output.
type Parameters struct {
	LatencyNs         float64 `json:"latencyNs"`
	BytesPerNs        float64 `json:"bytesPerNs"`
	MessagesPerSecond float64 `json:"messagesPerSecond"` // 0: no limit
	HeaderBytes       int     `json:"headerBytes"`
	AtomicNs          float64 `json:"atomicNs"`
	HostLatencyNs     float64 `json:"hostLatencyNs"`
	HostBytesPerNs    float64 `json:"hostBytesPerNs"`
	PostNs            float64 `json:"postNs"`
	SubmitNs          float64 `json:"submitNs"`
	PollNs            float64 `json:"pollNs"`
	TakeNs            float64 `json:"takeNs"`
	WordNs            float64 `json:"wordNs"`
	DoublingNs        float64 `json:"doublingNs"`
	SharingNs         float64 `json:"sharingNs"`
}

func (c *Cluster) parameters() Parameters {
	return Parameters{LatencyNs: c.LatencyNs, BytesPerNs: c.BytesPerNs,
		MessagesPerSecond: c.MessagesPerSecond, HeaderBytes: c.HeaderBytes, AtomicNs: c.AtomicNs,
		HostLatencyNs: c.HostLatencyNs, HostBytesPerNs: c.HostBytesPerNs, PostNs: c.PostNs,
		SubmitNs: c.SubmitNs, PollNs: c.PollNs, TakeNs: c.TakeNs, WordNs: c.WordNs,
		DoublingNs: c.DoublingNs, SharingNs: c.SharingNs}
}

// Report is what was simulated. The field names are those of the JSON output.
type Report struct {
	Command    string         `json:"command"`
	Cluster    Parameters     `json:"cluster"`
	Seed       uint64         `json:"seed"`
	Workload   bench.Workload `json:"workload"`
	Load       float64        `json:"load"`
	Chunk      int            `json:"chunk"`
	Chunks     int            `json:"chunks"`
	Batch      int            `json:"batch"`
	Throughput []RateRow      `json:"throughput"`
	Latency    []LatencyRow   `json:"latency,omitempty"` // only of Table 1
	Summary    []Summary      `json:"summary,omitempty"` // only of Table 1

	cfg    Config // as given
	table1 bool
}

// NewReport makes an empty report on what cfg says but for the number of hosts and of
// their ranks. command is how it was asked for.
func NewReport(command string, cfg Config) (*Report, error) {
	given := cfg
	cfg.Hosts, cfg.Procs = 1, 1
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Report{Command: command, Cluster: cfg.Cluster.parameters(), Seed: cfg.Seed,
		Workload: cfg.Workload, Load: cfg.Load, Chunk: cfg.Chunk, Chunks: cfg.Chunks,
		Batch: cfg.Batch, Throughput: []RateRow{}, cfg: given}, nil
}

// das5 tells whether the cluster is that of the paper.
func (r *Report) das5() bool { return r.cfg.Cluster == DAS5() }

// likePaper tells whether the throughput is to be compared with the paper's.
func (r *Report) likePaper() bool {
	return r.table1 || r.das5() && r.Workload == bench.Mixed && r.Chunk == DefaultChunk &&
		r.Batch == 1 && r.Load < paperLoad
}

// paperLoad is a load that OP's tables did not reach: 10^7 integers a process, half of
// them new at most, in 2^27 buckets.
const paperLoad = 0.05

// Simulate measures the throughput of so many hosts and adds it.
func (r *Report) Simulate(ctx context.Context, hosts, procs int, progress Progress) error {
	cfg := r.cfg
	cfg.Hosts, cfg.Procs = hosts, procs
	what := cfg.String()
	cfg.Progress = func(done, of int) {
		if done < of {
			progress.tell(what, done, of)
		}
	}
	progress.tell(what, 0, 1)
	rate, err := Throughput(ctx, cfg)
	if err != nil {
		return err
	}
	r.addRate(rate)
	progress.tell(what, 1, 1)
	return nil
}

// addRate adds a throughput.
func (r *Report) addRate(rate *Rate) {
	row := RateRow{Rate: *rate}
	if p := paperRate(rate.Hosts, rate.Procs); p != nil && r.likePaper() {
		row.PaperMops, row.ErrorPercent = &p.Mops, errorPercent(rate.Mops, p.Mops)
		row.Fitted = r.das5() && fittedRate(rate.Hosts, rate.Procs)
	}
	r.Throughput = append(r.Throughput, row)
}

// addLatency adds a latency of Table 1.
func (r *Report) addLatency(l Latency) {
	row := LatencyRow{Chunk: l.Chunk, LoadFrom: l.Load - LoadStep, LoadTo: l.Load,
		Nanoseconds: l.Nanoseconds, RoundTrips: l.RoundTrips}
	if p := paperPoint(l.Chunk, l.Load); p != nil {
		nanoseconds := p.Microseconds * 1e3
		row.PaperNanoseconds, row.PaperRoundTrips = &nanoseconds, &p.RoundTrips
		row.ErrorPercent = errorPercent(l.Nanoseconds, nanoseconds)
		row.Fitted = r.das5() && fittedLatency(l.Chunk, l.Load)
	}
	r.Latency = append(r.Latency, row)
}

func errorPercent(got, want float64) *float64 {
	percent := 100 * (got/want - 1)
	return &percent
}

// sumUp makes the summary.
func (r *Report) sumUp() {
	latency, network := Summary{What: "latency"}, Summary{What: "throughput, 2 machines and more"}
	trips, alone := Summary{What: "round trips"}, Summary{What: "throughput, 1 machine"}
	for i := range r.Latency {
		row := &r.Latency[i]
		if row.ErrorPercent == nil {
			continue
		}
		where := fmt.Sprintf("C=%d, load %.1f", row.Chunk, row.LoadTo)
		trips.add(*errorPercent(row.RoundTrips, *row.PaperRoundTrips), where)
		if !row.Fitted {
			latency.add(*row.ErrorPercent, where)
		}
	}
	for i := range r.Throughput {
		row := &r.Throughput[i]
		if row.ErrorPercent == nil || row.Fitted {
			continue
		}
		of := &network
		if row.Hosts == 1 {
			of = &alone
		}
		of.add(*row.ErrorPercent, fmt.Sprintf("%d %s, %d %s each", row.Hosts,
			plural(row.Hosts, "machine"), row.Procs, plural(row.Procs, "process")))
	}
	r.Summary = nil
	for _, s := range []Summary{trips, latency, network, alone} {
		if s.Cells > 0 {
			s.MeanPercent /= float64(s.Cells)
			r.Summary = append(r.Summary, s)
		}
	}
}

// add adds a cell; MeanPercent is the sum until all have been added.
func (s *Summary) add(percent float64, where string) {
	s.Cells++
	s.MeanPercent += math.Abs(percent)
	if s.Cells == 1 || math.Abs(percent) > math.Abs(s.LargestPercent) {
		s.LargestPercent, s.Largest = percent, where
	}
}
