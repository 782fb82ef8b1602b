package farhash_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// table is what all tables have in common.
type table interface {
	Len(context.Context) (uint64, error)
	CheckAll(context.Context) error
	Check(context.Context) error
	Close() error
}

// numbers are the keys in a table.
func numbers[T any](all iter.Seq2[T, error], number func(T) uint64) (map[uint64]int, error) {
	found := map[uint64]int{}
	for entry, err := range all {
		if err != nil {
			return nil, err
		}
		found[number(entry)]++
	}
	return found, nil
}

// The four tables have the same methods, and these see the entries of all ranks, directly, through
// queues and on two hosts.
func TestTablesAlike(t *testing.T) {
	const ranks, each = 3, 50
	ctx := context.Background()
	word := func(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
	bytes := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for _, options := range []local.Options{{}, {Hidden: true}, {Hosts: 2, Carries: true}} {
		err := local.RunWith(options, ranks, func(job rma.Job) error {
			own := func(yield func(uint64) bool) {
				for i := range uint64(each) {
					if !yield(uint64(job.Rank())*1000 + i) {
						return
					}
				}
			}
			check := func(name string, t table, found map[uint64]int, err error,
				access rma.AccessChoice) error {
				n, lenErr := t.Len(ctx)
				if err = errors.Join(err, lenErr, t.CheckAll(ctx), t.Check(ctx)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if n != ranks*each || len(found) != ranks*each {
					err = fmt.Errorf("%s: Len is %d, All has %d", name, n, len(found))
				}
				for i := range own {
					if found[i] != 1 {
						err = fmt.Errorf("%s: All has %d %d times", name, i, found[i])
					}
				}
				if options.Carries && access.Costs == (rma.AccessCosts{}) {
					err = fmt.Errorf("%s: Stats has the access %v", name, access)
				}
				return errors.Join(err, job.Barrier(ctx))
			}
			return errors.Join(
				alikeSet(ctx, job, own, check), alikeCache(ctx, job, own, bytes, word, check),
				alikeIndex(ctx, job, own, bytes, word, check),
				alikeMap(ctx, job, own, bytes, word, check))
		})
		if err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

// closed closes a table and makes sure that calls say so.
func closed(name string, t table) error {
	if err := t.Close(); err != nil {
		return err
	}
	if _, err := t.Len(context.Background()); !errors.Is(err, rma.ErrClosed) {
		return fmt.Errorf("%s: after Close Len says %v", name, err)
	}
	return nil
}

type checker func(name string, t table, found map[uint64]int, err error,
	access rma.AccessChoice) error

func alikeSet(ctx context.Context, job rma.Job, own iter.Seq[uint64], check checker) error {
	s, err := set.New(ctx, job, set.Config{Buckets: 1 << 10})
	if err != nil {
		return err
	}
	for i := range own {
		if _, err := s.FindOrPut(i); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	found, err := numbers(s.All(ctx), func(w uint64) uint64 { return w })
	return errors.Join(check("set", s, found, err, s.Stats().Access), closed("set", s))
}

func alikeCache(ctx context.Context, job rma.Job, own iter.Seq[uint64],
	bytes func(uint64) []byte, word func([]byte) uint64, check checker) error {
	c, err := cache.New(ctx, job, cache.Config{KeySize: 8, ValueSize: 8, Buckets: 1 << 14})
	if err != nil {
		return err
	}
	// A rank after the other: of two puts without locks that meet in a bucket one is lost.
	for turn := range job.Size() {
		for i := range own {
			if turn != job.Rank() {
				break
			}
			if _, err := c.Put(bytes(i), bytes(i)); err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
	}
	found, err := numbers(c.All(ctx), func(p cache.Pair) uint64 { return word(p.Key) })
	return errors.Join(check("cache", c, found, err, c.Stats().Access), closed("cache", c))
}

func alikeIndex(ctx context.Context, job rma.Job, own iter.Seq[uint64],
	bytes func(uint64) []byte, word func([]byte) uint64, check checker) error {
	x, err := index.Build(ctx, job, index.Config{KeySize: 8, ValueSize: 8},
		func(yield func(index.Record, error) bool) {
			for i := range own {
				if !yield(index.Record{Key: bytes(i), Value: bytes(i)}, nil) {
					return
				}
			}
		})
	if err != nil {
		return err
	}
	found, err := numbers(x.All(ctx), func(r index.Record) uint64 { return word(r.Key) })
	return errors.Join(check("index", x, found, err, x.Stats().Access), closed("index", x))
}

func alikeMap(ctx context.Context, job rma.Job, own iter.Seq[uint64],
	bytes func(uint64) []byte, word func([]byte) uint64, check checker) error {
	m, err := kv.New(ctx, job, kv.Config{Slots: 1 << 10, Bytes: 1 << 18, MaxKey: 8,
		MaxValue: 8})
	if err != nil {
		return err
	}
	for i := range own {
		if _, err := m.Put(bytes(i), bytes(i)); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	found, err := numbers(m.All(ctx), func(p kv.Pair) uint64 { return word(p.Key) })
	return errors.Join(check("kv", m, found, err, m.Stats().Access), m.Close())
}

// What one rank alone has to refuse, as values that may differ between ranks, fails on all: the
// others do not wait for it.
func TestRefusalOfOneRank(t *testing.T) {
	for what, open := range map[string]func(context.Context, rma.Job, int) (io.Closer, error){
		"set": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return set.New(ctx, job, set.Config{Buckets: 1 << 10, Depth: depth})
		},
		"set of elements": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return set.NewBytes(ctx, job, set.BytesConfig{ElementBytes: 16, Capacity: 100,
				Config: set.Config{Buckets: 1 << 10, Depth: depth}})
		},
		"cache": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return cache.New(ctx, job, cache.Config{KeySize: 8, ValueSize: 8,
				Buckets: 300, Depth: depth})
		},
		"kv": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return kv.New(ctx, job, kv.Config{Slots: 300, Bytes: 1 << 18, MaxKey: 8,
				MaxValue: 8, Depth: depth})
		},
	} {
		t.Run(what, func(t *testing.T) {
			err := local.Run(3, func(job rma.Job) error {
				depth := 0
				if job.Rank() == 1 {
					depth = -1
				}
				_, err := open(t.Context(), job, depth)
				var peer *rma.PeerError
				if job.Rank() == 1 && (err == nil || !strings.Contains(err.Error(), "Depth")) ||
					job.Rank() != 1 && (!errors.As(err, &peer) || peer.Rank != 1) {
					t.Errorf("rank %d: %v", job.Rank(), err)
				}
				return job.Barrier(t.Context())
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
