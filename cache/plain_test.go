package cache

import (
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/invariant"
)

// slow is set where every step costs much: under the race detector.
const slow = invariant.Enabled

// spread makes a key or a value of a number, each word different.
func spread(number uint64, size int) []byte {
	words := make([]uint64, size/8)
	for i := range words {
		words[i] = number * uint64(2*i+1)
	}
	return core.BytesOf(words)
}

// gather is the number that a value was made of.
func gather(value []byte) (uint64, error) {
	words, _ := asWords(value)
	for i, word := range words {
		if word != words[0]*uint64(2*i+1) {
			return 0, fmt.Errorf("a mixed value was found: %x", words)
		}
	}
	return words[0], nil
}

// plain puts a few keys into a large cache and asks for them: nothing may be lost, and
// nothing is there that was not put.
func plain(e engine, mode Mode) error {
	cfg := Config{KeySize: 16, ValueSize: 24, Buckets: 4096, Mode: mode}
	return withCache(e, 1, cfg, func(c *Cache) error {
		value := make([]byte, cfg.ValueSize)
		for number := range uint64(200) {
			key := spread(number+1, cfg.KeySize)
			if found, err := c.Get(key, value); found || err != nil {
				return fmt.Errorf("key %d is there before it was put: %v", number, err)
			}
			if found, err := c.Delete(key); found || err != nil {
				return fmt.Errorf("key %d is deleted before it was put: %v", number, err)
			}
			r, err := c.Put(key, spread(number, cfg.ValueSize))
			if r != Inserted || err != nil {
				return fmt.Errorf("key %d is %v: %v", number, r, err)
			}
		}
		for number := range uint64(200) {
			found, err := c.Get(spread(number+1, cfg.KeySize), value)
			if !found || err != nil {
				return fmt.Errorf("key %d is lost: %v", number, err)
			}
			if got, err := gather(value); got != number || err != nil {
				return fmt.Errorf("key %d has value %d: %v", number, got, err)
			}
		}
		return nil
	})
}

func TestPlain(t *testing.T) {
	for _, e := range engines {
		for _, mode := range modes {
			must(t, plain(e, mode))
		}
	}
}
