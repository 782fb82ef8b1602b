package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/farhash/farhash/internal/memory"
)

const (
	// filesLeast is how many files the runtime of Go and a command open: where the runtime gets
	// none it ends the program with a traceback.
	filesLeast = 8
	// addressLeastBytes is what the runtime of Go and its threads reserve, and more.
	addressLeastBytes = 3 << 29
)

// checkLimits says what limits are too low for any command, before the runtime of Go ends the
// program for that reason, with a traceback. Below some 600 MiB of addresses it does so before
// main, and nothing can be said.
func checkLimits() error {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit)
	if most := uint64(limit.Cur); err == nil && most < addressLeastBytes {
		warn(fmt.Errorf("this process may have %s of addresses, and the runtime of Go alone takes "+
			"up to %s: raise the limit (ulimit -v unlimited)", memory.Format(most),
			memory.Format(addressLeastBytes)))
	}
	for range filesLeast {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EMFILE || err == syscall.ENFILE {
			return fmt.Errorf("fewer than %d files can be opened: %w; raise the limit of open "+
				"files (ulimit -n 1024)", filesLeast, err)
		}
		if err == nil {
			defer syscall.Close(fd)
		}
	}
	return nil
}
