package dedup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

const maxLineBytes = 1 << 16

// Experiment measures programs that remove repeated lines.
func Experiment() *experiment.Experiment {
	cpu := func(over program, head string) view.Column {
		return view.Column{Unit: "cpu-s", Head: head, Digits: 1,
			Over: record.K("program", string(over))}
	}
	return &experiment.Experiment{
		Name:  "dedup",
		Short: "farhash dedup, sort -u, mawk and others on files with repeated lines",
		Long: `Measures CPU time (user and system), wall time and the largest memory of a process
of programs that remove repeated lines, on generated files, and compares their answers.
"cat" shows what reading and writing take without repeats.

DuckDB needs Node: npm install @duckdb/node-api, in a folder that NODE_PATH names with
/node_modules. huniq and runiq: cargo install huniq runiq.`,
		Takes:   "an hour",
		Example: "--size 256000000 --bytes 40 --program 'farhash dedup,sort -u'",
		Runs:    1,
		Views: []view.View{{Name: "Dedup", Title: "repeated lines removed",
			Rows: []string{"bytes", "repeats"},
			Columns: []view.Column{{Unit: "cpu-s", Head: "CPU s", Digits: 2},
				{Unit: "wall-s", Head: "wall s", Digits: 2}, {Unit: "MB", Whole: true},
				cpu(ordered, "CPU / farhash"), cpu(copying, "CPU / cat")},
			Plots: []view.Plot{{Panel: "bytes", X: "repeats", Y: "cpu-s", LogY: true}}}},
		New: newRunner,
	}
}

// runner measures all programs with all files.
type runner struct {
	programs        []program
	bytes, repeats  []int
	sizeBytes       experiment.Count
	folder, farhash string
}

func newRunner(flags *pflag.FlagSet) experiment.Runner {
	r := &runner{}
	experiment.ChoiceVar(flags, &r.programs, "program", programs(), programs(),
		"what is measured, a list of")
	flags.IntSliceVar(&r.bytes, "bytes", []int{12, 40, 200},
		"bytes of a line with its end, a list")
	flags.IntSliceVar(&r.repeats, "repeats", []int{10, 50, 90},
		"how many of a hundred lines repeat one before, a list")
	experiment.CountVar(flags, &r.sizeBytes, "size", 1_000_000_000, "bytes of a file")
	flags.StringVar(&r.folder, "folder", os.TempDir(), "`folder` for a file and two copies")
	flags.StringVar(&r.farhash, "farhash", "",
		"the `program` farhash (default: beside this one, or on PATH)")
	return r
}

// Check refuses what makes no sense, and finds farhash.
func (r *runner) Check() error {
	err := experiment.InRange("size", r.sizeBytes, 1, 1<<40)
	for _, n := range r.bytes {
		err = errors.Join(err, experiment.InRange("bytes", n, 8, maxLineBytes))
	}
	for _, n := range r.repeats {
		err = errors.Join(err, experiment.InRange("repeats", n, 0, 99))
	}
	if err != nil || r.farhash != "" {
		return err
	}
	if own, err := os.Executable(); err == nil {
		if r.farhash, err = exec.LookPath(filepath.Join(filepath.Dir(own), "farhash")); err == nil {
			return nil
		}
	}
	if r.farhash, err = exec.LookPath("farhash"); err != nil {
		return fmt.Errorf("there is no farhash: make build, or give --farhash: %w", err)
	}
	return nil
}

// Round measures everything once.
func (r *runner) Round(ctx context.Context, job rma.Job, seed uint64,
	emit experiment.Emit) (err error) {
	if job.Rank() > 0 {
		return nil
	}
	folder, err := os.MkdirTemp(r.folder, "farhash-dedup-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for _, lineBytes := range r.bytes {
		for _, repeats := range r.repeats {
			in := filepath.Join(folder, "in")
			n, err := writeLines(in, uint64(r.sizeBytes), lineBytes, repeats, seed)
			if err != nil {
				return err
			}
			f := file{of: r, path: in, lines: n, keys: []record.Key{record.K("bytes", lineBytes),
				record.K("repeats", repeats)}}
			if err := f.measure(ctx, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// file is what programs read.
type file struct {
	of    *runner
	path  string
	lines uint64
	keys  []record.Key
	want  *digest // what the first program has written
}

// measure measures all programs.
func (f *file) measure(ctx context.Context, emit experiment.Emit) error {
	for _, p := range f.of.programs {
		if !p.installed(f.of.farhash) {
			emit(f.record(string(p)+" (not installed)", nil))
			continue
		}
		used, got, err := p.run(ctx, f.of.farhash, f.path, f.path+".out")
		if err == nil && p != copying {
			if f.want == nil {
				f.want = &got
			}
			if got != *f.want {
				err = fmt.Errorf("%s has written %d other lines than the %d of %s", p, got.lines,
					f.want.lines, f.of.programs[0])
			}
		}
		switch own := p == ordered || p == unordered || p == exact || p == processes; {
		case err != nil && (own || ctx.Err() != nil):
			return err
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			emit(f.record(string(p)+" (failed)", nil))
			continue
		}
		emit(f.record(string(p), []record.Value{{Value: used.cpu.Seconds(), Unit: "cpu-s"},
			{Value: max(used.wall, time.Microsecond).Seconds(), Unit: "wall-s"},
			{Value: float64(used.bytes) / 1e6, Unit: "MB"}}))
	}
	return nil
}

// record is what was measured of a program. values nil is nothing: the format needs a figure then.
func (f *file) record(program string, values []record.Value) record.Record {
	if values == nil {
		values = []record.Value{{Unit: "measured"}}
	}
	keys := append(f.keys[:len(f.keys):len(f.keys)], record.K("program", program))
	return record.Record{Name: "Dedup", N: int(f.lines), Keys: keys, Values: values}
}
