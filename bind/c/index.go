package main

// #include <stdlib.h>
// #include <string.h>
// #include "library.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"unsafe"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
)

// register is an index with its handle.
type register struct {
	c *C.fh_handle
	*index.Index
	reader             *index.Reader
	keySize, valueSize int
	job                *job
}

var everyIndex registry[register]

func indexOf(number C.uint64_t) *register { return everyIndex.at(number) }

func (r *register) shut() error {
	r.job.remove(r)
	release(&everyIndex, r.c)
	if r.reader != r.Index.Reader {
		return errors.Join(r.reader.Close(), r.Index.Close())
	}
	return r.Index.Close()
}

func readIndexConfig(c *C.farhash_index_config) (index.Config, error) {
	if c == nil {
		return index.Config{}, nil
	}
	for _, r := range c.reserved {
		if r != 0 {
			return index.Config{}, errReserved("farhash_index_config")
		}
	}
	if c.key_size > index.MaxKeySize || c.value_size > index.MaxValueSize ||
		c.max_copies > math.MaxInt32 {
		return index.Config{}, errArgument("key_size is %d, value_size %d and max_copies %d; they "+
			"may be %d, %d and %d", uint64(c.key_size), uint64(c.value_size),
			uint64(c.max_copies), index.MaxKeySize, index.MaxValueSize, math.MaxInt32)
	}
	if !(c.load >= 0 && c.load <= index.MaxLoad) {
		return index.Config{}, errArgument("load is %v; it may be 0 to %v", float64(c.load),
			index.MaxLoad)
	}
	note := "" // one that is too long is cut to a length that is refused
	if c.note != nil {
		note = C.GoStringN(c.note, C.int(C.strnlen(c.note, index.MaxNoteSize+1)))
	}
	access := rma.Access(c.access)
	return index.Config{KeySize: int(c.key_size), ValueSize: int(c.value_size),
			Variable: c.variable != 0, Load: float64(c.load),
			MaxCopies: int(c.max_copies), MaxMemoryBytes: uint64(c.max_memory_bytes),
			Access: access, Note: note},
		checkBatches(c.depth, access)
}

// openIndex makes an index with its handle.
func openIndex(j *job, call string, wrong error, out **C.fh_handle,
	c *C.farhash_index_config, begin func() (*index.Index, error)) error {
	made := &register{job: j}
	return open(j, call, wrong, out, &everyIndex, C.FH_INDEX, made,
		func(h *C.fh_handle) (err error) {
			made.c = h
			if made.Index, err = begin(); err != nil {
				return err
			}
			made.reader = made.Index.Reader
			if c != nil && c.depth != 0 {
				made.reader, err = made.NewReader(index.Lookups{Depth: int(c.depth)})
			}
			if err != nil {
				return errors.Join(err, made.Index.Close())
			}
			made.keySize, made.valueSize = made.Config().KeySize, made.Config().ValueSize
			h.bytes, h.more = C.uint64_t(made.keySize), C.uint64_t(made.valueSize)
			return nil
		})
}

// errNext is a negative answer of the program's function.
type errNext C.int

func (e errNext) Error() string {
	return fmt.Sprintf("farhash: the function next returned %d", C.int(e))
}

// records are what the program's function gives.
func records(cfg index.Config, function, argument unsafe.Pointer) iter.Seq2[index.Record, error] {
	return func(yield func(index.Record, error) bool) {
		r := (*C.fh_record)(C.malloc(C.sizeof_fh_record))
		defer C.free(unsafe.Pointer(r))
		for {
			*r = C.fh_record{value_size: C.size_t(cfg.ValueSize)}
			switch answer := C.fh_call_next(function, r, argument); {
			case answer == 0:
				return
			case answer < 0:
				yield(index.Record{}, errNext(answer))
				return
			}
			if r.key == nil || r.value == nil && r.value_size > 0 ||
				r.value_size > C.size_t(cfg.ValueSize) {
				yield(index.Record{}, fmt.Errorf("farhash: the function next gave a key or a "+
					"value that is NULL, or a value_size above %d: %d", cfg.ValueSize,
					uint64(r.value_size)))
				return
			}
			key := unsafe.Slice((*byte)(r.key), cfg.KeySize)
			value := unsafe.Slice((*byte)(r.value), r.value_size)
			if !yield(index.Record{Key: key, Value: value}, nil) {
				return
			}
		}
	}
}

