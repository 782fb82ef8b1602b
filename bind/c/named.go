package main

// #include "library.h"
import "C"

import (
	"io/fs"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
)

// alone is the job of a table by name, which has none: for all that is collective its process is
// the only rank.
type alone struct{ rma.Job }

func (alone) Rank() int { return 0 }
func (alone) Size() int { return 1 }

func newAlone() *job { return &job{Job: alone{}} }

// orZero is a configuration of C, all zeros where C has given none.
func orZero[T any](c *T) *T {
	if c == nil {
		return new(T)
	}
	return c
}

func readOpenOptions(o *C.farhash_open_options) ([]file.Option, error) {
	for _, r := range o.reserved {
		if r != 0 {
			return nil, errReserved("farhash_open_options")
		}
	}
	list := []file.Option{file.OnLocks(func(fd int, open bool) {
		C.fh_locks(C.int(fd), C.int(map[bool]int{true: 1}[open]))
	})}
	if o.mode != 0 {
		list = append(list, file.Mode(fs.FileMode(o.mode)))
	}
	if o.any_owner != 0 {
		list = append(list, file.AnyOwner())
	}
	if o.existing != 0 {
		list = append(list, file.Existing())
	}
	return list, nil
}

// openNamed opens a table by name, by begin. wrong is what is wrong with the configuration.
func openNamed[T any](path *C.char, o *C.farhash_open_options, wrong error, out **C.fh_handle,
	r *registry[T], kind C.uint32_t, value *T, j *job,
	begin func(h *C.fh_handle, name string, options []file.Option) error) C.int {
	options, err := readOpenOptions(orZero(o))
	if err == nil {
		err = wrong
	}
	name, unnamed := j.pathOf("", path)
	if err == nil {
		err = unnamed
	}
	err = open(j, "", err, out, r, kind, value,
		func(h *C.fh_handle) error { return begin(h, name, options) })
	return ended(err, C.FARHASH_ERROR_ARGUMENT, name)
}

//export goRemove
func goRemove(path *C.char) (code C.int) {
	defer guard(&code)
	name, err := newAlone().pathOf("", path)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	return ended(file.Remove(name), C.FARHASH_ERROR_FILE, name)
}

//export goMapOpen
func goMapOpen(path *C.char, c *C.farhash_map_config, o *C.farhash_open_options,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readMapConfig(orZero(c))
	made := &dictionary{job: newAlone()}
	return openNamed(path, o, wrong, out, &everyMap, C.FH_MAP, made, made.job,
		func(h *C.fh_handle, name string, options []file.Option) error {
			return made.begin(h, func() (*kv.Map, error) { return kv.Open(name, cfg, options...) })
		})
}

//export goCacheOpen
func goCacheOpen(path *C.char, c *C.farhash_cache_config, o *C.farhash_open_options,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readCacheConfig(orZero(c))
	made := &pairs{job: newAlone()}
	return openNamed(path, o, wrong, out, &everyCache, C.FH_CACHE, made, made.job,
		func(h *C.fh_handle, name string, options []file.Option) (err error) {
			if made.Cache, err = cache.Open(name, cfg, options...); err == nil {
				made.sized(h)
			}
			return err
		})
}

//export goSetOpen
func goSetOpen(path *C.char, c *C.farhash_set_config, o *C.farhash_open_options,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readSetConfig(orZero(c))
	made := &words{job: newAlone()}
	return openNamed(path, o, wrong, out, &everySet, C.FH_SET, made, made.job,
		func(h *C.fh_handle, name string, options []file.Option) (err error) {
			made.c = h
			made.Set, err = set.Open(name, cfg, options...)
			return err
		})
}

//export goBytesOpen
func goBytesOpen(path *C.char, c *C.farhash_bytes_config, o *C.farhash_open_options,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readBytesConfig(orZero(c))
	made := &byteSet{job: newAlone()}
	return openNamed(path, o, wrong, out, &everyBytes, C.FH_BYTES, made, made.job,
		func(h *C.fh_handle, name string, options []file.Option) error {
			return made.begin(h, func() (*set.Bytes, error) {
				return set.OpenBytes(name, cfg, options...)
			})
		})
}
