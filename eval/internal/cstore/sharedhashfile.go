//go:build cgo && sharedhashfile

package cstore

// #cgo CFLAGS: -std=gnu99
// #cgo LDFLAGS: -lshf
// #include <stdlib.h>
// #include "store.h"
import "C"

import "unsafe"

// SharedHashFile opens the store of a folder. One thread uses it, and no other has one.
func SharedHashFile(dir string) (*Store, error) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	var store *C.struct_store
	wrong := C.shf_open(path, &store)
	return opened(store, wrong)
}

// SharedHashFileVersion is "", as it has none.
func SharedHashFileVersion() (string, error) { return "", nil }
