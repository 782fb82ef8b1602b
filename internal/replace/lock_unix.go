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
