//go:build unix

package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLineBuffer(t *testing.T) {
	long := strings.Repeat("x", maxLineBytes)
	tests := []struct {
		name, prefix string
		pieces       []string
		want         []string // what each piece completes, and the rest
	}{
		{"whole line", "[1] ", []string{"a\n"}, []string{"[1] a\n", ""}},
		{"two pieces", "[1] ", []string{"a", "b\nc"}, []string{"", "[1] ab\n", "[1] c\n"}},
		{"empty lines", "[1] ", []string{"\n\n"}, []string{"[1] \n[1] \n", ""}},
		{"nothing", "[1] ", []string{""}, []string{"", ""}},
		{"as it is", "", []string{"a", "b\nc"}, []string{"", "ab\n", "c"}},
		{"long line", "[1] ", []string{long, "y\n"}, []string{"[1] " + long + "\n", "[1] y\n", ""}},
		{"long as it is", "", []string{long, "y\n"}, []string{long, "y\n", ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := lineBuffer{prefix: test.prefix}
			var got []string
			for _, p := range test.pieces {
				got = append(got, string(b.add([]byte(p))))
			}
			got = append(got, string(b.rest()))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
		})
	}
}

// chatter is the output of one rank in the role chatter, in lines.
func chatter(rank, lines int, prefix string) []string {
	var all []string
	for i := range lines {
		all = append(all, fmt.Sprintf("%s%d %d %s", prefix, rank, i, strings.Repeat("x", i%200)))
	}
	return append(all, fmt.Sprintf("%s%d end", prefix, rank))
}

func TestOutputKeepsLinesTogether(t *testing.T) {
	const ranks, lines = 4, 600
	out := newTranscript()
	o := options(ranks, fmt.Sprintf("chatter:%d", lines))
	o.Stdout, o.Prefix = out, true
	if code, err := Run(t.Context(), o); code != 0 || err != nil {
		t.Fatalf("Run = %d, %v", code, err)
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for rank := range ranks {
		prefix := fmt.Sprintf("[%d] ", rank)
		var of []string
		for _, line := range got {
			if strings.HasPrefix(line, prefix) {
				of = append(of, line)
			}
		}
		if want := chatter(rank, lines, prefix); !slices.Equal(of, want) {
			t.Errorf("rank %d: %d lines differ from the %d written", rank, len(of), len(want))
		}
	}
	if len(got) != ranks*(lines+1) {
		t.Errorf("%d lines, want %d", len(got), ranks*(lines+1))
	}
}

// Without a prefix rank 0 writes to the file itself.
func TestOutputDirect(t *testing.T) {
	const lines = 100
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	o := options(1, fmt.Sprintf("chatter:%d", lines))
	o.Stdout = file
	if code, err := Run(t.Context(), o); code != 0 || err != nil {
		t.Fatalf("Run = %d, %v", code, err)
	}
	got, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(chatter(0, lines, ""), "\n"); string(got) != want {
		t.Errorf("file holds %d bytes, want the %d written", len(got), len(want))
	}
	for _, test := range []struct {
		prefix bool
		want   []string
	}{
		{false, []string{"0 false true false", "1 false false false"}},
		{true, []string{"[0] 0 false false false", "[1] 1 false false false"}},
	} {
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		o := options(2, "regular")
		o.Stdout, o.Stderr, o.Prefix = file, file, test.prefix
		code, err := Run(t.Context(), o)
		text, readErr := os.ReadFile(file.Name())
		got := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(got)
		if code != 0 || err != nil || readErr != nil || !slices.Equal(got, test.want) {
			t.Errorf("Run = %d, %v; %q, %v, want %q", code, err, got, readErr, test.want)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

// Ranks whose reader has gone end as they would in a pipe.
func TestOutputReaderGone(t *testing.T) {
	o := options(2, "chatter:100000")
	var reports bytes.Buffer
	o.Stdout, o.Stderr, o.Prefix, o.Grace = brokenWriter{}, &reports, true, -1
	code, err := Run(t.Context(), o)
	if code != 141 || err != nil {
		t.Errorf("Run = %d, %v, want 141 for SIGPIPE; reports %q", code, err, &reports)
	}
}

func TestSinksShareALock(t *testing.T) {
	var a, b bytes.Buffer
	uncomparable := struct {
		io.Writer
		_ []int
	}{Writer: &a}
	tests := []struct {
		stdout, stderr io.Writer
		same           bool
	}{
		{&a, &a, true},
		{&a, &b, false},
		{nil, nil, true},
		{uncomparable, uncomparable, false},
	}
	for i, test := range tests {
		first, second := newSinks(test.stdout, test.stderr)
		if got := first.lock == second.lock; got != test.same {
			t.Errorf("case %d: same lock %v, want %v", i, got, test.same)
		}
	}
}
