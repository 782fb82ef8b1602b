//go:build unix && !solaris && !aix

package replace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHold: a file is held once at a time, by whatever name, and leaves nothing behind.
func TestHold(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	for _, there := range []bool{false, true} {
		release, err := Hold(path)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			if err := os.Symlink("file", link); err != nil {
				t.Fatal(err)
			}
			if again, err := Hold(link); err == nil || !strings.Contains(err.Error(),
				"another process uses "+link) {
				t.Errorf("held twice: %v", errors.Join(err, again()))
			}
		}
		if _, err := Hold(path); err == nil {
			t.Error("held twice")
		}
		other, err := Hold(path + "2")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(other(), release(), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, "*"+lockSuffix)); left != nil {
			t.Errorf("%v was left behind", left)
		}
	}
}

// Hold takes a lock file that a killed process has left behind. If the process that held the lock
// removes the file meanwhile, Hold makes another one. A file that is no lock is refused, and stays.
func TestHoldLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	old, err := os.Create(path + lockSuffix)
	if err != nil {
		t.Fatal(err)
	}
	release, err := Hold(path) // as what was left behind
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := hold(old, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a lock that is not there any more: %v", err)
	}
	err = errors.Join(old.Close(), os.WriteFile(path+lockSuffix, []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(path); err == nil || !strings.Contains(err.Error(), "is no lock") {
		t.Errorf("a file: %v", err)
	}
	if text, err := os.ReadFile(path + lockSuffix); string(text) != "x" {
		t.Errorf("it has become %q, %v", text, err)
	}
}
