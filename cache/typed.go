package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/farhash/farhash/internal/codec"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
)

// Typed is a [Cache] whose keys and values are of Go types. A type is
//
//   - of fixed size: integers, bools, floating-point and complex numbers, arrays and structs of
//     such types. Unexported fields are included, and fields named _ are not. An integer may have a
//     tag such as bits:"3", and then has so many;
//   - a string or []byte, or a named type that is one;
//   - or any type with AppendBinary, and UnmarshalBinary for its pointer, such as time.Time. Equal
//     keys must append equal bytes.
//
// The last two take their bytes and 4 more, for their length, of KeySize or ValueSize. Longer ones
// are errors.
//
// Keys that are equal by == are the same key: 0 and -0 are. So are all NaNs, unlike in a Go map.
// Values keep all bits of their numbers. All programs that use the cache must have the same types,
// and the same architecture.
//
// Calls whose types have a fixed size allocate nothing where the cache is in memory that this
// process addresses. A Typed is safe for concurrent use, and any number may use one cache.
type Typed[K, V any] struct {
	c      *Cache
	keys   packer[K]
	values packer[V]
}

// NewTyped makes an empty cache of two types. KeySize and ValueSize may be 0 for types of fixed
// size, and follow from these. Collective, as New is.
func NewTyped[K, V any](ctx context.Context, job rma.Job, cfg Config) (*Typed[K, V], error) {
	return makeTyped[K, V](cfg, func(cfg Config) (*Cache, error) { return New(ctx, job, cfg) })
}

// LocalTyped makes an empty cache of two types for this process alone, without a job.
func LocalTyped[K, V any](cfg Config) (*Typed[K, V], error) { return makeTyped[K, V](cfg, Local) }

// makeTyped makes a cache for two types.
func makeTyped[K, V any](cfg Config, makeCache func(Config) (*Cache, error)) (*Typed[K, V], error) {
	t, err := newTyped[K, V]()
	if err != nil {
		return nil, err
	}
	cfg.KeySize = cmp.Or(cfg.KeySize, t.keys.size)
	cfg.ValueSize = cmp.Or(cfg.ValueSize, t.values.size)
	if err = t.fit(cfg); err != nil {
		return nil, err
	}
	if t.c, err = makeCache(cfg); err != nil {
		return nil, err
	}
	return t, nil
}

// OpenTyped opens the cache of two types with a name, or makes it; see [Open].
func OpenTyped[K, V any](name string, cfg Config, options ...file.Option) (*Typed[K, V], error) {
	t, err := newTyped[K, V]()
	if err != nil {
		return nil, err
	}
	cfg.KeySize = cmp.Or(cfg.KeySize, t.keys.size)
	cfg.ValueSize = cmp.Or(cfg.ValueSize, t.values.size)
	if t.c, err = Open(name, cfg, options...); err != nil {
		return nil, err
	}
	if err = t.fit(t.c.cfg); err != nil {
		return nil, errors.Join(err, t.c.Close())
	}
	return t, nil
}

// TypedOf uses a cache with two types. What others put into it must be of the same types. It fails
// where KeySize or ValueSize is not the size of a type.
func TypedOf[K, V any](c *Cache) (*Typed[K, V], error) {
	t, err := newTyped[K, V]()
	if err == nil {
		err = t.fit(c.cfg)
	}
	if err != nil {
		return nil, err
	}
	t.c = c
	return t, nil
}

func newTyped[K, V any]() (t *Typed[K, V], err error) {
	t = new(Typed[K, V])
	if t.keys, err = newPacker[K](codec.Key); err != nil {
		return nil, fmt.Errorf("cache: the key: %w", err)
	}
	if t.values, err = newPacker[V](codec.Value); err != nil {
		return nil, fmt.Errorf("cache: the value: %w", err)
	}
	return t, nil
}

// fit has keys and values take the sizes of a cache.
func (t *Typed[K, V]) fit(cfg Config) error {
	if err := t.keys.fit(cfg.KeySize); err != nil {
		return fmt.Errorf("cache: KeySize is %d, and a key %w", cfg.KeySize, err)
	}
	if err := t.values.fit(cfg.ValueSize); err != nil {
		return fmt.Errorf("cache: ValueSize is %d, and a value %w", cfg.ValueSize, err)
	}
	return nil
}

// Cache is the cache that is used: to close, save or check it, or for batches.
func (t *Typed[K, V]) Cache() *Cache { return t.c }

