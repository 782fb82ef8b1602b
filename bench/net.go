package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/farhash/farhash/rma"
)

// NetBench measures what reaches from one host to another, in rounds, and keeps the samples:
// the command farhash bench net.
//
// Clients are ranks that work on memory of owners, over the same network in turns: gets by a
// loop in C and by a queue of the engine, find-or-put of a set whose batches are one-sided
// operations or travel, and a Redis server beside each owner. What one at a time costs is
// measured on one client. A measurement is so many operations as take about NetConfig.Piece, after
// a few that are not counted; words are generated, and tables made, while no clock runs. A
// rate is the operations of all clients divided by the time of the slowest. Every answer is
// counted: so many words were new and so many there, or it is an error.
type NetBench struct {
	cfg NetConfig

	mu      sync.Mutex
	samples []NetSample
	notes   []string
	redis   string       // version of the servers
	server  *redisServer // started by this rank
	servers []string     // by rank: where they listen
	secret  string       // that they want to be told
	size    int          // ranks of the job
}

// NetSample is one case done once. Counts are of all clients.
type NetSample struct {
	NetCase
	Clients    int
	Operations uint64
	Elapsed    time.Duration
	// Messages is what the engine was asked for: gets, puts and compare-and-swaps, or of a shipped
	// set requests. For Redis it is 0.
	Messages uint64
	Payload  uint64 // bytes of these, as rma.Stats counts them
	Gets     uint64
	Fresh    uint64 // words that were inserted

	took *hdrhistogram.Histogram // of operations one at a time
}

// Kops is the rate in thousands of operations per second.
func (s *NetSample) Kops() float64 { return perMs(s.Operations, s.Elapsed) }

// MessageKops is the rate of messages in thousands per second.
func (s *NetSample) MessageKops() float64 { return perMs(s.Messages, s.Elapsed) }

func perMs(n uint64, d time.Duration) float64 {
	return float64(n) / float64(max(d, 1)) * float64(time.Millisecond)
}

// NewNet checks and completes cfg.
func NewNet(cfg NetConfig) (*NetBench, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &NetBench{cfg: cfg}, nil
}

// Config is what is measured, with the defaults filled in.
func (b *NetBench) Config() NetConfig { return b.cfg }

// Round measures everything once on the ranks of job. Collective. When it fails or ctx ends,
// the samples so far remain. What cannot be measured here is left out, and the report says so.
func (b *NetBench) Round(ctx context.Context, job rma.Job) error {
	if err := b.cfg.checkJob(job.Size()); err != nil {
		return err
	}
	b.mu.Lock()
	b.size = job.Size()
	b.mu.Unlock()
	missing, err := b.missing(ctx, job)
	if err != nil {
		return err
	}
	for _, traffic := range b.cfg.Traffics {
		for _, of := range b.cfg.turns(traffic) {
			if why := missing[of.Impl]; why != "" {
				b.note(fmt.Sprintf("%s is left out: %s", of.Impl, why))
				continue
			}
			r := newNetRun(b, job, of)
			if err := r.measure(ctx); err != nil {
				return fmt.Errorf("bench: %s, %s, %d at a time: %w", of.Impl, traffic, of.Batch,
					err)
			}
		}
	}
	return nil
}

// note keeps what the report should say, once.
func (b *NetBench) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// netParty is one rank's part in a case.
type netParty interface {
	// warm does what is not counted: on a client as many operations as given.
	warm(n int) error
	// ready prepares n operations of a client, while no clock runs.
	ready(n int)
	// run does these. More than one at a time it looks at ctx now and then.
	run(ctx context.Context, s *NetSample) error
	// close is collective.
	close(ctx context.Context) error
}

// netRun measures a case on one rank.
type netRun struct {
	bench   *NetBench
	job     rma.Job
	of      NetCase
	clients int   // ranks below it are clients
	owners  []int // of memory that clients work on
	targets []int // those of them that this rank works on if it is a client
}

func newNetRun(b *NetBench, job rma.Job, of NetCase) *netRun {
	host := func(rank int) int { return rank / b.cfg.PerHost }
	r := &netRun{bench: b, job: job, of: of, clients: b.cfg.PerHost}
	switch {
	case of.Batch == 1:
		r.clients = 1
	case of.Traffic == NetBothWays:
		r.clients = job.Size()
	}
	for rank := range job.Size() {
		if host(rank) > 0 || of.Traffic == NetBothWays {
			r.owners = append(r.owners, rank)
		}
		if host(rank) != host(job.Rank()) {
			r.targets = append(r.targets, rank)
		}
	}
	return r
}

