package net

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
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

// gets reports whether it does gets, and no find-or-put.
func (i impl) gets() bool { return i == raw || i == engine }

// direction says which ranks work on whose memory.
type direction string

const (
	oneWay   direction = "one-way"   // ranks of the first host on memory of all others
	bothWays direction = "both-ways" // all ranks on memory of the hosts that they are not on
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

const hostsNotes = `An operation of raw and engine is a get. Messages are what the engine is asked
for: gets, puts and compare-and-swaps, or requests of a shipped set.`

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
		Long: `Measures, in turns over the same network, gets by a loop in C around UCX (raw) and by
a queue of the engine (engine), find-or-put of a set whose batches are gets and compare-and-swaps
(one-sided) or are shipped to the ranks that own the memory (shipped), and what people use
otherwise: a redis-server for each rank, with pipelines of SADD from clients that divide the
words among the servers (redis). Words are random; half of a batch is new. Every answer is
checked. One at a time is measured one-way, with one client.

farhash run --rendezvous starts it on each host:

  farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 --nproc 2 \
      --token-file token -- farhash-eval net hosts

What cannot be measured here is left out. Build farhash-eval with -tags ucx.`,
		Takes: "a minute",
		Runs:  7,
		Views: []view.View{{Name: "Net", Title: "between hosts, thousand operations a second",
			Notes: hostsNotes,
			Columns: []view.Column{{Unit: "kop/s", Spread: true},
				{Unit: "message-k/s", Head: "messages"}, {Unit: "messages/op"},
				over("message-k/s", raw, "/ raw"), over("kop/s", oneSided, ""),
				over("kop/s", aServer, ""), whole("each-p50-ns", "p50"),
				whole("each-p99-ns", "p99")},
			Plots: []view.Plot{{Title: "find-or-put and gets", Panel: "direction", X: "impl",
				Y: "kop/s"}}}},
		New: newRunner,
	}
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

// participant is one rank's part in a case.
type participant interface {
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
	targets []int // the ones that this rank works on if it is a client
}

func newRun(r *runner, job rma.Job, of netCase) *run {
	host := func(rank int) int { return rank / r.perHost }
	is := &run{runner: r, job: job, of: of, clients: r.perHost}
	switch {
	case of.batch == 1:
		is.clients = 1
	case of.direction == bothWays:
		is.clients = job.Size()
	}
	for rank := range job.Size() {
		if host(rank) > 0 || of.direction == bothWays {
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
	open := map[impl]func(context.Context) (participant, error){raw: r.openRaw,
		engine: r.openEngine, aServer: r.openRedis, oneSided: r.openSet,
		shipped: r.openSet}[r.of.impl]
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
func (r *run) timed(ctx context.Context, p participant, s *sample) error {
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
func (r *run) plan(ctx context.Context, p participant) (int, error) {
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
		record.K("direction", string(r.of.direction)), record.K("batch", atOnce(r.of.batch)),
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
