//go:build !unix

package memory

import (
	"errors"
	"os"
)

// Words returns n zeroed words of the Go heap.
func Words(n int) (words []uint64, release func() error, err error) {
	return alignedHeap(n), func() error { return nil }, nil
}

// MapFile is not for this system.
func MapFile(*os.File, int64) ([]byte, error) {
	return nil, errors.New("this system has no way to map files")
}

// UnmapFile does nothing.
func UnmapFile([]byte) error { return nil }