func (r *netRun) client() bool { return r.job.Rank() < r.clients }

func (r *netRun) owner() bool { return slices.Contains(r.owners, r.job.Rank()) }

// open prepares this rank's part. Collective.
func (r *netRun) open(ctx context.Context) (netParty, error) {
	switch r.of.Impl {
	case NetRaw:
		return r.openRaw(ctx)
	case NetEngine:
		return r.openEngine(ctx)
	case NetRedis:
		return r.openRedis(ctx)
	}
	return r.openSet(ctx)
}

func (r *netRun) measure(ctx context.Context) error {
	runtime.GC() // what the last one left is not this one's to collect
	party, err := r.open(ctx)
	if err != nil {
		return err
	}
	s := &NetSample{NetCase: r.of, Clients: r.clients, took: newHistogram()}
	err = r.timed(ctx, party, s)
	if err == nil {
		err = r.sum(ctx, s)
	}
	if closing := party.close(ctx); err == nil {
		err = closing
	}
	if err == nil && r.job.Rank() == 0 {
		r.bench.keep(s)
	}
	return err
}

// timed does the operations of this rank.
func (r *netRun) timed(ctx context.Context, party netParty, s *NetSample) error {
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	n, err := r.plan(ctx, party)
	if err != nil {
		return err
	}
	if r.client() {
		party.ready(n)
	}
	if err := r.job.Barrier(ctx); err != nil {
		return err
	}
	if r.client() {
		begin := time.Now()
		if err := party.run(ctx, s); err != nil {
			return err
		}
		s.Elapsed = time.Since(begin)
		s.Operations = uint64(n)
	}
	return r.job.Barrier(ctx)
}

// plan warms up and says how many operations each client does.
func (r *netRun) plan(ctx context.Context, party netParty) (int, error) {
	warm := netWarm
	if r.of.Impl.gets() {
		warm = netWarmGets
	}
	took := time.Duration(0)
	if r.client() {
		begin := time.Now()
		if err := party.warm(warm); err != nil {
			return 0, err
		}
		took = time.Since(begin)
	}
	times, err := gather(ctx, r.job, uint64(took))
	if err != nil {
		return 0, err
	}
	slowest := time.Duration(max(slices.Max(times), 1))
	if r.of.Batch == 1 && !r.of.Impl.gets() { // what has warmed up is no measure
		slowest, warm = 50*time.Microsecond, 1
	}
	piece := r.bench.cfg.Piece
	if r.of.Batch == 1 {
		piece /= netTurns
	}
	n := int(min(float64(warm)*float64(piece)/float64(slowest), netMost))
	if share := float64(len(r.owners)) / float64(r.job.Size()); !r.of.Impl.gets() &&
		r.bench.cfg.New > 0 {
		room := netLoad*share*float64(r.bench.cfg.Buckets) - float64(netWarm*r.clients)
		n = min(n, int(room/r.bench.cfg.New)/r.clients)
	}
	return max(n/r.of.Batch, 1) * r.of.Batch, nil
}

// sum brings together what the clients have seen: s is this rank's part. Collective.
func (r *netRun) sum(ctx context.Context, s *NetSample) error {
	for _, count := range []*uint64{&s.Operations, &s.Messages, &s.Payload, &s.Gets, &s.Fresh} {
		all, err := gather(ctx, r.job, *count)
		if err != nil {
			return err
		}
		*count = sum(all)
	}
	times, err := gather(ctx, r.job, uint64(s.Elapsed))
	if err == nil {
		s.Elapsed = time.Duration(slices.Max(times))
	}
	return err
}

// keep keeps a sample, on rank 0.
func (b *NetBench) keep(s *NetSample) {
	b.mu.Lock()
	b.samples = append(b.samples, *s)
	b.mu.Unlock()
	if b.cfg.Progress != nil {
		b.cfg.Progress(*s)
	}
}

// record keeps how long an operation has taken.
func record(h *hdrhistogram.Histogram, took time.Duration) {
	_ = h.RecordValue(min(max(int64(took), 1), int64(time.Minute))) // it is in range
}
