package main

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"context"
	"math"
	"unsafe"
)

// Places in caches, and what concerns all of their pairs.

//export goCachePutLocated
func goCachePutLocated(v C.uint64_t, key, value unsafe.Pointer, rank *C.int32_t,
	bucket *C.uint64_t) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	*rank, *bucket = -1, math.MaxUint64
	result, r, b, err := p.PutLocated(p.keys(key, 1), p.values(value, 1))
	if err == nil {
		*rank, *bucket = C.int32_t(r), C.uint64_t(b)
	}
	return answered(C.int(result), err)
}

//export goCacheGetAt
func goCacheGetAt(v C.uint64_t, rank C.int32_t, bucket C.uint64_t, key,
	value unsafe.Pointer) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	found, err := p.GetAt(int(rank), uint64(bucket), p.keys(key, 1), p.values(value, 1))
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	return yes(found, nil)
}

//export goCacheRange
func goCacheRange(v C.uint64_t, local C.int, function, argument unsafe.Pointer) (code C.int) {
	defer guard(&code)
	p := cacheOf(v)
	// The program gets memory of C, since it may keep what it is given by mistake.
	mem := C.malloc(C.size_t(p.keySize + p.valueSize))
	defer C.free(mem)
	value := unsafe.Add(mem, p.keySize)
	all := p.All(context.Background())
	if local != 0 {
		all = p.Local(context.Background())
	}
	for pair, err := range all {
		if err != nil {
			return fail(err, C.FARHASH_ERROR)
		}
		copy(p.keys(mem, 1), pair.Key)
		copy(p.values(value, 1), pair.Value)
		result := C.fh_call_pair(function, mem, C.size_t(p.keySize), value, C.size_t(p.valueSize),
			argument)
		if result != 0 {
			return max(result, 0)
		}
	}
	return C.FARHASH_OK
}

//export goCacheLen
func goCacheLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := cacheOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goCacheClear
func goCacheClear(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(cacheOf(v).Clear(context.Background()), C.FARHASH_ERROR)
}

//export goCacheUsed
func goCacheUsed(v C.uint64_t, used *C.double) (code C.int) {
	defer guard(&code)
	part, err := cacheOf(v).Used(context.Background())
	if err == nil && used == nil {
		return fail(errNull, C.FARHASH_ERROR_ARGUMENT)
	}
	if err == nil {
		*used = C.double(part)
	}
	return ended(err, C.FARHASH_ERROR)
}
