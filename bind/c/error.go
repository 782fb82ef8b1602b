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
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
)

// errUnsupported marks what this build or launcher cannot do.
var errUnsupported = errors.New("not supported")

// argumentError is an argument that makes no sense.
type argumentError struct{ error }

func (e argumentError) Unwrap() error { return e.error }

func errArgument(format string, values ...any) error {
	return argumentError{fmt.Errorf("farhash: "+format, values...)}
}

// errNull is an argument that is NULL and must not be.
var errNull = errArgument("an argument is NULL that must not be")

// fail notes an error for farhash_last_error, in the names of farhash.h, and returns its code,
// or other for one that is of no kind in particular. What the program has named itself, such
// as a path, stays as it is.
func fail(err error, other C.int, given ...string) C.int {
	text := inC(err.Error(), given...)
	return C.fh_note(codeOf(err, other), (*C.char)(unsafe.Pointer(unsafe.StringData(text))),
		C.size_t(len(text)))
}

func codeOf(err error, other C.int) C.int {
	var full *set.FullError
	var packed *kv.FullError
	var gone *rma.RankError
	var failed *rma.PeerError
	var path *fs.PathError
	var counter *kv.CounterError
	var word set.WordError
	var long set.StringError
	var argument argumentError
	switch {
	case errors.As(err, &full), errors.As(err, &packed):
		return C.FARHASH_ERROR_FULL
	case errors.As(err, &word), errors.As(err, &long), errors.As(err, &counter),
		errors.As(err, &argument):
		return C.FARHASH_ERROR_ARGUMENT
	case errors.As(err, &gone), errors.As(err, &failed):
		return C.FARHASH_ERROR_RANK
	case errors.Is(err, context.DeadlineExceeded):
		return C.FARHASH_ERROR_TIMEOUT
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC):
		return C.FARHASH_ERROR_MEMORY
	case errors.As(err, &path), errors.Is(err, fs.ErrNotExist):
		return C.FARHASH_ERROR_FILE
	case errors.Is(err, file.ErrNoTable), errors.Is(err, file.ErrKind):
		return C.FARHASH_ERROR_FORMAT
	case errors.Is(err, errUnsupported):
		return C.FARHASH_ERROR_UNSUPPORTED
	}
	return other
}

// ended is the answer of a call that has no other than that it succeeded.
func ended(err error, other C.int, given ...string) C.int {
	if err != nil {
		return fail(err, other, given...)
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
