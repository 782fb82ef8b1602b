package lp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/lp/baseline"
)

const (
	// simulatedWorkers are the workers of LP 5.1.
	simulatedWorkers = 28
	// simulatedDepth is how many lookups of a worker are in flight. In LP 5.1 so many reads
	// are, and up to 8192 wait after them; cards have enough to do either way.
	simulatedDepth = 16
	// simulatedBytes is the size of the slots of a simulated table: enough for the laws of
	// readsize, from which one deviates by a tenth at load 0.95.
	simulatedBytes = 2 << 20
)

// simulatedCost is what messages take. A card is busy with one of b bytes for
// 1/rho0 + alpha*(h+b), one thing after the other, with the header of LP 3.1, h = 30 bytes.
// [sim.EDR] takes the longer of the two instead. Then reads of up to 113 bytes would be all the
// same, which LP Table 2 denies. It asks for the header as well, although rho0 is measured with
// one: reads without payload have 72 M/s here, and in LP 87.
func simulatedCost() sim.Cost {
	cost := bareCost()
	cost.HeaderBytes += int(readsize.EDR().HeaderBytes)
	return cost
}

// bareCost leaves the header out: a card is busy for 1/rho0 + alpha*b.
func bareCost() sim.Cost {
	cost, m := sim.EDR(), readsize.EDR()
	cost.MessagesPerSecond = 0
	cost.HeaderBytes = int(math.Round(1e9 / m.MessagesPerSecond / m.ByteNs))
	return cost
}

// server is a job of one rank whose windows are copied into the memory of a simulated server
// and looked up there. The index is made once, by the engine below, and all workers share
// it; the worker whose turn it is opens queues of the simulation.
type server struct {
	rma.Job
	windows []rma.Window
	worker  *worker // nil while the index is built
}

// NewWindow makes a window.
func (s *server) NewWindow(ctx context.Context, spec rma.Spec) (w rma.Window, err error) {
	if w, err = s.Job.NewWindow(ctx, spec); err == nil {
		s.windows = append(s.windows, w)
	}
	return w, err
}

// NewQueue makes a queue: from a worker to the server, once there are workers.
func (s *server) NewQueue(depth int) (rma.Queue, error) {
	if s.worker == nil {
		return s.Job.NewQueue(depth)
	}
	q, err := s.worker.job.NewQueue(depth)
	return &serverQueue{q, s.worker}, err
}

// serverQueue reads the memory of the last rank, the server. Lookups do nothing else.
type serverQueue struct {
	rma.Queue
	worker *worker
}

// Get copies words of the server.
func (q *serverQueue) Get(dst rma.Buf, w rma.Window, _, off int) rma.Handle {
	return q.Queue.Get(dst, q.worker.windows[w], q.worker.job.Size()-1, off)
}

// simulatedTable is an index on a server that does nothing, as in LP 5.1.
type simulatedTable struct {
	server *server
	table  table
	keys   keys
	cost   sim.Cost // of messages
	gather int      // the most gets that a message asks for
}

// newSimulatedTable builds a table, which takes no virtual time.
func newSimulatedTable(ctx context.Context, of shape, keys keys) (*simulatedTable,
	error) {
	t := &simulatedTable{server: &server{Job: local.Single()}, keys: keys,
		cost: simulatedCost()}
	var err error
	if t.table, err = of.build(ctx, t.server, &t.keys); err != nil {
		return nil, errors.Join(err, t.server.Close())
	}
	return t, nil
}

func (t *simulatedTable) close() error { return errors.Join(t.table.Close(), t.server.Close()) }

// simulation is lookups of a table by the workers of a client, which share a card. One of
// them runs at a time.
type simulation struct {
	*simulatedTable
	ctx     context.Context
	workers int
	lookups lookups
	each    int // lookups of a worker
	batch   int // 1: one at a time

	messages       uint64
	beginNs, endNs int64 // when the last worker began, and ended
	stats          index.Counts
	reads          baseline.Reads
	ns             []float64 // of each lookup, where they are one at a time
}

// simulate has each worker look up so many keys.
func (t *simulatedTable) simulate(ctx context.Context, how lookups, workers, each,
	batch int) (*simulation, error) {
	if how.depth == 0 {
		how.depth = simulatedDepth
	}
	how.depth = min(how.depth, batch)
	s := &simulation{simulatedTable: t, ctx: ctx, workers: workers, lookups: how, each: each,
		batch: batch}
	report, err := sim.Run(sim.Options{Ranks: workers + 1, RanksPerHost: workers,
		Seed: 1 + t.keys.seed, Cost: t.cost, Gather: t.gather, View: sim.ViewOwn,
		MaxTimeNs: sim.MaxNs, MaxSteps: math.MaxUint64, Context: ctx},
		func(job rma.Job) error { return s.rank(job.(*sim.Job)) })
	s.messages = report.Messages
	t.server.worker = nil
	if err != nil {
		return nil, fmt.Errorf("simulating lookups: %w", err)
	}
	return s, nil
}

func (s *simulation) elapsedNs() float64 { return float64(max(s.endNs-s.beginNs, 1)) }

func (s *simulation) rank(job *sim.Job) error {
	w := &worker{s: s, job: job, windows: map[rma.Window]rma.Window{}}
	isServer := job.Rank() == s.workers
	for _, built := range s.server.windows {
		window, err := job.NewWindow(s.ctx, rma.Spec{Name: "lp: a table", Words: built.Len()})
		if err != nil {
			return err
		}
		w.windows[built] = window
		if isServer {
			copy(window.Words(job.Rank()), built.Words(0))
		}
	}
	err := job.Barrier(s.ctx)
	if err == nil && !isServer {
		err = w.work()
	}
	return errors.Join(err, job.Barrier(s.ctx), job.Close())
}

// worker is a rank of the client.
type worker struct {
	s       *simulation
	job     *sim.Job
	windows map[rma.Window]rma.Window // by those that the index was built in
}

func (w *worker) work() (err error) {
	s := w.s
	l := lookupRun{ctx: s.ctx, table: s.table, keys: &s.keys, batch: s.batch}
	if s.batch == 1 {
		l.clock = w.job.NowNs
	}
	s.server.worker = w
	if l.reader, err = s.table.reader(s.lookups); err != nil {
		return err
	}
	l.draw(w.job.Rank(), s.each)
	s.beginNs = max(s.beginNs, w.job.NowNs())
	s.server.worker = w // others ran since, and the first lookup opens a queue
	err = errors.Join(l.run(), l.reader.Close())
	s.endNs = max(s.endNs, w.job.NowNs())
	add(&s.stats, l.stats)
	s.reads.Add(&l.reads)
	s.ns = append(s.ns, l.ns...)
	return err
}
