package net

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/redis"
	"github.com/farhash/farhash/eval/internal/view"
)

// impl is what is measured between hosts.
type impl string

const (
	raw      impl = "raw"       // gets by a loop in C around UCX: see package rawucx
	engine   impl = "engine"    // gets by a queue of the engine
	oneSided impl = "one-sided" // a set whose batches are gets and compare-and-swaps
	shipped  impl = "shipped"   // a set whose batches are shipped to the owners
	aServer  impl = "redis"     // servers, by pipelines of SADD
)

func impls() []impl { return []impl{raw, engine, oneSided, shipped, aServer} }

// gets tells whether it does gets, and no find-or-put.
func (i impl) gets() bool { return i == raw || i == engine }

// traffic says which ranks work on whose memory.
type traffic string

const (
	oneWay   traffic = "one-way"   // ranks of the first host on memory of all others
	bothWays traffic = "both-ways" // all ranks on memory of the hosts that they are not on
)

const (
	usualBatch  = 4096
	maxBatch    = 1 << 20
	maxInFlight = 1 << 12
	maxGetBytes = 1 << 16
	lineBytes   = 64      // gets are of multiples of it
	finalLoad   = .5      // of the table, at most
	warmWords   = 1 << 13 // of each client that are there before
	warmGets    = 1 << 9
	maxTimed    = 1 << 22 // operations of a client in one measurement

	// Operations one at a time are measured in so many shorter turns: how fast two processes
	// take turns depends on where the system has put them, for tenths of seconds.
	turns = 3
)

// Hosts is what reaches from one host to another: gets, batches of the set, and Redis.
func Hosts() *experiment.Experiment {
	whole := func(unit, head string) view.Column {
		return view.Column{Unit: unit, Head: head, Whole: true}
	}
	over := func(unit string, i impl, head string) view.Column {
		return view.Column{Unit: unit, Over: record.K("impl", string(i)), Head: head}
	}
	return &experiment.Experiment{
		Name:  "hosts",
		Hosts: true,
		Short: "LP 7: one-sided and shipped probing between hosts, beside UCX alone and Redis",
		Long: `Measures, in turns over the same network, gets by a loop in C around UCX (raw) and by a queue
of the engine (engine), find-or-put of a set whose batches are gets and compare-and-swaps
(one-sided) or are shipped to the ranks that own the memory (shipped), and what people use
otherwise: a redis-server for each rank, with pipelines of SADD from clients that divide the
words among the servers (redis). Words are random; half of a batch is new. Every answer is
checked. One at a time is measured one-way, with one client.

farhash run --rendezvous starts it on each host:

  farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 --nproc 2 \
      --token-file token -- farhash-eval net hosts

What cannot be measured here is left out. Build farhash-eval with -tags ucx.`,
		Runs: 7,
		Views: []view.View{{Name: "Net", Title: "between hosts, thousand operations a second",
			Notes: "An operation of raw and engine is a get. Messages are what the engine is asked " +
				"for: gets, puts and\ncompare-and-swaps, or requests of a shipped set.",
			Columns: []view.Column{{Unit: "kop/s", Spread: true},
				{Unit: "message-k/s", Head: "messages"}, {Unit: "messages/op"},
				over("message-k/s", raw, "/ raw"), over("kop/s", oneSided, ""),
				over("kop/s", aServer, ""), whole("each-p50-ns", "p50"), whole("each-p99-ns", "p99")},
			Plots: []view.Plot{{Title: "find-or-put and gets", Panel: "traffic", X: "impl",
				Y: "kop/s"}}}},
		New: newRunner,
	}
}

// runner measures all cases.
type runner struct {
	impls           []impl
	traffics        []traffic
	batch, inFlight int
	getBytes        []int
	buckets         experiment.Count
	share           float64 // of words in a batch that are new
	piece           time.Duration

	perHost int // ranks of a host: rank r is on host r / perHost
	size    int // ranks of the job
	address string
	server  *redis.Server // started by this rank
	servers []string      // by rank: where they listen
	secret  string        // that they want to be told
}

func newRunner(flags *pflag.FlagSet) experiment.Runner {
	r := &runner{}
	experiment.ChoiceVar(flags, &r.impls, "impl", impls(), impls(), "what is measured, a list of")
	experiment.ChoiceVar(flags, &r.traffics, "traffic", []traffic{oneWay, bothWays},
		[]traffic{oneWay, bothWays}, "who works on what, a list of")
	flags.IntVar(&r.batch, "batch", usualBatch, "words of one call, and of a pipeline")
	flags.IntVar(&r.inFlight, "in-flight", 64, "gets in flight, and operations of a one-sided batch")
	flags.IntSliceVar(&r.getBytes, "get-bytes", []int{lineBytes, 8 * lineBytes}, "bytes of gets")
	experiment.CountVar(flags, &r.buckets, "buckets", 8<<20, "size of the table")
	flags.Float64Var(&r.share, "new", 0.5, "share of words in a batch that are new")
	flags.DurationVar(&r.piece, "piece", 300*time.Millisecond, "about how long one measurement takes")
	return r
}

