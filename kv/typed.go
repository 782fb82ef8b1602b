package kv

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/farhash/farhash/internal/codec"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
)

// Typed is a [Map] whose keys and values are of Go types. A type is
//
//   - of fixed size: integers, bools, floating-point and complex numbers, arrays and structs of
//     such types. Unexported fields are included, and fields named _ are not. An integer may have a
//     tag such as bits:"3", and then has so many;
//   - a string or []byte, or a named type that is one;
//   - or any type with AppendBinary, and UnmarshalBinary for its pointer, such as time.Time. Equal
//     keys must append equal bytes.
//
// Keys that are equal by == are the same key: 0 and -0 are. So are all NaNs, unlike in a Go map.
// Values keep all bits of their numbers. All programs that use the map must have the same types,
// and the same architecture.
//
// Calls whose types have a fixed size allocate nothing where the map is in memory that this process
// addresses. A Typed is safe for concurrent use, and any number may use one map.
type Typed[K, V any] struct {
	m      *Map
	keys   *codec.Codec[K]
	values *codec.Codec[V]
}

// NewTyped makes an empty map of two types. Where Config does not give MaxKey or MaxValue, and the
// type has a fixed size, that is the longest. Collective, as New is.
func NewTyped[K, V any](ctx context.Context, job rma.Job, cfg Config) (*Typed[K, V], error) {
	return makeTyped[K, V](cfg, func(cfg Config) (*Map, error) { return New(ctx, job, cfg) })
}

// LocalTyped makes an empty map of two types for this process alone, without a job.
func LocalTyped[K, V any](cfg Config) (*Typed[K, V], error) {
	return makeTyped[K, V](cfg, Local)
}

// OpenTyped opens the map of two types with a name, or makes it; see [Open].
func OpenTyped[K, V any](name string, cfg Config, options ...file.Option) (*Typed[K, V], error) {
	return makeTyped[K, V](cfg, func(cfg Config) (*Map, error) {
		return Open(name, cfg, options...)
	})
}

// makeTyped makes a map for two types.
func makeTyped[K, V any](cfg Config, makeMap func(Config) (*Map, error)) (*Typed[K, V], error) {
	t, err := newTyped[K, V]()
	if err != nil {
		return nil, err
	}
	keySize, _ := t.keys.Size()
	valueSize, _ := t.values.Size()
	cfg.MaxKey, cfg.MaxValue = cmp.Or(cfg.MaxKey, keySize), cmp.Or(cfg.MaxValue, valueSize)
	m, err := makeMap(cfg)
	if err != nil {
		return nil, err
	}
	if err := t.use(m); err != nil {
		_ = m.Close() // the error that matters is the other one
		return nil, err
	}
	return t, nil
}

