//go:build linux

package named

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/set"
)

// keyCount is how many keys a worker uses again and again, of those that can be changed.
const keyCount = 50

// elementCount is how many elements a worker inserts. Then it begins again.
const elementCount = 3000

// table is a table under test.
type table interface {
	// do makes operation n of a worker.
	do(worker, n uint64) error
	// verify checks what a worker has done that was acknowledged, up to operation last. It may have
	// done the next one. Nobody else uses its keys.
	verify(worker, last uint64) error
	Check(ctx context.Context) error
	Close() error
}

// tables open a table of each kind.
var tables = map[string]func(path string) (table, error){
	"map": func(path string) (table, error) {
		m, err := kv.Open(path, kv.Config{Slots: 64, MaxSlots: 1 << 15, Bytes: 16 << 20,
			MaxKey: 16})
		return mapTable{m}, err
	},
	"copies": func(path string) (table, error) {
		m, err := kv.Open(path, kv.Config{MaxBytes: 8 << 20, Copies: true, MaxKey: 16})
		return mapTable{m}, err
	},
	"cache": func(path string) (table, error) {
		c, err := cache.Open(path, cache.Config{KeySize: 16, ValueSize: 40, Buckets: 2048})
		return cacheTable{c}, err
	},
	"words": func(path string) (table, error) {
		s, err := set.Open(path, set.Config{Buckets: 512, MaxBytes: 64 << 20})
		if err != nil {
			return nil, err
		}
		return setTable{s, func(b []byte) (set.Result, error) {
			worker, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			return s.FindOrPut(worker<<24 | n)
		}}, nil
	},
	"elements": func(path string) (table, error) {
		s, err := set.OpenBytes(path, set.BytesConfig{ElementBytes: 16,
			Config: set.Config{Buckets: 512, MaxBytes: 64 << 20}})
		if err != nil {
			return nil, err
		}
		return setTable{s, s.FindOrPut}, nil
	},
	"strings": func(path string) (table, error) {
		s, err := set.OpenBytes(path, set.BytesConfig{
			Config: set.Config{Buckets: 512, MaxBytes: 256 << 20}})
		if err != nil {
			return nil, err
		}
		return setTable{s, func(b []byte) (set.Result, error) {
			return s.FindOrPut(bytes.Repeat(b, 1+int(b[8])%20))
		}}, nil
	},
}

// numbers are two numbers as bytes.
func numbers(a, b uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b)
}

// everybody is the name of what all workers use.
const everybody = 1 << 20

// valueOf is the value of operation n: its key, and bytes that only it has.
func valueOf(worker, n uint64) []byte {
	return bytes.Repeat(numbers(worker, n), 1+int(n%7))
}

type mapTable struct{ *kv.Map }

// do puts or deletes a key of the worker, puts and deletes one of everybody, and counts up another.
func (m mapTable) do(worker, n uint64) error {
	key, shared := numbers(worker, n%keyCount), numbers(everybody, n%keyCount)
	var err error
	if deletes(n) {
		_, err = m.Delete(key)
	} else {
		_, err = m.Put(key, valueOf(worker, n))
	}
	_, putErr := m.Put(shared, valueOf(everybody, n%keyCount))
	if n%3 == 0 {
		_, deleteErr := m.Delete(shared)
		putErr = errors.Join(putErr, deleteErr)
	}
	return errors.Join(err, putErr, m.count())
}

// deletes reports whether operation n deletes its key.
func deletes(n uint64) bool { return n/keyCount%3 == 2 }

// counter is the key that all workers count up, once in each operation.
var counter = numbers(everybody, 1<<40)

func (m mapTable) count() error {
	for {
		value, version, found, err := m.Get(counter, nil)
		if err != nil {
			return err
		}
		n := uint64(0)
		if found {
			n = binary.LittleEndian.Uint64(value)
		}
		_, done, err := m.CompareAndPut(counter, numbers(n+1, n+1), version)
		if done || err != nil {
			return err
		}
	}
}

func (m mapTable) verify(worker, last uint64) error {
	for k := range uint64(keyCount) {
		got, _, found, err := m.Get(numbers(worker, k), nil)
		if err != nil {
			return err
		}
		want := last - (last-k%keyCount)%keyCount // the last operation on this key
		if last < k {
			want = k + 1<<40 // none
		}
		fits := func(n uint64) bool {
			if n > last+1 || n == 0 || deletes(n) {
				return !found
			}
			return found && bytes.Equal(got, valueOf(worker, n))
		}
		if !fits(want) && !((last+1)%keyCount == k && fits(last+1)) {
			return fmt.Errorf("key %d of worker %d, which has done %d: found %v with %x", k, worker,
				last, found, got)
		}
		got, _, found, err = m.Get(numbers(everybody, k), nil)
		if err != nil || found && !bytes.Equal(got, valueOf(everybody, k)) {
			return fmt.Errorf("key %d of everybody has %x, %w", k, got, err)
		}
	}
	return nil
}

type cacheTable struct{ *cache.Cache }

func (c cacheTable) do(worker, n uint64) error {
	for _, who := range []uint64{worker, everybody} {
		key := numbers(who, n%keyCount)
		if n%9 == 0 {
			if _, err := c.Delete(key); err != nil {
				return err
			}
		} else if _, err := c.Put(key, cached(who, n)); err != nil {
			return err
		}
	}
	return nil
}

// cached is the value of operation n in a cache, whose values have one length.
func cached(who, n uint64) []byte { return bytes.Repeat(numbers(who, n), 3)[:40] }

// verify accepts that pairs are lost.
func (c cacheTable) verify(worker, last uint64) error {
	for k := range uint64(keyCount) {
		for _, who := range []uint64{worker, everybody} {
			value := make([]byte, 40)
			found, err := c.Get(numbers(who, k), value)
			if err != nil {
				return err
			}
			n := binary.LittleEndian.Uint64(value[8:])
			if found && (!bytes.Equal(value, cached(who, n)) || n%keyCount != k ||
				who == worker && n > last+1) {
				return fmt.Errorf("key %d of %d has %x", k, who, value)
			}
		}
	}
	return nil
}

// closing is the methods that all sets have.
type closing interface {
	Check(ctx context.Context) error
	Close() error
}

type setTable struct {
	closing
	put func(element []byte) (set.Result, error)
}

func (s setTable) do(worker, n uint64) error {
	for _, who := range []uint64{worker, everybody} {
		if r, err := s.put(numbers(who, n%elementCount)); err != nil || r == set.Full {
			return fmt.Errorf("element %d of %d: %v, %w", n, who, r, err)
		}
	}
	return nil
}

func (s setTable) verify(worker, last uint64) error {
	for n := uint64(1); n <= min(last, elementCount-1); n++ {
		if r, err := s.put(numbers(worker, n)); err != nil || r != set.Found {
			return fmt.Errorf("element %d of worker %d, which has inserted %d: %v, %w", n, worker,
				last, r, err)
		}
	}
	return nil
}
