package main

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/ship"
)

// watch is a job that remembers the window of a cache's buckets.
type watch struct {
	rma.Job
	buckets rma.Window
}

// NewWindow makes a window of the job.
func (w *watch) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	made, err := w.Job.NewWindow(ctx, spec)
	if spec.Key == cache.BucketsKey {
		w.buckets = made
	}
	return made, err
}

// fastPath is what C needs to access a cache by itself, and its counters. They are in a window, so
// that each rank can read those of all:
//
//	segment of a rank  | fh_tally 0 | ... | fh_tally 15 |    each a cache line
type fastPath struct {
	shape  C.fh_shape
	window rma.Window
	rank   int
}

const tallyWords = int(unsafe.Sizeof(C.fh_tally{}) / 8)

// newFastPath is nil where memory is not direct, or where C and Go would not agree on the layout of
// the table. Collective.
func newFastPath(ctx context.Context, c *cache.Cache, w *watch) (*fastPath, error) {
	if w.buckets == nil || c.Config().Mode != cache.LockFree {
		return nil, nil
	}
	flat := core.Flat(w.buckets)
	if flat == nil {
		return nil, nil
	}
	counters, err := w.NewWindow(ctx, rma.Spec{Name: "libfarhash: counters of C",
		Words: C.FH_STRIPES * tallyWords})
	if err != nil {
		return nil, err
	}
	f := &fastPath{window: counters, rank: w.Rank()}
	if max(c.Config().KeySize, c.Config().ValueSize) <= 8*C.FH_FAST_WORDS && agrees(c.Config()) {
		f.shape = shapeOf(c.Config(), w, flat)
	}
	return f, nil
}

func shapeOf(cfg cache.Config, w *watch, flat []uint64) C.fh_shape {
	s := C.fh_shape{flat: (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(flat))),
		ranks: C.uint64_t(w.Size()), segment: C.uint64_t(w.buckets.Len()),
		groups:        C.uint64_t(cfg.Buckets / uint64(w.Size()*cfg.GroupBuckets)),
		group_buckets: C.uint64_t(cfg.GroupBuckets),
		key_words:     C.uint64_t((cfg.KeySize + 7) / 8),
		value_words:   C.uint64_t((cfg.ValueSize + 7) / 8)}
	s.bucket_words = 1 + s.key_words + s.value_words
	s.group_words = s.group_buckets * s.bucket_words
	return s
}

// enable lets C use it.
func (f *fastPath) enable(h *C.fh_handle) {
	if f == nil {
		return
	}
	h.tallies = (*C.fh_tally)(unsafe.Pointer(unsafe.SliceData(f.window.Words(f.rank))))
	h.shape = f.shape
}

// addTo adds the counters of C on a rank.
func (f *fastPath) addTo(s *cache.Counts, rank int) {
	if f == nil {
		return
	}
	words := f.window.Words(rank)
	for i := 0; i < len(words); i += tallyWords {
		t := (*C.fh_tally)(unsafe.Pointer(&words[i]))
		s.Hits += atomic.LoadUint64((*uint64)(&t.hits))
		s.Misses += atomic.LoadUint64((*uint64)(&t.misses))
		s.Inserted += atomic.LoadUint64((*uint64)(&t.inserted))
		s.Updated += atomic.LoadUint64((*uint64)(&t.updated))
	}
}

func (f *fastPath) close() error {
	if f == nil {
		return nil
	}
	return f.window.Close()
}

// Trials of shapes, by their configuration.
var trials sync.Map

const (
	trialRanks = 3
	trialKeys  = 128
)

// agrees reports whether C and Go lay out a table of this configuration alike: what either puts
// into a small table is found by the other, and the table passes its check.
func agrees(cfg cache.Config) bool {
	cfg.Buckets = trialRanks * (trialKeys / 2 / uint64(cfg.GroupBuckets) * uint64(cfg.GroupBuckets))
	cfg.Access = ship.Auto // which single calls do not depend on
	known, ok := trials.Load(cfg)
	if !ok {
		known = local.Run(trialRanks, func(j rma.Job) error { return try(j, cfg) }) == nil
		trials.Store(cfg, known)
	}
	return known.(bool)
}

// try has rank 0 access the memory of all ranks in C and in Go in turn.
func try(j rma.Job, cfg cache.Config) error {
	ctx := context.Background()
	w := &watch{Job: j}
	c, err := cache.New(ctx, w, cfg)
	if err != nil {
		return err
	}
	if j.Rank() == 0 {
		t := trial{c: c, size: cfg.ValueSize}
		// Unlike calloc, malloc never gives NULL to Go.
		t.cell = (*C.fh_handle)(C.malloc(C.sizeof_fh_handle))
		*t.cell = C.fh_handle{}
		t.cell.tallies = (*C.fh_tally)(C.malloc(C.FH_STRIPES * C.sizeof_fh_tally))
		clear(unsafe.Slice(t.cell.tallies, C.FH_STRIPES))
		t.cell.shape = shapeOf(cfg, w, core.Flat(w.buckets))
		t.cell.bytes, t.cell.more = C.uint64_t(cfg.KeySize), C.uint64_t(cfg.ValueSize)
		t.pair = C.malloc(C.size_t(cfg.KeySize + cfg.ValueSize))
		for i := range uint64(trialKeys) {
			err = errors.Join(err, t.one(cfg.KeySize, i))
		}
		C.free(t.pair)
		C.free(unsafe.Pointer(t.cell.tallies))
		C.free(unsafe.Pointer(t.cell))
	}
	return errors.Join(err, c.CheckAll(ctx), c.Close())
}

// trial is a cache that C and Go test together.
type trial struct {
	c    *cache.Cache
	cell *C.fh_handle
	pair unsafe.Pointer
	size int
}

// one puts a key by one and gets it by the other, and then the other way round.
func (t *trial) one(keySize int, seed uint64) error {
	key := unsafe.Slice((*byte)(t.pair), keySize)
	value := unsafe.Slice((*byte)(unsafe.Add(t.pair, keySize)), t.size)
	fill(key, seed)
	for turn := range uint64(2) {
		fill(value, seed+turn<<32)
		want := bytes.Clone(value)
		if put := C.fh_fast_put(t.cell, t.pair, unsafe.Pointer(&value[0])); put == C.FH_UNKNOWN ||
			turn == 1 {
			if _, err := t.c.Put(key, value); err != nil {
				return err
			}
		}
		clear(value)
		if found, err := t.c.Get(key, value); !found || err != nil || !bytes.Equal(value, want) {
			return fmt.Errorf("farhash: Go does not find what C has put: %v", err)
		}
		clear(value)
		got := C.fh_fast_get(t.cell, t.pair, unsafe.Pointer(&value[0]))
		if got == C.FARHASH_MISS || got == C.FARHASH_HIT && !bytes.Equal(value, want) {
			return errors.New("farhash: C does not find what Go has put")
		}
	}
	return nil
}

// fill makes bytes that differ in every word.
func fill(b []byte, seed uint64) {
	for i := range b {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], (seed*0x9E3779B97F4A7C15+uint64(i/8))*pi)
		b[i] = word[i%8]
	}
}

const pi = 0x243F6A8885A308D3
