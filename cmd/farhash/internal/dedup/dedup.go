// Package dedup is the command farhash dedup, which removes repeated records from files.
package dedup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/dedup"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/rma"
)

type dedupFlags struct {
	format                            dedup.Format
	count, repeated, unique           bool
	exact, quiet, unordered, plain    bool
	delimiter, out, seen, mem         string
	fieldGiven, recordGiven, keyGiven bool
	delimiterGiven, csv, csvGiven     bool
}

// New is the command.
func New() *cobra.Command {
	f := &dedupFlags{}
	cmd := &cobra.Command{
		Use:   "dedup [FILE...]",
		Short: "Remove repeated lines or records",
		Long: `Writes the first occurrence of each line of the files, in order. Without a FILE, or
where it is -, standard input is read. Input that is compressed by gzip, zstd or bzip2
is recognized by its first bytes, unless --plain says that none is; input of xz, lz4 and
others is refused. Output is compressed where the file of -o ends in .gz or .zst.

Memory holds a fingerprint of 126 bits for each distinct line, and the summary has the
chance that any line was dropped wrongly. --exact holds the lines themselves and drops
none wrongly. So do --count, --repeated and --unique, which write when all was read; with
--field or --key they count lines with the same field or value, and write the first of
them.

With --field a field that begins with a quote is an error unless --csv says what quotes
are. With --csv a record may have several lines, in quotes.

When memory is full, exit code 3, or at Ctrl-C, what was written is right: the first
occurrences in the part that was read. The message says how much --mem would do. After
any other error the files of -o and --seen are what they were before. The file of --seen
has fingerprints, or with --exact the lines. It is for runs with the same flags --field,
--delimiter, --key and --exact, one at a time.

Started by farhash run, mpirun, srun or torchrun, every process is a rank: it reads a
share of each file, and all share what was seen. They write in no order, which needs
--unordered, each to a file of its own, which needs -o: rank 3 writes out.txt.3 where -o
is out.txt, and out.3.gz where it is out.gz. --mem is then of all ranks together.`,
		Example: `  farhash dedup access.log -o distinct.log
  farhash dedup --field 1 --csv a.csv b.csv.gz -o first.csv.zst
  farhash dedup --count < words.txt
  farhash dedup --seen urls.seen new-urls.txt
  farhash run -n 4 -- farhash dedup --unordered big.log -o distinct.log`,
		RunE: func(cmd *cobra.Command, given []string) error {
			changed := cmd.Flags().Changed
			f.fieldGiven, f.recordGiven = changed("field"), changed("record")
			f.keyGiven, f.delimiterGiven = changed("key"), changed("delimiter")
			f.csvGiven = changed("csv")
			return f.run(cmd.Context(), given)
		},
	}
	f.add(cmd.Flags())
	cli.CompleteFlags(cmd, nil)
	return cmd
}

func (f *dedupFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.count, "count", false, "write how often each line occurs before it")
	flags.BoolVar(&f.repeated, "repeated", false, "write only lines that occur several times")
	flags.BoolVar(&f.unique, "unique", false, "write only lines that occur once")
	flags.BoolVar(&f.format.Null, "null", false, "records end with a zero byte, not a newline")
	flags.IntVar(&f.format.RecordBytes, "record", 0,
		"records are of so many `BYTES`, without ends")
	flags.IntVar(&f.format.Field, "field", 0, "compare only field `N`, from 1 on")
	flags.StringVar(&f.delimiter, "delimiter", "",
		"`BYTE` between fields (default: a tab, with --csv a comma)")
	flags.BoolVar(&f.csv, "csv", false, "fields may be enclosed in quotes, as in CSV; "+
		"--csv=false: quotes are bytes as any others")
	flags.StringVar(&f.format.Key, "key", "",
		"lines are JSON objects; compare only the value of the key `NAME`")
	flags.StringVarP(&f.out, "output", "o", "-", "`FILE` to write, - for standard output")
	flags.StringVar(&f.seen, "seen", "", "`FILE` of what earlier runs have seen, which is not "+
		"written again; it is written or replaced at the end")
	flags.BoolVar(&f.exact, "exact", false, "store the lines themselves, and not fingerprints")
	flags.BoolVar(&f.plain, "plain", false,
		"input is not compressed, whatever its first bytes are")
	flags.BoolVar(&f.unordered, "unordered", false,
		"records may be written in any order, as several processes do")
	flags.StringVar(&f.mem, "mem", "", "`SIZE` of the memory for what is distinct, such as 2GiB "+
		"(default: 80% of the available memory)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no progress and no summary")
}

