package op

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/limit"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/measure"
)

// table is one rank's view of what is measured.
type table interface {
	// prefill inserts words while no clock runs.
	prefill(words []uint64) error
	// ready takes the words of the operations to come, which are its own from then
	// on, while no clock runs. The first of them insert where the stream has inserts
	// before finds.
	ready(words []uint64, inserts int)
	// run does the operations from begin to end of these.
	run(begin, end int) error
	// inserted is how many words this rank has inserted. The operations of all ranks
	// are done.
	inserted() uint64
	close() error
}

// open makes the table. Collective.
func (s *sample) open(ctx context.Context, elements uint64) (err error) {
	job := measure.TouchedJob{Job: s.job}
	cfg := set.Config{Buckets: s.buckets, Chunk: s.r.chunk, Chunks: s.r.chunks}.
		WithVariant(variant.Set{Kernel: kernels[s.impl]})
	perCall := s.r.batch
	if s.impl == scalar {
		perCall = 0
	}
	results := make([]set.Result, max(s.r.batch, defaultBatch))
	switch {
	case s.impl.peer():
		s.table, err = s.openPeer(ctx, elements)
	case s.impl.bare():
		t, err := newBareTable(ctx, job, s.buckets, s.impl)
		if err != nil {
			return err
		}
		if s.table = t; s.impl != casLoop {
			if err = t.choose(ctx, s.job); err != nil {
				err = errors.Join(err, t.close())
			}
		}
		return err
	case s.r.strings:
		cfg.MaxBytes = 2 * (s.buckets*8 + elements*uint64(s.r.elementBytes+16))
		t, err := set.NewBytes(ctx, job, set.BytesConfig{Config: cfg})
		if err != nil {
			return err
		}
		s.table = &stringsTable{set: t, shape: s.r.shape(), batch: perCall, results: results}
	case s.r.elementBytes > 0:
		e, err := set.NewBytes(ctx, job, set.BytesConfig{Config: cfg,
			ElementBytes: s.r.elementBytes, Capacity: elements})
		if err != nil {
			return err
		}
		s.table = &elementsTable{set: e, shape: s.r.shape(), batch: perCall, results: results}
	default:
		w, err := set.New(ctx, job, cfg)
		if err != nil {
			return err
		}
		s.table = &setTable{set: w, batch: perCall, results: results}
	}
	return err
}

// setTable is a set of words.
type setTable struct {
	set     *set.Set
	batch   int // words per call; 0: one at a time
	words   []uint64
	results []set.Result
}

func (t *setTable) prefill(words []uint64) error { return t.batches(words, defaultBatch) }

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

// elementsTable is a set of elements.
type elementsTable struct {
	set      *set.Bytes
	shape    shape
	batch    int // elements per call; 0: one at a time
	elements []byte
	results  []set.Result
}

func (t *elementsTable) prefill(words []uint64) error {
	t.ready(words, 0)
	return t.batches(t.elements, defaultBatch)
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
		if err := t.set.FindOrPutPacked(some, t.results[:n], nil); err != nil {
			return err
		}
	}
	return nil
}

func (t *elementsTable) inserted() uint64 { return t.set.Stats().Inserted }

func (t *elementsTable) close() error { return t.set.Close() }

// stringsTable is a set of strings.
type stringsTable struct {
	set      *set.Bytes
	shape    shape
	batch    int // strings per call; 0: one at a time
	elements [][]byte
	results  []set.Result
}

func (t *stringsTable) prefill(words []uint64) error {
	t.ready(words, 0)
	return t.batches(t.elements, defaultBatch)
}

func (t *stringsTable) ready(words []uint64, _ int) {
	all := t.shape.elements(nil, words)
	t.elements = slices.Collect(slices.Chunk(all, t.shape.bytes))
}

func (t *stringsTable) run(begin, end int) error {
	if t.batch > 0 {
		return t.batches(t.elements[begin:end], t.batch)
	}
	for _, element := range t.elements[begin:end] {
		if _, err := t.set.FindOrPut(element); err != nil {
			return err
		}
	}
	return nil
}

func (t *stringsTable) batches(elements [][]byte, batch int) error {
	for some := range slices.Chunk(elements, batch) {
		if err := t.set.FindOrPutBatch(some, t.results[:len(some)]); err != nil {
			return err
		}
	}
	return nil
}

func (t *stringsTable) inserted() uint64 { return t.set.Stats().Inserted }

