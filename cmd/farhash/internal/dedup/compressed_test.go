package dedup

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/dedup"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// bzip2Of is what bzip2 -9 makes of "a\nb\n".
const bzip2Of = "425a68393141592653593c854112000001410000103000200030cc0c7a8271772453850903c8541120"

// packed compresses by a writer.
func packed(t *testing.T, text string, open func(w io.Writer) (io.WriteCloser, error)) string {
	t.Helper()
	var out bytes.Buffer
	w, err := open(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestDedupReads: input is decompressed as its first bytes say, in all forms that its programs
// write.
func TestDedupReads(t *testing.T) {
	gz := packed(t, "a\nb\n", func(w io.Writer) (io.WriteCloser, error) {
		return gzip.NewWriter(w), nil
	})
	zst := packed(t, "a\nb\n", func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w)
	})
	bz, err := hex.DecodeString(bzip2Of)
	if err != nil {
		t.Fatal(err)
	}
	skipped := "\x2a\x4d\x18\x04\x00\x00\x00size"
	zeros := strings.Repeat("\x00", 100<<10)
	for name, in := range map[string]string{"gzip": gz, "gzip, members": gz + gz,
		"gzip, padded": gz + zeros, "gzip, members and zeros": gz + zeros + gz + "\x00",
		"zstd": zst, "zstd, frames": zst + zst,
		"pzstd":                      "\x50" + skipped + zst + "\x50" + skipped + zst,
		"zstd, last skippable frame": "\x5f" + skipped + zst,
		"bzip2":                      string(bz), "bzip2, streams": string(bz) + string(bz)} {
		o := try.HereWith(t, in, "dedup")
		if o.Code != 0 || o.Out != "a\nb\n" {
			t.Errorf("%s: exit code %d, %q: %s", name, o.Code, o.Out, o.Errors)
		}
		if o := try.HereWith(t, in+"x", "dedup"); o.Code != cli.ExitFailure {
			t.Errorf("%s with more: exit code %d, %q: %s", name, o.Code, o.Out, o.Errors)
		}
		if !isCompressed(openFile(t, try.File(t, "in", in))) {
			t.Errorf("%s is not compressed", name)
		}
	}
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestDedupOthers: what is compressed in other ways is refused, and never taken for lines, unless
// --plain says that it is lines.
func TestDedupOthers(t *testing.T) {
	for _, c := range compressions {
		for i, magic := range c.begins {
			if i > 0 && i < len(c.begins)-1 {
				continue
			}
			if len(magic) > longestMagic {
				t.Errorf("%s begins with %d bytes", c.name, len(magic))
			}
			in := magic + "rest\nrest\nrest\n"
			want := c.name
			if c.open == nil {
				want = "it is compressed by " + c.name + ", which is not read here; give what " +
					c.plain
			}
			if o := try.HereWith(t, in, "dedup"); o.Code != cli.ExitFailure || o.Out != "" ||
				c.open == nil && !strings.Contains(o.Errors, want) {
				t.Errorf("%s: exit code %d, %q: %s", c.name, o.Code, o.Out, o.Errors)
			}
			o := try.HereWith(t, in, "dedup", "--plain")
			if o.Code != 0 || o.Out != magic+"rest\nrest\n" {
				t.Errorf("%s --plain: exit code %d, %q: %s", c.name, o.Code, o.Out, o.Errors)
			}
		}
	}
	for _, text := range []string{"", "B", "BZh", "BZh9", "BZh0" + "1AY&SY", "P", "PK", "\x1f"} {
		o := try.HereWith(t, text, "dedup")
		if o.Code != 0 || strings.TrimSuffix(o.Out, "\n") != text {
			t.Errorf("%q: exit code %d, %q: %s", text, o.Code, o.Out, o.Errors)
		}
	}
	try.Here(t, "dedup", "-o", filepath.Join(t.TempDir(), "out.xz")).Has(t, cli.ExitUsage,
		"output is compressed by gzip or zstd, in files that end in .gz or .zst")
}

// TestDedupShareBegins: only the first bytes of a file say that it is compressed, and not those of
// a share; with --plain none do.
func TestDedupShareBegins(t *testing.T) {
	line := gzipMagic + strings.Repeat("x", 100) + "\n"
	for _, plain := range []bool{false, true} {
		text := strings.Repeat("y", len(line)) + "\n" + line // of which each rank reads one line
		if plain {
			text = line + "last\n"
		}
		in, out := try.File(t, "in", text), filepath.Join(t.TempDir(), "out")
		err := local.Run(2, func(job rma.Job) error {
			f := dedupFlags{unordered: true, quiet: true, out: out, plain: plain}
			return f.shared(t.Context(), job, []string{in}, dedup.Config{MemoryBytes: 1 << 20})
		})
		if err != nil {
			t.Fatal(err)
		}
		all := ""
		for rank := range 2 {
			part, err := os.ReadFile(partOf(out, rank))
			if err != nil {
				t.Fatal(err)
			}
			all += string(part)
		}
		if all != text {
			t.Errorf("plain %v: %q", plain, all)
		}
	}
	f, path := dedupFlags{plain: true}, try.File(t, "in", line)
	if size, err := f.dividedBytes(path); err != nil || size != int64(len(line)) {
		t.Errorf("--plain: %d bytes are divided, %v", size, err)
	}
	if n := f.guessOf(path); n == 0 {
		t.Error("--plain: no guess of how many lines there are")
	}
}