// options checks the flags.
func (f *dedupFlags) options(inputs []string) (dedup.Config, error) {
	counts := f.count || f.repeated || f.unique
	cfg := dedup.Config{Exact: f.exact, Count: counts}
	compared := f.fieldGiven || f.keyGiven
	switch {
	case f.fieldGiven && f.format.Field < 1:
		return cfg, fmt.Errorf("--field must be 1 or more, not %d", f.format.Field)
	case f.keyGiven && f.format.Key == "":
		return cfg, errors.New("--key needs the name of a key")
	case f.recordGiven && (f.format.RecordBytes < 1 || f.format.RecordBytes > dedup.MaxRecordBytes):
		return cfg, fmt.Errorf("--record must be 1 to %d, not %d", dedup.MaxRecordBytes,
			f.format.RecordBytes)
	case f.recordGiven && (f.format.Null || compared):
		return cfg, errors.New("--record excludes --null, --field and --key")
	case f.recordGiven && f.count:
		return cfg, errors.New("--record excludes --count, which needs ends of records")
	case f.fieldGiven && f.keyGiven:
		return cfg, errors.New("--field and --key exclude each other")
	case f.delimiterGiven && !f.fieldGiven:
		return cfg, errors.New("--delimiter needs --field")
	case f.csvGiven && !f.fieldGiven:
		return cfg, errors.New("--csv needs --field")
	case f.repeated && f.unique:
		return cfg, errors.New("--repeated and --unique exclude each other")
	case f.seen != "" && counts:
		return cfg, errors.New("--seen keeps no counts: it excludes --count, --repeated and " +
			"--unique")
	}
	if f.csv {
		f.format.Quotes = dedup.QuotesCSV
	} else if f.csvGiven {
		f.format.Quotes = dedup.QuotesPlain
	}
	if f.delimiterGiven {
		text := strings.ReplaceAll(f.delimiter, `\t`, "\t")
		if len(text) != 1 || text[0] == 0 {
			return cfg, fmt.Errorf("--delimiter must be one byte other than zero, not %q",
				f.delimiter)
		} else if f.csv && (text[0] == '"' || text[0] == '\r') {
			return cfg, fmt.Errorf("--csv excludes --delimiter %q", text)
		}
		f.format.Delimiter = text[0]
	}
	if f.seen != "" {
		cfg.Compared = f.format.Compared()
	}
	return cfg, f.checkOutputs(inputs, &cfg)
}

