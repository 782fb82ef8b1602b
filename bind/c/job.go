package main

// #include "library.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// job is a membership with its tables.
type job struct {
	c *C.fh_handle
	roster
	rma.Job
	leave func() error  // in place of Close
	gone  chan struct{} // is closed when the job is
}

// newJob makes the handle of a membership.
func newJob(j rma.Job, leave func() error) (made *job, err error) {
	made = &job{Job: j, leave: leave, gone: make(chan struct{})}
	made.c, err = hold(&everyJob, C.FH_JOB, made)
	return made, err
}

// together fails on every rank, before a collective call begins, if one of them has been given
// arguments that make no sense: the others would wait for it. Collective.
func (j *job) together(call string, wrong error) error {
	return rma.AllSucceeded(context.Background(), j.Job, "farhash: the arguments of "+call, wrong)
}

// pathOf is the path that a collective call has been given.
func (j *job) pathOf(call string, path *C.char) (string, error) {
	var wrong error
	if path == nil || *path == 0 {
		wrong = errArgument("the path is NULL or empty")
	}
	return C.GoString(path), j.together(call, wrong)
}

// file makes a collective call with a path, call, which is do in Go. other is the code of an error
// that has none of its own.
func (j *job) file(call string, path *C.char, do func(context.Context, string) error,
	other C.int) C.int {
	name, err := j.pathOf(call, path)
	if err == nil {
		err = do(context.Background(), name)
	}
	return ended(err, other, name)
}

func (j *job) shut() error {
	defer close(j.gone)
	release(&everyJob, j.c)
	return errors.Join(j.shutAll(), j.leave())
}

// end closes a job as farhash_job_close does. If another thread does, it waits until that has
// ended.
func (j *job) end() error {
	switch C.fh_begin_close(j.c, C.FH_JOB, nil) {
	case C.FARHASH_OK:
		return j.shut()
	case C.FARHASH_ERROR_CLOSED:
		<-j.gone
		return nil
	}
	return errors.New(C.GoString(C.farhash_last_error()))
}

var everyJob registry[job]

func jobOf(number C.uint64_t) *job { return everyJob.at(number) }

// options are farhash_options.
type options struct {
	timeout time.Duration // 0: the default
	hidden  bool
	passive bool
}

// timeoutMax keeps a time within what a duration holds.
const timeoutMax = 1e9

func readOptions(o *C.farhash_options) (options, error) {
	if o == nil {
		return options{}, nil
	}
	seconds := float64(o.timeout_seconds)
	if math.IsNaN(seconds) || seconds < 0 || seconds > timeoutMax {
		return options{}, errArgument("options: timeout_seconds is %v; give 0 to %v", seconds,
			timeoutMax)
	}
	for _, r := range o.reserved {
		if r != 0 {
			return options{}, errReserved("farhash_options")
		}
	}
	return options{timeout: time.Duration(seconds * float64(time.Second)),
		hidden: o.one_sided != 0, passive: o.passive != 0}, nil
}

func errReserved(of string) error {
	return errArgument("a reserved field of %s is not 0; set the whole struct to 0 before its "+
		"fields", of)
}

// depthMax is the most operations of a batch in flight.
const depthMax = 1 << 16

// checkBatches refuses what ranks may differ in: the tables would refuse it on one rank only, when
// the others have begun.
func checkBatches(depth C.uint32_t, access rma.Access) error {
	if depth > depthMax {
		return errArgument("depth is %d; give 0 to %d", uint32(depth), depthMax)
	}
	if access.Check() != nil {
		return errArgument("access is %d; it is 0 (FARHASH_AUTO), 1 (FARHASH_ONE_SIDED) or 2 "+
			"(FARHASH_SHIPPED)", int(access))
	}
	return nil
}

// list is the same for package farhash.
func (o options) list() (opts []farhash.Option) {
	if o.timeout > 0 {
		opts = append(opts, farhash.Timeout(o.timeout))
	}
	if o.hidden {
		opts = append(opts, farhash.OneSided())
	}
	return opts
}

//export goJoin
func goJoin(c *C.farhash_options, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	o, err := readOptions(c)
	if err == nil && out == nil {
		err = errNull
	}
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	j, err := farhash.Join(context.Background(), o.list()...)
	if err != nil {
		return fail(err, C.FARHASH_ERROR)
	}
	made, err := newJob(j, j.Close)
	if err != nil {
		return fail(errors.Join(err, j.Close()), C.FARHASH_ERROR)
	}
	*out = made.c
	return C.FARHASH_OK
}

//export goJoinFortranComm
func goJoinFortranComm(comm C.int32_t, c *C.farhash_options, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	o, wrong := readOptions(c)
	if out == nil {
		wrong = errNull
	}
	made, err := joinComm(int32(comm), o, wrong)
	if err != nil {
		return fail(err, C.FARHASH_ERROR)
	}
	*out = made.c
	return C.FARHASH_OK
}

// rankFailed is the result of a rank of farhash_run.
type rankFailed C.int

func (r rankFailed) Error() string {
	return fmt.Sprintf("farhash: the function of a rank returned %d", C.int(r))
}

//export goRun
func goRun(ranks C.int32_t, c *C.farhash_options, function, argument unsafe.Pointer) (code C.int) {
	defer guard(&code)
	o, err := readOptions(c)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	if ranks < 1 || ranks > local.MaxRanks {
		return fail(errArgument("ranks is %d; give 1 to %d", int(ranks), local.MaxRanks),
			C.FARHASH_ERROR_ARGUMENT)
	}
	err = farhash.Run(context.Background(), int(ranks), func(j rma.Job) error {
		made, err := newJob(j, func() error { return nil }) // Run closes it
		if err != nil {
			return err
		}
		result := C.fh_call_rank(function, made.c, argument)
		_ = made.end()
		if result != 0 {
			return rankFailed(result)
		}
		return nil
	}, o.list()...)
	var result rankFailed
	if errors.As(err, &result) {
		fail(err, C.FARHASH_ERROR)
		return C.int(result)
	}
	return ended(err, C.FARHASH_ERROR)
}

//export goJobRank
func goJobRank(v C.uint64_t) C.int { return C.int(jobOf(v).Rank()) }

//export goJobSize
func goJobSize(v C.uint64_t) C.int { return C.int(jobOf(v).Size()) }

//export goJobBarrier
func goJobBarrier(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(jobOf(v).Barrier(context.Background()), C.FARHASH_ERROR)
}

//export goJobClose
func goJobClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(jobOf(v).shut(), C.FARHASH_ERROR)
}
