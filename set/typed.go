package set

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"unsafe"

	"github.com/farhash/farhash/internal/codec"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
)

// Typed is a set whose elements are of a Go type. A type is
//
//   - of fixed size: integers, bools, floating-point and complex numbers, arrays and structs of
//     such types. Unexported fields are included, and fields named _ are not. An integer may have a
//     tag such as bits:"3", and then has so many;
//   - a string or []byte, or a named type that is one;
//   - or any type with AppendBinary, and UnmarshalBinary for its pointer, such as time.Time. Equal
//     elements must append equal bytes.
//
// Elements that are equal by == are the same: 0 and -0 are. So are all NaNs, unlike in a Go map.
// All programs that use the set must have the same type, and the same architecture.
//
// A type of up to 63 bits makes a [Set]; every other type makes [Bytes]. These have one length if
// the type has a fixed size. Files keep that size (also of a uint64). Single calls allocate nothing
// for a type of fixed size, if this process addresses the memory of the set. A Typed is safe for
// concurrent use.
type Typed[K any] struct {
	codec *codec.Codec[K]
	rooms sync.Pool // of *codec.Room[K]
	plain int       // bytes of a key whose memory is its word, 0 for others

	words *Set // one of these
	bytes *Bytes
}

// NewTyped makes an empty set of a type. Collective, as New is.
func NewTyped[K any](ctx context.Context, job rma.Job, cfg Config) (*Typed[K], error) {
	return makeTyped(cfg,
		func(cfg Config) (*Set, error) { return New(ctx, job, cfg) },
		func(cfg BytesConfig) (*Bytes, error) { return NewBytes(ctx, job, cfg) },
		new(Typed[K]))
}

// LocalTyped makes an empty set of a type for this process alone, without a job.
func LocalTyped[K any](cfg Config) (*Typed[K], error) {
	return makeTyped(cfg, Local, LocalBytes, new(Typed[K]))
}

// OpenTyped opens the set of a type with a name, or makes it; see [Open].
func OpenTyped[K any](name string, cfg Config, options ...file.Option) (*Typed[K], error) {
	return makeTyped(cfg,
		func(cfg Config) (*Set, error) { return Open(name, cfg, options...) },
		func(cfg BytesConfig) (*Bytes, error) { return OpenBytes(name, cfg, options...) },
		new(Typed[K]))
}

