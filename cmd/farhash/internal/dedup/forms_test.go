package dedup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/dedup"
	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// TestDedupForms: records end as they did, in each of the forms, and a tab may be written as \t.
func TestDedupForms(t *testing.T) {
	for _, c := range []struct {
		in, want string
		args     []string
	}{
		{"a\x00b\x00a\x00", "a\x00", []string{"--null", "--repeated"}},
		{"a\x00b\x00a\x00", "      2 a\x00      1 b\x00", []string{"--null", "--count"}},
		{"aabbaacc", "aa", []string{"--record", "2", "--repeated"}},
		{"aabbaacc", "bbcc", []string{"--record", "2", "--unique"}},
		{"a\tb\nc\tb\n", "a\tb\n", []string{"--field", "2"}},
		{"a\tb\nc\tb\n", "a\tb\n", []string{"--field", "2", "--delimiter", `\t`}},
		{"a b\nc b\n", "a b\n", []string{"--field", "2", "--delimiter", " "}},
		{"\"a,\n\",1\n\"a,\",2\n", "\"a,\n\",1\n\"a,\",2\n",
			[]string{"--field", "1", "--csv"}},
		{"\"a;b\";1\n\"a;c\";1\n", "\"a;b\";1\n",
			[]string{"--field", "2", "--csv", "--delimiter", ";"}},
		{"\"a,b\"\n\"a,c\"\n", "\"a,b\"\n",
			[]string{"--field", "1", "--csv=false", "--delimiter", ","}},
		{"a\na\na\n", "a\n", []string{"--repeated"}}, {"a\na\na\nb\n", "b\n", []string{"--unique"}},
	} {
		o := try.HereWith(t, c.in, append([]string{"dedup"}, c.args...)...)
		if o.Code != 0 || o.Out != c.want {
			t.Errorf("%q of %q: exit code %d, %q, want %q: %s", c.args, c.in, o.Code, o.Out,
				c.want, o.Errors)
		}
	}
}

// TestDedupQuotes: a field that begins with a quote is refused, and the message has the remedy.
func TestDedupQuotes(t *testing.T) {
	o := try.HereWith(t, "\"Smith, Ann\",10\n", "dedup", "--field", "1", "--delimiter", ",")
	o.Has(t, cli.ExitFailure, "record 1: field 1 begins with a quote; give --csv if quotes enclose")
}

// TestDedupSeenOf: a file of --seen that was made with --field 1 is refused with any other field or
// with whole lines, and stays as it was.
func TestDedupSeenOf(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	const in = "a\tb\nc\td\n"
	try.HereWith(t, in, "dedup", "--seen", seen, "--field", "1").Has(t, 0, "kept 2")
	before, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	const of = `is of field 1 separated by '\t' and not of `
	for args, want := range map[string]string{"": of + "whole records",
		"--field 2": of + "field 2 ", "--key b": of + `values of the key "b"`,
		"--field 1 --delimiter ,": of + "field 1 separated",
		"--exact --field 1":       "is no farhash dedup of records"} {
		o := try.HereWith(t, in, strings.Fields("dedup --seen "+seen+" "+args)...)
		o.Has(t, cli.ExitFailure, want)
		if after, err := os.ReadFile(seen); string(after) != string(before) || o.Out != "" {
			t.Errorf("%s: %q; the file has changed, or %v", args, o.Out, err)
		}
	}
	try.HereWith(t, in+"e\tb\n", "dedup", "--seen", seen, "--field", "1").Has(t, 0, "kept 1")
}

// TestDedupSummary: the summary counts what was read and what was kept, and says how certain that
// is. --quiet has none.
func TestDedupSummary(t *testing.T) {
	const in = "a\nbb\na\na\n"
	for flag, want := range map[string][]string{
		"": {"read 4 records (9 B), kept 2 (5 B); 2 distinct in ",
			"dropped wrongly: at most "},
		"--exact":    {"read 4 records (9 B), kept 2 (5 B); 2 distinct in ", "!dropped wrongly"},
		"--repeated": {"read 4 records (9 B), kept 1 (2 B); 2 distinct in ", "!dropped wrongly"},
		"--quiet":    {"!read", "!chance"},
	} {
		o := try.HereWith(t, in, strings.Fields("dedup "+flag)...)
		o.Has(t, 0, want...)
		if strings.Contains(o.Errors, "earlier runs") {
			t.Errorf("%s: %s", flag, o.Errors)
		}
	}
}

// TestDedupInterrupted: a run that is interrupted has written what it had read, and says so by its
// exit code.
func TestDedupInterrupted(t *testing.T) {
	in, out := try.File(t, "in", "a\n"), filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := dedupFlags{quiet: true, out: out}
	err := f.alone(ctx, []string{in}, dedup.Config{MemoryBytes: 4 << 20})
	var exit *cli.ExitError
	if !errors.As(err, &exit) || exit.Code != cli.ExitInterrupt {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}

// TestDedupEnds: the end of a name says how output is compressed, and the first bytes how input is.
func TestDedupEnds(t *testing.T) {
	in := try.File(t, "in", strings.Repeat("a\nb\n", 100))
	for ending, magic := range map[string]string{".gz": gzipMagic, ".zst": zstdMagic,
		".txt": "a\n"} {
		out := filepath.Join(t.TempDir(), "out"+ending)
		try.Here(t, "dedup", "-q", in, "-o", out).Has(t, 0, "")
		text, err := os.ReadFile(out)
		if err != nil || !strings.HasPrefix(string(text), magic) {
			t.Errorf("%s begins with %.10q, %v", ending, text, err)
		}
		if again := try.Here(t, "dedup", "-q", out, in); again.Code != 0 || again.Out != "a\nb\n" {
			t.Errorf("of %s: exit code %d, %q: %s", ending, again.Code, again.Out, again.Errors)
		}
	}
}

// TestDedupSeenHeld: a run that finds another one at its file of --seen ends at once, also as a
// rank. One that has ended leaves no lock.
func TestDedupSeenHeld(t *testing.T) {
	seen, in := filepath.Join(t.TempDir(), "seen"), try.File(t, "in", "a\n")
	release, err := replace.Hold(seen)
	if err != nil {
		t.Fatal(err)
	}
	try.Here(t, "dedup", in, "--seen", seen).Has(t, cli.ExitFailure,
		"--seen: another process uses "+seen)
	err = local.Run(2, func(job rma.Job) error {
		f := dedupFlags{unordered: true, exact: true, out: filepath.Join(t.TempDir(), "out"),
			seen: seen}
		return f.shared(t.Context(), job, []string{in}, dedup.Config{Exact: true})
	})
	if err == nil || !strings.Contains(err.Error(), "another process uses ") {
		t.Errorf("ranks: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	try.Here(t, "dedup", in, "--seen", seen).Has(t, 0, "")
	if _, err := os.Stat(seen + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock of a run that has ended: %v", err)
	}
}
