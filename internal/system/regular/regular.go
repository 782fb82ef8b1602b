// Package regular opens files without waiting, and refuses files that are not regular where only
// these can be used.
//
// Opening a pipe waits for the process at its other end, and a signal that is caught does not end
// that wait. A saved table is read at any offset, by each rank separately, which a pipe or a device
// does not allow.
package regular

import (
	"errors"
	"os"
)

// OpenStream opens a file to be read once, from its beginning: a pipe or a device will do. A pipe
// that nobody has opened to write is empty.
func OpenStream(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|noWait, 0)
}

// Open opens a regular file to be read. Links are followed.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY, 0) }

// OpenToWrite opens a regular file to be read and written, with more flags of os.OpenFile and the
// mode of a new one. A symbolic link is refused: who may make files in the folder could have
// it lead to any file of the user's.
func OpenToWrite(path string, flags int, mode os.FileMode) (*os.File, error) {
	f, err := open(path, os.O_RDWR|flags|noFollow, mode)
	if err == nil {
		return f, nil
	}
	if info, statErr := os.Lstat(path); statErr == nil && info.Mode()&os.ModeSymlink != 0 &&
		flags&os.O_EXCL == 0 {
		return nil, refusal(path, "it is a symbolic link, which is not followed; remove it")
	}
	return nil, err
}

func open(path string, flags int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|noWait, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refusal(path, "it is "+Kind(info.Mode())+" and no regular file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func refusal(path, why string) error {
	return &os.PathError{Op: "open", Path: path, Err: errors.New(why)}
}

// Kind says in words what a file is.
func Kind(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	}
	return "a file"
}
