package set

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unsafe"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// MaxElementBytes is the longest element.
const MaxElementBytes = 4096

// ElementsConfig shapes an Elements set. Every rank gives the same.
type ElementsConfig struct {
	Config
	// ElementBytes is the length of every element: 1 to MaxElementBytes.
	ElementBytes int
	// Capacity is how many elements the arenas hold at least while no more than two
	// goroutines of a rank insert at a time, the one included that answers other ranks;
	// each further one may hold 32 free slots. 0 means 15/16 of Buckets.
	Capacity uint64
}

func (c ElementsConfig) capacity() uint64 {
	if c.Capacity == 0 {
		return c.Buckets - c.Buckets/16
	}
	return c.Capacity
}

// Elements is an insert-only set of byte strings of one length, exact: elements
// are compared whole. It is safe for concurrent use. Grow and Close are not to run
// beside other calls.
type Elements struct {
	job    rma.Job
	cfg    ElementsConfig
	t      *table
	arenas *arenas
	tally  *tally
	words  int // of an element
}

// NewElements makes an empty set of elements. Collective: every rank calls it with
// the same configuration.
func NewElements(ctx context.Context, job rma.Job, cfg ElementsConfig) (*Elements, error) {
	g := cfg.geometry()
	err := agree(ctx, job, &g, uint64(cfg.ElementBytes), cfg.Capacity)
	if err != nil {
		return nil, err
	}
	if cfg.ElementBytes < 1 || cfg.ElementBytes > MaxElementBytes {
		return nil, fmt.Errorf("set: ElementBytes must be 1 to %d, not %d",
			MaxElementBytes, cfg.ElementBytes)
	}
	e := &Elements{job: job, cfg: cfg, words: (cfg.ElementBytes + 7) / 8}
	if e.t, err = newTable(ctx, job, g); err != nil {
		return nil, err
	}
	if e.t.kernel, err = cfg.Kernel.choose(e.t); err != nil {
		return nil, errors.Join(err, e.t.close())
	}
	if e.tally, err = newTally(ctx, job); err != nil {
		return nil, errors.Join(err, e.t.close())
	}
	if e.arenas, err = newArenas(ctx, job, cfg.capacity(), e.words); err != nil {
		return nil, errors.Join(err, e.t.close(), e.tally.close())
	}
	e.t.ops = e
	if err := e.t.open(ctx, cfg.Access, e.tally, nil); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Elements) width() int                { return e.words }
func (e *Elements) messages() float64         { return 2.5 } // a chunk, an element, half a swap
func (e *Elements) hash(item []uint64) uint64 { return hashElement(item) }
func (e *Elements) valid([]uint64) bool       { return true }

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// FindOrPut finds element or inserts it. The result is Found, Inserted or Full;
// Full comes with a *FullError. The element must have ElementBytes bytes, and is
// copied.
func (e *Elements) FindOrPut(element []byte) (Result, error) {
	return e.one(element, true)
}

// FindOrPutBatch is FindOrPut for many elements, which lie one after the other
// in elements: results[i] answers the one at i*ElementBytes. When any result is
// Full the error is a *FullError and the other results are valid.
func (e *Elements) FindOrPutBatch(elements []byte, results []Result) error {
	return e.FindOrPutRefs(elements, results, nil)
}

// FindOrPutRefs is FindOrPutBatch that also stores in refs[i] the reference of element
// i, unless its result is Full. refs may be nil.
func (e *Elements) FindOrPutRefs(elements []byte, results []Result, refs []Ref) error {
	if refs != nil && len(refs) != len(results) {
		return fmt.Errorf("set: %d results and %d refs; they must be equally many",
			len(results), len(refs))
	}
	return e.batch(elements, results, refs, true)
}

// Contains reports whether element is in the set.
func (e *Elements) Contains(element []byte) (bool, error) {
	r, err := e.one(element, false)
	return r == Found, err
}

// ContainsBatch is Contains for many elements; results are Found and NotFound.
func (e *Elements) ContainsBatch(elements []byte, results []Result) error {
	return e.batch(elements, results, nil, false)
}

// one runs one operation: in its span, or through a queue if it cannot end there.
func (e *Elements) one(element []byte, insert bool) (Result, error) {
	if len(element) != e.cfg.ElementBytes {
		return NotFound, e.lengthError(len(element), 1)
	}
	words := e.aligned(element)
	hash := hashElement(words)
	home := e.t.home(hash)
	v := e.t.spanOf(home)
	if v == nil {
		return e.oneQueued(words, insert)
	}
	s := elementSearch{e: e, v: v, held: newHeldSlots(e.arenas, 1, !v.whole), element: words,
		key: fingerprintKey(hash), home: home - v.first}
	r, err := s.run(insert)
	s.held.release()
	switch {
	case err != nil:
		return NotFound, err
	case r == unfinished:
		return e.oneQueued(words, insert)
	case r == Inserted || r == Full || s.examined > e.t.directChunk || s.lost > 0:
		e.tally.count(r, s.examined, s.lost, e.t.directChunk)
	}
	if r == Full {
		return r, fullErrorOf(e.tally, e.t, s.held.noSlot)
	}
	return r, nil
}

// oneQueued runs one operation through a queue.
func (e *Elements) oneQueued(element []uint64, insert bool) (Result, error) {
	var results [1]Result
	b := batch{t: e.t, items: element, results: results[:], insert: insert}
	err := e.queued(e.t, &b, nil)
	return results[0], e.ended(&b, err)
}

