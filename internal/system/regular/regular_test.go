package regular

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpen: whatever else is at a path is refused at once.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mkfifo", at("pipe")).Run(); err != nil {
		t.Skip(err)
	}
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for link, to := range map[string]string{"link": "file", "link to pipe": "pipe"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, reading, writing string }{
		{at("file"), "", ""},
		{at("link"), "", "symbolic link"},
		{at("pipe"), "it is a pipe", "it is a pipe"},
		{at("link to pipe"), "it is a pipe", "symbolic link"},
		{at("socket"), "no such device", "no such device"},
		{dir, "it is a folder", "is a directory"},
		{os.DevNull, "it is a device", "it is a device"},
		{at("none"), "no such file", "no such file"},
	} {
		for _, open := range []struct {
			open func(path string) (*os.File, error)
			want string
		}{
			{Open, c.reading},
			{func(path string) (*os.File, error) { return OpenToWrite(path, 0, 0) }, c.writing},
		} {
			f, err := open.open(c.path)
			switch {
			case err == nil && open.want != "":
				t.Errorf("%s is opened, want %q", c.path, open.want)
			case err != nil && (open.want == "" || !strings.Contains(err.Error(), open.want) ||
				!strings.Contains(err.Error(), c.path)):
				t.Errorf("%s: %v, want %q", c.path, err, open.want)
			}
			_ = f.Close()
		}
	}
}
