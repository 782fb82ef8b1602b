package main

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"context"
	"math"
	"time"
	"unsafe"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// pairs is a cache with its handle.
type pairs struct {
	c *C.fh_handle
	*cache.Cache
	keySize, valueSize int
	fast               *fastPath // nil where all calls go to Go
	job                *job
}

var everyCache registry[pairs]

func cacheOf(number C.uint64_t) *pairs { return everyCache.at(number) }

func (p *pairs) shut() error {
	p.job.remove(p)
	release(&everyCache, p.c)
	return p.Close()
}

// keys and values are bytes of C, for n of them.
func (p *pairs) keys(at unsafe.Pointer, n C.size_t) []byte {
	return unsafe.Slice((*byte)(at), int(n)*p.keySize)
}

func (p *pairs) values(at unsafe.Pointer, n C.size_t) []byte {
	return unsafe.Slice((*byte)(at), int(n)*p.valueSize)
}

func readCacheConfig(c *C.farhash_cache_config) (cache.Config, error) {
	if c == nil {
		return cache.Config{}, errNull
	}
	for _, r := range c.reserved {
		if r != 0 {
			return cache.Config{}, errReserved("farhash_cache_config")
		}
	}
	if c.key_size > cache.MaxPairBytes || c.value_size > cache.MaxPairBytes {
		return cache.Config{}, errArgument("key_size is %d and value_size %d; together they may "+
			"be %d", uint64(c.key_size), uint64(c.value_size), cache.MaxPairBytes)
	}
	ttl, err := ttlOf(c.ttl_seconds)
	if err != nil {
		return cache.Config{}, err
	}
	access := rma.Access(c.access)
	return cache.Config{KeySize: int(c.key_size), ValueSize: int(c.value_size),
		Buckets: uint64(c.buckets), Mode: cache.Mode(c.mode),
		GroupBuckets: int(c.group_buckets), Choices: int(c.choices), Retries: int(c.retries),
		Depth: int(c.depth), Access: access, TTL: ttl}, checkBatches(c.depth, access)
}

// ttlOf is a time to live, which is for ever where it is more than a duration holds.
func ttlOf(seconds C.double) (time.Duration, error) {
	ns := float64(seconds) * float64(time.Second)
	switch {
	case math.IsNaN(ns):
		return 0, errArgument("ttl_seconds is no number")
	case ns < 0 || ns >= math.MaxInt64:
		return cache.Forever, nil
	}
	return time.Duration(math.Ceil(ns)), nil
}

//export goCacheNew
func goCacheNew(v C.uint64_t, c *C.farhash_cache_config, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readCacheConfig(c)
	made := &pairs{job: jobOf(v)}
	err := open(made.job, "farhash_cache_new", wrong, out, &everyCache, C.FH_CACHE, made,
		func(h *C.fh_handle) error { return made.begin(h, cfg) })
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

// begin makes the cache and its fast path. Collective.
func (p *pairs) begin(h *C.fh_handle, cfg cache.Config) (err error) {
	watched := &watch{Job: p.job}
	if p.Cache, err = cache.New(context.Background(), watched, cfg); err != nil {
		return err
	}
	p.sized(h)
	p.fast = newFastPath(h, p.Cache, watched)
	return nil
}

// sized tells a handle what this cache is.
func (p *pairs) sized(h *C.fh_handle) {
	p.c, p.keySize, p.valueSize = h, p.Config().KeySize, p.Config().ValueSize
	h.bytes, h.more = C.uint64_t(p.keySize), C.uint64_t(p.valueSize)
}

//export goCacheSizes
func goCacheSizes(v C.uint64_t, keySize, valueSize *C.uint64_t) C.int {
	p := cacheOf(v)
	*keySize, *valueSize = C.uint64_t(p.keySize), C.uint64_t(p.valueSize)
	return C.FARHASH_OK
}

//export goCacheGet
func goCacheGet(v C.uint64_t, key, value unsafe.Pointer) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	return yes(p.Get(p.keys(key, 1), p.values(value, 1)))
}

//export goCachePut
func goCachePut(v C.uint64_t, key, value unsafe.Pointer) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	r, err := p.Put(p.keys(key, 1), p.values(value, 1))
	return answered(C.int(r), err)
}

//export goCachePutTtl
func goCachePutTtl(v C.uint64_t, key, value unsafe.Pointer, seconds C.double) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	ttl, err := p.ttl(seconds)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	r, err := p.PutTTL(p.keys(key, 1), p.values(value, 1), ttl)
	return answered(C.int(r), err)
}

// ttl is one for pairs of this cache.
func (p *pairs) ttl(seconds C.double) (ttl time.Duration, err error) {
	if ttl, err = ttlOf(seconds); err == nil && ttl > 0 && p.Config().TTL == 0 {
		err = errArgument("pairs of this cache do not expire; give ttl_seconds in its " +
			"configuration, below 0 if only few do")
	}
	return ttl, err
}

//export goCacheDelete
func goCacheDelete(v C.uint64_t, key unsafe.Pointer) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	return yes(p.Delete(p.keys(key, 1)))
}

//export goCacheGetBatch
func goCacheGetBatch(v C.uint64_t, keys unsafe.Pointer, n C.size_t, values unsafe.Pointer,
	hits *C.uint8_t) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	found := unsafe.Slice((*bool)(unsafe.Pointer(hits)), n)
	return ended(p.GetBatch(p.keys(keys, n), p.values(values, n), found), C.FARHASH_ERROR)
}

