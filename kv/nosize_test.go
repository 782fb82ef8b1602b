package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

// A map that nobody has given the longest key and value takes the longest that there are, and has
// buffers only for those that are used.
func TestNoLongest(t *testing.T) {
	cfg := Config{Slots: 64, Bytes: 1 << 21, Chunk: 4, Depth: 4}
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		cfg := cfg
		cfg.Copies = copies
		err := withMap(e, 2, cfg, func(m *Map) error {
			if m.cfg.MaxKey != MaxSize || m.cfg.MaxValue != MaxSize {
				return fmt.Errorf("the longest are %d and %d", m.cfg.MaxKey, m.cfg.MaxValue)
			}
			err := errors.Join(keepsSizes(m), m.job.Barrier(context.Background()))
			return errors.Join(err, m.Check(context.Background()),
				m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// keepsSizes puts pairs of all sizes, again and again, and gets them.
func keepsSizes(m *Map) error {
	s, err := m.session()
	if err != nil {
		return err
	}
	if n := len(s.ops[0].here) + len(s.ops[0].there); n > 2*firstItemRoom {
		return fmt.Errorf("a machine has %d words for items before there are any", n)
	}
	m.pool.Give(s, false)
	for i, size := range []int{0, 1, 500, 5000, MaxSize, 3, 20_000, 0} {
		key := sized(fmt.Sprint("key ", m.job.Rank()), i, size)[:max(1, min(size, MaxSize))]
		for round := range 5 {
			want := sized("value", round, size)[:size]
			put, get := Call{Kind: Put, Key: key, Value: want}, Call{Kind: Get, Key: key}
			err := m.call(&put)
			if err == nil {
				err = m.call(&get)
			}
			if err != nil || !get.Done || !bytes.Equal(get.Value, want) {
				return fmt.Errorf("a value of %d bytes, put %d: %d bytes are there: %w", size,
					round, len(get.Value), err)
			}
		}
	}
	for _, c := range []Call{{Key: make([]byte, MaxSize+1)},
		{Kind: Put, Key: []byte{1}, Value: make([]byte, MaxSize+1)}} {
		if m.one(&c) == nil {
			return errors.New("a key or a value that is too long is taken")
		}
	}
	return nil
}