// Load is the value of key. found is false where the key is not there, or not any more.
func (t *Typed[K, V]) Load(key K) (value V, found bool, err error) {
	var keyRoom codec.Room[K]
	var valueRoom codec.Room[V]
	k, err := t.keys.pack(&key, &keyRoom)
	if err != nil {
		return value, false, typeError("key", err)
	}
	v := t.values.room(&valueRoom)
	o, err := t.c.oneOfWords(kindGet, k, v)
	if err == nil && o.matched {
		err = typeError("value", t.values.unpack(v, &value))
	}
	return value, o.matched && err == nil, err
}

// Store stores a value under a key.
func (t *Typed[K, V]) Store(key K, value V) (Result, error) {
	var keyRoom codec.Room[K]
	var valueRoom codec.Room[V]
	k, err := t.keys.pack(&key, &keyRoom)
	if err != nil {
		return 0, typeError("key", err)
	}
	v, err := t.values.pack(&value, &valueRoom)
	if err != nil {
		return 0, typeError("value", err)
	}
	o, err := t.c.oneOfWords(kindPut, k, v)
	return o.result, err
}

// Delete makes key invalid wherever it stands, and reports whether it stood anywhere.
func (t *Typed[K, V]) Delete(key K) (bool, error) {
	var room codec.Room[K]
	k, err := t.keys.pack(&key, &room)
	if err != nil {
		return false, typeError("key", err)
	}
	o, err := t.c.oneOfWords(kindRemove, k, nil)
	return o.matched, err
}

// Update replaces the value of key by what fn makes of it, or leaves it where put is false. found
// says whether the key was found; else old is the zero value. As [Cache.Update] it is a Get and a
// Put: what others put in between is lost.
func (t *Typed[K, V]) Update(key K, fn func(old V, found bool) (value V, put bool)) (Result,
	error) {
	old, found, err := t.Load(key)
	if err != nil {
		return 0, err
	}
	value, put := fn(old, found)
	if !put {
		return Unchanged, nil
	}
	return t.Store(key, value)
}

// Entry is a key and its value.
type Entry[K, V any] struct {
	Key   K
	Value V
}

