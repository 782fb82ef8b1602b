package core

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/rma"
)

// Config says what a table's batches need.
type Config struct {
	Access rma.Access
	// Messages is how many messages one operation takes one-sided, about.
	Messages float64
	// Answer runs operations that other ranks ship to this one.
	Answer Answerer
	// Costs are what is known of the costs of messages; those that are zero are measured.
	Costs rma.AccessCosts
	// Closed is the error of Run after Close.
	Closed error
}

// Answerer runs n operations, packed in request, and packs their answers into answer, of
// which it returns how many words it has written. It runs on the engine's goroutine, one call at a
// time; see [rma.Handler] for what it may do. The text of an error goes to the rank that asked.
type Answerer func(kind uint32, n int, request, answer []uint64) (words int, err error)

// line ships the operations of a batch to their owners. It is safe for concurrent use. A nil
// line ships nothing.
type line struct {
	job    rma.Job
	window rma.Server
	own    int
	choice rma.AccessChoice
	pool   Pool[*flights]
}

// Open prepares a table's batches on the window that owners are asked about. Collective, with the
// same Config on every rank except for Access, which may differ. Regions may be set before, where
// the memory is no window's.
func (b *Batches) Open(ctx context.Context, job rma.Job, w rma.Window, cfg Config) error {
	if err := cfg.Access.Check(); err != nil {
		return err
	}
	b.ranks, b.plans.Closed = w.Size(), cfg.Closed
	if b.by == nil {
		b.Regions = NewRegions(w)
	}
	server, ok := w.(rma.Server)
	switch {
	case ok:
	case cfg.Access == rma.Shipped && !b.All:
		return errors.New("ship: this engine carries no requests to other ranks; take " +
			"Auto or OneSided, or an engine that does: rma/ucx (FARHASH_ENGINE=ucx), or rma/mpi " +
			"in a program that leaves MPI to it or initialises it with MPI_THREAD_MULTIPLE")
	default:
		return nil
	}
	l := &line{job: job, window: server, own: w.Rank(),
		pool: Pool[*flights]{Closed: cfg.Closed}}
	b.line = l
	server.Serve(func(_ int, request, answer []uint64) int {
		return respond(cfg.Answer, request, answer)
	})
	err := job.Barrier(ctx) // now all have a handler
	if err == nil {
		err = l.choose(ctx, b.Far(w.Rank(), b.ranks), cfg)
	}
	if err != nil {
		return errors.Join(err, b.Close())
	}
	return nil
}

// choose decides from how many operations for a rank on it ships. remote is a rank to measure
// with, -1 if there is none.
func (l *line) choose(ctx context.Context, remote int, cfg Config) error {
	l.choice = rma.AccessChoice{Access: cfg.Access, Trips: cfg.Messages}
	switch {
	case cfg.Access == rma.Shipped:
		l.choice.MinBatch = 1
	case cfg.Access == rma.OneSided || remote < 0:
		l.choice.MinBatch = math.MaxInt
	default:
		costs, err := l.measure(ctx, remote, cfg.Costs)
		if err != nil {
			return fmt.Errorf("ship: measuring whether to ship batches: %w", err)
		}
		l.choice.Costs, l.choice.MinBatch = costs, least(costs, cfg.Messages)
	}
	return nil
}

// Access is how batches reach memory that this process cannot address, and why.
func (b *Batches) Access() rma.AccessChoice {
	if b.line == nil {
		return rma.AccessChoice{}
	}
	return b.line.choice
}

// Ships reports whether batches of some length are shipped.
func (b *Batches) Ships() bool { return b.line != nil && b.line.choice.MinBatch < math.MaxInt }

// worth reports whether any of n operations may be shipped.
func (l *line) worth(n int) bool { return l != nil && n >= l.choice.MinBatch }

// shipsTo reports whether operations for a rank can be shipped.
func (l *line) shipsTo(rank int) bool { return rank != l.own }

// Close ends answering. Batches of other ranks then reach this one's memory one-sided. Regions are
// forgotten, so that later calls do not touch memory that is gone.
func (b *Batches) Close() error {
	var err error
	if b.line != nil { // first: requests of other ranks are running
		b.line.window.Serve(nil)
		err = b.line.pool.Close()
	}
	b.Regions = Regions{}
	return errors.Join(err, b.plans.Close())
}
