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

// CanReserve is false: here all memory is taken at once.
func CanReserve() bool { return false }

// Reserved is not for this system.
type Reserved struct{ Words []uint64 }

// Reserve is not for this system.
func Reserve(int) (*Reserved, error) {
	return nil, errors.New("this system has no way to reserve addresses")
}

// Take does nothing.
func (r *Reserved) Take(begin, end int) error { return nil }

// Touched is true.
func (r *Reserved) Touched() bool { return true }

// Release does nothing.
func (r *Reserved) Release() error { return nil }

// MapFile is not for this system.
func MapFile(*os.File, int64) ([]byte, error) {
	return nil, errors.New("this system has no way to map files")
}

// UnmapFile does nothing.
func UnmapFile([]byte) error { return nil }
