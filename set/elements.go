package set

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"unsafe"

	"github.com/farhash/farhash/internal/plural"
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
	return cmp.Or(c.Capacity, c.Buckets-c.Buckets/16)
}

// Elements is an insert-only set of byte strings of one length, exact: elements
// are compared whole. It is safe for concurrent use. Grow and Close are not to run
// beside other calls.
type Elements struct{ anySet }

// NewElements makes an empty set of elements. Collective: every rank calls it with
// the same configuration.
func NewElements(ctx context.Context, job rma.Job, cfg ElementsConfig) (*Elements, error) {
	var refusal error
	if cfg.ElementBytes < 1 || cfg.ElementBytes > MaxElementBytes {
		refusal = fmt.Errorf("set: ElementBytes must be 1 to %d, not %d",
			MaxElementBytes, cfg.ElementBytes)
	}
	e := new(Elements)
	if err := e.open(ctx, job, cfg, refusal); err != nil {
		return nil, err
	}
	return e, nil
}

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
	if len(element) != e.t.size {
		return NotFound, e.lengthError(len(element), 1)
	}
	t, words := e.t, e.aligned(element)
	hash := hashElement(words)
	home := t.home(hash)
	v := t.spanOf(home)
	if v == nil {
		return t.oneQueued(words, insert)
	}
	s := elementSearch{v: v, held: heldSlots{arenas: t.arenas, needed: 1, directOnly: !v.whole},
		element: words, key: fingerprintKey(hash), home: home - v.first}
	r, err := s.run(insert)
	s.held.release()
	switch {
	case err != nil:
		return NotFound, err
	case r == unfinished:
		return t.oneQueued(words, insert)
	case r == Inserted || r == Full || s.examined > t.directChunk || s.lost > 0:
		t.tally.count(r, s.examined, s.lost, t.directChunk)
	}
	if r == Full {
		return r, t.fullError(s.held.noSlot > 0)
	}
	return r, nil
}

func (e *Elements) lengthError(bytes, results int) error {
	return fmt.Errorf("set: %s and %s; an element has %s", plural.Of(bytes, "byte"),
		plural.Of(results, "result"), plural.Of(e.t.size, "byte"))
}

func (e *Elements) batch(elements []byte, results []Result, refs []Ref, insert bool) error {
	if len(elements) != len(results)*e.t.size {
		return e.lengthError(len(elements), len(results))
	}
	b := batch{t: e.t, items: e.aligned(elements), results: results, refs: refs, insert: insert}
	return b.run()
}

// aligned is elements as words: the same memory where its alignment allows that, a copy
// where it does not.
func (e *Elements) aligned(elements []byte) []uint64 {
	if len(elements) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(elements))
	if e.t.size%8 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(elements)/8)
	}
	n, width := len(elements)/e.t.size, e.t.width
	words := make([]uint64, n*width)
	for i := range n {
		copy(bytesOf(words[i*width:(i+1)*width]), elements[i*e.t.size:(i+1)*e.t.size])
	}
	return words
}

// Capacity is how many elements the arenas of all ranks hold, counting the free slots that
// goroutines may hold.
func (e *Elements) Capacity() uint64 { return e.t.arenas.capacity() }

// All iterates over the elements of the set. The bytes are valid until the loop goes on.
func (e *Elements) All(ctx context.Context) iter.Seq2[[]byte, error] {
	return e.elements(ctx, e.t.occupied(ctx, 0, e.t.job.Size()))
}

// Local is All for what this rank's part of the table refers to.
func (e *Elements) Local(ctx context.Context) iter.Seq2[[]byte, error] {
	return e.elements(ctx, e.t.local(ctx))
}

func (e *Elements) elements(ctx context.Context, buckets iter.Seq2[stored, error],
) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		dst := make([]byte, e.t.size)
		for s, err := range buckets {
			if err == nil {
				err = e.Get(ctx, Ref(s.bucket&refMask), dst)
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
	return e.grow(ctx, buckets, capacity)
}

// elementOf is the element that a bucket refers to.
func (t *table) elementOf(ctx context.Context, bucket uint64) ([]uint64, error) {
	ref := Ref(bucket & refMask)
	if !t.arenas.valid(ref) {
		return nil, fmt.Errorf("set: bucket %#x refers to slot %#x, which does not exist",
			bucket, uint64(ref))
	}
	return t.elementAt(ctx, ref)
}
