package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/dedup"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// TestDedupTogether: ranks that share what was seen write each line once, and the same of a second
// run writes nothing. The first rank sums up what all have read.
func TestDedupTogether(t *testing.T) {
	folder := t.TempDir()
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintln(&text, i%1000)
	}
	in := writeFile(t, "in", text.String())
	for run, want := range []int{1000, 0} {
		out := filepath.Join(folder, fmt.Sprint("out", run))
		f := dedupFlags{unordered: true, exact: true, quiet: true, out: out,
			seen: filepath.Join(folder, "seen")}
		err := local.Run(3, func(job rma.Job) error {
			flags := f
			return flags.shared(t.Context(), job, []string{in},
				dedup.Config{Exact: true, MemoryBytes: 8 << 20})
		})
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]int{}
		for rank := range 3 {
			written, err := os.ReadFile(partOf(out, rank))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(written)) {
				lines[line]++
			}
		}
		if len(lines) != want {
			t.Errorf("run %d: %d lines, want %d", run, len(lines), want)
		}
		for line, times := range lines {
			if times != 1 {
				t.Errorf("run %d: %q is there %d times", run, line, times)
			}
		}
	}
	for path, want := range map[string]string{"a.txt": "a.txt.3", "a.gz": "a.3.gz",
		"a.tar.zst": "a.tar.3.zst", "gz": "gz.3"} {
		if got := partOf(path, 3); got != want {
			t.Errorf("rank 3 writes %s of %s, want %s", got, path, want)
		}
	}
}

// TestDedupAddUp: counts of all ranks are added, and the reasons of all are known to all.
func TestDedupAddUp(t *testing.T) {
	for _, c := range []struct {
		ended [3]error
		want  uint64
	}{
		{[3]error{}, 0}, {[3]error{nil, context.Canceled, nil}, reasonInterrupted},
		{[3]error{nil, nil, &dedup.FullError{}}, reasonFull},
		{[3]error{context.Canceled, nil, &dedup.FullError{}}, reasonFull | reasonInterrupted},
	} {
		err := local.Run(3, func(job rma.Job) error {
			n := uint64(job.Rank())
			r := dedupRun{job: job, ended: c.ended[job.Rank()], stats: dedup.Stats{Read: 1 + n,
				Kept: 10 + n, ReadBytes: 100 + n, KeptBytes: 1000 + n}}
			reasons, err := r.addUp(t.Context())
			want := dedup.Stats{Read: 6, Kept: 33, ReadBytes: 303, KeptBytes: 3003}
			if err == nil && (reasons != c.want || r.stats != want) {
				err = fmt.Errorf("rank %d: %d, want %d; %+v", n, reasons, c.want, r.stats)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// ranked is a job that is asked for its rank and size alone.
type ranked struct {
	rma.Job
	rank, size int
}

func (r ranked) Rank() int { return r.rank }
func (r ranked) Size() int { return r.size }

// TestDedupShares: the shares of ranks are the whole file in order, at ends of records. What is
// compressed is one rank's, and so is CSV; standard input is read as it is.
func TestDedupShares(t *testing.T) {
	csv := false
	read := func(rank, size, i int, path string) string {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r := dedupRun{flags: &dedupFlags{csv: csv}, job: ranked{rank: rank, size: size}}
		in, err := r.share(i, path, file)
		if err != nil {
			t.Fatal(err)
		}
		if in == nil {
			return ""
		}
		text, err := io.ReadAll(in)
		if err != nil || len(text) > 0 && text[len(text)-1] != '\n' {
			t.Errorf("rank %d of %d: %q, %v", rank, size, text, err)
		}
		return string(text)
	}
	for _, text := range []string{"", "a\n", "a\nbb\nccc\ndddd\neeeee\nffffff\nggggggg\n"} {
		path := writeFile(t, "in", text)
		for size := 1; size < 9; size++ {
			all := ""
			for rank := range size {
				all += read(rank, size, 0, path)
			}
			if all != text {
				t.Errorf("%d ranks read %q of %q", size, all, text)
			}
		}
	}
	zipped := writeFile(t, "in.gz", gzipMagic+"\n")
	quoted := writeFile(t, "in.csv", strings.Repeat("\"a\nb\",1\n", 10))
	for _, path := range []string{zipped, quoted} {
		for i := range 4 {
			for rank := range 3 {
				if mine := read(rank, 3, i, path) != ""; mine != (rank == i%3) {
					t.Errorf("%s as file %d: rank %d reads it: %v", path, i, rank, mine)
				}
			}
		}
		csv = true
	}
}

// TestDedupSharedRefuses: what several processes do not do.
func TestDedupSharedRefuses(t *testing.T) {
	for says, f := range map[string]dedupFlags{
		"": {unordered: true, out: "x"}, "give -o": {unordered: true, out: "-"},
		"give --unordered": {out: "x"}, "--count, --rep": {unordered: true, out: "x", count: true},
		"--unique work in": {unordered: true, out: "x", unique: true},
		"--repeated and":   {unordered: true, out: "x", repeated: true},
		"needs --exact":    {unordered: true, out: "x", seen: "y"},
		" ":                {unordered: true, out: "x", seen: "y", exact: true},
	} {
		err := f.checkShared()
		if says = strings.TrimSpace(says); (err == nil) != (says == "") ||
			err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", f, err, says)
		}
	}
}
