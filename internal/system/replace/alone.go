package replace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/farhash/farhash/internal/system/regular"
)

// lockSuffix marks an empty file that is locked while a process reads and replaces the file beside
// it.
const lockSuffix = ".lock"

// Hold keeps other processes from holding the file at a path until release is called, or this
// process ends. So of processes that read a file and then replace it none replaces what another
// one has written in between. The file need not be there yet. Where files cannot be locked, as on
// Windows, Hold keeps nobody out.
func Hold(path string) (release func() error, err error) {
	target, _, err := Target(path, Format{})
	if err != nil {
		return nil, err
	}
	for range maxTries {
		f, err := regular.OpenToWrite(target+lockSuffix, os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = hold(f, path)
		if err == nil {
			return func() error { return letGo(f) }, nil
		}
		if err = errors.Join(err, f.Close()); !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is used by others all the time; use another file", path)
}

// hold locks a file that is beside the one at a path. The error is fs.ErrNotExist if the process
// that had locked it has removed it.
func hold(f *os.File, path string) error {
	if lock(f) != nil {
		return fmt.Errorf("another process uses %s; wait until it has ended, or use another file",
			path)
	}
	if !named(f) {
		return fs.ErrNotExist
	}
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		return errors.Join(err, fmt.Errorf("%s is no lock that farhash has left behind; rename or "+
			"remove it", f.Name()))
	}
	return nil
}

// letGo removes the file while it is locked: whoever has opened it meanwhile sees that it is gone.
func letGo(f *os.File) error {
	if !named(f) {
		return f.Close()
	}
	if err := os.Remove(f.Name()); err == nil {
		return f.Close()
	}
	_ = f.Close() // where open files are not removed
	return os.Remove(f.Name())
}