// TypedOf uses a map with two types. What others put into it must be of the same types. It fails
// where the map takes no keys or values that are so long.
func TypedOf[K, V any](m *Map) (*Typed[K, V], error) {
	t, err := newTyped[K, V]()
	if err == nil {
		err = t.use(m)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func newTyped[K, V any]() (t *Typed[K, V], err error) {
	t = new(Typed[K, V])
	if t.keys, err = codec.New[K](codec.Key); err != nil {
		return nil, fmt.Errorf("kv: the key: %w", err)
	}
	if t.values, err = codec.New[V](codec.Value); err != nil {
		return nil, fmt.Errorf("kv: the value: %w", err)
	}
	return t, nil
}

// use checks that keys and values fit the map.
func (t *Typed[K, V]) use(m *Map) error {
	if n, _ := t.keys.Size(); n > m.cfg.MaxKey {
		return fmt.Errorf("kv: a key of type %T has %d bytes, and this map takes up to %d; make "+
			"MaxKey larger, up to %d", *new(K), n, m.cfg.MaxKey, MaxSize)
	}
	if n, _ := t.values.Size(); n > m.cfg.MaxValue {
		return fmt.Errorf("kv: a value of type %T has %d bytes, and this map takes up to %d; make "+
			"MaxValue larger, up to %d", *new(V), n, m.cfg.MaxValue, MaxSize)
	}
	t.m = m
	return nil
}

// Map is the map that is used: to close, save or check it, or for batches.
func (t *Typed[K, V]) Map() *Map { return t.m }

// Load is the value of key. found is false where the key is not there.
func (t *Typed[K, V]) Load(key K) (value V, found bool, err error) {
	value, _, found, err = t.get(&key)
	return value, found, err
}

// Store stores a value under a key.
func (t *Typed[K, V]) Store(key K, value V) error {
	c := Call{Kind: Put}
	return t.put(&c, &key, &value)
}

// Delete removes a key, and reports whether it was there.
func (t *Typed[K, V]) Delete(key K) (bool, error) {
	c := Call{Kind: Delete}
	err := t.call(&c, &key)
	return c.Done, err
}

// LoadOrStore is the value of key. If the key is not there, value is stored under it, and found is
// false. Of all calls for a key that is not there one stores its value, and all return this value.
func (t *Typed[K, V]) LoadOrStore(key K, value V) (now V, found bool, err error) {
	return t.Compute(key, func(old V, found bool) (V, bool) {
		if found {
			return old, false
		}
		return value, true
	})
}

// Compute replaces the value of key by what fn makes of it, atomically: nobody puts or deletes the
// key between the read of the value that fn gets and the write of the value that it returns. found
// says whether the key is there; else old is the zero value. With put false the map remains as it
// is. Compute returns the value that the key has afterwards, and whether it was there before.
//
// When another call changes the key first, fn is called again with the new value. So it must have
// no effects that must not come twice. It may use the map.
func (t *Typed[K, V]) Compute(key K, fn func(old V, found bool) (value V, put bool)) (now V,
	found bool, err error) {
	for {
		old, version, found, err := t.get(&key)
		if err != nil {
			return old, false, err
		}
		value, put := fn(old, found)
		if !put {
			return old, found, nil
		}
		c := Call{Kind: CompareAndPut, Version: version}
		if err := t.put(&c, &key, &value); c.Done || err != nil {
			return value, found, err
		}
	}
}

// Entry is a key and its value.
type Entry[K, V any] struct {
	Key   K
	Value V
}

// All iterates over the keys of all ranks and their values, as [Map.All] does. It ends with the
// first error: also where a key or value is not of the type.
func (t *Typed[K, V]) All(ctx context.Context) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		for p, err := range t.m.All(ctx) {
			var e Entry[K, V]
			if err == nil {
				err = typeError("key", t.keys.Decode(p.Key, &e.Key))
			}
			if err == nil {
				err = typeError("value", t.values.Decode(p.Value, &e.Value))
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// typeError is an error with a value of a type.
func typeError(what string, err error) error {
	if err != nil {
		return fmt.Errorf("kv: a %s: %w", what, err)
	}
	return nil
}

// get reads the value of a key, and its version.
func (t *Typed[K, V]) get(key *K) (value V, v Version, found bool, err error) {
	if t.values.Plain() {
		return t.getInto(key, nil)
	}
	var room codec.Room[V]
	value, v, found, err = t.getInto(key, &room)
	runtime.KeepAlive(&room)
	return value, v, found, err
}

// getInto is get with a room for values that need one.
func (t *Typed[K, V]) getInto(key *K, valueRoom *codec.Room[V]) (value V, v Version, found bool,
	err error) {
	var room codec.Room[K]
	k, err := t.keys.EncodeHidden(key, &room)
	if err != nil {
		return value, 0, false, typeError("key", err)
	}
	var b []byte
	if _, fixed := t.values.Size(); fixed {
		b = codec.Hide(t.values.Into(&value, valueRoom))
	}
	if b, v, found, err = t.m.find(k, b, true); found {
		err = typeError("value", t.values.Decode(b, &value))
	}
	runtime.KeepAlive(&room)
	runtime.KeepAlive(key)
	if found = found && err == nil; !found { // a get that has lost may have left something
		value = *new(V)
	}
	return value, v, found, err
}

// put makes a call that stores a value.
func (t *Typed[K, V]) put(c *Call, key *K, value *V) error {
	var room codec.Room[V]
	b, err := t.values.EncodeHidden(value, &room)
	if err != nil {
		return typeError("value", err)
	}
	c.Value = b
	err = t.call(c, key)
	c.Value = nil
	runtime.KeepAlive(&room)
	runtime.KeepAlive(value)
	return err
}

// call makes a call for a key.
func (t *Typed[K, V]) call(c *Call, key *K) error {
	var room codec.Room[K]
	b, err := t.keys.EncodeHidden(key, &room)
	if err != nil {
		return typeError("key", err)
	}
	c.Key = b
	err = t.m.one(c, true)
	c.Key = nil
	runtime.KeepAlive(&room)
	runtime.KeepAlive(key)
	return err
}
