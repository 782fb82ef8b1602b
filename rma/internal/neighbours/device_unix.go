//go:build unix

package neighbours

import "golang.org/x/sys/unix"

// device is the number of the file system that a folder is on.
func device(folder string) uint64 {
	var st unix.Stat_t
	_ = unix.Stat(folder, &st)
	return uint64(st.Dev)
}
