package set

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Bytes is an insert-only set of byte strings: of one length, or of any length from 0 to
// MaxStringBytes. It is exact: elements are compared whole. It is safe for concurrent use. Collect
// and Close are not to run beside other calls.
type Bytes struct {
	anySet
	ended sync.Pool // of *batch, whose memory others use
}

// NewBytes makes an empty set of byte strings. Collective: every rank calls it with the same
// configuration.
func NewBytes(ctx context.Context, job rma.Job, cfg BytesConfig) (*Bytes, error) {
	b := new(Bytes)
	if err := b.open(ctx, job, cfg); err != nil {
		return nil, err
	}
	return b, nil
}

// FindOrPut finds element or inserts a copy of it. The result is Found, Inserted or Full; Full
// comes with a *FullError. An element that is longer than MaxStringBytes is a [StringError], and in
// a set of one length any other length is an error.
func (b *Bytes) FindOrPut(element []byte) (Result, error) {
	_, r, err := b.oneElement(element, true)
	return r, err
}

// FindOrPutRef is FindOrPut that also returns the reference of the element, unless the result is
// Full.
func (b *Bytes) FindOrPutRef(element []byte) (Ref, Result, error) {
	return b.oneElement(element, true)
}

// Find returns the reference of element; ok is false, and the reference 0, if it is not in the set.
func (b *Bytes) Find(element []byte) (ref Ref, ok bool, err error) {
	ref, r, err := b.oneElement(element, false)
	return ref, r == Found, err
}

// Contains reports whether element is in the set.
func (b *Bytes) Contains(element []byte) (bool, error) {
	_, r, err := b.oneElement(element, false)
	return r == Found, err
}

// FindOrPutBatch is FindOrPut for many elements, in no particular order: results[i] answers
// elements[i]. When any result is Full the error is a *FullError and the other results are valid.
// results must be as long as elements. If an element has a wrong length nothing is inserted.
func (b *Bytes) FindOrPutBatch(elements [][]byte, results []Result) error {
	return b.list(elements, results, nil, true)
}

// FindOrPutRefs is FindOrPutBatch that also stores in refs[i] the reference of element i, unless
// its result is Full. refs may be nil.
func (b *Bytes) FindOrPutRefs(elements [][]byte, results []Result, refs []Ref) error {
	return b.list(elements, results, refs, true)
}

// FindRefs is Find for many elements: results are Found and NotFound, and refs[i] is the reference
// of element i, 0 if it is not found.
func (b *Bytes) FindRefs(elements [][]byte, results []Result, refs []Ref) error {
	clear(refs)
	return b.list(elements, results, refs, false)
}

// ContainsBatch is Contains for many elements; results are Found and NotFound.
func (b *Bytes) ContainsBatch(elements [][]byte, results []Result) error {
	return b.list(elements, results, nil, false)
}

// list runs a batch of elements that are apart in memory.
func (s *Bytes) list(elements [][]byte, results []Result, refs []Ref, insert bool) error {
	if len(results) != len(elements) || refs != nil && len(refs) != len(elements) {
		return fmt.Errorf("set: %s, %s and %s; they must be equally many",
			plural.Of(len(elements), "element"), plural.Of(len(results), "result"),
			plural.Of(len(refs), "reference"))
	}
	b, ok := s.ended.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	var err error
	if s.isStrings() {
		err = b.takeStrings(elements)
	} else {
		err = b.takeElements(elements, s.size)
	}
	if err == nil {
		b.t, b.results, b.refs, b.insert = s.oldest.Load(), endsOf(results), refs, insert
		b.counts, b.tended = counts{}, false
		err = s.fault.Guard(b.run)
	}
	b.t, b.results, b.refs = nil, nil, nil
	s.ended.Put(b)
	return err
}

// FindOrPutPacked is FindOrPutRefs for elements of one length that lie one after the other:
// results[i] answers the one at i*ElementBytes. That is faster. refs may be nil.
func (b *Bytes) FindOrPutPacked(elements []byte, results []Result, refs []Ref) error {
	if refs != nil && len(refs) != len(results) {
		return fmt.Errorf("set: %d results and %d refs; they must be equally many",
			len(results), len(refs))
	}
	return b.packed(elements, results, refs, true)
}

// ContainsPacked is ContainsBatch for elements that lie one after the other.
func (b *Bytes) ContainsPacked(elements []byte, results []Result) error {
	return b.packed(elements, results, nil, false)
}

// packed runs a batch of elements that lie one after the other.
func (s *Bytes) packed(elements []byte, results []Result, refs []Ref, insert bool) error {
	switch {
	case s.isStrings():
		return errNotPacked
	case len(elements) != len(results)*s.size:
		return lengthError(len(elements), len(results), s.size)
	}
	return s.fault.Guard(func() error {
		b := batch{t: s.oldest.Load(), items: s.aligned(elements), results: endsOf(results),
			refs: refs, insert: insert}
		return b.run()
	})
}

