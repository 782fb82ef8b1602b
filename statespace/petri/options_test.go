package petri_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// endless is a text that repeats; it counts what is read of it, and ends the test's patience.
type endless struct {
	text string
	read int
	most int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.read > e.most {
		return 0, fmt.Errorf("%d bytes were read", e.read)
	}
	for i := range b {
		b[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(b)
	return len(b), nil
}

// What never ends, or is too long, is refused with its line and the limit when no more than that
// was read.
func TestLimits(t *testing.T) {
	const begin = "<pnml>\n<net id='n'>\n"
	for _, c := range []struct {
		name, begin, repeated, want string
		limits                      petri.Options
		most                        int
	}{
		{"NULs", "", "\x00", "line 1: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"text", begin, "x", "line 2: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"blank text", begin, "\n", "line 2: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"name of a tag", begin + "<", "x", "line 3: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"attributes", begin + "<place ", "id='n' ", "line 3: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"comment", begin + "<!--", "x", "line 3: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"CDATA", begin + "<![CDATA[", "x", "more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"declaration", "<!DOCTYPE ", "x", "line 1: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"processing instruction", "<?x ", "x", "line 1: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"UTF-16", "\xff\xfe<\x00", "x\x00", "line 1: more than 100000 bytes",
			petri.Options{TextBytes: 1e5}, 1 << 18},
		{"file", begin + "<toolspecific>", "<a/>\n",
			"the file has more than 300000 bytes; if it is a net, raise this limit",
			petri.Options{FileBytes: 3e5}, 1 << 19},
		{"text in pieces", begin + "<name><text>", "x<!---->",
			"the file has more than 300000 bytes", petri.Options{FileBytes: 3e5}, 1 << 19},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest := &endless{text: c.repeated, most: c.most}
			_, err := c.limits.Read(io.MultiReader(strings.NewReader(c.begin), rest))
			var bad *petri.SyntaxError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A file of short texts may be longer than the longest text.
func TestManyTexts(t *testing.T) {
	comment := "<!--" + strings.Repeat("x", 1000) + "-->"
	file := inNet(strings.Repeat(comment, 1000) + twoNodes)
	if n, err := (petri.Options{TextBytes: 100_000}).Read(strings.NewReader(file)); err != nil {
		t.Errorf("%d bytes: %+v, %v", len(file), n, err)
	}
}

// A file may be as long as the limit says, and a text too.
func TestWithinLimits(t *testing.T) {
	const long = 300 << 10
	file := strings.Replace(inNet(twoNodes), "<place ",
		"<!--"+strings.Repeat("x", long)+"--><place ", 1)
	limits := petri.Options{FileBytes: int64(len(file)), TextBytes: long + 7}
	if _, err := limits.Read(strings.NewReader(file)); err != nil {
		t.Error(err)
	}
	limits.FileBytes--
	if _, err := limits.Read(strings.NewReader(file)); err == nil {
		t.Error("a byte too many is read")
	}
	path := filepath.Join(t.TempDir(), "net.pnml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := limits.ReadFile(path)
	want := fmt.Sprintf("%s: line 1: the file has more than %d bytes", path, limits.FileBytes)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	limits.FileBytes++
	if _, err := limits.ReadFile(path); err != nil {
		t.Error(err)
	}
}

// A pipe that nobody writes to is refused at once, and a device that never ends when it is as
// long as a text may be. A pipe that somebody writes to is read.
func TestReadFileOfNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{os.DevNull: ": line 1: the file is empty",
		pipe:        " (a pipe, which its writer opens first): line 1: the file is empty",
		"/dev/zero": ": line 1: more than 16777216 bytes follow without the next tag",
	} {
		if _, err := petri.ReadFile(path); err == nil ||
			!strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%v, want %q", err, path+want)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = io.WriteString(w, inNet(twoNodes))
		_ = w.Close()
	}()
	n, err := petri.ReadFile(fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if err != nil || len(n.Places) != 1 {
		t.Errorf("through a pipe: %+v, %v", n, err)
	}
}

// A file that gzip has compressed is read like the file before. The limits are of what it holds,
// and one that is damaged is an error.
func TestReadCompressed(t *testing.T) {
	want, err := petri.Family("philosophers", 20)
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if err := petri.Write(&plain, want); err != nil {
		t.Fatal(err)
	}
	pack := func(text []byte) []byte {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(text); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		return packed.Bytes()
	}
	file := pack(plain.Bytes())
	path := filepath.Join(t.TempDir(), "net.pnml.gz")
	read := func(file []byte, limits petri.Options) (*petri.Net, error) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return limits.ReadFile(path)
	}
	got, err := read(file, petri.Options{FileBytes: int64(plain.Len())})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the net is another one: %v", err)
	}
	// Files of gzip may be put one after the other.
	halves := append(pack(plain.Bytes()[:1000]), pack(plain.Bytes()[1000:])...)
	got, err = read(halves, petri.Options{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a file of two parts is another net: %v", err)
	}
	for says, damaged := range map[string][]byte{
		"unexpected EOF":   file[:len(file)/2],
		"invalid checksum": append(bytes.Clone(file[:len(file)-8]), make([]byte, 8)...),
		"gzip: invalid":    []byte("\x1f\x8bnothing that gzip knows"),
	} {
		_, err := read(damaged, petri.Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a damaged file: %v, want %q", err, says)
		}
	}
	_, err = read(file, petri.Options{FileBytes: int64(plain.Len()) - 1})
	if err == nil || !strings.Contains(err.Error(), "the file has more than") {
		t.Errorf("a long file: %v", err)
	}
}
