//go:build ucx && cgo

package rawucx

// #cgo pkg-config: ucx
// #include "raw.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"
)

// Built reports whether this program contains the loop.
const Built = true

// cardMax is more than a card has bytes.
const cardMax = 1 << 14

// Side is one side's memory, and its connections to the memory of others. One goroutine uses it.
type Side struct {
	c       *C.raw
	serving bool
}

// Open makes a side with so many bytes that others get from.
func Open(bytes int) (*Side, error) {
	s := &Side{}
	if err := fault("a worker of its own", C.raw_open(C.int64_t(bytes), &s.c)); err != nil {
		return nil, err
	}
	return s, nil
}

// Card is what others connect by.
func (s *Side) Card() ([]byte, error) {
	card := make([]byte, cardMax)
	n := C.raw_card(s.c, unsafe.Pointer(&card[0]), cardMax)
	if n < 0 {
		return nil, fault("its address", n)
	}
	return card[:n], nil
}

// Connect adds the side with that card to those that gets go to.
func (s *Side) Connect(card []byte) error {
	if len(card) == 0 {
		return fault("connecting", C.raw_connect(s.c, nil, 0))
	}
	return fault("connecting", C.raw_connect(s.c, unsafe.Pointer(&card[0]), C.int(len(card))))
}

// Serve has a thread answer the gets of others until Stop. With spin it never sleeps.
func (s *Side) Serve(spin bool) error {
	wish := C.int(0)
	if spin {
		wish = 1
	}
	err := fault("a thread", C.raw_serve(s.c, wish))
	s.serving = err == nil
	return err
}

// Stop ends that, if it has begun.
func (s *Side) Stop() {
	if s.serving {
		C.raw_stop(s.c)
		s.serving = false
	}
}

// Gets does gets of so many bytes with inFlight of them under way. eachNs, if it is not nil,
// is how long each has taken, and must have room for all.
func (s *Side) Gets(gets, bytes, inFlight int, seed uint64, eachNs []int64) (time.Duration, error) {
	var took C.int64_t
	each := (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(eachNs)))
	if eachNs != nil && len(eachNs) < gets {
		panic(fmt.Sprintf("rawucx: room for %d times of %d gets", len(eachNs), gets))
	}
	err := fault("gets", C.raw_gets(s.c, C.int64_t(gets), C.int(bytes), C.int(inFlight),
		C.uint64_t(seed), &took, each))
	return time.Duration(took), err
}

// Close gives everything back. No other side gets from here any more.
func (s *Side) Close() {
	s.Stop()
	C.raw_close(s.c)
}

func fault(what string, code C.int) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("rawucx: %s: UCX says %s", what, C.GoString(C.raw_text(code)))
}
