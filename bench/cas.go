package bench

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// casTable is find-or-put as one would write it by hand: a loop of loads and
// compare-and-swaps over memory like that of a set, without checks, counters and
// answers. It examines the same buckets as a set does, so that what scalar takes
// longer is what the set's promises cost.
type casTable struct {
	window rma.Window
	flat   []uint64
	words  []uint64
	rank   int
}

// newCASTable makes a table of as many words as a set has buckets. Collective.
func newCASTable(ctx context.Context, job rma.Job, cfg *Config) (*casTable, error) {
	w, flat, err := newBare(ctx, job, cfg.Buckets)
	if err != nil {
		return nil, err
	}
	return &casTable{window: w, flat: flat, rank: job.Rank()}, nil
}

func (t *casTable) prefill(words []uint64) error {
	t.ready(words, 0)
	return t.run(0, len(words))
}

func (t *casTable) ready(words []uint64, _ int) { t.words = words }

// run never meets a full table: it has room for all words of the workload.
func (t *casTable) run(begin, end int) error {
	const occupied = 1 << 63 // as in package set
	flat, lines := t.flat, uint64(len(t.flat))/lineWords
	for _, word := range t.words[begin:end] {
		line, _ := bits.Mul64(spread(word), lines)
		word |= occupied
		for at := line * lineWords; ; {
			seen := atomic.LoadUint64(&flat[at])
			if seen == 0 {
				if atomic.CompareAndSwapUint64(&flat[at], 0, word) {
					break
				}
				seen = atomic.LoadUint64(&flat[at])
			}
			if seen == word {
				break
			}
			if at++; at == uint64(len(flat)) {
				at = 0
			}
		}
	}
	return nil
}

// spread is the hash of package set.
func spread(word uint64) uint64 {
	const factor = 0x9E3779B97F4A7C15
	word = (word ^ word>>32) * factor
	return (word ^ word>>32) * factor
}

// inserted counts the words in this rank's part of the table.
func (t *casTable) inserted() (n uint64) {
	for _, word := range t.window.Words(t.rank) {
		if word != 0 {
			n++
		}
	}
	return n
}

func (t *casTable) close() error { return t.window.Close() }