//export goIndexBuild
func goIndexBuild(v C.uint64_t, c *C.farhash_index_config, function, argument unsafe.Pointer,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readIndexConfig(c)
	if c == nil || function == nil {
		wrong = errNull
	}
	err := openIndex(jobOf(v), "farhash_index_build", wrong, out, c,
		func() (*index.Index, error) {
			return index.Build(context.Background(), jobOf(v), cfg,
				records(cfg, function, argument))
		})
	if answer := errNext(0); errors.As(err, &answer) {
		fail(err, C.FARHASH_ERROR)
		return C.int(answer)
	}
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

// arrays are records in memory of C.
type arrays struct {
	keys, values unsafe.Pointer
	sizes        *C.size_t // nil: all values are as long as the longest
	n            C.size_t
}

// check refuses what makes no sense, before any rank begins.
func (a *arrays) check(cfg index.Config) error {
	if a.n == 0 {
		return nil
	}
	if a.keys == nil || a.values == nil && cfg.ValueSize > 0 || a.sizes == nil && cfg.Variable {
		return errNull
	}
	if a.n > C.size_t(math.MaxInt/max(cfg.KeySize+cfg.ValueSize, 1)) {
		return errArgument("n is %d, more records than memory", uint64(a.n))
	}
	if !cfg.Variable {
		return nil
	}
	for i, size := range unsafe.Slice(a.sizes, a.n) {
		if size > C.size_t(cfg.ValueSize) {
			return errArgument("sizes[%d] is %d; value_size is %d", i, uint64(size), cfg.ValueSize)
		}
	}
	return nil
}

// all are the records.
func (a *arrays) all(cfg index.Config) iter.Seq2[index.Record, error] {
	return func(yield func(index.Record, error) bool) {
		for i := range int(a.n) {
			size := cfg.ValueSize
			if cfg.Variable {
				size = int(unsafe.Slice(a.sizes, a.n)[i])
			}
			r := index.Record{
				Key: unsafe.Slice((*byte)(unsafe.Add(a.keys, i*cfg.KeySize)), cfg.KeySize)}
			if size > 0 {
				r.Value = unsafe.Slice((*byte)(unsafe.Add(a.values, i*cfg.ValueSize)), size)
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

//export goIndexBuildBatch
func goIndexBuildBatch(v C.uint64_t, c *C.farhash_index_config, keys, values unsafe.Pointer,
	sizes *C.size_t, n C.size_t, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readIndexConfig(c)
	records := arrays{keys: keys, values: values, sizes: sizes, n: n}
	if c == nil {
		wrong = errNull
	}
	if wrong == nil {
		wrong = records.check(cfg)
	}
	err := openIndex(jobOf(v), "farhash_index_build_batch", wrong, out, c,
		func() (*index.Index, error) {
			return index.Build(context.Background(), jobOf(v), cfg, records.all(cfg))
		})
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

//export goIndexLoad
func goIndexLoad(v C.uint64_t, path *C.char, c *C.farhash_index_config,
	out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readIndexConfig(c)
	name, err := jobOf(v).pathOf("farhash_index_load", path)
	if err == nil {
		err = openIndex(jobOf(v), "farhash_index_load", wrong, out, c,
			func() (*index.Index, error) {
				if c == nil {
					return index.Open(context.Background(), jobOf(v), name)
				}
				return index.Load(context.Background(), jobOf(v), name, cfg)
			})
	}
	return ended(err, C.FARHASH_ERROR_FORMAT, name)
}

//export goIndexSave
func goIndexSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := indexOf(v)
	return t.job.file("farhash_index_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goIndexGetBatch
func goIndexGetBatch(v C.uint64_t, keys unsafe.Pointer, n C.size_t, values unsafe.Pointer,
	sizes *C.size_t, counts *C.uint32_t) (code C.int) {
	defer guard(&code)
	r := indexOf(v)
	if values == nil && r.valueSize > 0 {
		return fail(errNull, C.FARHASH_ERROR_ARGUMENT)
	}
	all := unsafe.Slice((*byte)(values), int(n)*r.valueSize)
	count := unsafe.Slice(counts, n)
	clear(count)
	err := r.reader.LookupBatch(unsafe.Slice((*byte)(keys), int(n)*r.keySize),
		func(i int, value index.Value) {
			if count[i] == 0 {
				copy(all[i*r.valueSize:(i+1)*r.valueSize], value)
				if sizes != nil {
					unsafe.Slice(sizes, n)[i] = C.size_t(len(value))
				}
			}
			if count[i] < math.MaxUint32 {
				count[i]++
			}
		})
	return ended(err, C.FARHASH_ERROR)
}

//export goIndexLookup
func goIndexLookup(v C.uint64_t, keys unsafe.Pointer, n C.size_t,
	function, argument unsafe.Pointer) (code C.int) {
	defer guard(&code)
	r := indexOf(v)
	// The program gets memory of C, since it may keep what it is given by mistake.
	mem := C.malloc(C.size_t(r.valueSize + 1))
	defer C.free(mem)
	err := r.reader.LookupBatch(unsafe.Slice((*byte)(keys), int(n)*r.keySize),
		func(i int, value index.Value) {
			copy(unsafe.Slice((*byte)(mem), r.valueSize), value)
			C.fh_call_found(function, C.size_t(i), mem, C.size_t(len(value)), argument)
		})
	return ended(err, C.FARHASH_ERROR)
}

//export goIndexLen
func goIndexLen(v C.uint64_t, out *C.uint64_t) C.int {
	*out = C.uint64_t(indexOf(v).Info().Records)
	return C.FARHASH_OK
}

//export goIndexSizes
func goIndexSizes(v C.uint64_t, keySize, valueSize *C.uint64_t, variable *C.int32_t) C.int {
	r := indexOf(v)
	*keySize, *valueSize = C.uint64_t(r.keySize), C.uint64_t(r.valueSize)
	if variable != nil {
		*variable = C.int32_t(yes(r.Config().Variable, nil))
	}
	return C.FARHASH_OK
}

//export goIndexNote
func goIndexNote(v C.uint64_t, out *C.char, room C.size_t) (code C.int) {
	defer guard(&code)
	note := indexOf(v).Config().Note
	if room <= C.size_t(len(note)) {
		return fail(errArgument("the note has %d bytes and a NUL, and room is %d; "+
			"FARHASH_MAX_NOTE + 1 is enough for any", len(note), uint64(room)),
			C.FARHASH_ERROR_ARGUMENT)
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(out)), len(note)+1)
	to[copy(to, note)] = 0
	return C.FARHASH_OK
}

//export goIndexCheck
func goIndexCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(indexOf(v).CheckAll(context.Background()), C.FARHASH_ERROR)
}

//export goIndexClose
func goIndexClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(indexOf(v).shut(), C.FARHASH_ERROR)
}
