package main

// #include "library.h"
import "C"

import (
	"context"
	"unsafe"

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

// answers tells of results as C does.
var answers = [...]C.int{set.NotFound: C.FARHASH_NOT_FOUND, set.Found: C.FARHASH_FOUND,
	set.Inserted: C.FARHASH_INSERTED, set.Full: C.FARHASH_ERROR_FULL}

// results are bytes of C; the values of set.Result are those of farhash.h.
func results(p *C.uint8_t, n C.size_t) []set.Result {
	return unsafe.Slice((*set.Result)(unsafe.Pointer(p)), n)
}

func readSetConfig(c *C.farhash_set_config) (set.Config, error) {
	for _, r := range c.reserved {
		if r != 0 {
			return set.Config{}, errReserved("farhash_set_config")
		}
	}
	cfg := set.Config{Buckets: uint64(c.buckets), Chunk: int(c.chunk), Chunks: int(c.chunks),
		Depth: int(c.depth)}
	if c.home_word != 0 {
		cfg.Home = set.HomeWord
	}
	return cfg, nil
}

//export goSetNew
func goSetNew(v C.uint64_t, c *C.farhash_set_config, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, err := readSetConfig(c)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	s, err := set.New(context.Background(), jobOf(v), cfg)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	w := &words{Set: s, job: jobOf(v)}
	w.c = hold(&everySet, C.FH_SET, w)
	w.job.enter(w)
	*out = w.c
	return C.FARHASH_OK
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

//export goSetBatch
func goSetBatch(v C.uint64_t, p *C.uint64_t, n C.size_t, r *C.uint8_t, put C.int) (code C.int) {
	defer guard(&code)
	list := unsafe.Slice((*uint64)(unsafe.Pointer(p)), n)
	if put != 0 {
		return ended(setOf(v).FindOrPutBatch(list, results(r, n)), C.FARHASH_ERROR)
	}
	return ended(setOf(v).ContainsBatch(list, results(r, n)), C.FARHASH_ERROR)
}

//export goSetLen
func goSetLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := setOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goSetBuckets
func goSetBuckets(v C.uint64_t) C.uint64_t { return C.uint64_t(setOf(v).Buckets()) }

// tell writes statistics.
func tell(s set.Stats, out *C.farhash_set_stats) {
	*out = C.farhash_set_stats{inserted: C.uint64_t(s.Inserted), found: C.uint64_t(s.Found),
		not_found: C.uint64_t(s.NotFound), full: C.uint64_t(s.Full),
		lost_swaps: C.uint64_t(s.LostSwaps), extra_chunks: C.uint64_t(s.ExtraChunks),
		longest_probe: C.uint64_t(s.LongestProbe)}
}

//export goSetStats
func goSetStats(v C.uint64_t, out *C.farhash_set_stats) (code C.int) {
	defer guard(&code)
	tell(setOf(v).Stats(), out)
	return C.FARHASH_OK
}

//export goSetGrow
func goSetGrow(v C.uint64_t, buckets C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(setOf(v).Grow(context.Background(), uint64(buckets)), C.FARHASH_ERROR)
}

//export goSetSave
func goSetSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	return ended(setOf(v).Save(context.Background(), C.GoString(path)), C.FARHASH_ERROR_FILE)
}

//export goSetLoad
func goSetLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	return ended(setOf(v).Load(context.Background(), C.GoString(path)), C.FARHASH_ERROR_FORMAT)
}

//export goSetCheck
func goSetCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	s := setOf(v)
	return ended(set.CheckAll(context.Background(), s.job, s.Check), C.FARHASH_ERROR)
}

//export goSetClose
func goSetClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(setOf(v).shut(), C.FARHASH_ERROR)
}