// checkOutputs refuses to write a file that is read, and sets the memory.
func (f *dedupFlags) checkOutputs(inputs []string, cfg *dedup.Config) (err error) {
	if f.mem != "" {
		if cfg.MemoryBytes, err = cli.ParseBytes("--mem", f.mem); err != nil {
			return err
		}
	}
	var files []string
	for _, path := range inputs {
		files = append(files, cli.InputFile(path))
	}
	if f.seen != "" {
		if err := replace.Spares(f.seen, files...); err != nil {
			return fmt.Errorf("--seen: %w", err)
		}
		files = append(files, f.seen)
	}
	if f.out == "-" {
		return nil
	}
	if err := writable(f.out); err != nil {
		return err
	}
	if f.seen != "" && filepath.Clean(f.out) == filepath.Clean(f.seen) { // may not be there yet
		return fmt.Errorf("-o and --seen name the same file, %s", f.out)
	}
	if err := replace.Spares(f.out, files...); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// run removes the repeats of the inputs.
func (f *dedupFlags) run(ctx context.Context, inputs []string) error {
	if len(inputs) == 0 {
		inputs = []string{"-"}
	}
	cfg, err := f.options(inputs)
	if err != nil {
		return cli.Usage(err)
	}
	for _, path := range inputs {
		if info, err := os.Stat(cli.InputFile(path)); err != nil {
			return err
		} else if info.IsDir() {
			return fmt.Errorf("%s is a folder; name files in it", path)
		}
	}
	_, launched, err := farhash.Launched()
	switch {
	case err != nil:
		return err
	case !launched:
		return f.alone(ctx, inputs, cfg)
	}
	return farhash.Run(ctx, 1, func(job rma.Job) error {
		if job.Size() == 1 {
			return f.alone(ctx, inputs, cfg)
		}
		return f.shared(ctx, job, inputs, cfg)
	})
}

// alone removes the repeats of the inputs in this process.
func (f *dedupFlags) alone(ctx context.Context, inputs []string, cfg dedup.Config) error {
	var err error
	if cfg.MemoryBytes, err = cli.Memory(cfg.MemoryBytes); err != nil {
		cfg.MemoryBytes = 1 << 30
	}
	if f.seen == "" {
		cfg.Records = f.guessRecords(inputs)
	}
	filter, err := dedup.New(cfg)
	if err != nil {
		return err
	}
	defer filter.Close()
	release, err := f.holdSeen()
	if err != nil {
		return err
	}
	defer release()
	if err := f.loadSeen(ctx, filter); err != nil {
		return err
	}
	ctx = cli.CatchSignals(ctx)
	r := newDedupRun(f, filter, inputs)
	if err := r.write(ctx); errors.Is(err, syscall.EPIPE) {
		return nil // whoever reads the output wants no more, as head
	} else if err != nil {
		return err
	}
	var full *dedup.FullError
	isFull := errors.As(r.ended, &full)
	if err := f.saveSeen(ctx, filter, isFull); err != nil {
		return err
	}
	r.summarize()
	switch {
	case isFull:
		return &cli.ExitError{Code: cli.ExitIncomplete, Err: fmt.Errorf("INCOMPLETE: memory is "+
			"full: %s hold %d distinct records; --mem %s would do for twice as many. %s",
			memory.Format(full.MemoryBytes), full.Distinct,
			strings.ReplaceAll(memory.FormatUp(full.EnoughBytes), " ", ""), f.rightWhenFull())}
	case r.ended != nil:
		return cli.Interrupted(ctx, "what was written is right")
	}
	return nil
}

// holdSeen keeps other runs from the file of what was seen until release is called: of two at once
// the later would replace what the other has saved.
func (f *dedupFlags) holdSeen() (release func(), err error) {
	if f.seen == "" {
		return func() {}, nil
	}
	letGo, err := replace.Hold(f.seen)
	if err != nil {
		return nil, fmt.Errorf("--seen: %w", err)
	}
	return func() { _ = letGo() }, nil // what is left is empty, and taken by the next run
}

// loadSeen loads what earlier runs have seen, if there were any.
func (f *dedupFlags) loadSeen(ctx context.Context, filter *dedup.Filter) error {
	if f.seen == "" {
		return nil
	}
	if _, err := os.Stat(f.seen); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := filter.Load(ctx, f.seen); err != nil {
		return fmt.Errorf("--seen: %w", err)
	}
	return nil
}

// saveSeen saves what was seen for later runs. A full filter that is exact has records that were
// not written.
func (f *dedupFlags) saveSeen(ctx context.Context, filter *dedup.Filter, full bool) error {
	if f.seen == "" || full && f.exact {
		return nil
	}
	if err := filter.Save(context.WithoutCancel(ctx), f.seen); err != nil {
		return fmt.Errorf("--seen: %w", err)
	}
	return nil
}

// rightWhenFull says what is right when memory is full.
func (f *dedupFlags) rightWhenFull() string {
	if f.seen != "" && f.exact {
		return "What was written is right; the file of --seen is what it was"
	}
	return "What was written is right"
}

// guessRecords is about how many records the inputs have, 0 where the size of what will be read is
// not known.
func (f *dedupFlags) guessRecords(inputs []string) (n uint64) {
	for _, path := range inputs {
		of := f.guessOf(cli.InputFile(path))
		if of == 0 {
			return 0
		}
		n += of
	}
	return n
}

// guessOf is guessRecords of one file, by how many records are at its beginning. A pipe is not
// opened: who writes to it would take the first one to close it for its reader.
func (f *dedupFlags) guessOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	head := make([]byte, 256<<10)
	read, _ := file.ReadAt(head, 0)
	switch n := f.format.RecordBytes; {
	case !f.plain && isCompressed(file):
		return 0
	case n > 0:
		return uint64(info.Size())/uint64(n) + 1
	}
	records := bytes.Count(head[:read], []byte{f.end()})
	return uint64(float64(info.Size())*float64(records)/float64(max(read, 1))) + 1
}

