//go:build unix

package guard

import (
	"os"
	"runtime/debug"
	"testing"
	"unsafe"
)

// An access after the values faults, and before them where they fill pages.
func TestSlice(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	page := os.Getpagesize() / 8
	for _, n := range []int{1, 3, page, 2*page + 1} {
		words := Copy(t, make([]uint64, n))
		words[0], words[n-1] = 1, 2
		at := unsafe.Pointer(&words[0])
		for offset, bad := range map[int]bool{-8: n == page, 0: false, 8*n - 8: false,
			8 * n: true} {
			if got := faults(unsafe.Add(at, offset)); got != bad {
				t.Errorf("%d words: at byte %d a read faults: %v", n, offset, got)
			}
		}
	}
}

func faults(at unsafe.Pointer) (faulted bool) {
	defer func() { faulted = recover() != nil }()
	return *(*uint64)(at) == 3
}
