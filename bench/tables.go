package bench

import (
	"context"
	"slices"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// table is one rank's view of what is measured.
type table interface {
	// prefill inserts words while no clock runs.
	prefill(words []uint64) error
	// ready takes the words of the operations to come, which are its own from then
	// on, while no clock runs. The first of them insert where the stream keeps inserts
	// and finds apart.
	ready(words []uint64, inserts int)
	// run does the operations from begin to end of these.
	run(begin, end int) error
	// inserted is how many words this rank has inserted. The operations of all ranks
	// are done.
	inserted() uint64
	close() error
}

// setTable is a set of this project.
type setTable struct {
	set     *set.Set
	batch   int // words per call; 0: one at a time
	words   []uint64
	results []set.Result
}

// newSetTable makes a set. Collective.
func newSetTable(ctx context.Context, job rma.Job, cfg *Config, impl Impl) (*setTable, error) {
	s, err := set.New(ctx, touchedJob{job}, cfg.set(impl))
	if err != nil {
		return nil, err
	}
	return &setTable{set: s, batch: cfg.batch(impl), results: cfg.results()}, nil
}

// set is how the set for an implementation is made.
func (c *Config) set(impl Impl) set.Config {
	return set.Config{Buckets: c.Buckets, Chunk: c.Chunk, Chunks: c.Chunks, Kernel: impl.kernel()}
}

// batch is how many words an implementation gets in one call, 0: one at a time.
func (c *Config) batch(impl Impl) int {
	if impl == Scalar {
		return 0
	}
	return c.Batch
}

// results has room for those of the largest batch.
func (c *Config) results() []set.Result { return make([]set.Result, max(c.Batch, DefaultBatch)) }

func (t *setTable) prefill(words []uint64) error { return t.batches(words, DefaultBatch) }

func (t *setTable) ready(words []uint64, _ int) { t.words = words }

func (t *setTable) run(begin, end int) error {
	if t.batch > 0 {
		return t.batches(t.words[begin:end], t.batch)
	}
	for _, word := range t.words[begin:end] {
		if _, err := t.set.FindOrPut(word); err != nil {
			return err
		}
	}
	return nil
}

func (t *setTable) batches(words []uint64, batch int) error {
	for some := range slices.Chunk(words, batch) {
		if err := t.set.FindOrPutBatch(some, t.results[:len(some)]); err != nil {
			return err
		}
	}
	return nil
}

func (t *setTable) inserted() uint64 { return t.set.Stats().Inserted }

func (t *setTable) close() error { return t.set.Close() }
