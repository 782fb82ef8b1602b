package main

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

// dictionary is a map with its handle.
type dictionary struct {
	c *C.fh_handle
	*kv.Map
	maxKey, maxValue int
	job              *job
}

var everyMap registry[dictionary]

func mapOf(number C.uint64_t) *dictionary { return everyMap.at(number) }

func (d *dictionary) shut() error {
	d.job.remove(d)
	release(&everyMap, d.c)
	return d.Close()
}

func readMapConfig(c *C.farhash_map_config) (kv.Config, error) {
	if c == nil {
		return kv.Config{}, errNull
	}
	for _, r := range c.reserved {
		if r != 0 {
			return kv.Config{}, errReserved("farhash_map_config")
		}
	}
	access := rma.Access(c.access)
	return kv.Config{Slots: uint64(c.slots), Bytes: uint64(c.bytes), MaxKey: int(c.max_key),
			MaxValue: int(c.max_value), Copies: c.copies != 0, Chunk: int(c.chunk),
			Depth: int(c.depth), Access: access, MaxBytes: uint64(c.max_bytes)},
		checkBatches(c.depth, access)
}

//export goMapNew
func goMapNew(v C.uint64_t, c *C.farhash_map_config, out **C.fh_handle) (code C.int) {
	defer guard(&code)
	cfg, wrong := readMapConfig(c)
	made := &dictionary{job: jobOf(v)}
	err := open(made.job, "farhash_map_new", wrong, out, &everyMap, C.FH_MAP, made,
		func(h *C.fh_handle) error {
			return made.begin(h, func() (*kv.Map, error) {
				return kv.New(context.Background(), made.job, cfg)
			})
		})
	return ended(err, C.FARHASH_ERROR_ARGUMENT)
}

// begin makes the map by makeMap.
func (d *dictionary) begin(h *C.fh_handle, makeMap func() (*kv.Map, error)) (err error) {
	d.c = h
	if d.Map, err = makeMap(); err == nil {
		d.maxKey, d.maxValue = d.Config().MaxKey, d.Config().MaxValue
	}
	return err
}

// ask makes a call of Go of one of C. What a get finds goes right to where C wants it, if
// there is room.
func (d *dictionary) ask(c *C.farhash_map_call) (kv.Call, error) {
	gets, adds := c.kind == C.FARHASH_GET, c.kind == C.FARHASH_ADD
	puts := !gets && !adds && c.kind != C.FARHASH_DELETE
	switch {
	case c.kind < C.FARHASH_GET || c.kind > C.FARHASH_ADD:
		return kv.Call{}, errArgument("kind is %d; it is 0 (FARHASH_GET) to 5 (FARHASH_ADD)",
			int(c.kind))
	case c.key_size < 1 || c.key_size > C.size_t(d.maxKey):
		return kv.Call{}, errArgument("key_size is %d; this map takes 1 to %d",
			uint64(c.key_size), d.maxKey)
	case puts && c.value_size > C.size_t(d.maxValue):
		return kv.Call{}, errArgument("value_size is %d; this map takes 0 to %d",
			uint64(c.value_size), d.maxValue)
	case adds && d.maxValue < 8:
		return kv.Call{}, errArgument("a counter has 8 bytes, and max_value of this map is %d",
			d.maxValue)
	case gets && c.room > math.MaxInt:
		return kv.Call{}, errArgument("room is %d, more than memory", uint64(c.room))
	case c.key == nil,
		c.value == nil && (puts && c.value_size > 0 || gets && c.room > 0 || adds):
		return kv.Call{}, errNull
	}
	call := kv.Call{Kind: kv.Kind(c.kind), Key: unsafe.Slice((*byte)(c.key), c.key_size),
		Version: kv.Version(c.version)}
	switch call.Kind {
	case kv.Get:
		call.Value = unsafe.Slice((*byte)(c.value), c.room)[:0]
	case kv.Delete:
	case kv.Add:
		call.Delta = int64(*(*C.int64_t)(c.value))
	default:
		call.Value = unsafe.Slice((*byte)(c.value), c.value_size)
	}
	return call, nil
}

// reply writes the result of a call to the result of C.
func reply(c *C.farhash_map_call, call *kv.Call) C.int {
	c.version = C.uint64_t(call.Version)
	if call.Kind == kv.Get {
		c.value_size = C.size_t(len(call.Value))
	}
	if call.Err != nil {
		return fail(call.Err, C.FARHASH_ERROR)
	}
	switch call.Kind {
	case kv.Put:
		return C.FARHASH_OK
	case kv.Add:
		*(*C.int64_t)(c.value) = C.int64_t(call.Sum)
		return C.FARHASH_OK
	case kv.PutIfAbsent:
		if call.Done {
			return C.FARHASH_INSERTED
		}
		return C.FARHASH_FOUND
	case kv.CompareAndPut:
		if call.Done {
			return C.FARHASH_UPDATED
		}
		return C.FARHASH_MISS
	case kv.Get:
		if c.value_size > c.room {
			return fail(errArgument("the value has %d bytes and room is %d; max_value of the map "+
				"is enough for any", len(call.Value), uint64(c.room)), C.FARHASH_ERROR_ARGUMENT)
		}
	}
	return yes(call.Done, nil)
}

