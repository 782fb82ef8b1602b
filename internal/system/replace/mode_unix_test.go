//go:build unix

package replace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// writers are the two ways to replace a file.
var writers = map[string]func(path string) error{
	"File": func(path string) error { return File(path, Format{}, text("new")) },
	"Begin": func(path string) error {
		f, _, err := Begin(path, "head")
		if err == nil {
			err = errors.Join(Finish(f, path, []byte("head")), f.Close())
		}
		return err
	},
}

// A file keeps its mode when it is replaced. A new one has the mode of all new files, also where a
// save has left something behind.
func TestMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	for name, write := range writers {
		for _, was := range []os.FileMode{0, 0o600, 0o644, 0o664, 0o440} {
			path, want := filepath.Join(t.TempDir(), "file"), was
			if was == 0 {
				want = 0o640
			} else if err := errors.Join(os.WriteFile(path, nil, 0o600),
				os.Chmod(path, was)); err != nil {
				t.Fatal(err)
			}
			left := os.WriteFile(path+partialSuffix, []byte("head"), 0o604)
			if err := errors.Join(left, write(path)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v has become %v, want %v, %v", name, was, info.Mode(), want, err)
			}
		}
	}
}

// Nobody else reads what is to replace a file while it is written.
func TestModeWhileWritten(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	private := func(f *os.File) {
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	err := File(path, Format{}, func(w io.Writer) error { private(w.(*os.File)); return nil })
	f, _, beginErr := Begin(path, "head")
	if err = errors.Join(err, beginErr); err != nil {
		t.Fatal(err)
	}
	private(f)
	if err := Abandon(f); err != nil {
		t.Error(err)
	}
}

// A file keeps its owner and group where this user may give files to them.
func TestOwner(t *testing.T) {
	for name, write := range writers {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, nil, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 12345, 23456); err != nil {
			t.Skip(err)
		}
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		is := info.Sys().(*syscall.Stat_t)
		if is.Uid != 12345 || is.Gid != 23456 || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: user %d, group %d, %v", name, is.Uid, is.Gid, info.Mode())
		}
	}
}

// A group that the file is not given to gets no more than all others.
func TestWithoutGroup(t *testing.T) {
	for was, want := range map[os.FileMode]os.FileMode{0o660: 0o600, 0o664: 0o644, 0o666: 0o666,
		0o640: 0o600, 0o755: 0o755} {
		if got := withoutGroup(was); got != want {
			t.Errorf("%v becomes %v, want %v", was, got, want)
		}
	}
}
