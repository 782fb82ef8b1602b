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
	"github.com/farhash/farhash/rma/mpi"
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

// fastPath is what C has counted: of each fh_tally of a handle the words.
type fastPath struct {
	words []uint64
}

const tallyWords = int(unsafe.Sizeof(C.fh_tally{}) / 8)

// newFastPath lets C use a cache by itself, where its memory is direct or MPI moves words. It is
// nil where reads and writes take locks. All ranks have one or none.
func newFastPath(h *C.fh_handle, c *cache.Cache, w *watch) *fastPath {
	if w.buckets == nil || c.Config().Mode != cache.LockFree {
		return nil
	}
	if max(c.Config().KeySize, c.Config().ValueSize) <= 8*C.FH_FAST_WORDS {
		h.shape = shapeOf(c.Config(), w)
	}
	return &fastPath{unsafe.Slice((*uint64)(unsafe.Pointer(&h.tallies)), C.FH_STRIPES*tallyWords)}
}

// shapeOf is all zeros where words are neither in memory nor moved by MPI.
func shapeOf(cfg cache.Config, w *watch) (s C.fh_shape) {
	flat := core.Flat(w.buckets)
	s.flat = (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(flat)))
	if flat == nil {
		moves, ok := mpi.SinglesOf(w.buckets)
		if !ok {
			return s
		}
		s.near, s.window = (**C.uint64_t)(moves.Direct), moves.Window
		s.get, s.put = (*C.fh_move)(moves.Get), (*C.fh_move)(moves.Put)
	}
	s.ranks, s.segment = C.uint64_t(w.Size()), C.uint64_t(w.buckets.Len())
	s.groups = C.uint64_t(cfg.Buckets / uint64(w.Size()*cfg.GroupBuckets))
	s.group_buckets = C.uint64_t(cfg.GroupBuckets)
	s.key_words = C.uint64_t((cfg.KeySize + 7) / 8)
	s.value_words = C.uint64_t((cfg.ValueSize + 7) / 8)
	s.key_at, s.ttl_ns = 1, C.uint64_t(max(cfg.TTL, 0))
	if cfg.TTL != 0 {
		s.key_at = 2
	}
	s.bucket_words = s.key_at + s.key_words + s.value_words
	s.group_words = s.group_buckets * s.bucket_words
	return s
}

// count returns the words at this moment.
func (f *fastPath) count() []uint64 {
	now := make([]uint64, len(f.words))
	for i := range now {
		now[i] = atomic.LoadUint64(&f.words[i])
	}
	return now
}

// addTo adds counters that count has returned.
func addTo(s *cache.Counts, words []uint64) {
	for i := 0; i < len(words); i += tallyWords {
		t := (*C.fh_tally)(unsafe.Pointer(&words[i]))
		s.Hits += uint64(t.hits)
		s.Misses += uint64(t.misses)
		s.Inserted += uint64(t.inserted)
		s.Updated += uint64(t.updated)
	}
}
