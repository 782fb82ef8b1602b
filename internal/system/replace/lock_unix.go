//go:build unix && !solaris && !aix

package replace

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock makes a file this process's own until it is closed. File systems that know no locks
// give none.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another job is writing %s; give each job its own file", f.Name())
	}
	return nil
}

// give gives a file to the owner and the group of another one as far as this user may, and reports
// whether it has that group.
func give(f *os.File, other os.FileInfo) bool {
	to := other.Sys().(*syscall.Stat_t)
	if f.Chown(int(to.Uid), int(to.Gid)) == nil || f.Chown(-1, int(to.Gid)) == nil {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Sys().(*syscall.Stat_t).Gid == to.Gid
}

// own refuses a file that this user has not made, or that has another name as well: who may make
// files in the folder could have it be any file of the user's.
func own(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is := info.Sys().(*syscall.Stat_t)
	switch {
	case int(is.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d and this process to user %d; remove it, or write "+
			"into a folder of your own", f.Name(), is.Uid, os.Geteuid())
	case is.Nlink > 1:
		return fmt.Errorf("%s is a file with %d names (hard links); remove this one", f.Name(),
			is.Nlink)
	}
	return nil
}