var errNotPacked = errors.New("set: elements of any length cannot lie one after the other; use " +
	"the calls for lists, or make the set with ElementBytes")

// aligned is elements of one length as words: the same memory where its alignment allows that, a
// copy where it does not.
func (its *items) aligned(elements []byte) []uint64 {
	if len(elements) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(elements))
	if its.size%8 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(elements)/8)
	}
	words := make([]uint64, 0, len(elements)/its.size*its.width)
	for ; len(elements) > 0; elements = elements[its.size:] {
		words = appendWords(words, elements[:its.size])
	}
	return words
}

// Append appends the element with the given reference to dst. A reference that the set has not
// given is an error where no slot has it; in a set of any length also elsewhere, but for a chance
// of 1 in 2^47.
func (b *Bytes) Append(dst []byte, ref Ref) ([]byte, error) {
	if !b.arenas.valid(ref) {
		return dst, refError(ref)
	}
	if words := b.arenas.words(ref); words != nil && !b.isStrings() && b.fault.Job == nil {
		return append(dst, core.BytesOf(words)[:b.size]...), nil
	}
	err := b.fault.Guard(func() error {
		words, err := b.elementAt(ref)
		switch {
		case err != nil:
			return err
		case b.isStrings() && !isString(words):
			return fmt.Errorf("set: at reference %#x is no string, or a damaged one", uint64(ref))
		}
		dst = append(dst, b.bytesIn(words)...)
		return nil
	})
	return dst, err
}

// bytesIn is an element as it is in an arena.
func (its *items) bytesIn(words []uint64) []byte {
	if its.isStrings() {
		return stringBytes(words)
	}
	return core.BytesOf(words)[:its.size]
}

// GetPacked copies the elements with the given references to dst, one after the other: they have
// one length.
func (b *Bytes) GetPacked(refs []Ref, dst []byte) error {
	switch size := b.size; {
	case b.isStrings():
		return errNotPacked
	case len(dst) != len(refs)*size:
		return fmt.Errorf("set: dst has %s for %s; an element has %d",
			plural.Of(len(dst), "byte"), plural.Of(len(refs), "element"), size)
	}
	return b.fault.Guard(func() error {
		f := fetch{space: b.space, dst: dst, size: b.size}
		return f.run(refs)
	})
}

// Place is the rank in whose memory the element with a reference is, and its number there, from 0
// on.
func (b *Bytes) Place(ref Ref) (rank int, number uint64) {
	number, owner := b.arenas.split(ref)
	return int(owner), number
}

func refError(ref Ref) error {
	return fmt.Errorf("set: no element has the reference %#x", uint64(ref))
}

func lengthError(bytes, results, size int) error {
	return fmt.Errorf("set: %s and %s; an element has %s", plural.Of(bytes, "byte"),
		plural.Of(results, "result"), plural.Of(size, "byte"))
}

// StringError is the length in bytes of an element that is longer than MaxStringBytes.
type StringError int

func (e StringError) Error() string {
	return fmt.Sprintf("set: a string has %d bytes; the longest that a set takes has %d",
		int(e), MaxStringBytes)
}

// Config is the shape of the set now, as far as this rank knows, with the defaults filled in.
func (b *Bytes) Config() BytesConfig {
	cfg := b.config()
	if !b.isStrings() {
		cfg.Capacity = b.arenas.capacity()
	}
	return cfg
}

// Memory is the bytes that the table and the elements of all ranks take now.
func (b *Bytes) Memory(ctx context.Context) (uint64, error) {
	grains, err := b.arenas.counter.Sum(ctx, cellTaken)
	return b.newest().buckets*8 + grains*uint64(b.arenas.grain)*8, err
}

// All iterates over the elements of the set. The bytes are valid until the loop continues.
func (b *Bytes) All(ctx context.Context) iter.Seq2[[]byte, error] {
	return b.elements(b.occupied(ctx, 0, b.job.Size()))
}

// Local is All for what this rank's part of the table refers to.
func (b *Bytes) Local(ctx context.Context) iter.Seq2[[]byte, error] {
	return b.elements(b.local(ctx))
}

func (b *Bytes) elements(buckets iter.Seq2[stored, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var element []byte
		for s, err := range buckets {
			if element = element[:0]; err == nil {
				var words []uint64
				if words, err = b.elementOf(s.bucket); err == nil {
					element = append(element, b.bytesIn(words)...)
				}
			}
			if !yield(element, err) || err != nil {
				return
			}
		}
	}
}
