//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/farhash/farhash/internal/system/memory"
)

const (
	// minFiles is how many files the runtime of Go and a command open: where the runtime gets
	// none it ends the program with a traceback.
	minFiles = 8
	// minAddressBytes is what the runtime of Go reserves, and more.
	minAddressBytes = 1280 << 20
)

// checkLimits reports limits that are too low for any command, before the runtime of Go ends the
// program for that reason, with a traceback. A build without cgo may end before it comes here where
// addresses are limited; one with cgo, whose threads need more, asks before the runtime begins.
func checkLimits() error {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit)
	if limit := uint64(limit.Cur); err == nil && limit < minAddressBytes {
		return fmt.Errorf("this process is limited to %s of virtual memory, and the runtime of Go "+
			"alone takes up to %s: raise the limit (ulimit -v unlimited)", memory.Format(limit),
			memory.Format(minAddressBytes))
	}
	for range minFiles {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EMFILE || err == syscall.ENFILE {
			return fmt.Errorf("fewer than %d files can be opened: %w; raise the limit of open "+
				"files (ulimit -n 1024)", minFiles, err)
		}
		if err == nil {
			defer syscall.Close(fd)
		}
	}
	return nil
}
