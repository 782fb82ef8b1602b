package memory

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages; a system without them says no, which is fine.
func adviseHuge(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }
