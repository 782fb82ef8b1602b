package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// everySequence runs every sequence of a few operations on keys that are always in each other's
// way, one by one and in batches, over memory. There is room for all keys, so that no answer
// may differ from the answer of a map. Where pairs expire a key is not deleted, but does so.
func everySequence(*testing.T) error {
	for _, mode := range modes {
		for _, groups := range []int{1, 2} {
			for _, ttl := range []time.Duration{0, Forever} {
				cfg := Config{KeySize: 16, ValueSize: 8, Buckets: 4, GroupBuckets: 4 / groups,
					Choices: groups, Mode: mode, TTL: ttl, clock: stopped()}
				err := withCache(engines[0], 1, cfg, func(c *Cache) error {
					return errors.Join(sequences(c, false), sequences(c, true))
				})
				if err != nil {
					return fmt.Errorf("%v, %d groups, TTL %v: %w", mode, groups, ttl, err)
				}
			}
		}
	}
	return nil
}

const (
	sequenceKeys   = 3
	sequenceLength = 5
)

// sequences runs those that begin with the put of key 0: the others begin so with other names,
// or with what changes nothing.
func sequences(c *Cache, batch bool) error {
	const kinds = 2 * sequenceKeys
	number := 1
	for range sequenceLength - 1 {
		number *= kinds
	}
	for ; number > 0; number-- {
		clear(c.batches.Segments.Of(0))
		s := sequence{c: c, batch: batch, has: map[int]uint64{}}
		left := (number - 1) * kinds
		for step := range uint64(sequenceLength) {
			if err := s.step(left%kinds, step); err != nil {
				return fmt.Errorf("batch %v, sequence %d, step %d: %w", batch, number, step, err)
			}
			left /= kinds
		}
		if err := c.Check(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// sequence is one of them, and what the cache should have.
type sequence struct {
	c     *Cache
	batch bool
	has   map[int]uint64
}

// step puts a key or deletes it, and reads all.
func (s *sequence) step(code int, number uint64) error {
	id, ttl := code%sequenceKeys, time.Duration(0)
	expires := code >= sequenceKeys && s.c.cfg.TTL != 0
	if expires {
		ttl = 1
	}
	key, value := spread(uint64(id), 16), spread(number, 8)
	_, had := s.has[id]
	if code < sequenceKeys || expires {
		want := Inserted
		if had {
			want = Updated
		}
		s.has[id] = number
		got, err := s.put(key, value, ttl)
		if got != want || err != nil {
			return fmt.Errorf("put of key %d: %v, %w, want %v", id, got, err, want)
		}
		if expires {
			s.c.clock.pass(1)
			delete(s.has, id)
		}
	} else {
		delete(s.has, id)
		if got, err := s.c.Delete(key); got != had || err != nil {
			return fmt.Errorf("delete of key %d: %v, %w", id, got, err)
		}
	}
	for id := range sequenceKeys {
		found, got, err := s.get(spread(uint64(id), 16))
		number, had := s.has[id]
		if found != had || err != nil || found && got != number {
			return fmt.Errorf("key %d: %v, %d, %w; want %v, %d", id, found, got, err, had, number)
		}
	}
	return nil
}

func (s *sequence) put(key, value []byte, ttl time.Duration) (Result, error) {
	if !s.batch {
		return s.c.PutTTL(key, value, ttl)
	}
	var results [1]Result
	err := s.c.PutBatchTTL(key, value, ttl, results[:])
	return results[0], err
}

func (s *sequence) get(key []byte) (found bool, number uint64, err error) {
	value := make([]byte, 8)
	if s.batch {
		var all [1]bool
		err = s.c.GetBatch(key, value, all[:])
		found = all[0]
	} else {
		found, err = s.c.Get(key, value)
	}
	number, _ = gather(value)
	return found, number, err
}

// copiesAreRemoved: where a key stands twice, as ranks may leave it that put it at the same
// time, the next put leaves one copy, and a deletion none.
func copiesAreRemoved(*testing.T) error {
	key, value := streamKey(3, 80), streamValue(2, 104)
	for _, mode := range modes {
		for _, addressing := range []Addressing{Groups, Paper} {
			for name, change := range map[string]func(c *Cache) error{
				"put":    func(c *Cache) error { _, err := c.Put(key, value); return err },
				"batch":  func(c *Cache) error { return c.PutBatch(key, value, make([]Result, 1)) },
				"delete": func(c *Cache) error { _, err := c.Delete(key); return err },
			} {
				cfg := Config{KeySize: 80, ValueSize: 104, Buckets: 1 << 17, Mode: mode,
					Addressing: addressing}
				err := withCache(engines[0], 1, cfg, func(c *Cache) error {
					first, second, err := standsTwice(c, key)
					if err = errors.Join(err, change(c)); err != nil {
						return err
					}
					if second[0] != invalid || name == "delete" && first[0] != invalid {
						return fmt.Errorf("%v, addressing %d: %s leaves copies", mode,
							addressing, name)
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// standsTwice puts a key, and copies its bucket to the next candidate.
func standsTwice(c *Cache, key []byte) (first, second []uint64, err error) {
	_, err = c.Put(key, streamValue(1, 104))
	s := search{c: c}
	words, _ := asWords(key)
	s.address(hashKey(words))
	first = c.bucketAt(0, s.group, s.bucket())
	if s.examined++; s.examined == c.cfg.GroupBuckets && !s.next() {
		err = errors.Join(err, errors.New("the key has one candidate"))
	}
	second = c.bucketAt(0, s.group, s.bucket())
	copy(second, first)
	return first, second, err
}
