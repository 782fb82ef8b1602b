package bench

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// shape makes elements of words.
type shape struct {
	bytes int // of an element
	keys  Keys
}

// elements appends an element for each word to dst: the word, and after it what
// derives from it. Of a random word these are random bytes, of a sequential one
// zeros. Distinct words make distinct elements.
func (s shape) elements(dst []byte, words []uint64) []byte {
	for _, word := range words {
		end := len(dst) + s.bytes
		dst = binary.LittleEndian.AppendUint64(dst, word)
		for i := uint64(1); len(dst) < end; i++ {
			more := uint64(0)
			if s.keys == Random {
				more = mix64(word + i)
			}
			dst = binary.LittleEndian.AppendUint64(dst, more)
		}
		dst = dst[:end]
	}
	return dst
}

// elementsTable is a set of elements of this project.
type elementsTable struct {
	set      *set.Elements
	shape    shape
	batch    int // elements per call; 0: one at a time
	elements []byte
	results  []set.Result
}

// newElementsTable makes a set with room for elements. Collective.
func newElementsTable(ctx context.Context, job rma.Job, cfg *Config, impl Impl,
	elements uint64) (*elementsTable, error) {
	e, err := set.NewElements(ctx, touchedJob{job}, set.ElementsConfig{Config: cfg.set(impl),
		ElementBytes: cfg.ElementBytes, Capacity: elements})
	if err != nil {
		return nil, err
	}
	return &elementsTable{set: e, shape: cfg.shape(), batch: cfg.batch(impl),
		results: cfg.results()}, nil
}

func (c *Config) shape() shape { return shape{c.ElementBytes, c.Keys} }

func (t *elementsTable) prefill(words []uint64) error {
	t.ready(words, 0)
	return t.batches(t.elements, DefaultBatch)
}

func (t *elementsTable) ready(words []uint64, _ int) {
	t.elements = t.shape.elements(t.elements[:0], words)
}

func (t *elementsTable) run(begin, end int) error {
	size := t.shape.bytes
	elements := t.elements[begin*size : end*size]
	if t.batch > 0 {
		return t.batches(elements, t.batch)
	}
	for ; len(elements) > 0; elements = elements[size:] {
		if _, err := t.set.FindOrPut(elements[:size]); err != nil {
			return err
		}
	}
	return nil
}

func (t *elementsTable) batches(elements []byte, batch int) error {
	for some := range slices.Chunk(elements, batch*t.shape.bytes) {
		n := len(some) / t.shape.bytes
		if err := t.set.FindOrPutBatch(some, t.results[:n]); err != nil {
			return err
		}
	}
	return nil
}

func (t *elementsTable) inserted() uint64 { return t.set.Stats().Inserted }

func (t *elementsTable) close() error { return t.set.Close() }
