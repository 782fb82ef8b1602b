package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Direct gets of few keys that are put, deleted and moved all the time: a value is that of a put of
// this very key, and none is older than what was put before the get.
func TestDirect(t *testing.T) {
	const keys, puts = 5, 20000
	cfg := Config{Slots: 8, MaxSlots: 32, Bytes: 1 << 14, MaxKey: 8,
		MaxValue: 400, Chunk: 8}
	var acknowledged [keys]atomic.Uint64 // the latest put of each key that has returned
	var reads atomic.Uint64
	var written, read atomic.Bool // to the end
	err := local.Run(2, func(job rma.Job) error {
		m, err := New(context.Background(), job, forRanks(cfg, job.Size()))
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			err = writeAndMove(m, keys, puts, &acknowledged, func() {
				for before := reads.Load(); reads.Load() == before && !read.Load(); {
					runtime.Gosched()
				}
			})
			written.Store(true)
		} else {
			// When the table does not move all gets are direct.
			for n := 0; err == nil && (!written.Load() || m.Stats().Kinds[Get].Direct < 100); n++ {
				err = readDirectly(m, n%keys, n%3 == 0, &acknowledged)
				reads.Add(1)
				runtime.Gosched()
			}
			read.Store(true)
		}
		return errors.Join(err, job.Barrier(context.Background()), m.Check(context.Background()),
			job.Barrier(context.Background()), m.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stamped is a value of a key: the number of its put, over and over, as often as the number
// says.
func stamped(key int, n uint64) []byte {
	value := make([]byte, 16+8*(n%48))
	for at := 0; at < len(value); at += 8 {
		binary.LittleEndian.PutUint64(value[at:], n<<8|uint64(key))
	}
	return value
}

// writeAndMove puts rising numbers under each key and has the table move, in the end to rest. Now
// and then it waits for a get.
func writeAndMove(m *Map, keys, puts int, acknowledged *[5]atomic.Uint64, wait func()) error {
	for n := uint64(1); n <= uint64(puts); n++ {
		i := int(n) % keys
		key := fmt.Appendf(nil, "key-%d", i)
		if _, err := m.Put(key, stamped(i, n)); err != nil {
			return err
		}
		acknowledged[i].Store(n)
		if n%97 == 0 {
			if err := moveTable(m, int(n/97)%3); err != nil {
				return err
			}
		}
		if n%970 == 0 {
			wait()
		}
	}
	return moveTable(m, 0)
}

// readDirectly gets a key, alone or in a batch with others.
func readDirectly(m *Map, i int, batch bool, acknowledged *[5]atomic.Uint64) error {
	calls := []Call{{Kind: Get, Key: fmt.Appendf(nil, "key-%d", i)},
		{Kind: Get, Key: []byte("nowhere")}}
	least := acknowledged[i].Load()
	var err error
	if batch {
		err = m.Batch(calls)
	} else {
		c := &calls[0]
		c.Value, c.Version, c.Done, err = m.Get(c.Key, nil)
	}
	switch c := calls[0]; {
	case err != nil:
		return err
	case calls[1].Done:
		return errors.New("a key is there that nobody has put")
	case !c.Done && least > 0:
		return fmt.Errorf("key %d is not there, after put %d", i, least)
	case c.Done:
		n := binary.LittleEndian.Uint64(c.Value) >> 8
		if string(c.Value) != string(stamped(i, n)) || n < least || c.Version == 0 {
			return fmt.Errorf("key %d has %x, version %d; put %d was before", i, c.Value,
				c.Version, least)
		}
	}
	return nil
}

// Single gets find each key with its own value, in the parts of all ranks and in both parts of the
// window, and no others: neither keys that were never put nor those that are removed. So many keys
// fill their lines that others have to be skipped, and fingerprints are equal.
func TestDirectGets(t *testing.T) {
	const ranks, keys = 3, 3000
	cfg := Config{Slots: 1 << 10, MaxSlots: 1 << 12, Bytes: 1 << 20}
	err := local.Run(ranks, func(job rma.Job) error {
		ctx := context.Background()
		m, err := New(ctx, job, forRanks(cfg, job.Size()))
		if err != nil {
			return err
		}
		name := func(i int) []byte { return fmt.Appendf(nil, "%d%*d", i, i%40, 0) }
		for i := job.Rank(); i < keys && err == nil; i += ranks {
			_, err = m.Put(name(i), name(2*i))
		}
		err = errors.Join(err, job.Barrier(ctx))
		// Now that the table grows no more, what is removed stays in its slot.
		for i := job.Rank(); i < keys && err == nil; i += ranks {
			if i%3 == 0 {
				_, err = m.Delete(name(i))
			}
		}
		err = errors.Join(err, job.Barrier(ctx))
		for i := 0; i < 2*keys && err == nil; i++ {
			want, there := string(name(2*i)), i < keys && i%3 != 0
			value, v, ok, failed := m.Get(name(i), []byte("+"))
			if err = failed; ok != there || (v != 0) != there || ok && string(value) != "+"+want {
				err = errors.Join(err, fmt.Errorf("key %d has %q, version %d, there %v", i, value,
					v, ok))
			}
		}
		return errors.Join(err, job.Barrier(ctx), m.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

// A key is not taken for another one of the same home and fingerprint: of the same length, or
// longer by a byte of zero.
func TestDirectGetOfAnotherKey(t *testing.T) {
	for _, longer := range []bool{false, true} {
		job := local.Single()
		m, err := New(t.Context(), job, Config{Slots: 8, MaxSlots: 8, Bytes: 1 << 14})
		if err != nil {
			t.Fatal(err)
		}
		key, other := []byte("key 0"), []byte("key 0")
		if longer {
			other = append(other, 0)
		}
		for i := uint32(0); matchWord(hashOf(key)) != matchWord(hashOf(other)) ||
			bytes.Equal(key, other); i++ {
			if binary.LittleEndian.PutUint32(key, i); longer {
				copy(other, key)
			}
		}
		if _, err := m.Put(other, []byte("other")); err != nil {
			t.Fatal(err)
		}
		if value, _, ok, err := m.Get(key, nil); ok || err != nil {
			t.Errorf("the value of another key was found: %q, %v (longer: %v)", value, err, longer)
		}
		if err := errors.Join(m.Close(), job.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A get of a closed map is an error, though the memory may still be there.
func TestDirectClosed(t *testing.T) {
	err := local.Run(1, func(job rma.Job) error {
		m, err := New(context.Background(), job, small(false))
		if err != nil {
			return err
		}
		if _, err := m.Put([]byte("a"), nil); err != nil {
			return err
		}
		if err := m.Close(); err != nil {
			return err
		}
		for _, key := range []string{"a", "another"} {
			if _, _, _, err := m.Get([]byte(key), nil); !errors.Is(err, errClosed) {
				return fmt.Errorf("a get of a closed map: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A direct get, into a buffer of the caller, allocates nothing.
func TestDirectAllocatesNothing(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("it allocates where an int has 32 bits")
	}
	key, room := []byte("key"), make([]byte, 0, 64)
	err := withMap(engines[0], 1, small(false), func(m *Map) error {
		if _, err := m.Put(key, []byte("a value")); err != nil {
			return err
		}
		before := m.Stats().Kinds[Get]
		var wrong error
		n := testing.AllocsPerRun(100, func() {
			value, _, ok, err := m.Get(key, room)
			if err != nil || !ok || string(value) != "a value" {
				wrong = fmt.Errorf("%q, %v, %w", value, ok, err)
			}
		})
		if m.Stats().Kinds[Get] != before { // single direct gets are not counted
			return errors.New("the gets are not direct")
		}
		if n != 0 {
			return fmt.Errorf("a get allocates %v times", n)
		}
		return wrong
	})
	if err != nil {
		t.Error(err)
	}
}
