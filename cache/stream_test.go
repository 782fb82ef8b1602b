package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/farhash/farhash/rma"
)

// streamKey is key number i: keys differ in their first or in their last byte.
func streamKey(i, size int) []byte {
	key := make([]byte, size)
	if i%2 == 0 {
		key[0] = byte(i)
	} else {
		key[size-1] = byte(i)
	}
	return key
}

// streamValue is a value that nothing else in the stream writes.
func streamValue(number, size int) []byte {
	value := bytes.Repeat([]byte{byte(number)}, size)
	copy(value, binary.LittleEndian.AppendUint32(nil, uint32(number)))
	return value[:size]
}

// stream runs operations on one rank's cache and holds the answers against a plain map:
// a key that is found has the value that was put last, and that has not expired.
type stream struct {
	c       *Cache
	keys    int
	written int
	model   map[string]streamPair
	answers []string
}

// streamPair is a value, and when it expires.
type streamPair struct {
	value  []byte
	expiry uint64
}

// living is the value that a key should have; nil for none.
func (st *stream) living(k []byte) []byte {
	if p := st.model[string(k)]; !expired(p.expiry, st.c.now()) {
		return p.value
	}
	return nil
}

// drawTTL chooses a TTL for a put.
func (st *stream) drawTTL(t *rapid.T) time.Duration {
	if st.c.cfg.TTL == 0 {
		return 0
	}
	return rapid.SampledFrom([]time.Duration{0, Forever, 1, 7}).Draw(t, "TTL")
}

// remember notes what a key has by now.
func (st *stream) remember(k string, v []byte, ttl time.Duration) {
	expiry, err := st.c.expiryOf(ttl)
	if err != nil {
		panic(err)
	}
	st.model[k] = streamPair{v, expiry}
}

func (st *stream) operation(t *rapid.T) error {
	cfg := st.c.Config()
	key := func() []byte {
		return streamKey(rapid.IntRange(0, st.keys-1).Draw(t, "key"), cfg.KeySize)
	}
	value := func() []byte {
		st.written++
		return streamValue(st.written, cfg.ValueSize)
	}
	if st.c.clock != nil {
		st.c.clock.pass(time.Duration(rapid.IntRange(0, 3).Draw(t, "time")))
	}
	switch rapid.IntRange(0, 6).Draw(t, "operation") {
	case 0, 1:
		return st.put(key(), value(), st.drawTTL(t))
	case 2:
		k := key()
		v := make([]byte, len(value()))
		found, err := st.c.Get(k, v)
		st.answers = append(st.answers, fmt.Sprint("get ", found))
		if err != nil || !found {
			return err
		}
		return st.expect(k, v)
	case 3:
		k := key()
		found, err := st.c.Delete(k)
		if found && st.living(k) == nil {
			err = fmt.Errorf("%x was deleted and is not there", k)
		}
		st.answers = append(st.answers, fmt.Sprint("delete ", found))
		delete(st.model, string(k))
		return err
	case 4:
		k := key()
		r, err := st.c.Update(k, func(old []byte, found bool) bool {
			if found && !bytes.Equal(old, st.living(k)) {
				t.Fatalf("Update sees %x, not %x", old, st.living(k))
			}
			copy(old, value())
			st.remember(string(k), bytes.Clone(old), 0)
			return true
		})
		st.answers = append(st.answers, r.String())
		return err
	case 5:
		return st.putBatch(t, key, value)
	}
	return st.getBatch(t, key)
}

func (st *stream) put(k, v []byte, ttl time.Duration) error {
	r, err := st.c.PutTTL(k, v, ttl)
	if r == Updated && st.living(k) == nil {
		return fmt.Errorf("%x is updated, and was not there", k)
	}
	st.remember(string(k), v, ttl)
	st.answers = append(st.answers, r.String())
	return err
}

// putBatch puts different keys: of one that occurs twice any value may stay.
func (st *stream) putBatch(t *rapid.T, key, value func() []byte) error {
	var keys, values []byte
	batch := map[string][]byte{}
	for range rapid.IntRange(0, 30).Draw(t, "length") {
		k := key()
		if batch[string(k)] != nil {
			continue
		}
		v := value()
		batch[string(k)] = v
		keys, values = append(keys, k...), append(values, v...)
	}
	results, ttl := make([]Result, len(batch)), st.drawTTL(t)
	err := st.c.PutBatchTTL(keys, values, ttl, results)
	for k, v := range batch {
		st.remember(k, v, ttl)
	}
	st.answers = append(st.answers, fmt.Sprint(results))
	return err
}

