package dedup

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/dedup"
)

// The output is what the flags ask for, of files and of standard input.
func TestDedup(t *testing.T) {
	a, b := try.File(t, "a", "x,1\ny,1\nx,1\nz,2"), try.File(t, "b", "z,2\nw,3\n")
	objects := try.File(t, "objects", "{\"k\":1}\n{\"k\":2}\n{\"k\": 1}\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{a, b}, "x,1\ny,1\nz,2\nw,3\n"},
		{[]string{"--exact", a, "-", b}, "x,1\ny,1\nz,2\ninput\nw,3\n"},
		{nil, "input\n"},
		{[]string{"--field", "2", "--delimiter", ",", a, b}, "x,1\nz,2\nw,3\n"},
		{[]string{"--key", "k", objects}, "{\"k\":1}\n{\"k\":2}\n"},
		{[]string{"--count", a, b}, "      2 x,1\n      1 y,1\n      2 z,2\n      1 w,3\n"},
		{[]string{"--repeated", a, b}, "x,1\nz,2\n"},
		{[]string{"--unique", "--count", a, b}, "      1 y,1\n      1 w,3\n"},
		{[]string{"--count", "--field", "2", "--delimiter", ",", a, b},
			"      3 x,1\n      2 z,2\n      1 w,3\n"},
		{[]string{"--repeated", "--key", "k", objects}, "{\"k\":1}\n"},
		{[]string{"--null"}, "input\ninput\n\x00"},
		{[]string{"--record", "6"}, "input\n"},
	} {
		run := try.New(t, append([]string{"dedup"}, c.args...)...)
		run.Stdin = strings.NewReader("input\ninput\n")
		if err := run.Run(); err != nil || run.Out.String() != c.want ||
			!strings.Contains(run.Errors.String(), "distinct") {
			t.Errorf("%q: %q, want %q: %v %s", c.args, run.Out.String(), c.want, err,
				&run.Errors)
		}
	}
}

