//go:build cgo && (lmdb || sharedhashfile)

package cstore

// #include <stdlib.h>
// #include "store.h"
//
// static const char *calls(struct store *s, char *pairs, unsigned char *kinds, size_t n,
// 		int together) {
// 	return s->calls(s, pairs, kinds, n, together);
// }
//
// static void closes(struct store *s) { s->close(s); }
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/kv"
)

// The sizes of keys and values.
const (
	keyBytes   = C.KEY
	valueBytes = C.VALUE
)

// Store is an open store. One thread uses it.
type Store struct {
	store *C.struct_store
	kinds []C.uchar
}

// opened is what a function that opens a store has returned.
func opened(store *C.struct_store, wrong *C.char) (*Store, error) {
	if wrong != nil {
		return nil, errors.New(C.GoString(wrong))
	}
	return &Store{store: store}, nil
}

// Calls makes calls, Gets and Puts. Key and value are one after the other, and so are the calls. If
// together, they are one transaction.
func (s *Store) Calls(calls []kv.Call, together bool) error {
	s.kinds = s.kinds[:0]
	for i := range calls {
		kind := C.uchar(C.GET)
		if calls[i].Kind == kv.Put {
			kind = C.PUT
		}
		s.kinds = append(s.kinds, kind)
	}
	as := C.int(0)
	if together {
		as = 1
	}
	wrong := C.calls(s.store, (*C.char)(unsafe.Pointer(&calls[0].Key[0])), &s.kinds[0],
		C.size_t(len(calls)), as)
	if wrong != nil {
		return fmt.Errorf("calls of a store in C: %s", C.GoString(wrong))
	}
	for i := range calls {
		if c := &calls[i]; c.Kind == kv.Get {
			c.Done = s.kinds[i] == C.FOUND
			c.Value = c.Value[:valueBytes]
		}
	}
	return nil
}

// Close closes the store, which stays.
func (s *Store) Close() error {
	C.closes(s.store)
	return nil
}
