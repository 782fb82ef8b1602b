//go:build verbs && cgo

package verbs

// #cgo pkg-config: libibverbs
// #include <stdlib.h>
// #include "pair.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Atomics is how far the atomics of a device are atomic, by what the device says.
type Atomics int

const (
	NoAtomics   Atomics = iota
	AmongDevice         // IBV_ATOMIC_HCA: with respect to others of the same device
	WithCPU             // IBV_ATOMIC_GLOB: also with respect to a processor's
)

func (a Atomics) String() string {
	return [...]string{"none", "IBV_ATOMIC_HCA", "IBV_ATOMIC_GLOB"}[a]
}

// Device is a device of this host.
type Device struct {
	Name    string
	Active  bool // a port is
	Atomics Atomics
}

// Devices lists the devices that this process may open.
func Devices() []Device {
	var found [64]C.fv_device
	n := C.fv_devices(&found[0], C.int(len(found)))
	var all []Device
	for i := range found[:n] {
		d := &found[i]
		all = append(all, Device{C.GoString(&d.name[0]), d.active != 0,
			[...]Atomics{NoAtomics, AmongDevice, WithCPU}[d.atomics]})
	}
	return all
}

// Pair is two queue pairs of a device that are connected with each other. One goroutine uses it.
type Pair struct {
	c     *C.fv_pair
	words int
}

// Open makes a pair that works on words, which must be outside Go's heap.
func Open(device string, words []uint64) (*Pair, error) {
	if len(words) == 0 {
		return nil, errors.New("verbs: no words to work on")
	}
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	var failed *C.char
	c, errno := C.fv_open(name, (*C.uint64_t)(unsafe.Pointer(&words[0])),
		C.uint64_t(8*len(words)), &failed)
	if c == nil {
		return nil, fmt.Errorf("verbs: %s: %s failed: %w", device, C.GoString(failed), errno)
	}
	return &Pair{c, len(words)}, nil
}

// FetchAdd adds to a word and returns what was there.
func (p *Pair) FetchAdd(off int, delta uint64) (uint64, error) {
	return p.do(off, func(seen *C.uint64_t) C.int {
		return C.fv_add(p.c, C.int64_t(off), C.uint64_t(delta), seen)
	})
}

// CompareAndSwap stores a word if old is there, and returns what was there.
func (p *Pair) CompareAndSwap(off int, old, word uint64) (uint64, error) {
	return p.do(off, func(seen *C.uint64_t) C.int {
		return C.fv_swap(p.c, C.int64_t(off), C.uint64_t(old), C.uint64_t(word), seen)
	})
}

func (p *Pair) do(off int, op func(seen *C.uint64_t) C.int) (uint64, error) {
	if off < 0 || off >= p.words {
		return 0, fmt.Errorf("verbs: word %d of %d", off, p.words)
	}
	var seen C.uint64_t
	if status := op(&seen); status != 0 {
		return 0, fmt.Errorf("verbs: %s", C.GoString(C.fv_text(status)))
	}
	return uint64(seen), nil
}

// Close ends the use of the words.
func (p *Pair) Close() { C.fv_close(p.c) }