func (st *stream) getBatch(t *rapid.T, key func() []byte) error {
	var keys []byte
	n := rapid.IntRange(0, 50).Draw(t, "length")
	for range n {
		keys = append(keys, key()...)
	}
	cfg := st.c.Config()
	values, found := make([]byte, n*cfg.ValueSize), make([]bool, n)
	if err := st.c.GetBatch(keys, values, found); err != nil {
		return err
	}
	st.answers = append(st.answers, fmt.Sprint(found))
	for i := range n {
		if found[i] {
			k := keys[i*cfg.KeySize:][:cfg.KeySize]
			if err := st.expect(k, values[i*cfg.ValueSize:][:cfg.ValueSize]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (st *stream) expect(k, v []byte) error {
	if want := st.living(k); !bytes.Equal(v, want) {
		return fmt.Errorf("%x has value %x, want %x", k, v, want)
	}
	return nil
}

// drawConfig chooses a small cache, in which keys are evicted.
func drawConfig(t *rapid.T, cfg Config) Config {
	cfg.KeySize = rapid.SampledFrom([]int{1, 8, 13, 80}).Draw(t, "key size")
	cfg.ValueSize = rapid.SampledFrom([]int{1, 8, 20, 104}).Draw(t, "value size")
	cfg.Buckets = uint64(rapid.IntRange(1, 180).Draw(t, "buckets"))
	cfg.Depth = rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "depth")
	if rapid.Bool().Draw(t, "pairs expire") {
		cfg.TTL, cfg.clock = 20, stopped()
	}
	if cfg.Addressing == Groups {
		cfg.GroupBuckets = rapid.IntRange(0, maxGroupBuckets).Draw(t, "group")
		cfg.Choices = rapid.IntRange(0, maxChoices).Draw(t, "choices")
	}
	return cfg
}

// TestStreams: one rank works, and the answers are exact except for keys that were evicted. On
// the same buckets nothing else gives the same keys away.
func TestStreams(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		rapid.Check(t, func(t *rapid.T) {
			cfg := drawConfig(t, cfg)
			ranks := rapid.IntRange(1, 3).Draw(t, "ranks")
			worker := rapid.IntRange(0, ranks-1).Draw(t, "worker")
			keys := rapid.IntRange(1, 200).Draw(t, "keys")
			err := withCache(e, ranks, cfg, func(c *Cache) error {
				if c.job.Rank() == worker {
					st := &stream{c: c, keys: keys, model: map[string]streamPair{}}
					for range rapid.IntRange(1, streamCalls).Draw(t, "operations") {
						if err := st.operation(t); err != nil {
							return err
						}
					}
				}
				if err := c.job.Barrier(context.Background()); err != nil {
					return err
				}
				return c.CheckAll(context.Background())
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestSameAnswers: a stream has the same answers in all modes and on all engines, and
// what it has counted is the same as well.
func TestSameAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addressing := rapid.SampledFrom([]Addressing{Groups, Paper}).Draw(t, "addressing")
		cfg := drawConfig(t, Config{Addressing: addressing})
		cfg.Depth = 1 // so that batches work in order
		script := rapid.SliceOfN(rapid.Uint32(), 1, 300).Draw(t, "script")
		first := ""
		for _, e := range engines {
			for _, mode := range modes {
				cfg.Mode, cfg.clock = mode, stopped()
				got := ""
				err := withCache(e, 1, cfg, func(c *Cache) (err error) {
					got, err = runScript(c, script)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = got
				} else if got != first {
					t.Fatalf("%s, %v: %s\nwant %s", e.Name, mode, got, first)
				}
			}
		}
	})
}

// runScript runs operations and returns all answers.
func runScript(c *Cache, script []uint32) (string, error) {
	cfg := c.Config()
	var log bytes.Buffer
	for i, word := range script {
		if c.clock != nil {
			c.clock.pass(1)
		}
		key := streamKey(int(word>>8%100), cfg.KeySize)
		value := streamValue(i%7, cfg.ValueSize)
		var answer any
		var err error
		switch word % 4 {
		case 0, 1:
			answer, err = c.Put(key, value)
		case 2:
			answer, err = c.Get(key, value)
		default:
			answer, err = c.Delete(key)
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&log, answer)
		if answer == true && word%4 == 2 {
			fmt.Fprintf(&log, "%x\n", value)
		}
	}
	s := c.Stats()
	s.Queues = rma.Stats{}
	n, err := c.occupied(context.Background(), c.job.Rank())
	fmt.Fprintln(&log, s, n)
	return log.String(), err
}
