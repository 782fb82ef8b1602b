package main

// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
)

// registry numbers the values of one kind that C has handles of: C must not keep addresses of
// Go. A number is looked up without a lock.
type registry[T any] struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*T]
	free []int
}

// at is the value of a number that add has given and drop has not taken back.
func (r *registry[T]) at(number C.uint64_t) *T { return (*r.list.Load())[number] }

func (r *registry[T]) add(value *T) C.uint64_t {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.free) == 0 {
		var old []*T
		if list := r.list.Load(); list != nil {
			old = *list
		}
		list := make([]*T, 2*len(old)+8)
		copy(list, old)
		for i := len(list) - 1; i >= len(old); i-- {
			r.free = append(r.free, i)
		}
		r.list.Store(&list)
	}
	number := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	(*r.list.Load())[number] = value
	return C.uint64_t(number)
}

func (r *registry[T]) drop(number C.uint64_t) {
	r.mu.Lock()
	defer r.mu.Unlock()
	(*r.list.Load())[number] = nil
	r.free = append(r.free, int(number))
}

// hold makes the handle of a value.
func hold[T any](r *registry[T], kind C.uint32_t, value *T) (*C.fh_handle, error) {
	number := r.add(value)
	h := C.fh_new(kind, number)
	if h == nil {
		r.drop(number)
		return nil, fmt.Errorf("farhash: a handle: %w", syscall.ENOMEM)
	}
	return h, nil
}

// open makes a table of a job, by begin, which is collective. Before that all ranks get what is
// wrong with the arguments of this one.
func open[T any](j *job, call string, wrong error, out **C.fh_handle, r *registry[T],
	kind C.uint32_t, value *T, begin func(h *C.fh_handle) error) error {
	if out == nil {
		wrong = errNull
	}
	var h *C.fh_handle
	if wrong == nil {
		if h, wrong = hold(r, kind, value); wrong == nil {
			h.job = j.c
		}
	}
	err := j.together(call, wrong)
	if err == nil {
		err = begin(h)
	}
	if err == nil {
		j.enter(any(value).(closer))
		*out = h
	} else if h != nil {
		release(r, h)
	}
	return err
}

// release has C refuse further calls, and returns when those of other threads have ended.
func release[T any](r *registry[T], h *C.fh_handle) {
	number := h.number
	C.fh_retire(h)
	r.drop(number)
}

// closer is a table of a job.
type closer interface{ shut() error }

// roster is the tables of a job that are open.
type roster struct {
	mu   sync.Mutex
	open map[closer]struct{}
}

func (r *roster) enter(t closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[closer]struct{}{}
	}
	r.open[t] = struct{}{}
}

func (r *roster) remove(t closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, t)
}

// shutAll closes what is still open. No call that opens or closes a table of the job is in flight.
func (r *roster) shutAll() error {
	r.mu.Lock()
	tables := r.open
	r.open = nil
	r.mu.Unlock()
	var errs []error
	for t := range tables {
		errs = append(errs, t.shut())
	}
	return errors.Join(errs...)
}
