package lp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/lp/baseline"
)

// trial is an experiment of LP: lookups for keys that are there, in tables that are really
// built. They are counted, simulated and timed.
type trial struct {
	name    string // of the records
	short   string // one line
	takes   string // about how long, with the usual flags
	aliases []string
	cases   []lookupCase // cases of the same table are neighbours
	// single has lookups one at a time, and a latency for each, as in LP 5.4.
	single   bool
	learning bool                               // workers first learn clusters
	paper    func(c *lookupCase) []record.Value // what LP prints, if not nil
	findings []finding                          // what LP says in words
	views    []view.View
	bare     bool // simulated without the header of messages as well
	// further makes more records of what was measured, which moreViews show; nil: there are none.
	further   func(t *trial, table *record.Table) []record.Record
	moreViews []view.View
}

const (
	defaultRecords = 1 << 20
	defaultLookups = 1 << 17 // of each rank
	minRecords     = 64
	maxRecords     = 1 << 30
	maxLookups     = 1 << 26

	// defaultSimulated is how many lookups of a case are simulated, and learningFactor how many
	// times as many where clusters must be learned first.
	defaultSimulated = 28 << 10
	learningFactor   = 4
	// latencyShare is how many lookups there would be for each whose latency is measured.
	latencyShare = 8
)

// experiment is the command.
func (t *trial) experiment() *experiment.Experiment {
	e := &experiment.Experiment{Name: strings.ToLower(strings.TrimPrefix(t.name, "LP")),
		Aliases: t.aliases, Short: t.short, Runs: 3, Reproducible: true, Views: t.views,
		Takes:   t.takes,
		Example: "--runs 1 --panels simulated --plot simulated.svg", Long: t.short + `.

Keys that are there are looked up in tables that are really built. Lookups are counted, timed on
this machine, and simulated with the latency, bandwidth, rate of messages and workers of LP 5.1,
which is the same everywhere. Every value that is found is compared with what was given to its key.
Each run has other keys.`}
	for i := range e.Views {
		e.Views[i].Name = t.name
	}
	e.Views[0].Derive = t.derive
	e.Views = append(append(e.Views, t.moreViews...), t.findingView())
	e.New = func(flags *pflag.FlagSet) experiment.Runner {
		r := &trialRunner{trial: t, workers: simulatedWorkers}
		countFlags(flags, &r.records, &r.lookups, defaultLookups)
		return r
	}
	return e
}

func countFlags(flags *pflag.FlagSet, records, lookups *experiment.Count,
	standard experiment.Count) {
	experiment.CountVar(flags, records, "records", defaultRecords, "records of all ranks")
	experiment.CountVar(flags, lookups, "lookups", standard, "lookups of each rank in a case")
}

func checkCounts(records, lookups experiment.Count) error {
	return errors.Join(experiment.InRange("records", records, minRecords, maxRecords),
		experiment.InRange("lookups", lookups, 1, maxLookups))
}

// trialRunner runs a trial.
type trialRunner struct {
	*trial
	records, lookups experiment.Count
	workers          int // of the simulated client
}

// Check refuses numbers that make no sense.
func (r *trialRunner) Check() error { return checkCounts(r.records, r.lookups) }

// Round counts and times all cases once, each round with other keys as LP 5.1 has 10 tables,
// and simulates them in the first: every simulation would be the same.
func (r *trialRunner) Round(ctx context.Context, job rma.Job, seed uint64,
	emit experiment.Emit) error {
	for _, cases := range byTable(r.cases, lookupCase.sameTable) {
		var err error
		if seed == 0 && job.Rank() == 0 {
			err = r.simulate(ctx, cases, job.Size(), emit)
		}
		if err = rma.AllSucceeded(ctx, job, "lp: simulation", err); err == nil {
			err = r.measure(ctx, job, seed, cases, emit)
		}
		if err != nil {
			return fmt.Errorf("%s, load %v: %w", cases[0].impl, cases[0].load, err)
		}
	}
	return nil
}

// share is a number of lookups, and how many of them are given at once.
func (r *trialRunner) share(lookups int) (n, batch int) {
	if r.single {
		return max(lookups/latencyShare, 1), 1
	}
	return lookups, batchKeys
}

