package cache

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// named is the path of a cache in memory for one test.
func named(t *testing.T) string {
	t.Helper()
	return filepath.Join(lab.TempFolder(t), "cache")
}

func open(t *testing.T, path string, cfg Config) *Cache {
	t.Helper()
	c, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Openings of one cache see what the others put. Clear in one empties it for all.
func TestOpen(t *testing.T) {
	path := named(t)
	first := open(t, path, Config{KeySize: 8, ValueSize: 12, Buckets: 1000})
	second := open(t, path, Config{})
	key, value := make([]byte, 8), make([]byte, 12)
	for i := range 300 {
		binary.LittleEndian.PutUint64(key, uint64(i))
		binary.LittleEndian.PutUint64(value, uint64(i)+7)
		if _, err := first.Put(key, value); err != nil {
			t.Fatal(err)
		}
	}
	clear(value)
	found, err := second.Get(key, value)
	if err != nil || !found || binary.LittleEndian.Uint64(value) != 306 {
		t.Errorf("found %v, %d, %v", found, binary.LittleEndian.Uint64(value), err)
	}
	n, err := second.Len(t.Context())
	if err := errors.Join(err, second.Check(t.Context())); err != nil || n != 300 {
		t.Errorf("%d pairs, %v", n, err)
	}
	if err := second.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err = first.Get(key, value)
	if n, lenErr := first.Len(t.Context()); found || n > 0 || err != nil || lenErr != nil {
		t.Errorf("after Clear: found %v, %d pairs, %v, %v", found, n, err, lenErr)
	}
	_, err = Open(path, Config{KeySize: 9})
	if err == nil || !strings.Contains(err.Error(), "bytes per key differ") {
		t.Errorf("another size of keys: %v", err)
	}
	if _, err = Open(path, Config{Mode: Fine}); err == nil {
		t.Error("a cache with locks was opened")
	}
}

// A put that is under way beside Clear has seen that the buckets before its own are not empty. Its
// pair is found after Clear.
func TestClearBesidePuts(t *testing.T) {
	c := open(t, named(t), Config{KeySize: 8, ValueSize: 8, Buckets: 64})
	for i := range 200 {
		if _, err := c.Put(spread(uint64(i+1), 8), spread(7, 8)); err != nil {
			t.Fatal(err)
		}
	}
	own := c.batches.Here(0)
	before := slices.Clone(own)
	if err := c.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	puts := 0
	for group := range c.groups {
		for i := range c.cfg.GroupBuckets {
			at := c.bucketOffset(group, i)
			bucket, place := before[at:at+c.bucketWords], own[at:at+c.bucketWords]
			if bucket[0] <= invalid {
				continue
			}
			cleared := slices.Clone(place)
			copy(place, bucket) // what the put writes
			found, err := c.Get(core.BytesOf(c.keyIn(bucket)), make([]byte, 8))
			if !found || err != nil {
				t.Errorf("the pair of bucket %d of group %d: found %v, %v", i, group, found, err)
			}
			copy(place, cleared)
			puts++
		}
	}
	if puts < 30 {
		t.Errorf("%d puts of 200", puts)
	}
}

// How long pairs live is in the file. What one opening has put expires in another.
func TestOpenTTL(t *testing.T) {
	path := named(t)
	first := open(t, path, Config{KeySize: 8, ValueSize: 8, Buckets: 100, TTL: time.Hour})
	second := open(t, path, Config{})
	if ttl := second.Config().TTL; ttl != time.Hour {
		t.Errorf("a TTL of %v", ttl)
	}
	key, value := make([]byte, 8), make([]byte, 8)
	if _, err := first.PutTTL(key, value, 1); err != nil {
		t.Fatal(err)
	}
	for found := true; found; {
		var err error
		if found, err = second.Get(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := second.Put(key, value); err != nil {
		t.Fatal(err)
	}
	if found, err := first.Get(key, value); err != nil || !found {
		t.Errorf("a pair that lives for an hour: found %v, %v", found, err)
	}
}

// A typed cache with a name has the sizes of its types; the size of a text comes from the file.
func TestOpenTyped(t *testing.T) {
	path := named(t)
	first, err := OpenTyped[string, float64](path, Config{KeySize: 24, Buckets: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Cache().Close()
	if _, err := first.Store("a key", 1.5); err != nil {
		t.Fatal(err)
	}
	again, err := OpenTyped[string, float64](path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Cache().Close()
	if v, found, err := again.Load("a key"); v != 1.5 || !found || err != nil {
		t.Errorf("%v, found %v, %v", v, found, err)
	}
	if _, err := OpenTyped[string, float32](path, Config{}); err == nil {
		t.Error("a type of another size was accepted")
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if v, found, err := again.Load("a key"); v != 1.5 || !found || err != nil {
		t.Errorf("after Remove: %v, found %v, %v", v, found, err)
	}
	if _, err := OpenTyped[string, float64](path, Config{}); err == nil {
		t.Error("a cache of keys of no size was opened after Remove")
	}
}

// A file that is cut off makes calls fail, also those whose keys are copied.
func TestCutOff(t *testing.T) {
	for _, size := range []int{8, 5} {
		path := named(t)
		c := open(t, path, Config{KeySize: size, ValueSize: 8, Buckets: 100000})
		if err := os.Truncate(path, 1<<13); err != nil {
			t.Fatal(err)
		}
		key, value := make([]byte, size), make([]byte, 8)
		_, getErr := c.Get(key, value)
		_, putErr := c.Put(key[:size:size], value)
		_, usedErr := c.Used(t.Context())
		for what, err := range map[string]error{"Get": getErr, "Put": putErr, "Used": usedErr,
			"PutBatch": c.PutBatch(key, value, make([]Result, 1)), "Check": c.Check(t.Context()),
			"Clear": c.Clear(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "was cut off") {
				t.Errorf("%s, keys of %d bytes: %v", what, size, err)
			}
		}
	}
}

// recorded is a job by name whose file has these numbers for the configuration.
type recorded struct {
	rma.Shared
	record []uint64
}

func (r recorded) Size() int        { return 1 }
func (r recorded) Attached() bool   { return true }
func (r recorded) Record() []uint64 { return r.record }

// Whatever numbers a file has for the configuration, they are refused or those of a cache that can
// be: lock-free, as nobody would give back a lock in a file that is damaged.
func TestForgedConfig(t *testing.T) {
	whole := []uint64{8, 16, 64, uint64(LockFree), uint64(Groups), 4, 3, 0}
	for name, forge := range map[string]func(n []uint64){
		"locks of groups":        func(n []uint64) { n[3] = uint64(Fine) },
		"a lock of a rank":       func(n []uint64) { n[3] = uint64(Coarse) },
		"no mode":                func(n []uint64) { n[3] = 1 << 63 },
		"no size of keys":        func(n []uint64) { n[0] = 0 },
		"a size of keys below 0": func(n []uint64) { n[0] = 1 << 63 },
		"a long value":           func(n []uint64) { n[1] = MaxPairBytes },
		"no buckets":             func(n []uint64) { n[2] = 0 },
		"many buckets":           func(n []uint64) { n[2] = MaxBuckets + 1 },
		"no addressing":          func(n []uint64) { n[4] = 2 },
		"windows of groups":      func(n []uint64) { n[4] = uint64(Paper) },
		"large groups":           func(n []uint64) { n[5] = maxGroupBuckets + 1 },
		"many choices":           func(n []uint64) { n[6] = maxChoices + 1 },
		"a time to live below 0": func(n []uint64) { n[7] = 1 << 63 },
	} {
		record := slices.Clone(whole)
		forge(record)
		if err := new(Config).agree(t.Context(), recorded{nil, record}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	err := new(Config).agree(t.Context(), recorded{nil, whole[:7]})
	if err == nil || new(Config).agree(t.Context(), recorded{nil, whole}) != nil {
		t.Errorf("a whole record is refused, or a short one is not: %v", err)
	}
}

// A cache whose memory is damaged has no wrong answer: what was put is found as it was, or missed.
// Every call ends, and a put and Clear repair what they meet, an expiry too.
func TestDamagedMemory(t *testing.T) {
	const pairs = 200
	for _, ttl := range []time.Duration{0, Forever} {
		c := open(t, named(t), Config{KeySize: 8, ValueSize: 16, Buckets: 1024, TTL: ttl})
		rng, words := rand.New(rand.NewPCG(3, 4)), c.batches.Segments.Of(0)
		for i := range pairs {
			if _, err := c.Put(spread(uint64(i+1), 8), spread(uint64(i+7), 16)); err != nil {
				t.Fatal(err)
			}
		}
		for range len(words) / 8 {
			words[rng.IntN(len(words))] ^= 1 << rng.IntN(64)
		}
		for i := range 20 * c.bucketWords {
			words[rng.IntN(len(words))] = []uint64{0, 1, math.MaxUint64, rng.Uint64()}[i%4]
		}
		if err := c.Check(t.Context()); err == nil {
			t.Error("Check finds nothing")
		}
		keys, values, hits := []byte{}, make([]byte, 16*pairs), make([]bool, pairs)
		for i := range pairs {
			keys = append(keys, spread(uint64(i+1), 8)...)
		}
		err := c.GetBatch(keys, values, hits)
		missed := 0
		for i, hit := range hits {
			value, want := make([]byte, 16), spread(uint64(i+7), 16)
			alone, oneErr := c.Get(keys[8*i:][:8], value)
			if err = errors.Join(err, oneErr); hit && !slices.Equal(values[16*i:][:16], want) ||
				alone && !slices.Equal(value, want) {
				t.Errorf("pair %d is another", i)
			}
			if !hit {
				missed++
			}
			_, putErr := c.Put(keys[8*i:][:8], want)
			found, getErr := c.Get(keys[8*i:][:8], value)
			if err = errors.Join(err, putErr, getErr); !found || !slices.Equal(value, want) {
				t.Errorf("pair %d is not found after it was put again", i)
			}
		}
		for p, allErr := range c.All(t.Context()) {
			err = errors.Join(err, allErr)
			if i := slices.Index(keysOf(keys), string(p.Key)); i < 0 ||
				!slices.Equal(p.Value, spread(uint64(i+7), 16)) {
				t.Errorf("All has %x: %x", p.Key, p.Value)
			}
		}
		if err = errors.Join(err, c.Clear(t.Context()), c.Check(t.Context())); err != nil {
			t.Error(err)
		}
		if missed == 0 || missed == pairs {
			t.Errorf("%d of %d are missed", missed, pairs)
		}
	}
}

// keysOf are keys of 8 bytes, one by one.
func keysOf(keys []byte) (list []string) {
	for key := range slices.Chunk(keys, 8) {
		list = append(list, string(key))
	}
	return list
}