func (e *Elements) lengthError(bytes, results int) error {
	return fmt.Errorf("set: %s and %s; an element has %s", plural.Of(bytes, "byte"),
		plural.Of(results, "result"), plural.Of(e.cfg.ElementBytes, "byte"))
}

// ended counts a batch, and returns its error.
func (e *Elements) ended(b *batch, err error) error {
	e.tally.add(b.counts)
	if err == nil && b.full > 0 {
		err = fullErrorOf(e.tally, e.t, b.noArena)
	}
	return err
}

func (e *Elements) batch(elements []byte, results []Result, refs []Ref, insert bool) error {
	if len(elements) != len(results)*e.cfg.ElementBytes {
		return e.lengthError(len(elements), len(results))
	}
	b := batch{t: e.t, items: e.aligned(elements), results: results, refs: refs, insert: insert}
	err := b.run()
	if mark.Enabled {
		size := e.cfg.ElementBytes
		markDuplicates(results, func(i int) string { return string(elements[i*size : (i+1)*size]) })
	}
	return e.ended(&b, err)
}

// aligned is elements as words: the same memory where its alignment allows that, a copy
// where it does not.
func (e *Elements) aligned(elements []byte) []uint64 {
	if len(elements) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(elements))
	if e.cfg.ElementBytes%8 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(elements)/8)
	}
	n := len(elements) / e.cfg.ElementBytes
	words := make([]uint64, n*e.words)
	for i := range n {
		copy(bytesOf(words[i*e.words:(i+1)*e.words]),
			elements[i*e.cfg.ElementBytes:(i+1)*e.cfg.ElementBytes])
	}
	return words
}

// Buckets is the number of buckets of all ranks.
func (e *Elements) Buckets() uint64 { return e.t.buckets }

// Capacity is how many elements the arenas of all ranks hold, counting the free slots that
// goroutines may hold.
func (e *Elements) Capacity() uint64 { return e.arenas.slots * uint64(e.job.Size()) }

// Len is the number of elements in the set; see Set.Len.
func (e *Elements) Len(ctx context.Context) (uint64, error) { return e.tally.inserted(ctx) }

// LoadFactor is the share of buckets that are occupied.
func (e *Elements) LoadFactor(ctx context.Context) (float64, error) {
	n, err := e.Len(ctx)
	return float64(n) / float64(e.t.buckets), err
}

// Stats returns what this rank has done with the set so far.
func (e *Elements) Stats() Stats {
	stats := e.tally.stats()
	stats.Access = e.t.batches.Access()
	return stats
}

// All iterates over the elements of the set. The bytes are valid until the loop goes on.
func (e *Elements) All(ctx context.Context) iter.Seq2[[]byte, error] {
	return e.elements(ctx, e.t.occupied(ctx, 0, e.job.Size()))
}

// Local is All for what this rank's part of the table refers to.
func (e *Elements) Local(ctx context.Context) iter.Seq2[[]byte, error] {
	return e.elements(ctx, e.t.local(ctx))
}

func (e *Elements) elements(ctx context.Context, buckets iter.Seq2[uint64, error],
) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		dst := make([]byte, e.cfg.ElementBytes)
		for bucket, err := range buckets {
			if err == nil {
				err = e.Get(ctx, Ref(bucket&refMask), dst)
			}
			if !yield(dst, err) || err != nil {
				return
			}
		}
	}
}

// Grow moves the set into a table of the given number of buckets, and gives the
// arenas room for capacity elements in all (0: 15/16 of buckets). Elements keep their
// slots and references. Collective; no other call may run on any rank meanwhile. When it
// fails the set is unchanged.
func (e *Elements) Grow(ctx context.Context, buckets, capacity uint64) error {
	cfg := e.cfg
	cfg.Buckets, cfg.Capacity = buckets, capacity
	g := cfg.geometry()
	err := agree(ctx, e.job, &g, uint64(cfg.ElementBytes), cfg.Capacity)
	if err != nil {
		return err
	}
	if err := e.arenas.extend(ctx, cfg.capacity()); err != nil {
		return err
	}
	m := e.mover()
	t, err := m.rebuild(ctx, e.job, e.t, g)
	if err != nil {
		return err
	}
	old := e.t
	e.cfg, e.t = cfg, t
	return old.close()
}

func (e *Elements) mover() mover {
	return mover{hash: e.hashBuckets, access: e.cfg.Access, tally: e.tally}
}

// hashBuckets gives the hash of the element that each bucket refers to.
func (e *Elements) hashBuckets(ctx context.Context, buckets, hashes []uint64) error {
	for i, bucket := range buckets {
		words, err := e.elementOf(ctx, bucket)
		if err != nil {
			return err
		}
		hashes[i] = hashElement(words)
	}
	return nil
}

// elementOf is the element that a bucket refers to.
func (e *Elements) elementOf(ctx context.Context, bucket uint64) ([]uint64, error) {
	ref := Ref(bucket & refMask)
	if !e.arenas.valid(ref) {
		return nil, fmt.Errorf("set: bucket %#x refers to slot %#x, which does not exist",
			bucket, uint64(ref))
	}
	return e.elementAt(ctx, ref)
}

// Close gives this rank's memory back. The other ranks keep theirs.
func (e *Elements) Close() error {
	return errors.Join(e.t.close(), e.arenas.close(), e.tally.close())
}