// result is a record of a case.
func (r *trialRunner) result(c *lookupCase, ranks, n int, values ...[]record.Value) record.Record {
	share, _ := r.share(int(r.lookups))
	lookups := experiment.Count(share)
	keys := append(r.keys(c), record.K("records", r.records.String()),
		record.K("lookups", lookups.String()), record.K("ranks", ranks))
	return record.Record{Name: r.name, Keys: keys, N: n, Values: slices.Concat(values...)}
}

// simulate does the cases of one table in virtual time.
func (r *trialRunner) simulate(ctx context.Context, cases []lookupCase, ranks int,
	emit experiment.Emit) (err error) {
	of := &cases[0]
	records := int(of.load * simulatedBytes / float64(of.bytes))
	t, err := newSimulatedTable(ctx, of.shape(), of.newKeys(0, min(records, int(r.records))))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	lookups := defaultSimulated
	if r.learning {
		lookups *= learningFactor
	}
	each, batch := r.share(max(min(int(r.lookups), lookups)/r.workers, 1))
	if !r.single {
		batch = each // a worker waits for the last of its lookups alone
	}
	for _, c := range cases {
		s, err := t.simulate(ctx, c.lookups(), r.workers, each, batch)
		if err != nil {
			return err
		}
		values := [][]record.Value{rates("sim-", &s.stats, s.elapsedNs()),
			counts("sim-", &s.stats, c.impl), percentiles("sim-", s.ns),
			shares("sim-", c.impl, s.reads.From), sizesOf("sim-", t.table, t.keys.records)}
		if r.single {
			values = append(values, readsAt("sim-", &s.reads))
		}
		if r.bare {
			t.cost = bareCost()
			bare, err := t.simulate(ctx, c.lookups(), r.workers, each, batch)
			if err != nil {
				return err
			}
			t.cost = simulatedCost()
			values = append(values, rates("bare-", &bare.stats, bare.elapsedNs()))
		}
		if r.paper != nil {
			values = append(values, r.paper(&c))
		}
		if law, ok := c.expected(); ok {
			values = append(values, []record.Value{{Value: law.Requests, Unit: "law-requests/op"},
				{Value: law.Bytes, Unit: "law-B/op"}, {Value: law.Ns, Unit: "law-model-ns/op"}},
				shares("law-", c.impl, c.unfinished))
		}
		emit(r.result(&c, ranks, each*r.workers, values...))
	}
	return nil
}

// measure does the cases of one table on the ranks of job. Collective.
func (r *trialRunner) measure(ctx context.Context, job rma.Job, seed uint64, cases []lookupCase,
	emit experiment.Emit) error {
	of := &cases[0]
	keys := of.newKeys(seed, int(r.records))
	x, err := of.shape().build(ctx, job, &keys)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err = r.lookUp(ctx, job, &c, x, &keys, emit); err != nil {
			break
		}
	}
	return errors.Join(err, x.Close())
}

// lookUp does one case. Ranks begin together; a rate is over all by the time of the
// slowest, latencies are rank 0's.
func (r *trialRunner) lookUp(ctx context.Context, job rma.Job, c *lookupCase,
	x table, keys *keys, emit experiment.Emit) error {
	n, batch := r.share(int(r.lookups))
	l := lookupRun{ctx: ctx, table: x, keys: keys, batch: batch}
	if begin := time.Now(); r.single {
		l.ns = make([]float64, 0, 2*n)
		l.clock = func() int64 { return int64(time.Since(begin)) }
	}
	elapsed, err := l.timed(job, c.lookups(), n)
	if err != nil {
		return err
	}
	s := &l.stats
	all, err := measure.GatherWords(ctx, job, append([]uint64{uint64(elapsed), s.Lookups, s.Matches,
		s.Requests, s.Slots, s.Bytes, s.HeapRequests, s.HeapBytes}, l.reads[:]...))
	if err != nil {
		return err
	}
	var sum index.Counts
	var reads baseline.Reads
	slowest := uint64(1)
	for _, w := range all {
		slowest = max(slowest, w[0])
		add(&sum, index.Counts{Lookups: w[1], Matches: w[2], Requests: w[3], Slots: w[4],
			Bytes: w[5], HeapRequests: w[6], HeapBytes: w[7]})
		reads.Add((*baseline.Reads)(w[8:]))
	}
	emit(r.result(c, job.Size(), int(sum.Lookups), rates("", &sum, float64(slowest)),
		counts("", &sum, c.impl), percentiles("", l.ns), shares("", c.impl, reads.From),
		sizesOf("", x, keys.records/job.Size())))
	return nil
}

