package main

// #include "library.h"
import "C"

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// watch is a job that remembers the window of a cache's buckets.
type watch struct {
	rma.Job
	buckets rma.Window
}

// NewWindow makes a window of the job, and keeps the one that has the buckets.
func (w *watch) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	made, err := w.Job.NewWindow(ctx, spec)
	if spec.Name == "cache: buckets" {
		w.buckets = made
	}
	return made, err
}

// fastPath is what C needs to access a cache by itself, and its counters. They are in a window, so
// that each rank can read the words of all:
//
//	segment of a rank  | fh_tally 0 | ... | fh_tally 15 |    each a cache line
type fastPath struct {
	shape  C.fh_shape
	window rma.Window
	rank   int
}

const tallyWords = int(unsafe.Sizeof(C.fh_tally{}) / 8)

// newFastPath is nil where memory is not direct, or reads and writes take locks. Longer keys and
// values than C has room for have counters and no shape. Collective.
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
	if max(c.Config().KeySize, c.Config().ValueSize) <= 8*C.FH_FAST_WORDS {
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
		value_words:   C.uint64_t((cfg.ValueSize + 7) / 8),
		key_at:        1, ttl_ns: C.uint64_t(max(cfg.TTL, 0))}
	if cfg.TTL != 0 {
		s.key_at = 2
	}
	s.bucket_words = s.key_at + s.key_words + s.value_words
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
