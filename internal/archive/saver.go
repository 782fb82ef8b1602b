package archive

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// Saver writes records of several sections into one file, with all ranks of a job.
// A record is in one block.
type Saver struct {
	job     rma.Job
	w       *Writer
	cells   *cells
	records uint64 // that this rank has added
	bufs    map[uint32][]byte
}

// The words of rank 0.
const (
	cellNext    = iota // the next block's number
	cellMark           // the file's
	cellRecords        // of all ranks
	cellsSaver
)

// cells are words in a window of their own.
type cells struct {
	*rma.Cells
	window rma.Window
}

// newCells makes so many. Collective.
func newCells(ctx context.Context, job rma.Job, name string, words int) (*cells, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "archive: " + name, Words: words})
	if err != nil {
		return nil, err
	}
	c, err := rma.NewCells(job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &cells{c, w}, nil
}

func (c *cells) Close() error { return errors.Join(c.Cells.Close(), c.window.Close()) }

// NewSaver begins a file of a kind, and makes sure that path means the same file on every rank.
// Collective.
func NewSaver(ctx context.Context, job rma.Job, path, kind string) (*Saver, error) {
	s := &Saver{job: job, bufs: map[uint32][]byte{}}
	var err error
	if s.cells, err = newCells(ctx, job, "next block", cellsSaver); err != nil {
		return nil, err
	}
	if job.Rank() == 0 {
		if s.w, err = Create(path, kind); err == nil {
			err = s.cells.Store(ctx, 0, cellMark, s.w.Mark())
		}
	}
	if err = rma.AllSucceeded(ctx, job, "saving "+path, err); err == nil && job.Rank() != 0 {
		err = s.join(ctx, path)
	}
	if err = rma.AllSucceeded(ctx, job, "saving "+path, err); err != nil {
		return nil, errors.Join(err, s.close(true))
	}
	return s, nil
}

// join opens the file that rank 0 has begun.
func (s *Saver) join(ctx context.Context, path string) error {
	mark, err := s.cells.Load(ctx, 0, cellMark)
	if err == nil {
		s.w, err = Join(path, mark)
	}
	return err
}

// Try begins a file as NewSaver does, and removes it: it says whether all ranks can write it.
// Collective.
func Try(ctx context.Context, job rma.Job, path, kind string) error {
	s, err := NewSaver(ctx, job, path, kind)
	if err != nil {
		return err
	}
	return rma.AllSucceeded(ctx, job, "saving "+path, s.close(true))
}

// Add writes a record of a section. It is copied.
func (s *Saver) Add(ctx context.Context, section uint32, record []byte) error {
	if len(s.bufs[section])+len(record) > PayloadBytes {
		if err := s.flush(ctx, section); err != nil {
			return err
		}
	}
	s.bufs[section] = append(s.bufs[section], record...)
	s.records++
	return nil
}

// flush writes a section's block under the next free number.
func (s *Saver) flush(ctx context.Context, section uint32) error {
	n, err := s.cells.Add(ctx, 0, cellNext, 1)
	if err == nil {
		err = s.w.WriteBlock(n, section, s.bufs[section])
	}
	s.bufs[section] = s.bufs[section][:0]
	return err
}

// Finish completes the file with a description, of which rank 0's counts, or removes
// it when a rank comes with an error. Collective.
func (s *Saver) Finish(ctx context.Context, failed error, description []byte) error {
	for section, buf := range s.bufs {
		if failed == nil && len(buf) > 0 {
			failed = s.flush(ctx, section)
		}
	}
	if failed == nil {
		_, failed = s.cells.Add(ctx, 0, cellRecords, s.records)
	}
	if failed == nil {
		failed = s.w.Sync()
	}
	err := rma.AllSucceeded(ctx, s.job, "saving "+s.w.path, failed)
	if err == nil && s.job.Rank() == 0 {
		err = s.complete(ctx, description)
	}
	err = rma.AllSucceeded(ctx, s.job, "saving "+s.w.path, err)
	return errors.Join(err, s.close(err != nil))
}

// complete completes the file when all ranks have written their blocks.
func (s *Saver) complete(ctx context.Context, description []byte) error {
	blocks, err := s.cells.Load(ctx, 0, cellNext)
	if err != nil {
		return err
	}
	records, err := s.cells.Load(ctx, 0, cellRecords)
	if err != nil {
		return err
	}
	return s.w.Finish(blocks, records, description)
}

// close closes the file, and removes it when it is not to be kept.
func (s *Saver) close(remove bool) error {
	errs := []error{s.cells.Close()}
	switch {
	case s.w == nil:
	case remove && s.job.Rank() == 0:
		errs = append(errs, s.w.Abandon())
	default:
		errs = append(errs, s.w.Close())
	}
	return errors.Join(errs...)
}
