package doctor

import "golang.org/x/sys/unix"

// room asks the file system.
func room(path string) (sizeBytes, freeBytes uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, err
	}
	return st.Blocks * uint64(st.Bsize), st.Bavail * uint64(st.Bsize), nil
}
