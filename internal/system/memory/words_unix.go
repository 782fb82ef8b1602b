//go:build unix

package memory

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappedMinBytes is the size from which words are mapped: below it the Go heap
// serves as well, and no page is wasted.
const mappedMinBytes = 1 << 20

// Words returns n zeroed words and a function that gives them back. Large blocks
// are mapped from the system and ask for huge pages; they take memory only when
// touched. Under the race detector they are in the Go heap, where it can watch
// them.
func Words(n int) (words []uint64, release func() error, err error) {
	if n*8 < mappedMinBytes || RaceEnabled {
		return alignedHeap(n), func() error { return nil }, nil
	}
	mem, err := unix.Mmap(-1, 0, n*8, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, fmt.Errorf("memory: mapping %s: %w", Format(uint64(n)*8), err)
	}
	adviseHuge(mem)
	words = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(mem))), n)
	return words, func() error { return unix.Munmap(mem) }, nil
}

// Reserved is a block of words whose memory is taken in parts. It begins on a unit.
type Reserved struct {
	Words []uint64
	mem   []byte
	base  []byte // mem and what precedes the unit
}

// Reserve maps n words, at least 1, that take no memory before Take. There may be more of them than
// memory. The race detector does not watch them.
func Reserve(n int) (*Reserved, error) {
	sizeBytes := n * 8
	base, err := unix.Mmap(-1, 0, sizeBytes+UnitBytes, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory: no addresses for %s (ulimit -v, vm.overcommit_memory): %w",
			Format(uint64(sizeBytes)), err)
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(base))) % UnitBytes)
	mem := base[skip : skip+sizeBytes : skip+sizeBytes]
	adviseHuge(mem)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(mem))), n)
	return &Reserved{words, mem, base}, nil
}

// Take takes the memory of the bytes [begin, end). begin is a multiple of UnitBytes.
func (r *Reserved) Take(begin, end int) error { return populate(r.mem[begin:end]) }

// Touched reports whether any of the memory is there. Where the system does not say, it is.
func (r *Reserved) Touched() bool {
	pages := make([]byte, (len(r.mem)+os.Getpagesize()-1)/os.Getpagesize())
	return mincore(r.mem, pages) != nil || slices.Max(pages)&1 != 0
}

// Release gives memory and addresses back.
func (r *Reserved) Release() error { return unix.Munmap(r.base) }

// MapFile maps a file to be read. All who map it share the memory.
func MapFile(f *os.File, size int64) ([]byte, error) {
	if int64(int(size)) != size {
		return nil, fmt.Errorf("%d bytes are more than this machine has addresses for", size)
	}
	return unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

// UnmapFile ends what MapFile has begun. Nil is nothing.
func UnmapFile(mapped []byte) error {
	if mapped == nil {
		return nil
	}
	return unix.Munmap(mapped)
}
