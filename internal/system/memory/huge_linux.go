package memory

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for huge pages; a system without them says no, which is fine.
func adviseHuge(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }

// populate takes the memory of a mapping. Linux before 5.14 does so when it is touched.
func populate(mem []byte) error {
	for {
		err := unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
		switch {
		case err == nil, errors.Is(err, unix.EINVAL):
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		default:
			return fmt.Errorf("memory: %s could not be taken (%v): %w",
				Format(uint64(len(mem))), err, unix.ENOMEM)
		}
	}
}

// mincore stores for each page of a mapping whether it is in memory.
func mincore(mem, pages []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(mem))),
		uintptr(len(mem)), uintptr(unsafe.Pointer(unsafe.SliceData(pages))))
	if errno != 0 {
		return errno
	}
	return nil
}

// CanReserve reports whether addresses cost nothing, so that there may be more of them than memory:
// the process has no limit of them, and the system does not count them (vm.overcommit_memory 2).
func CanReserve() bool {
	var limit unix.Rlimit
	return !countsAddresses() &&
		unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur == unix.RLIM_INFINITY
}

// countsAddresses reports whether the system refuses mappings beyond its memory.
var countsAddresses = sync.OnceValue(func() bool {
	mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	return err != nil || strings.TrimSpace(string(mode)) == "2"
})
