package ne

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/redis"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/ne/nessie"
)

// workload is what ranks do with a map: loading, and the core workloads of Cooper et al.:
// Benchmarking Cloud Serving Systems with YCSB, SoCC 2010, except E, which asks for ranges.
type workload string

const (
	loading   workload = "load"
	workloadA workload = "a" // 50% reads, 50% updates
	workloadB workload = "b" // 95% reads, 5% updates
	workloadC workload = "c" // reads
	workloadF workload = "f" // 50% reads, 50% a read and a write of what was read
	workloadD workload = "d" // 95% reads of what is new, 5% inserts
)

// workloads lists them in the order in which they are done.
func workloads() []workload {
	return []workload{loading, workloadA, workloadB, workloadC, workloadF, workloadD}
}

// writePercent is how many of 100 operations write.
func (w workload) writePercent() uint64 {
	return map[workload]uint64{loading: 100, workloadA: 50, workloadB: 5, workloadF: 50,
		workloadD: 5}[w]
}

const (
	maxRecords    = 1 << 26
	maxOperations = 1 << 32
	maxBatch      = 1 << 16
	minPartBytes  = 8         // a value identifies its key
	pieceBytes    = 128 << 20 // of operations that are generated at a time
	batchBytes    = 1 << 30
	usualBatch    = 64 // how many operations kv keeps in flight

	stepOperations = 1024 // before the context is examined

	finalLoad    = .75 // of the slots, in the end
	insertsSlack = 1.2 // workloads draw how many inserts they have
	homesSlack   = 1.2 // ranks have about equally many keys

	// maxNessieLoad is a little less than half, which is what two slots for a key allow.
	maxNessieLoad = .45
)

// YCSB is the map beside Redis.
func YCSB() *experiment.Experiment {
	whole := func(unit, head string) view.Column {
		return view.Column{Unit: unit, Head: head, Whole: true}
	}
	return &experiment.Experiment{
		Name:  "ycsb",
		Short: "YCSB on the map, beside the paper's protocol and a Redis server",
		Long: `Measures how many operations a second a map does, and their latencies, with the
workloads of YCSB on records drawn with a skew of 0.99 (Zipf): load (puts of new keys), a (50%
reads, 50% updates), b (95% and 5%), c (reads), f (50% reads, 50% reads with a write of the same
record), d (95% reads of the newest records, 5% inserts). Every read has to find its record,
with a value that was written for it. On several hosts one-sided and shipped are the same map
where batches reach other hosts by one-sided operations alone, or are shipped to them.

nessie is the protocol of the paper, with its own cuckoo table. It has no batches: calls follow each
other. It reaches memory by one-sided operations alone; --direct=false has the map do the same.

With --redis a Redis server does the same in turns with the map: ranks are its clients, and
batches are pipelines. "start" starts redis-server, without persistence and on a socket in a
temporary folder of this host. A server given as HOST:PORT or unix:PATH must have no keys, and has
none in the end. Rates are compared by core: a rank on one side, a second of the server's CPU
time on the other; what its clients spend is not counted.`,
		Takes:   "20 s, and longer with Redis,",
		Example: "-n 1 --batch 64 --workload b,c --redis start",
		Ranks:   []int{1, 2},
		Runs:    3,
		Views: []view.View{
			{Name: "KV", Title: "YCSB, thousand operations a second",
				Columns: []view.Column{{Unit: "kop/s", Spread: true},
					{Unit: "kop/s", Over: record.K("impl", string(oneSided))},
					{Unit: "kop/s", Over: record.K("impl", string(thePapers))},
					{Unit: "core-kop/s", Head: "a core"},
					{Unit: "core-kop/s", Head: "/ redis", Over: record.K("impl", string(aServer))},
					{Unit: "trips/op", Head: "round trips", Digits: 3}, whole("lost", "")},
				Plots: []view.Plot{{Panel: "batch", X: "workload", Y: "kop/s"}}},
			{Name: "KV", Title: "latencies in ns; an operation takes as long as its batch",
				Columns: []view.Column{whole("read-p50-ns", "read p50"),
					whole("read-p99-ns", "p99"), whole("read-p999-ns", "p99.9"),
					whole("read-max-ns", "max"),
					whole("write-p50-ns", "write p50"), whole("write-p99-ns", "p99"),
					whole("write-p999-ns", "p99.9"), whole("write-max-ns", "max")}},
		},
		New: newYCSB,
	}
}

// ycsb measures the workloads in all cases.
type ycsb struct {
	impls                []impl
	workloads            []workload
	batches              []int
	records, operations  experiment.Count
	keyBytes, valueBytes int
	nessieLoad           float64
	redis                string
	direct               bool

	flags *pflag.FlagSet
	law   *measure.Law
}