// Compressed files are read by their first bytes, and written by their names.
func TestDedupCompressed(t *testing.T) {
	in, folder := try.File(t, "in", "a\nb\na\n"), t.TempDir()
	for _, name := range []string{"x.gz", "x.zst"} {
		out := filepath.Join(folder, name)
		for _, args := range [][]string{{in, "-o", out}, {out, out}} {
			run := try.Run(t, append([]string{"dedup"}, args...)...)
			if text := run.Out.String(); run.Code() != 0 || args[0] == out && text != "a\nb\n" {
				t.Errorf("%s: %q, exit code %d: %s", name, text, run.Code(), &run.Errors)
			}
		}
	}
	file, err := os.Open(filepath.Join(folder, "x.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "a\nb\n" {
		t.Errorf("%q: %v", text, err)
	}
}

// What an earlier run has seen is not written again.
func TestDedupSeen(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	for _, c := range []struct{ in, want string }{{"a\nb\n", "a\nb\n"}, {"b\nc\n", "c\n"},
		{"a\nc\nd\n", "d\n"}} {
		run := try.Run(t, "dedup", "--seen", seen, try.File(t, "in", c.in))
		if run.Code() != 0 || run.Out.String() != c.want {
			t.Errorf("%q: %q: %s", c.in, run.Out.String(), &run.Errors)
		}
	}
}

// Where memory is full the output is what has fitted, and with the memory of the message all does.
func TestDedupFull(t *testing.T) {
	var text bytes.Buffer
	for i := range 200000 {
		fmt.Fprintln(&text, i)
	}
	in, out := try.File(t, "in", text.String()), filepath.Join(t.TempDir(), "out")
	run := try.Run(t, "dedup", "--mem", "2MiB", in, "-o", out)
	kept, err := os.ReadFile(out)
	if run.Code() != cli.ExitIncomplete || err != nil || len(kept) < 100000 ||
		!bytes.HasPrefix(text.Bytes(), kept) || kept[len(kept)-1] != '\n' {
		t.Fatalf("exit code %d, %d bytes: %v %s", run.Code(), len(kept), err, &run.Errors)
	}
	_, rest, _ := strings.Cut(run.Errors.String(), "--mem ")
	enough, _, _ := strings.Cut(rest, " ")
	half := try.File(t, "half", text.String()[:len(kept)*3/2])
	if run = try.Run(t, "dedup", "--mem", enough, half); run.Code() != 0 {
		t.Errorf("--mem %q is not enough: %s", enough, &run.Errors)
	}
}

// A full filter that is exact leaves the file of what was seen as it was.
func TestDedupExactFull(t *testing.T) {
	var text bytes.Buffer
	for i := range 200000 {
		fmt.Fprintln(&text, i)
	}
	in, seen := try.File(t, "in", text.String()), filepath.Join(t.TempDir(), "seen")
	few := try.File(t, "few", "x\ny\n")
	if run := try.Run(t, "dedup", "--exact", "--seen", seen, few); run.Code() != 0 {
		t.Fatal(&run.Errors)
	}
	before, err := os.ReadFile(seen)
	run := try.Run(t, "dedup", "--exact", "--seen", seen, "--mem", "2MiB", in)
	kept := run.Out.Bytes()
	if run.Code() != cli.ExitIncomplete || err != nil || len(kept) < 50000 ||
		!bytes.HasPrefix(text.Bytes(), kept) || kept[len(kept)-1] != '\n' {
		t.Errorf("exit code %d, %d bytes: %v %s", run.Code(), len(kept), err, &run.Errors)
	}
	after, errAfter := os.ReadFile(seen)
	if !bytes.Equal(before, after) || errAfter != nil ||
		!strings.Contains(run.Errors.String(), "the file of --seen is what it was") {
		t.Errorf("the file has %d bytes in place of %d, %v: %s", len(after), len(before), errAfter,
			&run.Errors)
	}
}

// Wrong flags and broken input are errors that say what is wrong; -o keeps what was there.
func TestDedupErrors(t *testing.T) {
	in, out := try.File(t, "in", "a\tb\n{}\n"), try.File(t, "out", "old")
	broken := try.File(t, "broken", "\x1f\x8bxxxxxxxxxxxxxxxxxxxxxxxxxxx")
	for _, c := range []struct {
		code    int
		message string
		args    []string
	}{
		{cli.ExitUsage, "--field must be 1 or more", []string{"--field", "0"}},
		{cli.ExitUsage, "--delimiter needs --field", []string{"--delimiter", ","}},
		{cli.ExitUsage, "--delimiter must be one byte", []string{"--field", "1", "--delimiter",
			"ab"}},
		{cli.ExitUsage, "--repeated and --unique", []string{"--repeated", "--unique"}},
		{cli.ExitUsage, "--record excludes", []string{"--record", "4", "--null"}},
		{cli.ExitUsage, "--record must be", []string{"--record", "-1"}},
		{cli.ExitUsage, "--seen keeps no counts", []string{"--count", "--seen", out}},
		{cli.ExitUsage, "is no size", []string{"--mem", "much"}},
		{cli.ExitUsage, "-o: ", []string{"-o", in}},
		{cli.ExitUsage, "-o and --seen name the same file", []string{"-o", in + ".new", "--seen",
			in + ".new"}},
		{cli.ExitFailure, "no such file", []string{in + ".none"}},
		{cli.ExitFailure, "is a folder", []string{filepath.Dir(in)}},
		{cli.ExitFailure, "gzip", []string{broken, "-o", out}},
		{cli.ExitFailure, "record 2: there is no field 2", []string{"--field", "2", "-o", out}},
		{cli.ExitFailure, "record 1: no JSON object", []string{"--key", "k", "-o", out}},
		{cli.ExitFailure, "last record has 1 bytes in place of 3", []string{"--record", "3",
			"-o", out}},
		{cli.ExitFailure, "--seen", []string{"--seen", out}},
	} {
		try.Fails(t, c.code, c.message, append([]string{"dedup", in}, c.args...)...)
		if text, err := os.ReadFile(out); string(text) != "old" {
			t.Errorf("%q: the output is %q: %v", c.args, text, err)
		}
	}
}

// The number of records is guessed of regular files alone, from their sizes and beginnings.
func TestDedupGuess(t *testing.T) {
	var text strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&text, "%07d\n", i)
	}
	a, zipped := try.File(t, "a", text.String()), filepath.Join(t.TempDir(), "a.gz")
	if c := try.Run(t, "dedup", a, "-o", zipped); c.Code() != 0 {
		t.Fatal(&c.Errors)
	}
	for _, c := range []struct {
		flags  dedupFlags
		inputs []string
		want   uint64
	}{
		{dedupFlags{}, []string{a}, 100001},
		{dedupFlags{}, []string{a, a}, 200002},
		{dedupFlags{format: dedup.Format{Null: true}}, []string{a}, 1},
		{dedupFlags{format: dedup.Format{RecordBytes: 16}}, []string{a}, 50001},
		{dedupFlags{}, []string{try.File(t, "empty", "")}, 1},
		{dedupFlags{}, []string{a, zipped}, 0},
		{dedupFlags{}, []string{a, os.DevNull}, 0},
		{dedupFlags{}, []string{a + "x"}, 0},
	} {
		if n := c.flags.guessRecords(c.inputs); n != c.want {
			t.Errorf("%v, %+v: %d records, want %d", c.inputs, c.flags.format, n, c.want)
		}
	}
}