// All iterates over the keys and values of all ranks, as [Cache.All] does. It ends with the first
// error. The entries are the caller's.
func (t *Typed[K, V]) All(ctx context.Context) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		key, value := make([]uint64, t.c.keyWords), make([]uint64, t.c.valueWords)
		for p, err := range t.c.All(ctx) {
			var e Entry[K, V]
			copy(core.BytesOf(key), p.Key)
			copy(core.BytesOf(value), p.Value)
			if err == nil {
				err = typeError("key", t.keys.unpack(key, &e.Key))
			}
			if err == nil {
				err = typeError("value", t.values.unpack(value, &e.Value))
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// typeError is an error with a key or value of a type.
func typeError(what string, err error) error {
	if err != nil {
		return fmt.Errorf("cache: a %s: %w", what, err)
	}
	return nil
}

// oneOfWords does a single operation on whole words, which are zero after the key and the value.
// They may be on the stack, as a queue gets copies.
func (c *Cache) oneOfWords(k kind, key, value []uint64) (outcome, error) {
	expiry, err := uint64(never), error(nil)
	if k == kindPut {
		if expiry, err = c.expiryOf(0); err != nil {
			return outcome{}, err
		}
	}
	if c.batches.Any {
		if o, ok, err := c.direct(k, key, value, expiry); ok {
			return o, err
		}
	}
	own := core.BytesOf(slices.Clone(value))
	o, err := c.oneCopied(k, core.BytesOf(slices.Clone(key))[:c.cfg.KeySize],
		own[:min(c.cfg.ValueSize, len(own))], expiry)
	copy(core.BytesOf(value), own)
	return o, err
}

// packer makes words of values that all have the same size.
type packer[T any] struct {
	*codec.Codec[T]
	size  int // bytes; 0: not known yet
	fixed bool
}

// lengthBytes come before the bytes of a value that is not of fixed size. Zeros follow these.
const lengthBytes = 4

func newPacker[T any](use codec.Use) (p packer[T], err error) {
	if p.Codec, err = codec.New[T](use); err == nil {
		p.size, p.fixed = p.Size()
	}
	return p, err
}

// fit has values take so many bytes. The error continues a sentence.
func (p *packer[T]) fit(size int) error {
	switch {
	case p.fixed && size != p.size:
		return fmt.Errorf("of type %T has %d bytes; make a cache with %d, or by NewTyped", *new(T),
			p.size, p.size)
	case !p.fixed && size <= lengthBytes:
		return fmt.Errorf("of type %T takes its bytes and %d more; set it to %d more than the "+
			"longest has", *new(T), lengthBytes, lengthBytes)
	}
	p.size = size
	return nil
}

// room is the memory for the words of a value. It is zero.
func (p *packer[T]) room(room *codec.Room[T]) []uint64 {
	if p.fixed {
		return room.Words()[:core.WordsOf(p.size)]
	}
	return make([]uint64, core.WordsOf(p.size))
}

// pack is a value as words, in a room if it has a fixed size.
func (p *packer[T]) pack(v *T, room *codec.Room[T]) ([]uint64, error) {
	if p.fixed {
		return p.Words(v, room)
	}
	return p.packBytes(v)
}

// packBytes is pack for values that have no fixed size.
func (p *packer[T]) packBytes(v *T) ([]uint64, error) {
	b, err := p.Encode(v, nil)
	if err != nil {
		return nil, err
	}
	if len(b) > p.size-lengthBytes {
		return nil, fmt.Errorf("a %T of %d bytes; this cache takes up to %d: make KeySize or "+
			"ValueSize larger", *v, len(b), p.size-lengthBytes)
	}
	words := make([]uint64, core.WordsOf(p.size))
	words[0] = uint64(len(b)) // in the first lengthBytes
	copy(core.BytesOf(words)[lengthBytes:], b)
	return words, nil
}

// unpack is the value of words. It keeps no part of these.
func (p *packer[T]) unpack(words []uint64, v *T) error {
	if p.fixed {
		p.FromWords(words, v)
		return nil
	}
	return p.unpackBytes(words, v)
}

// unpackBytes is unpack for values that have no fixed size.
func (p *packer[T]) unpackBytes(words []uint64, v *T) error {
	from := core.BytesOf(words)[lengthBytes:p.size]
	if n := uint64(uint32(words[0])); n <= uint64(len(from)) {
		return p.Decode(slices.Clone(from[:n]), v)
	}
	return fmt.Errorf("what was found is no %T: give the cache one type alone", *v)
}

// Memoize makes a function that computes the same as fn, and keeps the results in a cache. A result
// that the cache has is not computed again. As the cache forgets, and nobody asks other ranks what
// they compute, fn may be called any number of times for a key.
//
//   - Calls for the same key at the same time, in this process and by the same function that
//     Memoize has made, compute once: one calls fn, the others wait for it and get the same.
//   - An error of fn is returned, with the value beside it, to the call that has called fn and to
//     the calls that waited for it. It is not kept: the next call computes again.
//   - If fn panics, its caller gets the panic, and one of the calls that waited calls fn.
//   - An error of the cache is returned: without a call of fn where the cache could not be read,
//     with the value of fn where that could not be put.
//
// fn must not call the function for the same key, which would wait for itself.
func Memoize[K, V any](t *Typed[K, V], fn func(K) (V, error)) func(K) (V, error) {
	m := memo[K, V]{t: t, fn: fn, running: map[string]*running[V]{}}
	return m.get
}

// memo is a function with a cache.
type memo[K, V any] struct {
	t       *Typed[K, V]
	fn      func(K) (V, error)
	mu      sync.Mutex
	running map[string]*running[V] // by the words of the key
}

// running is a call of the function. Its result is valid when ended is closed.
type running[V any] struct {
	ended    chan struct{}
	returned bool // else it has panicked
	value    V
	err      error
}

func (m *memo[K, V]) get(key K) (V, error) {
	value, found, err := m.t.Load(key)
	if found || err != nil {
		return value, err
	}
	words, err := m.t.keys.pack(&key, new(codec.Room[K]))
	if err != nil {
		return value, typeError("key", err)
	}
	name := string(core.BytesOf(words))
	for {
		m.mu.Lock()
		r, runs := m.running[name]
		if !runs {
			r = &running[V]{ended: make(chan struct{})}
			m.running[name] = r
		}
		m.mu.Unlock()
		if !runs {
			m.run(name, key, r)
			return r.value, r.err
		}
		if <-r.ended; r.returned {
			return r.value, r.err
		}
	}
}

// run calls the function, and keeps its result.
func (m *memo[K, V]) run(name string, key K, r *running[V]) {
	defer func() {
		m.mu.Lock()
		delete(m.running, name)
		m.mu.Unlock()
		close(r.ended)
	}()
	var found bool
	r.value, found, r.err = m.t.Load(key) // a call that has just ended may have put it
	if !found && r.err == nil {
		if r.value, r.err = m.fn(key); r.err == nil {
			_, r.err = m.t.Store(key, r.value)
		}
	}
	r.returned = true
}
