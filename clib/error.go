package main

// #include "library.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"syscall"
	"unsafe"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// errUnsupported marks what this build or launcher cannot do.
var errUnsupported = errors.New("not supported")

// fail notes an error for farhash_last_error and returns its code, or other for one that is
// of no kind in particular.
func fail(err error, other C.int) C.int {
	text := err.Error()
	return C.fh_note(codeOf(err, other), (*C.char)(unsafe.Pointer(unsafe.StringData(text))),
		C.size_t(len(text)))
}

func codeOf(err error, other C.int) C.int {
	var full *set.FullError
	var packed *kv.FullError
	var gone *rma.RankError
	var failed *rma.PeerError
	var path *fs.PathError
	var word set.WordError
	switch {
	case errors.As(err, &full), errors.As(err, &packed):
		return C.FARHASH_ERROR_FULL
	case errors.As(err, &word):
		return C.FARHASH_ERROR_ARGUMENT
	case errors.As(err, &gone), errors.As(err, &failed):
		return C.FARHASH_ERROR_RANK
	case errors.Is(err, context.DeadlineExceeded):
		return C.FARHASH_ERROR_TIMEOUT
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC):
		return C.FARHASH_ERROR_MEMORY
	case errors.As(err, &path):
		return C.FARHASH_ERROR_FILE
	case errors.Is(err, errUnsupported):
		return C.FARHASH_ERROR_UNSUPPORTED
	}
	return other
}

// ended is the answer of a call that has no other than that it succeeded.
func ended(err error, other C.int) C.int {
	if err != nil {
		return fail(err, other)
	}
	return C.FARHASH_OK
}

// answered is the answer of a call that has one.
func answered(answer C.int, err error) C.int {
	if err != nil {
		return fail(err, C.FARHASH_ERROR)
	}
	return answer
}

// yes is the answer to a question.
func yes(there bool, err error) C.int {
	if there {
		return answered(1, err)
	}
	return answered(0, err)
}

// guard is deferred by all that C calls: no panic leaves Go.
func guard(code *C.int) {
	if p := recover(); p != nil {
		*code = fail(fmt.Errorf("farhash: a bug of the library: %v\n%s", p, debug.Stack()),
			C.FARHASH_ERROR_INTERNAL)
	}
}
