package replace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestFile(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{path, path, link} {
		if err := File(to, text("text of "+to)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "text of "+to {
			t.Errorf("after writing to %s there is %q, %v", to, got, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	failure := errors.New("no more")
	if err := File(path, func(w io.Writer) error { return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "text of "+link {
		t.Errorf("a failure left %q", got)
	}
	if list, _ := os.ReadDir(folder); len(list) != 2 {
		t.Errorf("files were left behind: %v", list)
	}
	for _, bad := range []string{folder, filepath.Join(folder, "none", "file")} {
		if err := File(bad, text("")); err == nil || strings.Contains(err.Error(), ".farhash-") {
			t.Errorf("writing to %s: %v", bad, err)
		}
	}
}

// What is no regular file is written to, and stays.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		text, err := os.ReadFile(path)
		got <- fmt.Sprint(string(text), err)
	}()
	if err := File(path, text("through it")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe was replaced: %v, %v", info, err)
	}
	if got := <-got; got != "through it<nil>" {
		t.Error(got)
	}
}

// A rank writes into the file that rank 0 has begun, and into no other that lies at the path.
func TestContinue(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "file")
	first, mark, err := Begin(here)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Continue(here, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	leave := func(content string) func() error {
		return func() error { return os.WriteFile(there+partialSuffix, []byte(content), 0o600) }
	}
	for _, before := range []func() error{
		func() error { return nil }, // nothing is there
		leave(""), leave("farhash"), leave(strings.Repeat("x", 1000)),
		func() error { // what a job has left that was killed
			f, _, err := Begin(there)
			return errors.Join(err, f.Close())
		},
	} {
		if err := before(); err != nil {
			t.Fatal(err)
		}
		was, _ := os.ReadFile(there + partialSuffix)
		var other *otherError
		if f, err := Continue(there, mark); !errors.As(err, &other) {
			t.Errorf("with %.20q there: %v, %v", was, f, err)
		}
		if is, _ := os.ReadFile(there + partialSuffix); string(is) != string(was) {
			t.Errorf("%.20q has become %.20q", was, is)
		}
	}
}
