// Package replace writes files that are the old ones or the new ones at any time.
package replace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Target is the file that is to be replaced when a path is written to: what symbolic links
// lead to. special reports that it exists and is no regular file but, say, a device or a
// pipe, which must be written to and not replaced. A folder is an error, and so is a symbolic
// link that leads to nothing. If the link were replaced, the file would lie where it is not wanted.
// If the file were made that the link names, others who share the folder could choose which file
// of the user's is made.
func Target(path string) (target string, special bool, err error) {
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
	target, err = filepath.EvalSymlinks(path)
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

// File calls write to write a file that a user names. The file is replaced when that has succeeded.
// A device or a pipe is written to directly. So is the file of standard output or error: under a
// name like /dev/stdout the file of a shell is continued, and not replaced.
func File(path string, write func(w io.Writer) error) error {
	for _, open := range []*os.File{os.Stdout, os.Stderr} {
		this, openErr := open.Stat()
		that, err := os.Stat(path)
		if openErr == nil && err == nil && os.SameFile(this, that) {
			return write(open)
		}
	}
	target, special, err := Target(path)
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
	f, err := os.CreateTemp(folder, ".farhash-*")
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) { // the name of the temporary file is of no use to a user
			return fmt.Errorf("a file in %s: %w", folder, of.Err)
		}
		return err
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
