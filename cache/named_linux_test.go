package cache

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/lab"
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
