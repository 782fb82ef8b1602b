package main

// #include "library.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/farhash/farhash/set"
)

// byteSet is a set of byte strings with its handle.
type byteSet struct {
	c *C.fh_handle
	*set.Bytes
	bytes int // of every element; 0: any number
	job   *job
}

var everyBytes registry[byteSet]

func bytesOf(number C.uint64_t) *byteSet { return everyBytes.at(number) }

func (b *byteSet) shut() error {
	b.job.remove(b)
	release(&everyBytes, b.c)
	return b.Close()
}

func readBytesConfig(c *C.farhash_bytes_config) (set.BytesConfig, error) {
	if c == nil {
		return set.BytesConfig{}, errNull
	}
	cfg, err := readSetConfig(&c.set)
	for _, r := range c.reserved {
		if r != 0 {
			err = errReserved("farhash_bytes_config")
		}
	}
	if c.element_bytes > set.MaxElementBytes {
		err = errArgument("element_bytes is %d; give 1 to %d, or 0 for any length",
			uint64(c.element_bytes), set.MaxElementBytes)
	}
	return set.BytesConfig{Config: cfg, ElementBytes: int(c.element_bytes),
		Capacity: uint64(c.capacity)}, err
}

//export goBytesNew
func goBytesNew(v C.uint64_t, c *C.farhash_bytes_config, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readBytesConfig(c)
	b := &byteSet{job: jobOf(v)}
	err := open(b.job, "farhash_bytes_new", wrong, out, &everyBytes, C.FH_BYTES, b,
		func(h *C.fh_handle) error {
			return b.begin(h, func() (*set.Bytes, error) {
				return set.NewBytes(context.Background(), b.job, cfg)
			})
		})
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

// begin makes the set by makeSet.
func (b *byteSet) begin(h *C.fh_handle, makeSet func() (*set.Bytes, error)) (err error) {
	b.c = h
	if b.Bytes, err = makeSet(); err == nil {
		b.bytes = b.Config().ElementBytes
		b.c.bytes = C.uint64_t(max(b.bytes, 1))
	}
	return err
}

// element is the bytes of an element of C.
func (b *byteSet) element(data unsafe.Pointer, size C.size_t) ([]byte, error) {
	switch {
	case b.bytes > 0 && size != C.size_t(b.bytes):
		return nil, errArgument("size is %d; the elements of this set have %d bytes: give %d, or "+
			"make the set with element_bytes 0 for any length", uint64(size), b.bytes, b.bytes)
	case size > C.FARHASH_MAX_ELEMENT:
		return nil, errArgument("size is %d; an element has 0 to %d bytes", uint64(size),
			C.FARHASH_MAX_ELEMENT)
	case data == nil && size > 0:
		return nil, errNull
	}
	return unsafe.Slice((*byte)(data), size), nil
}

// list is the elements of a batch that are apart.
func (b *byteSet) list(p *C.farhash_element, n C.size_t) ([][]byte, error) {
	list := make([][]byte, n)
	for i, e := range unsafe.Slice(p, n) {
		var err error
		if list[i], err = b.element(e.data, e.size); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// packed is the bytes of n elements that lie one after the other.
func (b *byteSet) packed(p unsafe.Pointer, n C.size_t) ([]byte, error) {
	if b.bytes == 0 {
		return nil, errArgument("elements of any length cannot lie one after the other; call " +
			"farhash_bytes_find_or_put_batch or farhash_bytes_contains_batch, or make the set " +
			"with element_bytes")
	}
	return unsafe.Slice((*byte)(p), int(n)*b.bytes), nil
}

// refs is where C wants n names of elements, or nil.
func refs(p *C.uint64_t, n C.size_t) []set.Ref {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*set.Ref)(unsafe.Pointer(p)), n)
}

//export goBytesFindOrPut
func goBytesFindOrPut(v C.uint64_t, data unsafe.Pointer, size C.size_t) (code C.int) {
	defer guard(&code)
	b := bytesOf(v)
	element, err := b.element(data, size)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	r, err := b.FindOrPut(element)
	return answered(answers[r], err)
}

//export goBytesContains
func goBytesContains(v C.uint64_t, data unsafe.Pointer, size C.size_t) (code C.int) {
	defer guard(&code)
	b := bytesOf(v)
	element, err := b.element(data, size)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	return yes(b.Contains(element))
}

//export goBytesFindOrPutBatch
func goBytesFindOrPutBatch(v C.uint64_t, batch *C.farhash_element, n C.size_t, r *C.uint8_t,
	names *C.uint64_t) (code C.int) {
	defer guard(&code)
	b := bytesOf(v)
	elements, err := b.list(batch, n)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	answers := results(r, n)
	return endedBatch(answers, b.FindOrPutRefs(elements, answers, refs(names, n)))
}

//export goBytesContainsBatch
func goBytesContainsBatch(v C.uint64_t, batch *C.farhash_element, n C.size_t,
	r *C.uint8_t) (code C.int) {
	defer guard(&code)
	b := bytesOf(v)
	elements, err := b.list(batch, n)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	answers := results(r, n)
	return endedBatch(answers, b.ContainsBatch(elements, answers))
}

//export goBytesFindOrPutPacked
func goBytesFindOrPutPacked(v C.uint64_t, p unsafe.Pointer, n C.size_t, r *C.uint8_t,
	names *C.uint64_t) (code C.int) {
	defer guard(&code)
	b := bytesOf(v)
	elements, err := b.packed(p, n)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	answers := results(r, n)
	return endedBatch(answers, b.FindOrPutPacked(elements, answers, refs(names, n)))
}

//export goBytesContainsPacked
func goBytesContainsPacked(v C.uint64_t, p unsafe.Pointer, n C.size_t, r *C.uint8_t) (code C.int) {
	defer guard(&code)
	b := bytesOf(v)
	elements, err := b.packed(p, n)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	answers := results(r, n)
	return endedBatch(answers, b.ContainsPacked(elements, answers))
}

//export goBytesGet
func goBytesGet(v C.uint64_t, ref C.uint64_t, data unsafe.Pointer, room C.size_t,
	size *C.size_t) (code C.int) {
	defer guard(&code)
	if data == nil {
		room = 0
	}
	to := unsafe.Slice((*byte)(data), min(room, C.FARHASH_MAX_ELEMENT))
	found, err := bytesOf(v).Append(to[:0], set.Ref(ref))
	if size != nil {
		*size = C.size_t(len(found))
	}
	if err == nil && len(found) > len(to) {
		err = errArgument("the element has %d bytes and room is %d; FARHASH_MAX_ELEMENT is enough "+
			"for any", len(found), uint64(room))
	}
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

//export goBytesElementBytes
func goBytesElementBytes(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(bytesOf(v).bytes)
	return C.FARHASH_OK
}

//export goBytesLen
func goBytesLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := bytesOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goBytesBuckets
func goBytesBuckets(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(bytesOf(v).Config().Buckets)
	return C.FARHASH_OK
}

//export goBytesStatsGet
func goBytesStatsGet(v C.uint64_t, out *C.farhash_set_stats) (code C.int) {
	defer guard(&code)
	writeSetStats(bytesOf(v).Stats(), out)
	return C.FARHASH_OK
}

//export goBytesSave
func goBytesSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := bytesOf(v)
	return t.job.file("farhash_bytes_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goBytesLoad
func goBytesLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := bytesOf(v)
	return t.job.file("farhash_bytes_load", path, t.Load, C.FARHASH_ERROR_FORMAT)
}

//export goBytesCheck
func goBytesCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(bytesOf(v).CheckAll(context.Background()), C.FARHASH_ERROR)
}

//export goBytesClose
func goBytesClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(bytesOf(v).shut(), C.FARHASH_ERROR)
}
