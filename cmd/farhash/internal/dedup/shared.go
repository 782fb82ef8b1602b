package dedup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/dedup"
	"github.com/farhash/farhash/rma"
)

// Where a launcher has started several processes, all share what was seen, in the memory of all of
// them. Each reads its share of the inputs, and writes the records that it is the first to see.

// checkShared refuses what several processes do not do.
func (f *dedupFlags) checkShared() error {
	switch {
	case f.count, f.repeated, f.unique:
		return errors.New("--count, --repeated and --unique work in one process only")
	case f.seen != "" && !f.exact:
		return errors.New("--seen of several processes needs --exact: they save no fingerprints")
	case !f.unordered:
		return errors.New("several processes write in no order: give --unordered")
	case f.out == "-":
		return errors.New("several processes cannot share standard output: give -o")
	}
	return nil
}

// shared removes the repeats of the inputs together with the other ranks of a job.
func (f *dedupFlags) shared(ctx context.Context, job rma.Job, inputs []string,
	cfg dedup.Config) error {
	own := *f
	own.quiet, own.out = f.quiet || job.Rank() > 0, partOf(f.out, job.Rank())
	if err := cmp.Or(f.checkShared(), own.checkOutputs(inputs, &cfg)); err != nil {
		return cli.Usage(err)
	}
	filter, err := dedup.NewShared(ctx, job, cfg)
	if err != nil {
		return err
	}
	defer filter.Close()
	release := func() {}
	if job.Rank() == 0 {
		release, err = f.holdSeen()
	}
	if err := rma.AllSucceeded(ctx, job, "dedup", err); err != nil {
		return err
	}
	defer release()
	if err := f.loadSeen(ctx, filter); err != nil {
		return err
	}
	r := newDedupRun(&own, filter, inputs)
	r.job = job
	if err := r.agree(ctx); err != nil { // then all know how many there were before, too
		return err
	}
	ctx = cli.CatchSignals(ctx)
	if err := r.write(ctx); err != nil {
		return err
	}
	reasons, err := r.addUp(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if err := f.saveSeen(ctx, filter, reasons&reasonFull != 0); err != nil {
		return err
	}
	r.summarize()
	switch {
	case reasons&reasonFull != 0:
		if job.Rank() > 0 {
			return &cli.ExitError{Code: cli.ExitIncomplete}
		}
		return &cli.ExitError{Code: cli.ExitIncomplete, Err: fmt.Errorf("INCOMPLETE: memory is "+
			"full: %d distinct records; give a larger --mem or more hosts. %s",
			filter.Distinct(), f.rightWhenFull())}
	case r.ended != nil:
		return cli.Interrupted(ctx, "what was written is right")
	case reasons&reasonInterrupted != 0:
		return &cli.ExitError{Code: cli.ExitInterrupt} // another rank says so
	}
	return nil
}

// partOf is the file that a rank writes: its number comes before the ending that asks for
// compression, or at the end.
func partOf(path string, rank int) string {
	for _, ending := range []string{gzipEnding, zstdEnding} {
		if whole, ok := strings.CutSuffix(path, ending); ok {
			return fmt.Sprintf("%s.%d%s", whole, rank, ending)
		}
	}
	return fmt.Sprintf("%s.%d", path, rank)
}

// Why a rank has not read all of its share.
const (
	reasonFull = 1 << iota
	reasonInterrupted
)

// addUp adds up the statistics of all ranks, and returns the reasons of all. Collective.
func (r *dedupRun) addUp(ctx context.Context) (reasons uint64, err error) {
	var full *dedup.FullError
	if errors.As(r.ended, &full) {
		reasons = reasonFull
	} else if r.ended != nil {
		reasons = reasonInterrupted
	}
	s := &r.stats
	counts := []*uint64{&s.Read, &s.Kept, &s.ReadBytes, &s.KeptBytes}
	w, err := r.job.NewWindow(ctx, rma.Spec{Name: "dedup: statistics", Words: len(counts) + 1})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	cells, err := rma.NewCells(r.job, w)
	if err != nil {
		return 0, err
	}
	defer cells.Close()
	for i, n := range append(counts, &reasons) {
		if err := cells.Store(ctx, r.job.Rank(), i, *n); err != nil {
			return 0, err
		}
	}
	if err := r.job.Barrier(ctx); err != nil {
		return 0, err
	}
	for i, n := range counts {
		if *n, err = cells.Sum(ctx, i); err != nil {
			return 0, err
		}
	}
	for rank := range r.job.Size() {
		other, err := cells.Load(ctx, rank, len(counts))
		if err != nil {
			return 0, err
		}
		reasons |= other
	}
	return reasons, r.job.Barrier(ctx)
}

// agree makes rank 0 say how many bytes of each input the ranks divide, or that they deal it whole.
// So all read the same bytes of a file that grows meanwhile, and read them in the same way.
// Collective.
func (r *dedupRun) agree(ctx context.Context) error {
	spec := rma.Spec{Name: "dedup: sizes", Words: len(r.inputs)}
	w, err := r.job.NewWindow(ctx, spec)
	if err != nil {
		return err
	}
	defer w.Close()
	cells, err := rma.NewCells(r.job, w)
	if err != nil {
		return err
	}
	defer cells.Close()
	r.divided = make([]int64, len(r.inputs))
	for i, path := range r.inputs {
		if r.job.Rank() > 0 || err != nil {
			break
		}
		if r.divided[i], err = r.flags.dividedBytes(path); err == nil {
			err = cells.Store(ctx, 0, i, uint64(r.divided[i]))
		}
	}
	if err = rma.AllSucceeded(ctx, r.job, "dedup: sizes of files", err); err != nil {
		return err
	}
	for i := range r.divided {
		size, err := cells.Load(ctx, 0, i)
		if err != nil {
			return err
		}
		r.divided[i] = int64(size)
	}
	return r.job.Barrier(ctx)
}

// dealt is the size of a file that is read whole, by one rank.
const dealt = -1

// dividedBytes is how many bytes of a file the ranks divide. What cannot be read at any place is
// dealt, and so is CSV: whether a line ends a record depends on all quotes before it.
func (f *dedupFlags) dividedBytes(path string) (int64, error) {
	info, err := os.Stat(cli.InputFile(path))
	if err != nil {
		return 0, err
	}
	if f.csv || path == "-" || !info.Mode().IsRegular() {
		return dealt, nil // a pipe that were opened here would lose its writer
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if !f.plain && isCompressed(file) {
		return dealt, nil
	}
	return info.Size(), nil
}

// share is the part of input i that this rank reads, nil for none. A file is divided at ends of
// records, or dealt whole; standard input is rank 0's.
func (r *dedupRun) share(i int, path string, file *os.File) (io.Reader, error) {
	ranks, rank := int64(r.job.Size()), int64(r.job.Rank())
	size := r.divided[i]
	switch {
	case path == "-":
		return file, nil
	case size == dealt && int64(i)%ranks != rank:
		return nil, nil
	case size == dealt:
		return file, nil
	}
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if info.Size() < size {
		return nil, fmt.Errorf("it has %d bytes here, and rank 0 has found %d; hosts need a "+
			"folder that all share, or equal files", info.Size(), size)
	}
	from, err := r.flags.boundary(file, size/ranks*rank+min(rank, size%ranks), size)
	if err != nil {
		return nil, err
	}
	to, err := r.flags.boundary(file, size/ranks*(rank+1)+min(rank+1, size%ranks), size)
	if err != nil {
		return nil, err
	}
	return &section{io.NewSectionReader(file, from, to-from), to - from}, nil
}

// section is a part of a file that must not end early.
type section struct {
	io.Reader
	left int64
}

func (s *section) Read(to []byte) (int, error) {
	n, err := s.Reader.Read(to)
	if s.left -= int64(n); err == io.EOF && s.left > 0 {
		err = fmt.Errorf("it was cut off while it was read: %d bytes are missing", s.left)
	}
	return n, err
}

// end is what records end with.
func (f *dedupFlags) end() byte {
	if f.format.Null {
		return 0
	}
	return '\n'
}

// boundary is where the first record begins that does so at a place of a file or after it; size if
// none does before. What follows there has come while the file was read.
func (f *dedupFlags) boundary(file io.ReaderAt, at, size int64) (int64, error) {
	if at == 0 || at >= size {
		return min(at, size), nil
	}
	if n := int64(f.format.RecordBytes); n > 0 {
		return min((at+n-1)/n*n, size), nil
	}
	end := f.end()
	block := make([]byte, 64<<10)
	for at--; ; {
		n, err := file.ReadAt(block, at)
		if i := bytes.IndexByte(block[:n], end); i >= 0 {
			return min(at+int64(i)+1, size), nil
		}
		if err == io.EOF {
			return size, nil
		} else if err != nil {
			return 0, err
		}
		at += int64(n)
	}
}
