package symbolic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// Config shapes a Store.
type Config struct {
	// Levels is the length of all vectors, 1 or more.
	Levels int
	// MaxBytes is the memory that nodes and results may take, MinBytes or more. 0 means 0.8 of what
	// is left. The stack of a deep operation comes in addition, up to half as much or 128 MiB.
	MaxBytes uint64
	// Goroutines is how many goroutines work on an operation that takes more than a millisecond. 0
	// means 1.
	Goroutines int
	// Progress is called every 10 ms within operations, by one of their goroutines; the others wait
	// until it returns. So it may also have the operation pause. It may call Stats, Saturated and
	// Least, and no operation. Within a collection of garbage, and Count and other walks over all
	// nodes, it is not called.
	Progress func(*Store)

	pace    uint64 // collect garbage whenever so many nodes were made; 0: as the manual says
	deepest int    // calls of operations in each other; 0: maxDepth
	eager   bool   // let other goroutines help from the beginning, and with anything

	progressEvery time.Duration // 0: progressEvery
}

const (
	// MinBytes is the smallest MaxBytes.
	MinBytes = 1 << 20

	defaultShare = 0.8
	firstBuckets = 1 << 16

	// maxDepth is how deep operations call each other. Go ends a program at 1 GB of stack, or 250
	// MB where an int has 32 bits; a call takes less than 900 bytes of it.
	maxDepth = 1 << 18 * (bits.UintSize / 32) * (bits.UintSize / 32)
)

// errDepth is the error for lists that are too long, one below the other.
var errDepth = errors.New("symbolic: an operation on long lists takes too many calls at a time")

// Store holds the nodes of any number of sets of vectors of one length, and the results of
// operations on them. One goroutine calls it; others may help with an operation.
type Store struct {
	levels   int
	maxBytes uint64
	pace     uint64

	ctx      context.Context // of New
	progress func(*Store)
	stop     func() // ends what sets signals

	job      rma.Job
	elements *set.Bytes // nil: the store is closed
	cache    cache

	counted     atomic.Uint64 // nodes in the set, and those that workers may have made since
	next        uint64        // the number of nodes at which garbage is collected
	live        uint64        // nodes after the last collection
	freed       uint64        // by the last collection
	collections uint64

	roots       map[Node]int
	deepest     int
	workers     []*worker
	leastForked int // calls that a worker must have before others make some
	crew        crew

	transitions []transition
	constraints []constraint
	relations   relations
	runs        uint64 // of strategies, which have numbers in the cache
	run         run    // that is in progress
	front       front  // of the run
}

// stop is a panic by which an operation ends with an error.
type stop struct{ err error }

// New makes an empty store. When ctx ends operations fail with its cause.
func New(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Levels < 1 {
		return nil, fmt.Errorf("symbolic: Levels must be positive, not %d", cfg.Levels)
	}
	if cfg.MaxBytes == 0 {
		left, err := memory.Now()
		if err != nil {
			return nil, fmt.Errorf("symbolic: how much memory there is cannot be found (%w); give "+
				"MaxBytes", err)
		}
		cfg.MaxBytes = uint64(defaultShare * float64(left.Bytes))
	}
	if cfg.MaxBytes < MinBytes {
		return nil, fmt.Errorf("symbolic: MaxBytes must be %s or more, not %d",
			memory.Format(MinBytes), cfg.MaxBytes)
	}
	return newStore(ctx, cfg)
}

func newStore(ctx context.Context, cfg Config) (*Store, error) {
	cacheBytes := cfg.MaxBytes / 8
	s := &Store{levels: cfg.Levels, maxBytes: cfg.MaxBytes, pace: cfg.pace, ctx: ctx,
		progress: cfg.Progress, job: local.Single(), roots: map[Node]int{},
		leastForked: leastForked, deepest: cmp.Or(cfg.deepest, depthFor(cfg.MaxBytes))}
	s.crew.changed.L = &s.crew.mu
	s.front.level.Store(int64(s.levels))
	if s.next = firstCollect; s.pace > 0 {
		s.next = s.pace
	}
	if cfg.eager {
		s.leastForked = 1
	}
	var err error
	if err = s.cache.open(cacheBytes); err == nil {
		s.elements, err = set.NewBytes(ctx, s.job, elementsConfig(cfg.MaxBytes-cacheBytes*25/16))
	}
	if err == nil {
		err = s.hire(max(cfg.Goroutines, 1), cfg.eager)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("symbolic: %w", err), s.Close())
	}
	s.stop = s.signal(cmp.Or(cfg.progressEvery, progressEvery))
	return s, nil
}

// elementsConfig is for a set that takes so many bytes. Its table and arenas take 23 bytes for each
// bucket, a table beside it while garbage is collected 8, and marks an eighth.
func elementsConfig(bytes uint64) set.BytesConfig {
	cfg := set.BytesConfig{ElementBytes: 16}
	cfg.MaxBytes = min(bytes/32*23, maxNodes*16)
	for cfg.Buckets = firstBuckets; cfg.Bytes() > cfg.MaxBytes; {
		cfg.Buckets /= 2
	}
	return cfg
}