//export goMapCall
func goMapCall(v C.uint64_t, c *C.farhash_map_call) (code C.int) {
	defer guard(&code)
	d := mapOf(v)
	call, err := d.ask(c)
	if err != nil {
		return fail(err, C.FARHASH_ERROR_ARGUMENT)
	}
	carryOut(d.Map, &call)
	return reply(c, &call)
}

// carryOut makes a single call, which takes less than a batch of one.
func carryOut(m *kv.Map, call *kv.Call) {
	switch call.Kind {
	case kv.Get:
		call.Value, call.Version, call.Done, call.Err = m.Get(call.Key, call.Value)
	case kv.Put:
		call.Version, call.Err = m.Put(call.Key, call.Value)
	case kv.Delete:
		call.Done, call.Err = m.Delete(call.Key)
	case kv.PutIfAbsent:
		call.Version, call.Done, call.Err = m.PutIfAbsent(call.Key, call.Value)
	case kv.CompareAndPut:
		call.Version, call.Done, call.Err = m.CompareAndPut(call.Key, call.Value, call.Version)
	case kv.Add:
		call.Sum, call.Version, call.Err = m.Add(call.Key, call.Delta)
	}
}

//export goMapBatch
func goMapBatch(v C.uint64_t, p *C.farhash_map_call, n C.size_t) (code C.int) {
	defer guard(&code)
	d := mapOf(v)
	list := unsafe.Slice(p, n)
	calls := make([]kv.Call, 0, n) // those that make sense
	refused := map[int]error{}
	for i := range list {
		call, err := d.ask(&list[i])
		if err != nil {
			refused[i] = fmt.Errorf("call %d: %w", i, err)
		} else {
			calls = append(calls, call)
		}
	}
	code = ended(d.Batch(calls), C.FARHASH_ERROR)
	for i, next := len(list)-1, len(calls)-1; i >= 0; i-- { // the first one's message is the last
		var result C.int
		if err := refused[i]; err != nil {
			result = fail(err, C.FARHASH_ERROR_ARGUMENT)
		} else {
			result = reply(&list[i], &calls[next])
			next--
		}
		list[i].result = C.int32_t(result)
		if result < 0 {
			code = result
		}
	}
	return code
}

//export goMapRange
func goMapRange(v C.uint64_t, function, argument unsafe.Pointer) (code C.int) {
	defer guard(&code)
	m := mapOf(v)
	// The program gets memory of C, since it may keep what it is given by mistake.
	mem := C.malloc(C.size_t(m.Config().MaxKey + m.Config().MaxValue))
	defer C.free(mem)
	result := C.int(0)
	for p, err := range m.All(context.Background()) {
		if err != nil {
			return fail(err, C.FARHASH_ERROR)
		}
		k, v := C.size_t(len(p.Key)), C.size_t(len(p.Value))
		to := unsafe.Slice((*byte)(mem), k+v)
		copy(to[copy(to, p.Key):], p.Value)
		if result = C.fh_call_pair(function, mem, k, unsafe.Add(mem, k), v, argument); result != 0 {
			break
		}
	}
	return max(result, 0)
}

//export goMapStatsGet
func goMapStatsGet(v C.uint64_t, out *C.farhash_map_stats) (code C.int) {
	defer guard(&code)
	s := mapOf(v).Stats()
	*out = C.farhash_map_stats{}
	for i := range out.calls {
		out.calls[i] = C.uint64_t(s.Kinds[i].Calls)
		out.round_trips[i] = C.uint64_t(s.Kinds[i].RoundTrips)
		out.lost_swaps += C.uint64_t(s.Kinds[i].Lost)
	}
	return C.FARHASH_OK
}

//export goMapLen
func goMapLen(v C.uint64_t, out *C.uint64_t) (code C.int) {
	defer guard(&code)
	n, err := mapOf(v).Len(context.Background())
	*out = C.uint64_t(n)
	return ended(err, C.FARHASH_ERROR)
}

//export goMapSave
func goMapSave(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := mapOf(v)
	return t.job.file("farhash_map_save", path, t.Save, C.FARHASH_ERROR_FILE)
}

//export goMapLoad
func goMapLoad(v C.uint64_t, path *C.char) (code C.int) {
	defer guard(&code)
	t := mapOf(v)
	return t.job.file("farhash_map_load", path, t.Load, C.FARHASH_ERROR_FORMAT)
}

//export goMapCheck
func goMapCheck(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(mapOf(v).Check(context.Background()), C.FARHASH_ERROR)
}

//export goMapClose
func goMapClose(v C.uint64_t) (code C.int) {
	defer guard(&code)
	return ended(mapOf(v).shut(), C.FARHASH_ERROR)
}