//export goCachePutBatch
func goCachePutBatch(v C.uint64_t, keys unsafe.Pointer, n C.size_t, values unsafe.Pointer,
	r *C.uint8_t) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	results := unsafe.Slice((*cache.Result)(unsafe.Pointer(r)), n)
	return ended(p.PutBatch(p.keys(keys, n), p.values(values, n), results), C.FARHASH_ERROR)
}

//export goCachePutBatchTtl
func goCachePutBatchTtl(v C.uint64_t, keys unsafe.Pointer, n C.size_t, values unsafe.Pointer,
	seconds C.double, r *C.uint8_t) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	ttl, err := p.ttl(seconds)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	results := unsafe.Slice((*cache.Result)(unsafe.Pointer(r)), n)
	return ended(p.PutBatchTTL(p.keys(keys, n), p.values(values, n), ttl, results),
		C.FARHASH_ERROR)
}

//export goCacheUpdate
func goCacheUpdate(v C.uint64_t, key, function, argument unsafe.Pointer) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	// The program gets memory of C, since it may keep what it is given by mistake.
	mem := C.malloc(C.size_t(p.valueSize))
	defer C.free(mem)
	mine := p.values(mem, 1)
	r, err := p.Update(p.keys(key, 1), func(value []byte, found bool) bool {
		copy(mine, value)
		there := C.int(0)
		if found {
			there = 1
		}
		store := C.fh_call_update(function, mem, there, argument) != 0
		copy(value, mine)
		return store
	})
	if r == cache.Unchanged {
		r = 0
	}
	return answered(C.int(r), err)
}

// writeCacheStats writes statistics.
func writeCacheStats(s cache.Counts, out *C.farhash_cache_stats) {
	*out = C.farhash_cache_stats{hits: C.uint64_t(s.Hits), misses: C.uint64_t(s.Misses),
		inserted: C.uint64_t(s.Inserted), updated: C.uint64_t(s.Updated),
		evicted: C.uint64_t(s.Evicted), deletes: C.uint64_t(s.Deletes),
		deleted: C.uint64_t(s.Deleted), mismatches: C.uint64_t(s.Mismatches),
		retries: C.uint64_t(s.Retries), invalid: C.uint64_t(s.Invalid),
		lock_waits: C.uint64_t(s.LockWaits), locks_broken: C.uint64_t(s.LocksBroken),
		occupied: C.uint64_t(s.Occupied)}
}

//export goCacheStatsGet
func goCacheStatsGet(v C.uint64_t, out *C.farhash_cache_stats) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	s := p.Stats().Counts
	if p.fast != nil {
		addTo(&s, p.fast.count())
	}
	writeCacheStats(s, out)
	return C.FARHASH_OK
}

//export goCacheAllStats
func goCacheAllStats(v C.uint64_t, ranks, total *C.farhash_cache_stats) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	ctx := context.Background()
	all, sum, err := p.AllStats(ctx)
	if err != nil {
		return fail(err, C.FARHASH_ERROR)
	}
	if p.fast != nil {
		counted, err := core.Gather(ctx, p.job, "libfarhash: counters of C", p.fast.count(), nil)
		if err != nil {
			return fail(err, C.FARHASH_ERROR)
		}
		for rank := range all {
			addTo(&all[rank], counted[rank])
			addTo(&sum, counted[rank])
		}
	}
	if ranks != nil {
		out := unsafe.Slice(ranks, len(all))
		for rank := range all {
			writeCacheStats(all[rank], &out[rank])
		}
	}
	if total == nil { // the other ranks have been served
		return fail(errNull, C.FARHASH_ERROR_ARGUMENT)
	}
	writeCacheStats(sum, total)
	return C.FARHASH_OK
}

//export goCacheBuckets
func goCacheBuckets(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(cacheOf(v).Config().Buckets)
	return C.FARHASH_OK
}

//export goCacheSave
func goCacheSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := cacheOf(v)
	return t.job.file("farhash_cache_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goCacheLoad
func goCacheLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := cacheOf(v)
	return t.job.file("farhash_cache_load", path, t.Load, C.FARHASH_ERROR_FORMAT)
}

//export goCacheCheck
func goCacheCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(cacheOf(v).CheckAll(context.Background()), C.FARHASH_ERROR)
}

//export goCacheClose
func goCacheClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(cacheOf(v).shut(), C.FARHASH_ERROR)
}

//export goRound
func goRound(values *C.double, n C.size_t, digits *C.int32_t, nDigits C.size_t,
	floors *C.double, nFloors C.size_t) (code C.int) {
	defer guard(&code)
	var r cache.Rounding
	for _, d := range unsafe.Slice(digits, nDigits) {
		r.Digits = append(r.Digits, int(d))
	}
	r.Floors = unsafe.Slice((*float64)(unsafe.Pointer(floors)), nFloors)
	list := unsafe.Slice((*float64)(unsafe.Pointer(values)), n)
	return ended(r.Round(list), C.FARHASH_ERROR_ARGUMENT)
}

//export goCacheLocate
func goCacheLocate(v C.uint64_t, key unsafe.Pointer, rank *C.int32_t,
	bucket *C.uint64_t) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	*rank, *bucket = -1, math.MaxUint64
	r, b, found, err := p.Locate(p.keys(key, 1))
	if err == nil && found {
		*rank, *bucket = C.int32_t(r), C.uint64_t(b)
	}
	return yes(found, err)
}