// makeTyped makes the set for a type.
func makeTyped[K any](cfg Config, words func(Config) (*Set, error),
	bytes func(BytesConfig) (*Bytes, error), t *Typed[K]) (_ *Typed[K], err error) {
	if t.codec, err = codec.New[K](codec.Key); err != nil {
		return nil, fmt.Errorf("set: the element: %w", err)
	}
	t.rooms.New = func() any { return new(codec.Room[K]) }
	size, fixed := t.codec.Size()
	switch {
	case !fixed:
		t.bytes, err = bytes(BytesConfig{Config: cfg})
	case t.codec.Bits() <= 63:
		if t.codec.Plain() {
			t.plain = size
		}
		t.words, err = words(cfg)
	default:
		t.bytes, err = bytes(BytesConfig{Config: cfg, ElementBytes: size})
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// FindOrPut finds key or inserts it. The result is Found, Inserted or Full; Full comes with a
// *FullError.
func (t *Typed[K]) FindOrPut(key K) (Result, error) {
	if t.words == nil {
		return t.one(&key, true)
	}
	word, err := t.word(&key)
	if err != nil {
		return 0, err
	}
	return t.words.FindOrPut(word)
}

// word is a key that is a word.
func (t *Typed[K]) word(key *K) (uint64, error) {
	switch p := unsafe.Pointer(key); t.plain { // read as it was stored, which is faster
	case 4:
		return uint64(*(*uint32)(p)), nil
	case 2:
		return uint64(*(*uint16)(p)), nil
	case 1:
		return uint64(*(*uint8)(p)), nil
	}
	var room codec.Room[K]
	words, err := t.codec.Words(key, &room)
	if err != nil {
		return 0, typeError(err)
	}
	return words[0], nil
}

// Contains reports whether key is in the set.
func (t *Typed[K]) Contains(key K) (bool, error) {
	if t.words == nil {
		r, err := t.one(&key, false)
		return r == Found, err
	}
	word, err := t.word(&key)
	if err != nil {
		return false, err
	}
	return t.words.Contains(word)
}

// one runs one operation on a key that is no word.
func (t *Typed[K]) one(key *K, insert bool) (Result, error) {
	if t.bytes.isStrings() {
		b, err := t.codec.Encode(key, nil)
		if err != nil {
			return 0, typeError(err)
		}
		_, r, err := t.bytes.oneElement(b, insert)
		return r, err
	}
	room := t.rooms.Get().(*codec.Room[K]) // what no key writes is zero
	defer t.rooms.Put(room)
	words, err := t.codec.Words(key, room)
	if err != nil {
		return 0, typeError(err)
	}
	_, r, err := t.bytes.oneElement(core.BytesOf(words)[:t.bytes.size], insert)
	return r, err
}

// typeError is an error with an element of a type.
func typeError(err error) error { return fmt.Errorf("set: an element: %w", err) }

// FindOrPutBatch is FindOrPut for many keys: results[i] answers keys[i]. It allocates memory for
// all of them.
func (t *Typed[K]) FindOrPutBatch(keys []K, results []Result) error {
	return t.batch(keys, results, true)
}

// ContainsBatch is Contains for many keys; results are Found and NotFound.
func (t *Typed[K]) ContainsBatch(keys []K, results []Result) error {
	return t.batch(keys, results, false)
}

func (t *Typed[K]) batch(keys []K, results []Result, insert bool) error {
	var words []uint64
	var packed []byte
	var list [][]byte
	for i := range keys {
		if t.words != nil {
			word, err := t.word(&keys[i])
			if err != nil {
				return err
			}
			words = append(words, word)
			continue
		}
		var room codec.Room[K]
		b, err := t.codec.Encode(&keys[i], &room)
		switch {
		case err != nil:
			return typeError(err)
		case t.bytes.isStrings():
			list = append(list, b)
		default:
			packed = append(packed, b...)
		}
	}
	switch {
	case t.words != nil:
		return t.words.batch(words, results, insert)
	case t.bytes.isStrings():
		return t.bytes.list(list, results, nil, insert)
	}
	return t.bytes.packed(packed, results, nil, insert)
}

// All iterates over the elements of the set, in no particular order. It ends with the first error.
// The elements are the caller's.
func (t *Typed[K]) All(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for b, err := range t.elements(ctx) {
			var key K
			if err == nil {
				if err = t.codec.Decode(slices.Clone(b), &key); err != nil {
					err = typeError(err)
				}
			}
			if !yield(key, err) || err != nil {
				return
			}
		}
	}
}

// elements iterates over the elements as bytes.
func (t *Typed[K]) elements(ctx context.Context) iter.Seq2[[]byte, error] {
	if t.bytes != nil {
		return t.bytes.All(ctx)
	}
	size, _ := t.codec.Size()
	return func(yield func([]byte, error) bool) {
		for word, err := range t.words.All(ctx) {
			own := [1]uint64{word}
			if !yield(core.BytesOf(own[:])[:size], err) || err != nil {
				return
			}
		}
	}
}

// Len is the number of elements; see the set that the type makes.
func (t *Typed[K]) Len(ctx context.Context) (uint64, error) { return t.set().Len(ctx) }

// Check is Check of the set that the type makes.
func (t *Typed[K]) Check(ctx context.Context) error { return t.set().Check(ctx) }

// Close gives this rank's memory back.
func (t *Typed[K]) Close() error { return t.set().Close() }

func (t *Typed[K]) set() *anySet {
	if t.words != nil {
		return &t.words.anySet
	}
	return &t.bytes.anySet
}
