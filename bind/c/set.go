package main

// #include "library.h"
import "C"

import (
	"context"
	"encoding/binary"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// words is a set of words with its handle.
type words struct {
	c *C.fh_handle
	*set.Set
	job *job
}

var everySet registry[words]

func setOf(number C.uint64_t) *words { return everySet.at(number) }

func (w *words) shut() error {
	w.job.remove(w)
	release(&everySet, w.c)
	return w.Close()
}

// answers are the results in the codes of C.
var answers = [...]C.int{set.NotFound: C.FARHASH_NOT_FOUND, set.Found: C.FARHASH_FOUND,
	set.Inserted: C.FARHASH_INSERTED, set.Full: C.FARHASH_ERROR_FULL}

// results are bytes of C.
func results(p *C.uint8_t, n C.size_t) []set.Result {
	return unsafe.Slice((*set.Result)(unsafe.Pointer(p)), n)
}

// endedBatch is the answer of a batch. It makes the results the codes of C, which are less by one;
// after an error they are undefined, unless that says that some are Full.
func endedBatch(r []set.Result, err error) C.int {
	const one = uint64(0x0101010101010101)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r))), len(r))
	for ; len(bytes) >= 8; bytes = bytes[8:] {
		binary.NativeEndian.PutUint64(bytes, binary.NativeEndian.Uint64(bytes)-one)
	}
	for i := range bytes {
		bytes[i]--
	}
	return ended(err, C.FARHASH_ERROR)
}

func readSetConfig(c *C.farhash_set_config) (set.Config, error) {
	if c == nil {
		return set.Config{}, errNull
	}
	for _, r := range c.reserved {
		if r != 0 {
			return set.Config{}, errReserved("farhash_set_config")
		}
	}
	cfg := set.Config{Buckets: uint64(c.buckets), Chunk: int(c.chunk), Chunks: int(c.chunks),
		Depth: int(c.depth), Access: rma.Access(c.access), MaxBytes: uint64(c.max_bytes)}
	return cfg, checkBatches(c.depth, cfg.Access)
}

//export goSetNew
func goSetNew(v C.uint64_t, c *C.farhash_set_config, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readSetConfig(c)
	w := &words{job: jobOf(v)}
	err := open(w.job, "farhash_set_new", wrong, out, &everySet, C.FH_SET, w,
		func(h *C.fh_handle) (err error) {
			w.c = h
			w.Set, err = set.New(context.Background(), w.job, cfg)
			return err
		})
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

//export goSetFindOrPut
func goSetFindOrPut(v C.uint64_t, word C.uint64_t) (code C.int) {
	defer guard(&code)
	r, err := setOf(v).FindOrPut(uint64(word))
	return answered(answers[r], err)
}

//export goSetContains
func goSetContains(v C.uint64_t, word C.uint64_t) (code C.int) {
	defer guard(&code)
	return yes(setOf(v).Contains(uint64(word)))
}

// list is words of C.
func list(p *C.uint64_t, n C.size_t) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(p)), n)
}

//export goSetFindOrPutBatch
func goSetFindOrPutBatch(v C.uint64_t, p *C.uint64_t, n C.size_t, r *C.uint8_t) (code C.int) {
	defer guard(&code)
	answers := results(r, n)
	return endedBatch(answers, setOf(v).FindOrPutBatch(list(p, n), answers))
}

//export goSetContainsBatch
func goSetContainsBatch(v C.uint64_t, p *C.uint64_t, n C.size_t, r *C.uint8_t) (code C.int) {
	defer guard(&code)
	answers := results(r, n)
	return endedBatch(answers, setOf(v).ContainsBatch(list(p, n), answers))
}

//export goSetLen
func goSetLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := setOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goSetBuckets
func goSetBuckets(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(setOf(v).Config().Buckets)
	return C.FARHASH_OK
}

// writeSetStats converts statistics to the statistics of C.
func writeSetStats(s set.Stats, out *C.farhash_set_stats) {
	*out = C.farhash_set_stats{inserted: C.uint64_t(s.Inserted), found: C.uint64_t(s.Found),
		not_found: C.uint64_t(s.NotFound), full: C.uint64_t(s.Full),
		lost_swaps: C.uint64_t(s.LostSwaps), extra_chunks: C.uint64_t(s.ExtraChunks),
		longest_probe: C.uint64_t(s.LongestProbe)}
}

//export goSetStatsGet
func goSetStatsGet(v C.uint64_t, out *C.farhash_set_stats) (code C.int) {
	defer guard(&code)
	writeSetStats(setOf(v).Stats(), out)
	return C.FARHASH_OK
}

//export goSetSave
func goSetSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := setOf(v)
	return t.job.file("farhash_set_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goSetLoad
func goSetLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := setOf(v)
	return t.job.file("farhash_set_load", path, t.Load, C.FARHASH_ERROR_FORMAT)
}

//export goSetCheck
func goSetCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	s := setOf(v)
	return ended(s.CheckAll(context.Background()), C.FARHASH_ERROR)
}

//export goSetClose
func goSetClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(setOf(v).shut(), C.FARHASH_ERROR)
}