func (t *stringsTable) close() error { return t.set.Close() }

// bareTable is memory like a set's without a set. As cas-loop it is find-or-put as one
// would write it by hand, a loop of loads and compare-and-swaps without checks, counters and
// answers: it examines the same buckets as a set, so that what scalar takes longer is what the
// set's promises cost. As limit it is what the memory allows.
type bareTable struct {
	window  rma.Window
	flat    []uint64
	words   []uint64
	impl    impl
	rank    int
	inserts int    // of words, for limit
	done    uint64 // inserts of limit
	sum     uint64 // of what was read, so that the compiler keeps the reading

	reading, swapping limit.Way // the fastest ways here
}

const lineWords = 8

// trialPlaces is how many places a rank accesses to find the fastest way: more than caches hold.
const trialPlaces = 1 << 21

func newBareTable(ctx context.Context, job rma.Job, buckets uint64, i impl) (*bareTable, error) {
	line := uint64(job.Size()) * lineWords
	perRank := (buckets + line - 1) / line * lineWords
	w, err := job.NewWindow(ctx, rma.Spec{Name: "eval: words", Words: int(perRank)})
	if err != nil {
		return nil, err
	}
	flat := core.Flat(w)
	if flat == nil {
		return nil, errors.Join(errors.New("cas-loop and limit need memory that is directly "+
			"addressable; leave them out"), w.Close())
	}
	return &bareTable{window: w, flat: flat, impl: i, rank: job.Rank()}, nil
}

// choose finds the fastest ways of limit, and leaves the memory as it was. Collective.
func (t *bareTable) choose(ctx context.Context, job rma.Job) (err error) {
	places := make([]uint64, min(trialPlaces, len(t.flat)))
	drawn := uint64(t.rank) << 32
	timed := func(run func()) (float64, error) {
		for i := range places {
			places[i], _ = bits.Mul64(measure.Mix64(drawn), uint64(len(t.flat)))
			drawn++
		}
		if err := job.Barrier(ctx); err != nil {
			return 0, err
		}
		start := time.Now()
		run()
		all, err := measure.Gather(ctx, job, uint64(max(1, time.Since(start))))
		return 1 / float64(slices.Max(append(all, 1))), err
	}
	t.reading, err = limit.Choose(func(way limit.Way) (float64, error) {
		return timed(func() { t.sum += way.Reads(t.flat, places) })
	})
	if err != nil {
		return err
	}
	t.swapping, err = limit.Choose(func(way limit.Way) (float64, error) {
		return timed(func() { way.Swaps(t.flat, places) })
	})
	clear(t.window.Words(t.rank))
	return errors.Join(err, job.Barrier(ctx))
}

func (t *bareTable) prefill(words []uint64) error {
	if t.impl == casLoop {
		t.findOrPut(words)
	}
	t.done += uint64(len(words))
	return nil
}

// ready turns words into places of the table where they are not searched for.
func (t *bareTable) ready(words []uint64, inserts int) {
	t.words, t.inserts = words, inserts
	if t.impl == casLoop {
		return
	}
	for i, word := range words {
		words[i], _ = bits.Mul64(measure.Mix64(word), uint64(len(t.flat)))
	}
}

func (t *bareTable) run(begin, end int) error {
	if t.impl == casLoop {
		t.findOrPut(t.words[begin:end])
		return nil
	}
	places, inserts := t.words[begin:end], min(max(t.inserts-begin, 0), end-begin)
	t.done += uint64(inserts)
	if t.impl == limitReads {
		inserts = 0
	}
	t.swapping.Swaps(t.flat, places[:inserts])
	t.sum += t.reading.Reads(t.flat, places[inserts:])
	return nil
}

// findOrPut never meets a full table: it has room for all words of the workload.
func (t *bareTable) findOrPut(words []uint64) {
	const occupied = 1 << 63 // as in package set
	flat, lines := t.flat, uint64(len(t.flat))/lineWords
	for _, word := range words {
		line, _ := bits.Mul64(measure.Spread(word), lines)
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
}

// inserted counts the words in this rank's part of the table.
func (t *bareTable) inserted() (n uint64) {
	if t.impl != casLoop {
		return t.done
	}
	for _, word := range t.window.Words(t.rank) {
		if word != 0 {
			n++
		}
	}
	return n
}

func (t *bareTable) close() error { return t.window.Close() }
