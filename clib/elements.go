package main

// #include "library.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/set"
)

// elements is a set of byte strings with its handle.
type elements struct {
	c *C.fh_handle
	*set.Elements
	bytes int
	job   *job
}

var everyElements registry[elements]

func elementsOf(number C.uint64_t) *elements { return everyElements.at(number) }

func (e *elements) shut() error {
	e.job.remove(e)
	release(&everyElements, e.c)
	return e.Close()
}

// of is the bytes of n elements.
func (e *elements) of(p unsafe.Pointer, n C.size_t) []byte {
	return unsafe.Slice((*byte)(p), int(n)*e.bytes)
}

//export goElementsNew
func goElementsNew(v C.uint64_t, c *C.farhash_elements_config,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, err := readSetConfig(&c.set)
	for _, r := range c.reserved {
		if r != 0 {
			err = errReserved("farhash_elements_config")
		}
	}
	if c.element_bytes < 1 || c.element_bytes > set.MaxElementBytes {
		err = fmt.Errorf("farhash: element_bytes is %d; give 1 to %d", uint64(c.element_bytes),
			set.MaxElementBytes)
	}
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	bytes := int(c.element_bytes)
	s, err := set.NewElements(context.Background(), jobOf(v), set.ElementsConfig{Config: cfg,
		ElementBytes: bytes, Capacity: uint64(c.capacity)})
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	e := &elements{Elements: s, bytes: bytes, job: jobOf(v)}
	e.c = hold(&everyElements, C.FH_ELEMENTS, e)
	e.c.bytes = C.uint64_t(bytes)
	e.job.enter(e)
	*out = e.c
	return C.FARHASH_OK
}

//export goElementsFindOrPut
func goElementsFindOrPut(v C.uint64_t, element unsafe.Pointer) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	r, err := e.FindOrPut(e.of(element, 1))
	return answered(answers[r], err)
}

//export goElementsContains
func goElementsContains(v C.uint64_t, element unsafe.Pointer) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	return yes(e.Contains(e.of(element, 1)))
}

//export goElementsPutBatch
func goElementsPutBatch(v C.uint64_t, batch unsafe.Pointer, n C.size_t, r *C.uint8_t,
	names *C.uint64_t) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	var refs []set.Ref
	if names != nil {
		refs = unsafe.Slice((*set.Ref)(unsafe.Pointer(names)), n)
	}
	return ended(e.FindOrPutRefs(e.of(batch, n), results(r, n), refs), C.FARHASH_ERROR)
}

//export goElementsContainsBatch
func goElementsContainsBatch(v C.uint64_t, batch unsafe.Pointer, n C.size_t,
	r *C.uint8_t) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	return ended(e.ContainsBatch(e.of(batch, n), results(r, n)), C.FARHASH_ERROR)
}

//export goElementsGet
func goElementsGet(v C.uint64_t, ref C.uint64_t, element unsafe.Pointer) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	return ended(e.Get(context.Background(), set.Ref(ref), e.of(element, 1)),
		C.FARHASH_ERROR_ARGUMENT)
}

//export goElementsLen
func goElementsLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := elementsOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goElementsBuckets
func goElementsBuckets(v C.uint64_t) C.uint64_t {
	return C.uint64_t(elementsOf(v).Buckets())
}

//export goElementsStats
func goElementsStats(v C.uint64_t, out *C.farhash_set_stats) (code C.int) {
	defer guard(&code)
	tell(elementsOf(v).Stats(), out)
	return C.FARHASH_OK
}

//export goElementsGrow
func goElementsGrow(v C.uint64_t, buckets, capacity C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(elementsOf(v).Grow(context.Background(), uint64(buckets), uint64(capacity)),
		C.FARHASH_ERROR)
}

//export goElementsSave
func goElementsSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	return ended(elementsOf(v).Save(context.Background(), C.GoString(path)),
		C.FARHASH_ERROR_FILE)
}

//export goElementsLoad
func goElementsLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	return ended(elementsOf(v).Load(context.Background(), C.GoString(path)),
		C.FARHASH_ERROR_FORMAT)
}

//export goElementsCheck
func goElementsCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	return ended(set.CheckAll(context.Background(), e.job, e.Check), C.FARHASH_ERROR)
}

//export goElementsClose
func goElementsClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(elementsOf(v).shut(), C.FARHASH_ERROR)
}
