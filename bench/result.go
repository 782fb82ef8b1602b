package bench

import (
	"runtime"
	"slices"
)

// Result sums up the samples of one implementation, workload and number of ranks.
// The field names are those of the JSON output.
type Result struct {
	Impl     Impl     `json:"impl"`
	Workload Workload `json:"workload"`
	Ranks    int      `json:"ranks"`
	// ElementBytes is the length of the elements, 0 for words.
	ElementBytes int     `json:"elementBytes"`
	LoadFrom     float64 `json:"loadFrom"`
	LoadTo       float64 `json:"loadTo"`
	Mops         float64 `json:"mops"` // millions of operations per second, the median
	MopsMin      float64 `json:"mopsMin"`
	MopsMax      float64 `json:"mopsMax"`
	// Mops divided by that of Scalar, CASLoop and Limit; null if these were not
	// measured. One divided by Scalar's RatioToCAS is what FindOrPut costs, in units of
	// the bare loop.
	RatioToScalar *float64 `json:"ratioToScalar"`
	RatioToCAS    *float64 `json:"ratioToCAS"`
	RatioToLimit  *float64 `json:"ratioToLimit"`

	buckets uint64
	samples int
}

// Buckets is the size of the table that the loads refer to.
func (r *Result) Buckets() uint64 { return r.buckets }

// Machine says where something was measured.
type Machine struct {
	CPU       string    `json:"cpu"`
	Cores     int       `json:"cores"` // logical processors
	OS        string    `json:"os"`
	Arch      string    `json:"arch"`
	Go        string    `json:"go"`
	HugePages HugePages `json:"hugePages"`
	Command   string    `json:"command"`
	// Sizes of the tables, in buckets.
	Buckets     uint64 `json:"buckets"`
	PeerBuckets uint64 `json:"peerBuckets,omitempty"`
	// TableBytes is the memory of the set, arenas of elements included.
	TableBytes uint64 `json:"tableBytes"`
}

// Report is what has been measured.
type Report struct {
	Machine Machine  `json:"machine"`
	Results []Result `json:"results"`
	// Samples are all measurements in the order in which they were made.
	Samples []Sample `json:"-"`
	// Notes say what was left out or done differently, and why.
	Notes []string `json:"-"`
}

// Report sums up the samples so far. command is how they were asked for.
func (b *Bench) Report(command string) *Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &Report{Machine: thisMachine(command), Samples: slices.Clone(b.samples),
		Notes: slices.Clone(b.notes), Results: []Result{}}
	r.Machine.HugePages, r.Machine.Buckets = b.huge, b.cfg.Buckets
	r.Machine.TableBytes = b.cfg.tableBytes(b.cfg.Buckets)
	if slices.ContainsFunc(b.cfg.Impls, Impl.peer) {
		r.Machine.PeerBuckets = peerBuckets(&b.cfg)
		if n := r.Machine.PeerBuckets; n != b.cfg.Buckets {
			r.Notes = append(r.Notes, "peers ran on a table of "+Count(n)+" buckets, not "+
				Count(b.cfg.Buckets)+": they need several times the memory, and a smaller "+
				"table favours them")
		}
	}
	for i := range r.Samples {
		r.place(&r.Samples[i], &b.cfg)
	}
	for i := range r.Results {
		r.sumUp(&r.Results[i])
	}
	for i := range r.Results {
		r.relate(&r.Results[i])
	}
	return r
}

// place makes room for the result that a sample belongs to.
func (r *Report) place(s *Sample, cfg *Config) {
	if r.find(s.Impl, s.Workload, s.Ranks) == nil {
		r.Results = append(r.Results, Result{Impl: s.Impl, Workload: s.Workload, Ranks: s.Ranks,
			ElementBytes: cfg.ElementBytes, LoadFrom: cfg.From, LoadTo: cfg.To,
			buckets: s.Buckets})
	}
}

func (r *Report) find(impl Impl, w Workload, ranks int) *Result {
	for i := range r.Results {
		if is := &r.Results[i]; is.Impl == impl && is.Workload == w && is.Ranks == ranks {
			return is
		}
	}
	return nil
}

func (r *Report) sumUp(to *Result) {
	var rates []float64
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.Impl == to.Impl && s.Workload == to.Workload && s.Ranks == to.Ranks {
			rates = append(rates, s.Mops())
		}
	}
	to.samples = len(rates)
	to.Mops, to.MopsMin, to.MopsMax = median(rates), slices.Min(rates), slices.Max(rates)
}

func (r *Report) relate(to *Result) {
	ratio := func(of Impl) *float64 {
		other := r.find(of, to.Workload, to.Ranks)
		if other == nil || other.Mops == 0 {
			return nil
		}
		q := to.Mops / other.Mops
		return &q
	}
	to.RatioToScalar, to.RatioToCAS, to.RatioToLimit = ratio(Scalar), ratio(CASLoop), ratio(Limit)
}

// median is the middle one of values, the mean of two where their number is even.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	i := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[i]
	}
	return (sorted[i-1] + sorted[i]) / 2
}

func thisMachine(command string) Machine {
	return Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), OS: runtime.GOOS,
		Arch: runtime.GOARCH, Go: runtime.Version(), Command: command}
}
