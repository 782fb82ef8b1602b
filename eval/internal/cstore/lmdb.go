//go:build cgo && lmdb

package cstore

// #cgo LDFLAGS: -llmdb
// #include <stdlib.h>
// #include "store.h"
import "C"

import "unsafe"

// LMDB opens a database in a folder, with room for so many bytes. If not durable, it has the flags
// MDB_NOSYNC and MDB_WRITEMAP.
func LMDB(dir string, bytes uint64, durable bool) (*Store, error) {
	path, sync := C.CString(dir), C.int(0)
	defer C.free(unsafe.Pointer(path))
	if durable {
		sync = 1
	}
	var store *C.struct_store
	wrong := C.lmdb_open(path, C.size_t(bytes), sync, &store)
	return opened(store, wrong)
}

// LMDBVersion is the version of the library.
func LMDBVersion() (string, error) { return C.GoString(C.lmdb_version_text()), nil }
