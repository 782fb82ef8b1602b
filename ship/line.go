package ship

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/rma"
)

// Config says what a line is for.
type Config struct {
	Access Access
	// Trips is how many messages one of the table's operations takes one-sided, about.
	Trips float64
	// Answer carries out operations that others ship to this rank.
	Answer Answerer
	// Like is a line on another window of the same job, whose measurements hold here; nil: none.
	Like *Line
}

// Answerer carries out n operations, packed in request, and packs their answers into answer, of
// which it returns how many words it has written. It runs on the engine's goroutine, one call at a
// time; see rma.Handler for what it may do. The words of an error go to the rank that asked.
type Answerer func(kind uint32, n int, request, answer []uint64) (words int, err error)

// Line ships the batches of a table to the ranks that own the memory of one window. It is safe for
// concurrent use. A nil Line ships nothing: all memory is addressable, or the engine carries no
// requests.
type Line struct {
	job         rma.Job
	window      rma.Server
	addressable []bool // by rank: its segment is memory of this process
	choice      Choice
	minBatch    int // operations for one owner that are worth a request
	pool        rma.Pool[*session]
}

// errClosed is the answer of a line that has been closed.
var errClosed = errors.New("ship: the table is closed")

// Open makes a line on a window. Collective, with the same Config on every rank save for Access,
// which may differ. A rank that has joined again calls it alone.
func Open(ctx context.Context, job rma.Job, w rma.Window, cfg Config) (*Line, error) {
	if err := cfg.Access.Check(); err != nil {
		return nil, err
	}
	addressable, all := make([]bool, w.Size()), true
	for rank := range addressable {
		addressable[rank] = rank == w.Rank() || w.Words(rank) != nil && w.Caps().CPUAtomicsCoherent
		all = all && addressable[rank]
	}
	server, ok := w.(rma.Server)
	switch {
	case ok:
	case cfg.Access == Shipped && !all:
		return nil, errors.New("ship: this engine carries no requests to other ranks; take " +
			"Auto or OneSided, or the engine rma/ucx (FARHASH_ENGINE=ucx)")
	default:
		return nil, nil
	}
	l := &Line{job: job, window: server, addressable: addressable,
		pool: rma.Pool[*session]{Closed: errClosed}}
	server.Serve(func(_ int, request, answer []uint64) int {
		return respond(cfg.Answer, request, answer)
	})
	again := rma.Rejoined(job)
	if !again { // afterwards all have a handler; when a rank joins again, the others have
		if err := job.Barrier(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	var gone *rma.RankError
	err := l.choose(ctx, cfg)
	if again && (errors.As(err, &gone) || errors.Is(err, rma.ErrNotServed)) {
		// The rank that was asked is lost itself, or has closed the table.
		l.minBatch, err = math.MaxInt, nil
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// choose decides from how many operations on it ships.
func (l *Line) choose(ctx context.Context, cfg Config) error {
	l.choice = Choice{Access: cfg.Access, Trips: cfg.Trips}
	switch {
	case cfg.Access == Shipped:
		l.choice.MinBatch = 1
	case cfg.Access == OneSided || l.far() < 0:
		l.choice.MinBatch = math.MaxInt
	case cfg.Like != nil && cfg.Like.choice.Costs != (Costs{}):
		l.choice.Costs = cfg.Like.choice.Costs
		l.choice.MinBatch = l.choice.Costs.minBatch(cfg.Trips)
	default:
		costs, err := l.measure(ctx)
		if err != nil {
			return fmt.Errorf("ship: measuring whether to ship batches: %w", err)
		}
		l.choice.Costs, l.choice.MinBatch = costs, costs.minBatch(cfg.Trips)
	}
	l.minBatch = l.choice.MinBatch
	return nil
}

// far is a rank whose memory is not addressable, the next one behind this rank; -1: none.
func (l *Line) far() int {
	for i := range l.addressable {
		if rank := (l.window.Rank() + i) % len(l.addressable); !l.addressable[rank] {
			return rank
		}
	}
	return -1
}

// Choice is what the line does and why. That of a nil line is the zero Choice.
func (l *Line) Choice() Choice {
	if l == nil {
		return Choice{}
	}
	return l.choice
}

// Worth reports whether any of n operations may be shipped.
func (l *Line) Worth(n int) bool { return l != nil && n >= l.minBatch }

// Close ends answering. Batches of other ranks then reach this one's memory one-sided.
func (l *Line) Close() error {
	if l == nil {
		return nil
	}
	l.window.Serve(nil)
	return l.pool.Close()
}
