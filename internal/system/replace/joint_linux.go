package replace

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// jointFlags are what a file is to be opened with besides where several hosts write parts of it.
// NFS writes whole pages where it knows all of one, and so would put back an older state of what
// another host has written into the same page (nfs(5), alignwrite). Synchronous writes write
// what they are given and no more.
func jointFlags(path string) int {
	var is unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &is) == nil && is.Type == unix.NFS_SUPER_MAGIC {
		return os.O_SYNC
	}
	return 0
}
