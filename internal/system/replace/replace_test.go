package replace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		if err := File(to, Format{}, text("text of "+to)); err != nil {
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
	err := File(path, Format{}, func(w io.Writer) error { return failure })
	if !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "text of "+link {
		t.Errorf("a failure left %q", got)
	}
	if list, _ := os.ReadDir(folder); len(list) != 2 {
		t.Errorf("files were left behind: %v", list)
	}
	for _, bad := range []string{folder, filepath.Join(folder, "none", "file")} {
		err := File(bad, Format{}, text(""))
		if err == nil || strings.Contains(err.Error(), ".farhash-") {
			t.Errorf("writing to %s: %v", bad, err)
		}
	}
}

// What is no regular file is written to, and stays.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		text, err := os.ReadFile(path)
		got <- fmt.Sprint(string(text), err)
	}()
	if err := File(path, Format{}, text("through it")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe was replaced: %v, %v", info, err)
	}
	if got := <-got; got != "through it<nil>" {
		t.Error(got)
	}
}

// A rank writes into the file that rank 0 has begun, and into no other at the path.
func TestContinue(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "file")
	first, mark, err := Begin(here, "head")
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
			if err := os.Remove(there + partialSuffix); err != nil {
				return err
			}
			f, _, err := Begin(there, "head")
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

// What is beside a target that a save is to replace, and no save has left there, is refused and
// stays as it is.
func TestForeignPartial(t *testing.T) {
	folder := t.TempDir()
	target, other := filepath.Join(folder, "file"), filepath.Join(folder, "other")
	marked := string(append([]byte(markMagic), make([]byte, 1000)...))
	for _, c := range []struct {
		want string
		make func(partial string) error
	}{
		{"symbolic link", func(partial string) error { return os.Symlink("other", partial) }},
		{"symbolic link", func(partial string) error { return os.Symlink("none", partial) }},
		{"2 names", func(partial string) error { return os.Link(other, partial) }},
		{"rename or remove it", func(partial string) error {
			return os.WriteFile(partial, []byte("<pnml>"), 0o600)
		}},
		{"a pipe", func(partial string) error { return exec.Command("mkfifo", partial).Run() }},
		{"directory", func(partial string) error { return os.Mkdir(partial, 0o700) }},
		{"belongs to user 1 ", func(partial string) error {
			return errors.Join(os.WriteFile(partial, []byte(marked), 0o666),
				os.Chown(partial, 1, -1))
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			if err := os.WriteFile(other, []byte(marked), 0o600); err != nil {
				t.Fatal(err)
			}
			partial := target + partialSuffix
			if err := c.make(partial); errors.Is(err, os.ErrPermission) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(partial)
			f, _, err := Begin(target, "head")
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), partial) {
				t.Errorf("%v, want %q", err, c.want)
			}
			_ = f.Close()
			after, err := os.Lstat(partial)
			if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
				t.Errorf("%v has become %v, %v", before, after, err)
			}
			if is, _ := os.ReadFile(other); string(is) != marked {
				t.Errorf("the other file was written to: %q", is)
			}
			if err := os.Remove(partial); err != nil {
				t.Error(err)
			}
		})
	}
	if list, _ := filepath.Glob(filepath.Join(folder, "none")); list != nil {
		t.Errorf("%v was made", list)
	}
}

// TestTarget: links are followed to what they lead to, and one that leads to nothing is refused.
func TestTarget(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	for link, to := range map[string]string{"link": "file", "again": "link", "void": "none",
		"void again": "void"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"file": "file", "link": "file", "again": "file",
		"none": "none"} {
		got, special, err := Target(at(path), Format{})
		if got != at(want) || special || err != nil {
			t.Errorf("%s leads to %s, %v, %v, not to %s", path, got, special, err, want)
		}
	}
	for path, want := range map[string]string{"void": "link to none, which is not there",
		"void again": "link to void, which is not there", ".": "is a folder"} {
		got, _, err := Target(at(path), Format{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s leads to %q, %v, want %q", path, got, err, want)
		}
	}
	got, special, err := Target(os.DevNull, Format{})
	if got != os.DevNull || !special || err != nil {
		t.Errorf("%s, %v, %v", got, special, err)
	}
}

// What is standard output already is written to, by whatever name, and not replaced.
func TestStandardOutput(t *testing.T) {
	defer func(f *os.File) { os.Stdout = f }(os.Stdout)
	folder := t.TempDir()
	path, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	for _, c := range []struct {
		kind string
		open func() (in, out *os.File, err error)
	}{
		{"file", func() (in, out *os.File, err error) {
			if out, err = os.Create(path); err == nil {
				in, err = os.Open(path)
			}
			return in, out, err
		}},
		{"pipe", os.Pipe},
	} {
		in, out, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(link)
		if err := os.Symlink(fmt.Sprintf("/dev/fd/%d", out.Fd()), link); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(link); err != nil {
			t.Skip(err)
		}
		os.Stdout = out
		fmt.Print("before, ")
		err = File(link, Format{}, text("now"))
		fmt.Print(", after")
		if err = errors.Join(err, out.Close()); err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
		got, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil || string(got) != "before, now, after" {
			t.Errorf("%s: %q, %v", c.kind, got, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

// What a save has left behind is used again, at whatever moment it ended.
func TestLeftBehind(t *testing.T) {
	target := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"", markText(1), markText(2) + "blocks", "header, blocks"} {
		if err := os.WriteFile(target+partialSuffix, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, mark, err := Begin(target, "head")
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		if head, err := os.ReadFile(f.Name()); string(head) != markText(mark) || err != nil {
			t.Errorf("%q has become %q, %v", content, head, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
