package dedup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/dedup"
)

// Several processes write each record once, of files that they divide or deal, and of all formats.
func TestDedupShared(t *testing.T) {
	var text, null, records strings.Builder
	want := map[string]bool{}
	for i := range 20000 {
		line := fmt.Sprintf("line%07d", i*i%7919)
		want[line] = true
		fmt.Fprintln(&text, line)
		fmt.Fprintf(&null, "%s\x00", line)
		records.WriteString(line)
	}
	all := slices.Sorted(func(yield func(string) bool) {
		for line := range want {
			if !yield(line) {
				return
			}
		}
	})
	a := try.File(t, "a", text.String())
	b, fixed := try.File(t, "b", null.String()), try.File(t, "c", records.String())
	zipped := filepath.Join(t.TempDir(), "a.gz")
	if c := try.Run(t, "dedup", a, "-o", zipped); c.Code() != 0 {
		t.Fatal(&c.Errors)
	}
	for _, c := range []struct {
		args []string
		end  string
	}{
		{[]string{a}, "\n"}, {[]string{a, zipped, a}, "\n"}, {[]string{"--null", b}, "\x00"},
		{[]string{"--record", "11", fixed}, ""}, {[]string{"--exact", a, zipped}, "\n"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{"dedup", "--unordered", "-o", out}, c.args...)
		run := try.Run(t, try.Launched(t, "3", args...)...)
		if run.Code() != 0 {
			t.Errorf("%q: %s", c.args, &run.Errors)
			continue
		}
		var got []string
		for rank := range 3 {
			part, err := os.ReadFile(partOf(out, rank))
			if err != nil {
				t.Error(err)
			}
			size := len("line0000000") + len(c.end)
			for ; len(part) >= size; part = part[size:] {
				got = append(got, strings.TrimSuffix(string(part[:size]), c.end))
			}
		}
		if slices.Sort(got); !slices.Equal(got, all) {
			t.Errorf("%q: %d records, want %d", c.args, len(got), len(all))
		}
		if n := strings.Count(run.Errors.String(), "distinct"); n != 1 {
			t.Errorf("%q: %d summaries: %s", c.args, n, &run.Errors)
		}
	}
}

// Runs of any number of processes continue with the file of what was seen.
func TestDedupSharedSeen(t *testing.T) {
	dir := t.TempDir()
	seen, out := filepath.Join(dir, "seen"), filepath.Join(dir, "out")
	args := []string{"dedup", "--exact", "--unordered", "--seen", seen, "-o", out}
	for i, in := range []string{"a\nb\na\n", "b\nc\n", "c\nd\na\n"} {
		command := append(slices.Clone(args), try.File(t, "in", in))
		if i != 1 {
			command = try.Launched(t, "2", command...)
		}
		run := try.Run(t, command...)
		kept := 0
		for _, part := range []string{out, partOf(out, 0), partOf(out, 1)} {
			text, _ := os.ReadFile(part)
			kept += bytes.Count(text, []byte("\n"))
			_ = os.Remove(part)
		}
		want := []int{2, 1, 1}[i]
		if run.Code() != 0 || kept != want {
			t.Errorf("run %d: exit code %d, %d lines, want %d: %s", i, run.Code(), kept, want,
				&run.Errors)
		}
		before := []int{0, 2, 3}[i]
		if says := fmt.Sprintf("%d were seen by earlier runs", before); before > 0 &&
			!strings.Contains(run.Errors.String(), says) {
			t.Errorf("run %d does not say %q: %s", i, says, &run.Errors)
		}
	}
}

// What several processes do not do is refused.
func TestDedupSharedErrors(t *testing.T) {
	file, out := try.File(t, "a", "x\n"), filepath.Join(t.TempDir(), "out")
	for message, args := range map[string][]string{
		"give --unordered":                   {file, "-o", out},
		"cannot share standard output":       {"--unordered", file},
		"of several processes needs --exact": {"--unordered", "--seen", out, file, "-o", out + "2"},
		"--count, --repeated and --unique ":  {"--unordered", "--count", file, "-o", out},
	} {
		run := try.Run(t, try.Launched(t, "2", append([]string{"dedup"}, args...)...)...)
		if run.Code() != cli.ExitUsage ||
			!strings.Contains(run.Errors.String(), message) {
			t.Errorf("%q: %d, %s", args, run.Code(), &run.Errors)
		}
	}
	var lines strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&lines, i)
	}
	run := try.Run(t, try.Launched(t, "2", "dedup", "--unordered", "--mem", "64KiB", "-o", out,
		try.File(t, "b", lines.String()))...)
	if run.Code() != cli.ExitIncomplete ||
		strings.Count(run.Errors.String(), "memory is full") != 1 {
		t.Errorf("full: %d, %s", run.Code(), &run.Errors)
	}
}

// Boundaries are at the begin of records, in order, and from the first to the end.
func TestBoundary(t *testing.T) {
	text := "a\n\nbbb\ncc"
	for _, c := range []struct {
		format dedup.Format
		want   []int64 // by place
	}{
		{dedup.Format{}, []int64{0, 2, 2, 3, 7, 7, 7, 7, 9, 9}},
		{dedup.Format{RecordBytes: 4}, []int64{0, 4, 4, 4, 4, 8, 8, 8, 8, 9}},
	} {
		f := &dedupFlags{format: c.format}
		for at, want := range c.want {
			got, err := f.boundary(bytes.NewReader([]byte(text)), int64(at), int64(len(text)))
			if err != nil || got != want {
				t.Errorf("%+v from %d: %d, want %d: %v", c.format, at, got, want, err)
			}
		}
	}
}