// add adds what was counted to a sum.
func add(sum *index.Counts, counts index.Counts) {
	words := core.Words(sum)
	for i, n := range core.Words(&counts) {
		words[i] += n
	}
}

// rates are millions of records found in a second, which are lookups where keys differ, and
// bytes of payload in a nanosecond: the effective bandwidth of LP Fig. 8.
func rates(prefix string, s *index.Counts, ns float64) []record.Value {
	return []record.Value{{Value: float64(s.Matches) / ns * 1e3, Unit: prefix + "Mrecords/s"},
		{Value: float64(s.Bytes+s.HeapBytes) / ns, Unit: prefix + "GB/s"}}
}

// counts are means of lookups.
func counts(prefix string, s *index.Counts, of impl) []record.Value {
	c, n := lookupCost(s, of), float64(max(s.Lookups, 1))
	return nonzero([]record.Value{{Value: c.Requests, Unit: prefix + "requests/op"},
		{Value: c.Bytes, Unit: prefix + "B/op"}, {Value: c.Ns, Unit: prefix + "model-ns/op"},
		{Value: float64(s.Requests) / n, Unit: prefix + "table-requests/op"},
		{Value: float64(s.HeapRequests) / n, Unit: prefix + "heap-requests/op"},
		{Value: float64(s.Slots) / float64(max(s.Requests, 1)), Unit: prefix + "slots/read"}})
}

// shares are the shares of lookups with linear probing that LP 5.3 has in words: with one read, and
// with so many or more, of which from gives the share.
func shares(prefix string, of impl, from func(reads int) float64) []record.Value {
	if of.kind().layout != linear {
		return nil
	}
	return []record.Value{{Value: 1 - from(2), Unit: prefix + "one-read"},
		{Value: from(4), Unit: prefix + "4-reads"}, {Value: from(16), Unit: prefix + "16-reads"}}
}

// readsAt are how many reads the lookups at the percentiles take, of those on package baseline.
func readsAt(prefix string, reads *baseline.Reads) (values []record.Value) {
	for _, p := range percents {
		n := 0
		for reads.From(n+1) > 1-float64(p)/100 {
			n++
		}
		values = append(values, record.Value{Value: float64(n),
			Unit: fmt.Sprintf("%sp%d-reads", prefix, p)})
	}
	return nonzero(values)
}

// sizesOf are the longest record in a slot of a hybrid table, and the memory for each record of a
// rank, of an index.
func sizesOf(prefix string, of table, records int) []record.Value {
	x, ok := of.(indexTable)
	if !ok {
		return nil
	}
	return nonzero([]record.Value{
		{Value: float64(x.Config().InlineBytes), Unit: prefix + "inline-B"},
		{Value: float64(x.bytes()) / float64(records), Unit: prefix + "memory-B"}})
}

// lookupCost is what a lookup took in the mean, by the cost model of LP 3.2. Requests of
// cuckoo, parallel, follow one another at the rate of messages and share one latency.
func lookupCost(s *index.Counts, of impl) readsize.Cost {
	m, n := readsize.EDR(), float64(max(s.Lookups, 1))
	table, heap := float64(s.Requests)/n, float64(s.HeapRequests)/n
	c := readsize.Cost{Requests: table + heap, Bytes: float64(s.Bytes+s.HeapBytes) / n}
	c.Ns = c.Requests*m.LatencyNs + c.Bytes*m.ByteNs
	if of == cuckooParallel {
		c.Ns -= (table - 1) * (m.LatencyNs - 1e9/m.MessagesPerSecond)
	}
	return c
}

// percents are the percentiles of LP Fig. 9.
var percents = []int{10, 25, 50, 75, 90}

func percentiles(prefix string, ns []float64) (values []record.Value) {
	slices.Sort(ns)
	for _, p := range percents {
		if len(ns) > 0 {
			values = append(values, record.Value{Value: ns[p*(len(ns)-1)/100],
				Unit: fmt.Sprintf("%sp%d-ns", prefix, p)})
		}
	}
	return values
}
