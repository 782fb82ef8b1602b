package main

// #include "library.h"
import "C"

import (
	"context"
	"errors"
	"unsafe"

	"github.com/farhash/farhash/set"
)

// elements is a set of byte strings with its handle.
type elements struct {
	c *C.fh_handle
	*set.Bytes
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

// errNoLength refuses a set of elements of any length.
var errNoLength = errArgument("element_bytes is 0; give 1 to %d, or use farhash_strings",
	set.MaxElementBytes)

// of is the bytes of n elements.
func (e *elements) of(p unsafe.Pointer, n C.size_t) []byte {
	return unsafe.Slice((*byte)(p), int(n)*e.bytes)
}

func readElementsConfig(c *C.farhash_elements_config) (set.BytesConfig, error) {
	if c == nil {
		return set.BytesConfig{}, errNull
	}
	cfg, err := readSetConfig(&c.set)
	for _, r := range c.reserved {
		if r != 0 {
			err = errReserved("farhash_elements_config")
		}
	}
	if c.element_bytes > set.MaxElementBytes {
		err = errArgument("element_bytes is %d; give 1 to %d", uint64(c.element_bytes),
			set.MaxElementBytes)
	}
	return set.BytesConfig{Config: cfg, ElementBytes: int(c.element_bytes),
		Capacity: uint64(c.capacity)}, err
}

//export goElementsNew
func goElementsNew(v C.uint64_t, c *C.farhash_elements_config,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readElementsConfig(c)
	if wrong == nil && cfg.ElementBytes == 0 {
		wrong = errNoLength
	}
	e := &elements{job: jobOf(v)}
	err := open(e.job, "farhash_elements_new", wrong, out, &everyElements, C.FH_ELEMENTS, e,
		func(h *C.fh_handle) error {
			return e.begin(h, func() (*set.Bytes, error) {
				return set.NewBytes(context.Background(), e.job, cfg)
			})
		})
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

// begin makes the set by makeSet.
func (e *elements) begin(h *C.fh_handle, makeSet func() (*set.Bytes, error)) (err error) {
	e.c = h
	if e.Bytes, err = makeSet(); err == nil {
		if e.bytes = e.Config().ElementBytes; e.bytes == 0 {
			return errors.Join(errNoLength, e.Close())
		}
		e.c.bytes = C.uint64_t(e.bytes)
	}
	return err
}

//export goElementsSize
func goElementsSize(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(elementsOf(v).bytes)
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

//export goElementsFindOrPutBatch
func goElementsFindOrPutBatch(v C.uint64_t, batch unsafe.Pointer, n C.size_t, r *C.uint8_t,
	names *C.uint64_t) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	var refs []set.Ref
	if names != nil {
		refs = unsafe.Slice((*set.Ref)(unsafe.Pointer(names)), n)
	}
	answers := results(r, n)
	return endedBatch(answers, e.FindOrPutPacked(e.of(batch, n), answers, refs))
}

//export goElementsContainsBatch
func goElementsContainsBatch(v C.uint64_t, batch unsafe.Pointer, n C.size_t,
	r *C.uint8_t) (code C.int) {
	defer guard(&code)
	e, answers := elementsOf(v), results(r, n)
	return endedBatch(answers, e.ContainsPacked(e.of(batch, n), answers))
}

//export goElementsGet
func goElementsGet(v C.uint64_t, ref C.uint64_t, element unsafe.Pointer) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	_, err := e.Append(e.of(element, 1)[:0], set.Ref(ref))
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

//export goElementsLen
func goElementsLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := elementsOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goElementsBuckets
func goElementsBuckets(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(elementsOf(v).Config().Buckets)
	return C.FARHASH_OK
}

//export goElementsStatsGet
func goElementsStatsGet(v C.uint64_t, out *C.farhash_set_stats) (code C.int) {
	defer guard(&code)
	writeSetStats(elementsOf(v).Stats(), out)
	return C.FARHASH_OK
}

//export goElementsSave
func goElementsSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := elementsOf(v)
	return t.job.file("farhash_elements_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goElementsLoad
func goElementsLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := elementsOf(v)
	return t.job.file("farhash_elements_load", path, t.Load, C.FARHASH_ERROR_FORMAT)
}

//export goElementsCheck
func goElementsCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	e := elementsOf(v)
	return ended(e.CheckAll(context.Background()), C.FARHASH_ERROR)
}

//export goElementsClose
func goElementsClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(elementsOf(v).shut(), C.FARHASH_ERROR)
}
