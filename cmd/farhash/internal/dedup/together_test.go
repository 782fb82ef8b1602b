package dedup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
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
	in := try.File(t, "in", text.String())
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

// shareOf reads the share of a rank of input i.
func shareOf(t *testing.T, f *dedupFlags, size int64, r ranked, i int, path string) string {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	run := dedupRun{flags: f, job: r, divided: make([]int64, i+1)}
	run.divided[i] = size
	in, err := run.share(i, path, file)
	if err != nil {
		t.Fatal(err)
	}
	if in == nil {
		return ""
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// TestDedupShares: the shares of ranks are the whole file in order, at ends of records. What is
// compressed is one rank's, and so is CSV.
func TestDedupShares(t *testing.T) {
	sizeOf := func(f *dedupFlags, path string) int64 {
		size, err := f.dividedBytes(path)
		if err != nil {
			t.Fatal(err)
		}
		return size
	}
	for _, text := range []string{"", "a\n", "a\nbb\nccc\ndddd\neeeee\nffffff\nggggggg\n"} {
		path, f := try.File(t, "in", text), &dedupFlags{}
		for ranks := 1; ranks < 9; ranks++ {
			all := ""
			for rank := range ranks {
				share := shareOf(t, f, sizeOf(f, path), ranked{rank: rank, size: ranks}, 0, path)
				if share != "" && !strings.HasSuffix(share, "\n") {
					t.Errorf("rank %d of %d: %q", rank, ranks, share)
				}
				all += share
			}
			if all != text {
				t.Errorf("%d ranks read %q of %q", ranks, all, text)
			}
		}
	}
	zipped := try.File(t, "in.gz", gzipMagic+"\n")
	quoted := try.File(t, "in.csv", strings.Repeat("\"a\nb\",1\n", 10))
	for _, path := range []string{zipped, quoted} {
		f := &dedupFlags{csv: path == quoted}
		for i := range 4 {
			for rank := range 3 {
				share := shareOf(t, f, sizeOf(f, path), ranked{rank: rank, size: 3}, i, path)
				if mine := share != ""; mine != (rank == i%3) {
					t.Errorf("%s as file %d: rank %d reads it: %v", path, i, rank, mine)
				}
			}
		}
	}
}

// TestDedupSharesGrow: while a file grows, the shares of ranks are what it was when rank 0 looked,
// whatever has come when another rank opens it.
func TestDedupSharesGrow(t *testing.T) {
	const text = "a\nbb\nccc\ndddd\neeeee\nffffffffff"
	for ranks := 1; ranks < 9; ranks++ {
		path, all := try.File(t, "in", text), ""
		for rank := range ranks {
			all += shareOf(t, &dedupFlags{}, int64(len(text)), ranked{rank: rank, size: ranks}, 0,
				path)
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.WriteString("ff\ngggg\n")
			if err := errors.Join(err, file.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if all != text {
			t.Errorf("%d ranks read %q of %q", ranks, all, text)
		}
	}
}

// TestDedupAgree: rank 0 says for all how large the inputs are.
func TestDedupAgree(t *testing.T) {
	zipped := try.File(t, "in.gz", gzipMagic+"\n")
	for _, inputs := range [][3]string{{"a\nb\n", "a\n", "a\nb\nc\n"}, {"", "a\n", "a\nb\n"}} {
		err := local.Run(3, func(job rma.Job) error {
			mine := try.File(t, "in", inputs[job.Rank()])
			if job.Rank() == 2 { // what is not asked for its size need not be there yet
				mine += ".none"
			}
			r := dedupRun{flags: &dedupFlags{}, job: job, inputs: []string{"-", mine, zipped}}
			err := r.agree(t.Context())
			want := []int64{dealt, int64(len(inputs[0])), dealt}
			if err == nil && !slices.Equal(r.divided, want) {
				err = fmt.Errorf("rank %d: %d, want %d", job.Rank(), r.divided, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	err := local.Run(2, func(job rma.Job) error {
		r := dedupRun{flags: &dedupFlags{}, job: job, inputs: []string{zipped + ".none"}}
		return r.agree(t.Context())
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestDedupSharesCut: a file that is shorter than rank 0 has found, or becomes so, is an error.
func TestDedupSharesCut(t *testing.T) {
	path := try.File(t, "in", strings.Repeat("a\n", 10))
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := dedupRun{flags: &dedupFlags{}, job: ranked{rank: 1, size: 2}, divided: []int64{22}}
	if _, err := r.share(0, path, file); err == nil ||
		!strings.Contains(err.Error(), "it has 20 bytes here, and rank 0 has found 22") {
		t.Errorf("a file of another host: %v", err)
	}
	r.divided[0] = 20
	in, err := r.share(0, path, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 14); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(in); err == nil || !strings.Contains(err.Error(),
		"cut off while it was read: 6 bytes are missing") {
		t.Errorf("%q, %v", text, err)
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