// dedupRun is one run of the command.
type dedupRun struct {
	flags  *dedupFlags
	job    rma.Job // nil: the process is alone
	filter *dedup.Filter
	inputs []string
	stats  dedup.Stats

	divided []int64 // bytes of each input that the ranks divide, or dealt
	before  uint64  // distinct records of earlier runs
	begin   time.Time
	bytes   atomic.Uint64 // of the inputs, as they are stored
	ended   error         // why not all was read, where what was written is right
}

func newDedupRun(f *dedupFlags, filter *dedup.Filter, inputs []string) *dedupRun {
	return &dedupRun{flags: f, filter: filter, inputs: inputs, begin: time.Now(),
		before: filter.Distinct()}
}

// write writes the output, to a file that is whole at any time.
func (r *dedupRun) write(ctx context.Context) error {
	path := r.flags.out
	if path == "-" {
		out, err := cli.Stdout()
		if err != nil {
			return err
		}
		return r.copy(ctx, out)
	}
	var failed error
	err := replace.File(path, replace.Format{}, func(w io.Writer) error {
		compressed, err := compressor(path, w)
		if err != nil {
			return err
		}
		failed = r.copy(ctx, compressed)
		return errors.Join(failed, compressed.Close())
	})
	if failed != nil { // it names the input
		return failed
	} else if err != nil {
		return fmt.Errorf("-o %s: %w", path, err)
	}
	return nil
}

// copy copies all inputs. An output that cannot be written is no fault of an input.
func (r *dedupRun) copy(ctx context.Context, to io.Writer) error {
	out := &cli.Output{Writer: to}
	err := r.copyTo(ctx, out)
	switch {
	case out.Err != nil && r.flags.out == "-":
		return fmt.Errorf("standard output: %w", out.Err)
	case out.Err != nil:
		return fmt.Errorf("-o %s: %w", r.flags.out, out.Err)
	}
	return err
}

func (r *dedupRun) copyTo(ctx context.Context, out io.Writer) error {
	defer r.showProgress()()
	for i, path := range r.inputs {
		err := r.copyFile(ctx, out, i, path)
		var full *dedup.FullError
		if errors.As(err, &full) || err != nil && errors.Is(err, ctx.Err()) {
			r.ended = err
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w%s", path, err, remedy(err))
		}
	}
	if !r.flags.count && !r.flags.repeated && !r.flags.unique {
		return nil
	}
	return r.writeCounts(out)
}