func newYCSB(flags *pflag.FlagSet) experiment.Runner {
	y := &ycsb{flags: flags}
	experiment.ChoiceVar(flags, &y.impls, "impl", []impl{ours, oneSided, shipped,
		thePapers, aServer}, []impl{ours},
		"what is measured, a list of (redis too if --redis is given)")
	experiment.ChoiceVar(flags, &y.workloads, "workload", workloads(), workloads(),
		"what ranks do, a list of")
	flags.IntSliceVar(&y.batches, "batch", []int{1, usualBatch},
		"operations of one call, a list; 1: one at a time")
	experiment.CountVar(flags, &y.records, "records", 1_000_000, "records of all ranks")
	experiment.CountVar(flags, &y.operations, "ops", 100_000,
		"operations of each rank and workload")
	flags.IntVar(&y.keyBytes, "key-bytes", 8, "length of keys")
	flags.IntVar(&y.valueBytes, "value-bytes", 100, "length of values")
	flags.Float64Var(&y.nessieLoad, "nessie-load", .25,
		"load of the table of the paper's protocol in the end")
	flags.StringVar(&y.redis, "redis", "", "measure Redis as well: start, HOST:PORT or unix:PATH")
	flags.BoolVar(&y.direct, "direct", true, "use memory directly where it is addressable")
	return y
}

// OneSided tells which path is measured.
func (y *ycsb) OneSided() bool { return !y.direct }

// Check refuses what makes no sense.
func (y *ycsb) Check() error {
	if y.redis != "" && !y.flags.Changed("impl") {
		y.impls = append(y.impls, aServer)
	}
	if y.redis == "" && slices.Contains(y.impls, aServer) {
		return fmt.Errorf("to measure Redis give --redis a server, or %q", redis.Own)
	}
	if y.redis != "" && y.redis != redis.Own {
		if _, _, err := redis.Network(y.redis); err != nil {
			return err
		}
	}
	err := errors.Join(experiment.InRange("records", y.records, 1, maxRecords),
		experiment.InRange("ops", y.operations, 1, maxOperations),
		experiment.InRange("key-bytes", y.keyBytes, minPartBytes, kv.MaxSize),
		experiment.InRange("value-bytes", y.valueBytes, minPartBytes, kv.MaxSize),
		experiment.InRange("nessie-load", y.nessieLoad, .01, maxNessieLoad))
	if len(y.batches) == 0 {
		err = errors.Join(err, errors.New("--batch needs a number"))
	}
	for _, batch := range y.batches {
		err = errors.Join(err, experiment.InRange("batch", batch, 1,
			min(maxBatch, batchBytes/max(1, y.keyBytes+y.valueBytes))))
	}
	if err == nil {
		y.law = measure.NewLaw(measure.Zipf, int(y.records))
	}
	return err
}

// keys is how many there are in the end, at most.
func (y *ycsb) keys(ranks uint64) uint64 {
	inserts := float64(uint64(y.operations)*workloadD.writePercent()*ranks) / 100
	return uint64(y.records) + uint64(inserts*insertsSlack) + spareItems
}

// mapConfig has room for everything. A rank has the items of what it has put last: in the worst
// case all that it puts while the others have not begun. It also has the items of the keys of its
// slots that others put last, if these ship and it does not: each rank measures that by itself.
func (y *ycsb) mapConfig(ranks int) kv.Config {
	records, n := uint64(y.records), uint64(ranks)
	keys, puts := y.keys(n), uint64(0)
	for _, w := range workloads()[1:] {
		puts += uint64(y.operations) * w.writePercent() / 100
	}
	own := (records+n-1)/n + uint64(float64(puts)*insertsSlack)
	shippedHere := uint64(float64(keys) / float64(n) * homesSlack)
	mine := min(keys, own+shippedHere) + 2*spareItems
	return kv.Config{Slots: uint64(float64(keys)/finalLoad) + 8*n,
		Bytes: n * mine * itemBytes(y.keyBytes, y.valueBytes), MaxKey: y.keyBytes,
		MaxValue: y.valueBytes, Copies: y.keyBytes+y.valueBytes <= 16} // where a slot has room
}

// nessieConfig has room for everything: a rank may have the items of all keys, as it also has those
// of keys that it has migrated.
func (y *ycsb) nessieConfig(ranks int) nessie.Config {
	n := uint64(ranks)
	keys := y.keys(n)
	return nessie.Config{SlotsPerRank: uint64(float64(keys)/y.nessieLoad)/n + 1,
		ItemsPerRank: keys + spareItems, MaxKey: y.keyBytes, MaxValue: y.valueBytes}
}

// Round measures everything once.
func (y *ycsb) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	for _, batch := range y.batches {
		for _, i := range y.impls {
			r := run{of: y, job: job, impl: i, batch: batch, piece: newPiece(y, batch)}
			if err := r.measure(ctx, emit); err != nil {
				return fmt.Errorf("%s, batches of %d: %w", i, batch, err)
			}
		}
	}
	return nil
}

