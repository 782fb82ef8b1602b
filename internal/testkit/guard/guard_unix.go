//go:build unix

// Package guard gives tests memory at whose ends an access that is out of bounds faults, in
// assembly too.
package guard

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Slice is n zero values whose last one ends at a page that cannot be accessed. Nor can the page
// before them, which they begin at if they fill whole pages. It is mapped until the test ends.
//
// The garbage collector does not look for pointers there.
func Slice[T any](t testing.TB, n int) []T {
	t.Helper()
	page, bytes := os.Getpagesize(), n*int(unsafe.Sizeof(*new(T)))
	size := (bytes + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	if err := unix.Mprotect(mem[page:page+size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[page+size-bytes])), n)
}

// Copy is a copy of values in such memory.
func Copy[T any](t testing.TB, values []T) []T {
	t.Helper()
	guarded := Slice[T](t, len(values))
	copy(guarded, values)
	return guarded
}
