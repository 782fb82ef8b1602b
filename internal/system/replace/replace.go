// Package replace writes files that are the old ones or the new ones at any time. What is replaced
// is empty or has the format that is written: a file of another format is refused. The new file has
// the mode of the old one, and its owner and group where this user may give files to them.
package replace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/farhash/farhash/internal/system/regular"
)

// Format is a format of files.
type Format struct {
	Name string // as in "it is no NAME"
	// Known reports whether a file has this format that begins with head, which has headBytes
	// unless the file is shorter. nil: any file will do.
	Known func(head []byte) bool
}

// headBytes is how much of a file is read to find out its format.
const headBytes = 4096

// check refuses a file of another format, which is not empty.
func (is Format) check(path string) error {
	if is.Known == nil {
		return nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return fmt.Errorf("what would be replaced cannot be read: %w; name another file", err)
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	switch {
	case errors.Is(err, io.EOF): // it is empty
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case !is.Known(head[:n]):
		return fmt.Errorf("%s is no %s, and would be lost; remove it, or name another file", path,
			is.Name)
	}
	return nil
}

// Target is the file that is to be replaced when a path is written to: what symbolic links
// lead to. special reports that it exists and is no regular file but, say, a device or a
// pipe, which must be written to and not replaced. A folder is an error, and so are a file of
// another format and a symbolic link that leads to nothing. If the link were replaced, the file
// would be where it is not wanted. If the file were made that the link names, others who share the
// folder could choose which file of the user's is made.
func Target(path string, is Format) (target string, special bool, err error) {
	info, err := os.Stat(path) // the system follows no links that it knows to be dangerous
	if errors.Is(err, fs.ErrNotExist) {
		if to, err := os.Readlink(path); err == nil {
			return "", false, fmt.Errorf("%s is a symbolic link to %s, which is not there; make "+
				"an empty file there, or remove the link", path, to)
		}
		return path, false, nil
	}
	switch {
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		return path, true, nil
	}
	if target, err = filepath.EvalSymlinks(path); err == nil {
		err = is.check(target)
	}
	return target, false, err
}

// Same reports whether two paths lead to one file, by whatever names and links.
func Same(path, other string) bool {
	this, err := os.Stat(path)
	if err != nil {
		return false
	}
	that, err := os.Stat(other)
	return err == nil && os.SameFile(this, that)
}

// Spares says which of the files that a command reads would be lost if it wrote to a path.
func Spares(path string, inputs ...string) error {
	for _, input := range inputs {
		if Same(path, input) {
			return fmt.Errorf("%s would replace %s, which is read; name another file", path, input)
		}
	}
	return nil
}

// Writable says why File would fail for a path, before what is to be written is known. inputs are
// files that are read.
func Writable(path string, is Format, inputs ...string) error {
	if err := Spares(path, inputs...); err != nil {
		return err
	}
	target, special, err := Target(path, is)
	if err != nil || special {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".farhash-*")
	if err != nil {
		return fmt.Errorf("no file can be made in its folder: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// File calls write to write a file that a user names. The file is replaced when that has succeeded.
// A device or a pipe is written to directly. So is the file of standard output or error: under a
// name like /dev/stdout the file of a shell is continued, and not replaced.
func File(path string, is Format, write func(w io.Writer) error) error {
	for _, open := range []*os.File{os.Stdout, os.Stderr} {
		this, openErr := open.Stat()
		that, err := os.Stat(path)
		if openErr == nil && err == nil && os.SameFile(this, that) {
			return write(open)
		}
	}
	target, special, err := Target(path, is)
	if err != nil {
		return err
	}
	if special {
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	folder := filepath.Dir(target)
	f, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf(".farhash-%x", rand.Uint64())),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, newMode(target))
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) { // the name of the temporary file is of no use to a user
			return fmt.Errorf("a file in %s: %w", folder, of.Err)
		}
		return err
	}
	err = errors.Join(write(f), inherit(f, target), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