// depthFor is how deep operations may call each other, so that the stack takes no more than half of
// the memory, or what nets of 50,000 places need.
func depthFor(bytes uint64) int {
	return int(min(maxDepth, max(1<<17, bytes/2048)))
}

// Levels is the length of the vectors.
func (s *Store) Levels() int { return s.levels }

// Close gives the memory back.
func (s *Store) Close() error {
	if s.stop != nil {
		s.stop()
	}
	for _, w := range s.workers {
		w.pairs.Close()
	}
	var err error
	if s.elements != nil {
		err = s.elements.Close()
	}
	s.elements = nil
	err = errors.Join(err, s.cache.close())
	if s.job != nil {
		err = errors.Join(err, s.job.Close())
		s.job = nil
	}
	return err
}

func (s *Store) cause() error { return fmt.Errorf("symbolic: %w", context.Cause(s.ctx)) }

// do runs an operation on nodes, which it keeps.
func (s *Store) do(op func(w *worker) Node, nodes ...Node) (n Node, err error) {
	if s.elements == nil {
		return Empty, fmt.Errorf("symbolic: the store is %w", rma.ErrClosed)
	}
	w := s.workers[0]
	for _, w := range s.workers {
		w.begun()
	}
	w.stack = append(w.stack, nodes...)
	s.crew.running, s.cache.shared = 1, false
	defer func() {
		switch r := s.crew.end(recover()).(type) {
		case nil:
		case stop:
			n, err = Empty, r.err
		default:
			panic(r)
		}
	}()
	if s.crew.signal.Load() != 0 {
		w.attend()
	}
	return op(w), nil
}

// Vector is the set of one vector.
func (s *Store) Vector(values []uint32) (Node, error) {
	if len(values) != s.levels {
		return Empty, fmt.Errorf("symbolic: a vector of %d entries; in this store all have %d",
			len(values), s.levels)
	}
	return s.do(func(w *worker) Node {
		n := Unit
		for i := len(values) - 1; i >= 0; i-- {
			n = w.node(values[i], n, Empty)
		}
		return n
	})
}

// Union is the vectors that a or b has.
func (s *Store) Union(a, b Node) (Node, error) {
	return s.do(func(w *worker) Node { return w.union(a, b) }, a, b)
}

// Intersect is the vectors that a and b have.
func (s *Store) Intersect(a, b Node) (Node, error) {
	return s.do(func(w *worker) Node { return w.intersect(a, b) }, a, b)
}

// Minus is the vectors that a has and b has not.
func (s *Store) Minus(a, b Node) (Node, error) {
	return s.do(func(w *worker) Node { return w.minus(a, b) }, a, b)
}

// Fire is what a transition makes of the vectors of a set.
func (s *Store) Fire(n Node, t Transition) (Node, error) {
	return s.do(func(w *worker) Node { return w.fire(n, t, 0, Empty) }, n)
}

// FireUnion is the union of Fire and another set.
func (s *Store) FireUnion(n Node, t Transition, with Node) (Node, error) {
	return s.do(func(w *worker) Node { return w.fire(n, t, 0, with) }, n, with)
}

// AtMost is the vectors of a set whose weighted sum of entries is constant at most. Weights are by
// level.
func (s *Store) AtMost(n Node, weights map[int]int64, constant int64) (Node, error) {
	c, err := s.constraintOf(weights, constant)
	if err != nil {
		return Empty, err
	}
	s.constraints = append(s.constraints, c)
	number := len(s.constraints) - 1
	return s.do(func(w *worker) Node { return w.atMost(n, number, 0, constant) }, n)
}

// Collect collects garbage: what is not reachable from a node that is held. The other calls do so
// themselves when they need memory.
func (s *Store) Collect() error {
	_, err := s.do(func(w *worker) Node {
		w.collectKeeping(Empty, Empty)
		return Empty
	})
	return err
}

// Stats is what a store has and has done.
type Stats struct {
	Nodes       uint64 // with garbage
	Bytes       uint64 // of nodes, the table that finds them and the cache
	Lookups     uint64 // in the cache: about one for each call of an operation
	Hits        uint64 // lookups that found their result
	Collections uint64
}

// Stats returns what the store has and has done so far.
func (s *Store) Stats() Stats {
	st := Stats{Nodes: s.nodes(), Collections: s.collections}
	for _, w := range s.workers {
		st.Lookups += w.lookups
		st.Hits += w.hits
	}
	if s.elements != nil {
		st.Bytes = (uint64(s.last())+1)*16 + s.elements.Config().Buckets*8 +
			uint64(len(s.cache.entries))*(entryBytes+1)
	}
	return st
}