// run measures the workloads with one store on one rank.
type run struct {
	of    *ycsb
	job   rma.Job
	impl  impl
	batch int
	piece *piece
	store store
	stamp uint64 // the last one
}

// measure does what is asked for, and the loading in any case.
func (r *run) measure(ctx context.Context, emit experiment.Emit) (err error) {
	runtime.GC() // what the last store left is not this one's to collect
	if r.store, err = r.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.store.close(ctx)) }()
	const rankShift = 40 // ranks have stamps of their own
	r.stamp = uint64(r.job.Rank()) << rankShift
	for _, w := range workloads() {
		piece, keep := r.piece, slices.Contains(r.of.workloads, w)
		if w == loading && r.batch == 1 && (!keep || r.impl == aServer) {
			// One at a time would take longer than all else; it is no sample.
			piece, keep = newPiece(r.of, usualBatch), false
		} else if w != loading && !keep {
			continue
		}
		rec, err := r.workload(ctx, w, piece)
		if err != nil {
			return fmt.Errorf("workload %s: %w", w, err)
		}
		if keep {
			emit(rec)
		}
	}
	return nil
}

// sample is what a rank has seen of a workload.
type sample struct {
	latencies
	operations, wrong uint64
	elapsed, served   time.Duration
}

func (r *run) workload(ctx context.Context, w workload, p *piece) (record.Record, error) {
	before := r.store.counts()
	s := newStream(w, r.of.law, r.of, r.job.Rank(), r.job.Size(), &r.stamp)
	is := &sample{operations: s.left, latencies: latencies{measure.NewHistogram(),
		measure.NewHistogram()}}
	operations := s.left // the largest number of any rank: they meet as often
	if w == loading {
		operations = (s.records + s.ranks - 1) / s.ranks
	}
	for done := uint64(0); done < operations; done += uint64(len(p.calls)) {
		p.fill(s)
		if err := r.timed(ctx, p, is); err != nil {
			return record.Record{}, err
		}
		is.wrong += p.wrong()
	}
	after := r.store.counts()
	return r.sumUp(ctx, w, is, counts{after.roundTrips - before.roundTrips,
		after.lost - before.lost})
}

// timed does the operations of the piece. Ranks begin together, and those that are done wait
// for the others.
func (r *run) timed(ctx context.Context, p *piece, s *sample) error {
	before, err := r.store.served()
	if err == nil {
		err = r.job.Barrier(ctx)
	}
	if err != nil {
		return err
	}
	batches, step := len(p.ends), max(1, stepOperations/p.batch)
	start := time.Now()
	for from := 0; from < batches; from += step {
		if err := p.run(r.store, from, min(from+step, batches), &s.latencies); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	s.elapsed += time.Since(start)
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	after, err := r.store.served()
	s.served += after - before
	return err
}

// sumUp gathers what the ranks have seen: s is this rank's part.
func (r *run) sumUp(ctx context.Context, w workload, s *sample, c counts) (
	rec record.Record, err error) {
	all, err := measure.GatherWords(ctx, r.job, []uint64{s.operations, c.roundTrips, c.lost,
		s.wrong, uint64(s.served), uint64(s.elapsed)})
	if err != nil {
		return rec, err
	}
	var sum [5]uint64
	slowest := uint64(1)
	for _, of := range all {
		for i := range sum {
			sum[i] += of[i]
		}
		slowest = max(slowest, of[5])
	}
	if sum[3] > 0 {
		return rec, fmt.Errorf("%d reads have not found what was written: %s is broken", sum[3],
			r.impl)
	}
	operations := float64(sum[0])
	kops := operations / float64(slowest) * 1e6
	core := kops / float64(r.job.Size())
	if r.impl == aServer {
		core = operations / float64(max(sum[4], 1)) * 1e6
	}
	rec = record.Record{Name: "KV", N: int(sum[0]), Keys: []record.Key{
		record.K("workload", string(w)), record.K("impl", string(r.impl)),
		record.K("batch", r.batch)}, Values: []record.Value{{Value: kops, Unit: "kop/s"},
		{Value: 1e6 / kops, Unit: "ns/op"}, {Value: core, Unit: "core-kop/s"},
		{Value: float64(sum[1]) / operations, Unit: "trips/op"},
		{Value: float64(sum[2]), Unit: "lost"}}}
	reads, err := measure.MergeHistograms(ctx, r.job, s.reads)
	if err != nil {
		return rec, err
	}
	writes, err := measure.MergeHistograms(ctx, r.job, s.writes)
	rec.Values = append(rec.Values, measure.Percentiles("read", reads)...)
	rec.Values = append(rec.Values, measure.Percentiles("write", writes)...)
	return rec, err
}
