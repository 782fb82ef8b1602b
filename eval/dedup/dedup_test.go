package dedup

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A file has lines of its length, of which so many repeat one before.
func TestWriteLines(t *testing.T) {
	for _, lineBytes := range []int{12, 40, 200} {
		path := filepath.Join(t.TempDir(), "lines")
		const lines, repeats = 20000, 90
		n, err := writeLines(path, uint64(lines*lineBytes+lineBytes-1), lineBytes, repeats, 7)
		if n != lines || err != nil {
			t.Fatal(n, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) != lines*lineBytes {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		seen := map[string]bool{}
		for line := range bytes.Lines(text) {
			if len(line) != lineBytes {
				t.Fatalf("%q has %d bytes, want %d", line, len(line), lineBytes)
			}
			seen[string(line)] = true
		}
		// 2000 are expected, with a deviation of 42.
		if len(seen) < 1700 || len(seen) > 2300 {
			t.Errorf("%d distinct lines of %d bytes, want about 2000", len(seen), lineBytes)
		}
	}
}

// A digest tells which lines there are, in any order and however often.
func TestDigest(t *testing.T) {
	of := func(text string) (d digest) {
		path := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.add(path); err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := of("a\nb\nc\n")
	if got := of("c\na\nb\n"); got != want || want.lines != 3 {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, other := range []string{"", "a\nb\n", "a\nb\nd\n", "a\nb\nc\nc\n", "ab\n\nc\n"} {
		if of(other) == want {
			t.Errorf("%q is taken for the same", other)
		}
	}
}
