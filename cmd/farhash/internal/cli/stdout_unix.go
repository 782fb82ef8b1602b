//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// stdoutClosed reports whether standard output was closed: Go's runtime has then opened the null
// device there, for reading and writing. Shells that discard output open it for writing; what
// starts programs with one null device for output and errors does not count either.
func stdoutClosed() bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	out, err := os.Stdout.Stat()
	if err != nil || !os.SameFile(null, out) {
		return err != nil
	}
	stdout, stderr := os.Stdout.Fd(), os.Stderr.Fd()
	flags, err := unix.FcntlInt(stdout, unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	// Flags belong to what is open, by whatever number.
	_, _ = unix.FcntlInt(stdout, unix.F_SETFL, flags^unix.O_APPEND)
	changed, err := unix.FcntlInt(stderr, unix.F_GETFL, 0)
	_, _ = unix.FcntlInt(stdout, unix.F_SETFL, flags)
	before, _ := unix.FcntlInt(stderr, unix.F_GETFL, 0)
	return err != nil || changed == before
}