// Check refuses what makes no sense.
func (r *runner) Check() error {
	err := errors.Join(experiment.InRange("batch", r.batch, 2, maxBatch),
		experiment.InRange("in-flight", r.inFlight, 2, maxInFlight),
		experiment.InRange("new", r.share, 0, 1),
		experiment.InRange("piece", int(r.piece), int(time.Millisecond), int(time.Minute)))
	for _, bytes := range r.getBytes {
		if bytes < lineBytes || bytes > maxGetBytes || bytes%lineBytes != 0 {
			err = errors.Join(err, fmt.Errorf("--get-bytes must be %d to %d, a multiple of %d, not "+
				"%d", lineBytes, maxGetBytes, lineBytes, bytes))
		}
	}
	if err != nil {
		return err
	}
	m, launched, err := launch.Detect()
	if err != nil {
		return err
	}
	if !launched || m.LocalSize < 1 || m.LocalSize >= m.Size {
		return errors.New("net hosts needs ranks on two hosts: start it by farhash run " +
			"--rendezvous on each of them")
	}
	r.perHost, r.address = m.LocalSize, os.Getenv(launch.RendezvousVariable)
	return nil
}

// netCase is what a sample is of.
type netCase struct {
	impl    impl
	traffic traffic
	batch   int // words of one call, and for gets how many are in flight; 1: one at a time
	bytes   int // of a get; 0 for the others
}

// cases are what is measured with some traffic, in the order in which it is: one at a time
// first, several times, one-way.
func (r *runner) cases(t traffic) (all []netCase) {
	add := func(i impl, batch int) {
		if !i.gets() {
			all = append(all, netCase{i, t, batch, 0})
			return
		}
		for _, bytes := range r.getBytes {
			all = append(all, netCase{i, t, batch, bytes})
		}
	}
	if t == oneWay {
		for range turns {
			for _, i := range r.impls {
				if i != shipped { // a set does not ship one operation
					add(i, 1)
				}
			}
		}
	}
	for _, i := range r.impls {
		if i.gets() {
			add(i, r.inFlight)
		} else {
			add(i, r.batch)
		}
	}
	return all
}

// Round measures everything once.
func (r *runner) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	r.size = job.Size()
	if r.size%r.perHost != 0 {
		return fmt.Errorf("%d ranks, %d on each host, are not two hosts or more", r.size, r.perHost)
	}
	least := experiment.Count(2 * warmWords * r.perHost * r.size)
	if err := experiment.InRange("buckets", r.buckets, least, 1<<34); err != nil {
		return err
	}
	missing, err := r.missing(ctx, job)
	if err != nil {
		return err
	}
	if job.Rank() == 0 {
		for _, i := range r.impls {
			if why := missing[i]; why != "" {
				fmt.Fprintf(os.Stderr, "%s is left out: %s\n", i, why)
			}
		}
	}
	defer func() { err = errors.Join(err, r.stopServer()) }()
	for _, t := range r.traffics {
		for _, of := range r.cases(t) {
			if missing[of.impl] != "" {
				continue
			}
			rec, err := newRun(r, job, of).measure(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s, %d at a time: %w", of.impl, t, of.batch, err)
			}
			emit(rec)
		}
	}
	return err
}

// sample is what a rank has done of a case, and then what all have.
type sample struct {
	operations uint64
	elapsed    time.Duration
	// messages is what the engine was asked for: gets, puts and compare-and-swaps, or of a shipped
	// set requests. For Redis it is 0.
	messages, fresh uint64
	took            *hdrhistogram.Histogram // of operations one at a time
}

// asked keeps what an engine was asked for.
func (s *sample) asked(of rma.Stats) {
	s.messages = of.Gets + of.Puts + of.CompareAndSwaps + of.FetchAdds + of.Ships
}

// party is one rank's part in a case.
type party interface {
	// warm does what is not counted: on a client as many operations as given.
	warm(n int) error
	// ready prepares n operations of a client, while no clock runs.
	ready(n int)
	// run does these. More than one at a time it examines ctx now and then.
	run(ctx context.Context, s *sample) error
	// close is collective.
	close(ctx context.Context) error
}

// run measures a case on one rank.
type run struct {
	*runner
	job     rma.Job
	of      netCase
	clients int   // ranks below it are clients
	owners  []int // of memory that clients work on
	targets []int // those of them that this rank works on if it is a client
}

