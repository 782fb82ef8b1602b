package bench

import (
	"context"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// table is one rank's view of what is measured.
type table interface {
	// prefill inserts words while no clock runs.
	prefill(words []uint64) error
	// ready prepares words for run, in place, while no clock runs. The first of
	// them insert where the stream keeps inserts and finds apart.
	ready(words []uint64, inserts int)
	// run does the operations.
	run(words []uint64) error
	// inserted is how many words this rank has inserted.
	inserted() uint64
	close() error
}

// setTable is a set of this project.
type setTable struct {
	set     *set.Set
	batch   int // words per call; 0: one at a time
	results []set.Result
}

// newSetTable makes a set. Collective.
func newSetTable(ctx context.Context, job rma.Job, cfg *Config, impl Impl) (*setTable, error) {
	s, err := set.New(ctx, touchedJob{job}, set.Config{Buckets: cfg.Buckets,
		Chunk: cfg.Chunk, Chunks: cfg.Chunks, Kernel: impl.kernel()})
	if err != nil {
		return nil, err
	}
	t := &setTable{set: s, results: make([]set.Result, max(cfg.Batch, DefaultBatch))}
	if impl != Scalar {
		t.batch = cfg.Batch
	}
	return t, nil
}

func (t *setTable) prefill(words []uint64) error { return t.batches(words, DefaultBatch) }

func (t *setTable) ready([]uint64, int) {}

func (t *setTable) run(words []uint64) error {
	if t.batch > 0 {
		return t.batches(words, t.batch)
	}
	for _, word := range words {
		if _, err := t.set.FindOrPut(word); err != nil {
			return err
		}
	}
	return nil
}

func (t *setTable) batches(words []uint64, batch int) error {
	for len(words) > 0 {
		n := min(batch, len(words))
		if err := t.set.FindOrPutBatch(words[:n], t.results[:n]); err != nil {
			return err
		}
		words = words[n:]
	}
	return nil
}

func (t *setTable) inserted() uint64 { return t.set.Stats().Inserted }

func (t *setTable) close() error { return t.set.Close() }
