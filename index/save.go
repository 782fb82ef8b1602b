package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/replace"
	"github.com/farhash/farhash/rma"
)

// Save writes the table to a file as it lies in memory. Open maps it, and Load makes an
// index of its records, both with any number of ranks. The ranks write it together: path
// must mean the same file on each. It replaces what was there only when it is complete.
// Collective.
func (x *Index) Save(ctx context.Context, path string) error {
	s := &saver{t: x.t, path: path}
	what := "index: saving " + path
	var err error
	if x.t.closed.Load() {
		err = errClosed
	}
	if err == nil {
		s.target, err = archive.Writable(path, imageFormat)
	}
	if err = s.open(ctx, err); err == nil {
		err = x.t.guarded(func() error { return s.segments(ctx) })
		err = s.finish(ctx, err)
		err = rma.AllSucceeded(ctx, x.job, what, err)
	}
	return errors.Join(err, s.close(err != nil))
}

// imageFormat is that of images.
var imageFormat = replace.Format{Name: "saved farhash index", Known: func(head []byte) bool {
	return bytes.HasPrefix(head, []byte(imageMagic))
}}

// saver writes an image.
type saver struct {
	t       *table
	path    string
	target  string // what links at the path lead to
	f       *os.File
	header  int64
	digests []uint64 // of segments; 0: another rank's
}

// open has rank 0 begin the file, and the others open it. Collective.
func (s *saver) open(ctx context.Context, failed error) error {
	job, mark := s.t.job, uint64(0)
	named := func(err error) error {
		if err != nil {
			err = fmt.Errorf("index: saving %s: %w", s.path, err)
		}
		return err
	}
	if failed == nil && job.Rank() == 0 {
		s.f, mark, failed = replace.Begin(s.target, imageMagic)
		failed = named(failed)
	}
	all, err := gather(ctx, job, "saving "+s.path, []uint64{mark}, failed)
	if err == nil && job.Rank() != 0 {
		s.f, err = replace.Continue(s.target, all[0][0])
		err = named(err)
	}
	return rma.AllSucceeded(ctx, job, "index: saving "+s.path, err)
}

// segments writes this rank's segments and their sums. The header has as much room as
// the largest digests need.
func (s *saver) segments(ctx context.Context) error {
	t := s.t
	d := t.describe()
	for i := range d.Segments {
		d.Segments[i].Digest = math.MaxUint64
	}
	head, err := d.encode(0)
	if err != nil {
		return err
	}
	s.header, s.digests = int64(len(head)), make([]uint64, t.ranks)
	for _, number := range t.ownSegments() {
		var sums []byte
		err := t.eachBlock(ctx, number, func(block int, words []uint64) error {
			at := t.segmentAt(s.header, number) + int64(block)*blockSumWords*8
			sums = binary.LittleEndian.AppendUint64(sums, blockSum(number, block, words))
			_, err := s.f.WriteAt(bytesOf(words), at)
			return err
		})
		var g guide
		if err == nil {
			g, err = t.guideOf(ctx, number)
		}
		if err == nil {
			_, err = s.f.WriteAt(g.marks, t.marksAt(s.header, number))
		}
		if err == nil {
			_, err = s.f.WriteAt(sums, t.sumsAt(s.header, number))
		}
		if err != nil {
			return fmt.Errorf("index: saving %s: %w", s.path, err)
		}
		s.digests[number] = digestOf(sums, g.marks)
	}
	if err := s.f.Sync(); err != nil {
		return fmt.Errorf("index: saving %s: %w", s.path, err)
	}
	return nil
}

// finish completes the file when all ranks have written their segments. Collective.
func (s *saver) finish(ctx context.Context, failed error) error {
	if s.digests == nil {
		s.digests = make([]uint64, s.t.ranks)
	}
	all, err := gather(ctx, s.t.job, "saving "+s.path, s.digests, failed)
	if err != nil || s.t.job.Rank() != 0 {
		return err
	}
	d := s.t.describe()
	for _, digests := range all {
		for number, digest := range digests {
			d.Segments[number].Digest |= digest
		}
	}
	head, err := d.encode(int(s.header))
	if err == nil {
		err = replace.Finish(s.f, s.target, head)
	}
	return err
}

// close closes the file, and removes it when it is not to be kept.
func (s *saver) close(remove bool) error {
	if s.f == nil {
		return nil
	}
	if remove && s.t.job.Rank() == 0 {
		return replace.Abandon(s.f)
	}
	return s.f.Close()
}

// Load makes an index of the records in a file that Save has written. KeySize, ValueSize
// and Variable are those of the file, and may be left out of cfg, as may Note. A truncated,
// foreign or corrupt file is refused on every rank. Collective.
func Load(ctx context.Context, job rma.Job, path string, cfg Config) (*Index, error) {
	m, err := sameImage(ctx, job, path)
	if err != nil {
		return nil, err
	}
	t := m.table(job)
	t.image = m
	defer m.close()
	err = m.accept(path, &cfg)
	for _, number := range t.ownSegments() { // before anybody uses a record
		if err == nil {
			err = m.verify(ctx, t, number)
		}
	}
	if err = rma.AllSucceeded(ctx, job, "index: loading "+path, err); err != nil {
		return nil, err
	}
	x, err := Build(ctx, job, cfg, (&Index{job: job, t: t}).Local(ctx))
	if err == nil && x.t.records != m.Records {
		err = fmt.Errorf("index: %s is corrupt: it has %d records and says %d", path, x.t.records,
			m.Records)
		return nil, errors.Join(err, x.Close()) // the same on every rank
	}
	return x, err
}

// accept refuses a configuration with other sizes, and completes its own.
func (d *description) accept(path string, cfg *Config) error {
	given := cfg.KeySize != 0 || cfg.ValueSize != 0 || cfg.Variable
	if given && (cfg.KeySize != 0 && cfg.KeySize != d.KeySize || cfg.ValueSize != d.ValueSize ||
		cfg.Variable != d.Variable) {
		return fmt.Errorf("index: %s has keys of %d bytes and values of %d (variable: %v), "+
			"and %d and %d (%v) are asked for; leave the sizes at 0", path, d.KeySize,
			d.ValueSize, d.Variable, cfg.KeySize, cfg.ValueSize, cfg.Variable)
	}
	cfg.KeySize, cfg.ValueSize, cfg.Variable = d.KeySize, d.ValueSize, d.Variable
	if cfg.Note == "" {
		cfg.Note = d.Note
	}
	check := *cfg
	if err := check.complete(); err != nil {
		return fmt.Errorf("index: loading %s: %w", path, err)
	}
	return nil
}