func newRun(r *runner, job rma.Job, of netCase) *run {
	host := func(rank int) int { return rank / r.perHost }
	is := &run{runner: r, job: job, of: of, clients: r.perHost}
	switch {
	case of.batch == 1:
		is.clients = 1
	case of.traffic == bothWays:
		is.clients = job.Size()
	}
	for rank := range job.Size() {
		if host(rank) > 0 || of.traffic == bothWays {
			is.owners = append(is.owners, rank)
		}
		if host(rank) != host(job.Rank()) {
			is.targets = append(is.targets, rank)
		}
	}
	return is
}

func (r *run) client() bool { return r.job.Rank() < r.clients }

func (r *run) owner() bool { return slices.Contains(r.owners, r.job.Rank()) }

func (r *run) measure(ctx context.Context) (rec record.Record, err error) {
	runtime.GC() // what the last one left is not this one's to collect
	open := map[impl]func(context.Context) (party, error){raw: r.openRaw, engine: r.openEngine,
		aServer: r.openRedis, oneSided: r.openSet, shipped: r.openSet}[r.of.impl]
	p, err := open(ctx)
	if err != nil {
		return rec, err
	}
	s := &sample{took: measure.NewHistogram()}
	if err = r.timed(ctx, p, s); err == nil {
		rec, err = r.sumUp(ctx, s)
	}
	if closing := p.close(ctx); err == nil {
		err = closing
	}
	return rec, err
}

// timed does the operations of this rank.
func (r *run) timed(ctx context.Context, p party, s *sample) error {
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	n, err := r.plan(ctx, p)
	if err != nil {
		return err
	}
	if r.client() {
		p.ready(n)
	}
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	if r.client() {
		begin := time.Now()
		if err := p.run(ctx, s); err != nil {
			return err
		}
		s.elapsed = time.Since(begin)
		s.operations = uint64(n)
	}
	return r.job.Barrier(ctx)
}

// plan warms up and says how many operations each client does.
func (r *run) plan(ctx context.Context, p party) (int, error) {
	warm := warmWords
	if r.of.impl.gets() {
		warm = warmGets
	}
	took := time.Duration(0)
	if r.client() {
		begin := time.Now()
		if err := p.warm(warm); err != nil {
			return 0, err
		}
		took = time.Since(begin)
	}
	times, err := measure.Gather(ctx, r.job, uint64(took))
	if err != nil {
		return 0, err
	}
	slowest, piece := time.Duration(max(slices.Max(times), 1)), r.piece
	if r.of.batch == 1 {
		piece /= turns
		if !r.of.impl.gets() { // what has warmed up is no measure
			slowest, warm = 50*time.Microsecond, 1
		}
	}
	n := int(min(float64(warm)*float64(piece)/float64(slowest), maxTimed))
	if !r.of.impl.gets() && r.share > 0 {
		part := float64(len(r.owners)) / float64(r.job.Size())
		room := finalLoad*part*float64(r.buckets) - float64(warmWords*r.clients)
		n = min(n, int(room/r.share)/r.clients)
	}
	return max(n/r.of.batch, 1) * r.of.batch, nil
}

// sumUp gathers what the clients have seen: s is this rank's part.
func (r *run) sumUp(ctx context.Context, s *sample) (rec record.Record, err error) {
	all, err := measure.GatherWords(ctx, r.job, []uint64{s.operations, s.messages,
		uint64(s.elapsed)})
	if err != nil {
		return rec, err
	}
	var operations, messages, slowest uint64
	for _, of := range all {
		operations += of[0]
		messages += of[1]
		slowest = max(slowest, of[2])
	}
	perMs := func(n uint64) float64 { return float64(n) / float64(max(slowest, 1)) * 1e6 }
	rec = record.Record{Name: "Net", N: int(operations), Keys: []record.Key{
		record.K("traffic", string(r.of.traffic)), record.K("batch", atOnce(r.of.batch)),
		record.K("impl", string(r.of.impl)),
		// A search in a table that is hardly full gets a line.
		record.K("bytes", max(r.of.bytes, lineBytes))},
		Values: []record.Value{{Value: perMs(operations), Unit: "kop/s"}}}
	if r.of.impl != aServer {
		rec.Values = append(rec.Values, record.Value{Value: perMs(messages), Unit: "message-k/s"},
			record.Value{Value: float64(messages) / float64(operations), Unit: "messages/op"})
	}
	rec.Values = append(rec.Values, measure.Percentiles("each", s.took)...)
	return rec, nil
}

// atOnce names sizes of batches so that gets in flight and batches of a set compare.
func atOnce(batch int) string {
	if batch == 1 {
		return "one"
	}
	return "many"
}
