package main

// #include "library.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/farhash/farhash/set"
)

// stringSet is a set of strings with its handle.
type stringSet struct {
	c *C.fh_handle
	*set.Bytes
	job *job
}

var everyStrings registry[stringSet]

func stringsOf(number C.uint64_t) *stringSet { return everyStrings.at(number) }

func (s *stringSet) shut() error {
	s.job.remove(s)
	release(&everyStrings, s.c)
	return s.Close()
}

// stringOf is the bytes of a string of C.
func stringOf(data unsafe.Pointer, size C.size_t) ([]byte, error) {
	if size > C.FARHASH_MAX_STRING {
		return nil, errArgument("size is %d; a string has 0 to %d bytes", uint64(size),
			C.FARHASH_MAX_STRING)
	}
	if data == nil && size > 0 {
		return nil, errNull
	}
	return unsafe.Slice((*byte)(data), size), nil
}

// stringsIn are the strings of a batch.
func stringsIn(p *C.farhash_string, n C.size_t) ([][]byte, error) {
	list := make([][]byte, n)
	for i, s := range unsafe.Slice(p, n) {
		var err error
		if list[i], err = stringOf(s.data, s.size); err != nil {
			return nil, err
		}
	}
	return list, nil
}

//export goStringsNew
func goStringsNew(v C.uint64_t, c *C.farhash_set_config, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readSetConfig(c)
	s := &stringSet{job: jobOf(v)}
	err := open(s.job, "farhash_strings_new", wrong, out, &everyStrings, C.FH_STRINGS, s,
		func(h *C.fh_handle) (err error) {
			s.c = h
			s.Bytes, err = set.NewBytes(context.Background(), s.job, set.BytesConfig{Config: cfg})
			return err
		})
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

//export goStringsFindOrPut
func goStringsFindOrPut(v C.uint64_t, data unsafe.Pointer, size C.size_t) (code C.int) {
	defer guard(&code)
	element, err := stringOf(data, size)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	r, err := stringsOf(v).FindOrPut(element)
	return answered(answers[r], err)
}

//export goStringsContains
func goStringsContains(v C.uint64_t, data unsafe.Pointer, size C.size_t) (code C.int) {
	defer guard(&code)
	element, err := stringOf(data, size)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	return yes(stringsOf(v).Contains(element))
}

//export goStringsFindOrPutBatch
func goStringsFindOrPutBatch(v C.uint64_t, batch *C.farhash_string, n C.size_t, r *C.uint8_t,
	names *C.uint64_t) (code C.int) {
	defer guard(&code)
	elements, err := stringsIn(batch, n)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	var refs []set.Ref
	if names != nil {
		refs = unsafe.Slice((*set.Ref)(unsafe.Pointer(names)), n)
	}
	answers := results(r, n)
	return endedBatch(answers, stringsOf(v).FindOrPutRefs(elements, answers, refs))
}

//export goStringsContainsBatch
func goStringsContainsBatch(v C.uint64_t, batch *C.farhash_string, n C.size_t,
	r *C.uint8_t) (code C.int) {
	defer guard(&code)
	elements, err := stringsIn(batch, n)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	answers := results(r, n)
	return endedBatch(answers, stringsOf(v).ContainsBatch(elements, answers))
}

//export goStringsGet
func goStringsGet(v C.uint64_t, ref C.uint64_t, data unsafe.Pointer, room C.size_t,
	size *C.size_t) (code C.int) {
	defer guard(&code)
	if data == nil {
		room = 0
	}
	to := unsafe.Slice((*byte)(data), min(room, C.FARHASH_MAX_STRING))
	found, err := stringsOf(v).Append(to[:0], set.Ref(ref))
	*size = C.size_t(len(found))
	if err == nil && len(found) > len(to) {
		err = errArgument("the string has %d bytes and room is %d; FARHASH_MAX_STRING is enough "+
			"for any", len(found), uint64(room))
	}
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

//export goStringsLen
func goStringsLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := stringsOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goStringsBuckets
func goStringsBuckets(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(stringsOf(v).Config().Buckets)
	return C.FARHASH_OK
}

//export goStringsStatsGet
func goStringsStatsGet(v C.uint64_t, out *C.farhash_set_stats) (code C.int) {
	defer guard(&code)
	writeSetStats(stringsOf(v).Stats(), out)
	return C.FARHASH_OK
}

//export goStringsSave
func goStringsSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := stringsOf(v)
	return t.job.file("farhash_strings_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goStringsLoad
func goStringsLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := stringsOf(v)
	return t.job.file("farhash_strings_load", path, t.Load, C.FARHASH_ERROR_FORMAT)
}

//export goStringsCheck
func goStringsCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(stringsOf(v).CheckAll(context.Background()), C.FARHASH_ERROR)
}

//export goStringsClose
func goStringsClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(stringsOf(v).shut(), C.FARHASH_ERROR)
}