// remedy is what to do about an error of an input, to be added to it.
func remedy(err error) string {
	if errors.Is(err, dedup.ErrQuote) {
		return "; give --csv if quotes enclose fields, --csv=false if they are bytes as any others"
	}
	return ""
}

func (r *dedupRun) copyFile(ctx context.Context, out io.Writer, i int, path string) error {
	file := os.Stdin
	if path == "-" && r.job != nil && r.job.Rank() > 0 {
		return nil
	}
	if path != "-" {
		var err error
		if file, err = regular.OpenStream(path); err != nil {
			return err
		}
		defer file.Close()
	}
	stored := io.Reader(file)
	if r.job != nil {
		var err error
		if stored, err = r.share(i, path, file); stored == nil {
			return err
		}
	}
	in := io.Reader(&countedReader{stored, &r.bytes})
	if !r.flags.plain && (r.job == nil || r.divided[i] == dealt) { // a share begins as no file does
		var err error
		if in, err = decompressor(in); err != nil {
			return err
		}
	}
	s, err := r.filter.Copy(ctx, out, in, r.flags.format)
	r.stats.Read += s.Read
	r.stats.Kept += s.Kept
	r.stats.ReadBytes += s.ReadBytes
	r.stats.KeptBytes += s.KeptBytes
	return err
}

type countedReader struct {
	io.Reader
	bytes *atomic.Uint64
}

func (c *countedReader) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	c.bytes.Add(uint64(n))
	return n, err
}

// writeCounts writes the records that the flags ask for, with their counts.
func (r *dedupRun) writeCounts(out io.Writer) error {
	r.stats.Kept, r.stats.KeptBytes = 0, 0
	w := bufio.NewWriterSize(out, 1<<20)
	end := "\n"
	if r.flags.format.Null {
		end = "\x00"
	} else if r.flags.format.RecordBytes > 0 {
		end = ""
	}
	for record, count := range r.filter.Counts() {
		if r.flags.repeated && count < 2 || r.flags.unique && count > 1 {
			continue
		}
		r.stats.Kept++
		r.stats.KeptBytes += uint64(len(record) + len(end))
		if r.flags.count {
			fmt.Fprintf(w, "%7d ", count)
		}
		_, _ = w.Write(record)
		_, _ = w.WriteString(end)
	}
	return w.Flush()
}

// showProgress shows how much was read until its result is called, where that is a terminal.
func (r *dedupRun) showProgress() (stop func()) {
	if r.flags.quiet || !term.IsTerminal(int(os.Stderr.Fd())) {
		return func() {}
	}
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		bar, tick := cli.Spinner(), time.NewTicker(time.Second/2)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				n := r.bytes.Load()
				bar.Describe(cli.CutLine(fmt.Sprintf("%s read  %s", humanize.Bytes(n),
					cli.Rate(n, time.Since(r.begin).Seconds(), "B/s"))))
			case <-stopped:
				_ = bar.Finish()
				return
			}
		}
	}()
	return func() { close(stopped); <-done }
}

// summarize prints the summary.
func (r *dedupRun) summarize() {
	if r.flags.quiet {
		return
	}
	seconds := time.Since(r.begin).Seconds()
	fmt.Fprintf(os.Stderr, "read %s (%s), kept %d (%s); %d distinct in %s; %.2f s, %s\n",
		plural.Of(int(r.stats.Read), "record"), humanize.Bytes(r.stats.ReadBytes), r.stats.Kept,
		humanize.Bytes(r.stats.KeptBytes), r.filter.Distinct(),
		memory.Format(r.filter.MemoryBytes()), seconds, cli.Rate(r.stats.ReadBytes, seconds, "B/s"))
	if r.before > 0 {
		fmt.Fprintf(os.Stderr, "of the distinct ones, %d were seen by earlier runs\n", r.before)
	}
	if chance := r.filter.Chance(); chance > 0 {
		fmt.Fprintf(os.Stderr, "chance that any record was dropped wrongly: at most %.1g\n", chance)
	}
}
