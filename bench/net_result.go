package bench

import (
	"slices"

	"github.com/farhash/farhash/rma/ucx"
)

// NetResult sums up the samples of a case. The field names are those of the JSON output.
type NetResult struct {
	Impl    NetImpl    `json:"impl"`
	Traffic NetTraffic `json:"traffic"`
	Clients int        `json:"clients"`
	Batch   int        `json:"batch"` // for gets: how many are in flight; 1: one at a time
	// GetBytes is the length of a get, of a set the mean; 0 where there are none.
	GetBytes float64 `json:"getBytes"`
	Kops     float64 `json:"kops"` // thousands of operations per second, the median
	KopsMin  float64 `json:"kopsMin"`
	KopsMax  float64 `json:"kopsMax"`
	// MessageKops is thousands of messages per second, the median; null for Redis.
	MessageKops *float64 `json:"messageKops"`
	// Messages is the mean of an operation; null for Redis.
	Messages *float64 `json:"messages"`
	// Latencies of operations one at a time, of all runs; null for others.
	Latencies *Latencies `json:"latencies"`
	// RatioToRaw compares with the gets of the loop in C, as many in flight and as many bytes, or
	// the next fewer that were measured: rates of messages, and one at a time of operations. The
	// others compare operations per second. RatioP50 and RatioP99 are latencies divided by those
	// of the same gets, RatioP50Engine by those of the engine's.
	RatioToRaw      *float64 `json:"ratioToRaw"`
	RatioToEngine   *float64 `json:"ratioToEngine"`
	RatioToOneSided *float64 `json:"ratioToOneSided"`
	RatioToRedis    *float64 `json:"ratioToRedis"`
	RatioP50        *float64 `json:"ratioP50"`
	RatioP99        *float64 `json:"ratioP99"`
	RatioP50Engine  *float64 `json:"ratioP50Engine"`
	RatioP99Engine  *float64 `json:"ratioP99Engine"`
	// Counts of all clients and runs: Inserted is the words that were new.
	Operations uint64 `json:"operations"`
	Inserted   uint64 `json:"inserted"`
	Runs       int    `json:"runs"`
}

// NetSetting is what all results have in common.
type NetSetting struct {
	Ranks    int     `json:"ranks"`
	PerHost  int     `json:"ranksPerHost"`
	Link     string  `json:"link"`
	Engine   string  `json:"engine"`
	Library  string  `json:"library,omitempty"` // the version of UCX
	Redis    string  `json:"redis,omitempty"`   // the version of the servers
	InFlight int     `json:"inFlight"`
	New      float64 `json:"newShare"` // of the words of a batch
	Present  int     `json:"present"`  // words of each client that were there before
}

// NetReport is what has been measured between hosts.
type NetReport struct {
	Machine Machine     `json:"machine"`
	Setting NetSetting  `json:"setting"`
	Results []NetResult `json:"results"`
	Notes   []string    `json:"notes"`
	// Samples are all measurements in the order in which they were made.
	Samples []NetSample `json:"-"`
}

// Report sums up the samples so far. command is how they were asked for.
func (b *NetBench) Report(command string) *NetReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	cfg := &b.cfg
	r := &NetReport{Machine: thisMachine(command), Samples: slices.Clone(b.samples),
		Setting: NetSetting{Ranks: b.size, PerHost: cfg.PerHost, Link: cfg.Link,
			Engine: cfg.Engine, Library: ucx.Library(), Redis: b.redis, InFlight: cfg.InFlight,
			New: cfg.New, Present: netWarm},
		Notes: append([]string{}, b.notes...), Results: []NetResult{}}
	r.Machine.Buckets = cfg.Buckets
	r.Machine.TableBytes = cfg.Buckets * 8
	for _, t := range cfg.Traffics {
		for _, of := range cfg.cases(t) {
			r.sumUp(of)
		}
	}
	for i := range r.Results {
		r.relate(&r.Results[i])
	}
	return r
}

// sumUp adds the result of a case, if there are samples.
func (r *NetReport) sumUp(of NetCase) {
	is := NetResult{Impl: of.Impl, Traffic: of.Traffic, Batch: of.Batch}
	took := newHistogram()
	var rates, messageRates []float64
	var messages, gets, bytes uint64
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.NetCase != of {
			continue
		}
		is.Clients = s.Clients
		rates, messageRates = append(rates, s.Kops()), append(messageRates, s.MessageKops())
		is.Operations += s.Operations
		is.Inserted += s.Fresh
		messages += s.Messages
		gets += s.Gets
		bytes += s.Payload - min(s.Payload, (s.Messages-s.Gets)*8) // those of a swap are 8
		took.Merge(s.took)
	}
	if is.Runs = len(rates); is.Runs == 0 {
		return
	}
	is.Kops, is.KopsMin, is.KopsMax = median(rates), slices.Min(rates), slices.Max(rates)
	is.Latencies = latenciesOf(took)
	if of.Impl != NetRedis {
		rate, mean := median(messageRates), float64(messages)/float64(max(is.Operations, 1))
		is.MessageKops, is.Messages = &rate, &mean
	}
	if gets > 0 {
		is.GetBytes = float64(bytes) / float64(gets)
	}
	r.Results = append(r.Results, is)
}

// beside is the result of another implementation that is to stand beside one, nil if there is
// none: of gets that with as many bytes, or the next fewer, or else the fewest.
func (r *NetReport) beside(is *NetResult, impl NetImpl) (best *NetResult) {
	for i := range r.Results {
		other := &r.Results[i]
		if other.Impl != impl || other.Traffic != is.Traffic ||
			(other.Batch == 1) != (is.Batch == 1) {
			continue
		}
		fits := other.GetBytes <= max(is.GetBytes, netLine)
		if best == nil || fits && other.GetBytes > best.GetBytes {
			best = other
		}
	}
	return best
}

// relate compares a result with others.
func (r *NetReport) relate(is *NetResult) {
	quotient := func(a, b float64) *float64 {
		if b == 0 {
			return nil
		}
		q := a / b
		return &q
	}
	raw, engine := r.beside(is, NetRaw), r.beside(is, NetEngine)
	oneSided, redis := r.beside(is, NetOneSided), r.beside(is, NetRedis)
	if raw != nil && is.MessageKops != nil && is.Impl != NetShipped {
		is.RatioToRaw = quotient(*is.MessageKops, *raw.MessageKops)
	}
	if engine != nil && is.MessageKops != nil && is.Impl != NetShipped && is.Impl != NetRaw {
		is.RatioToEngine = quotient(*is.MessageKops, *engine.MessageKops)
	}
	if !is.Impl.gets() && oneSided != nil && is.Impl != NetOneSided {
		is.RatioToOneSided = quotient(is.Kops, oneSided.Kops)
	}
	if !is.Impl.gets() && redis != nil && is.Impl != NetRedis {
		is.RatioToRedis = quotient(is.Kops, redis.Kops)
	}
	if is.Latencies != nil && raw != nil && raw.Latencies != nil && is.Impl != NetRaw {
		is.RatioP50 = quotient(float64(is.Latencies.P50), float64(raw.Latencies.P50))
		is.RatioP99 = quotient(float64(is.Latencies.P99), float64(raw.Latencies.P99))
	}
	if is.Latencies != nil && engine != nil && engine.Latencies != nil && !is.Impl.gets() {
		is.RatioP50Engine = quotient(float64(is.Latencies.P50), float64(engine.Latencies.P50))
		is.RatioP99Engine = quotient(float64(is.Latencies.P99), float64(engine.Latencies.P99))
	}
}
