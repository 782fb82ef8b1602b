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
// lead to. special tells that it is there and is no regular file but, say, a device or a
// pipe, which must be written to and not replaced. A folder is an error.
func Target(path string) (target string, special bool, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	if err != nil {
		return "", false, err
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, fmt.Errorf("%s is a folder", path)
	}
	return target, !info.Mode().IsRegular(), nil
}

// File has write write a file, which is there when that has succeeded. A device or a
// pipe is written to.
func File(path string, write func(w io.Writer) error) error {
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
		if errors.As(err, &of) { // the name of the file for the time being tells nobody anything
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
