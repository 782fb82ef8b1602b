package index

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/replace"
	"github.com/farhash/farhash/rma"
)

// contents describes a file of records, as earlier versions have written. A record is its
// key and value, with the size of the value in 2 bytes before it where that is variable.
type contents struct {
	Kind      string `json:"kind"`
	KeySize   int    `json:"keyBytes"`
	ValueSize int    `json:"valueBytes"`
	Variable  bool   `json:"variable"`
	Records   uint64 `json:"records"`
}

const kindIndex = "farhash index"

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
		s.target, err = archive.Writable(path)
	}
	if err = s.open(ctx, err); err == nil {
		err = x.t.guarded(func() error { return s.segments(ctx) })
		err = s.finish(ctx, err)
		err = rma.AllSucceeded(ctx, x.job, what, err)
	}
	return errors.Join(err, s.close(err != nil))
}

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
	told := func(err error) error {
		if err != nil {
			err = fmt.Errorf("index: saving %s: %w", s.path, err)
		}
		return err
	}
	if failed == nil && job.Rank() == 0 {
		s.f, mark, failed = replace.Begin(s.target)
		failed = told(failed)
	}
	all, err := gather(ctx, job, "saving "+s.path, []uint64{mark}, failed)
	if err == nil && job.Rank() != 0 {
		s.f, err = replace.Continue(s.target, all[0][0])
		err = told(err)
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
	for _, number := range t.share() {
		var sums []byte
		err := t.eachBlock(ctx, number, func(block int, words []uint64) error {
			at := t.segmentAt(s.header, number) + int64(block)*blockSumWords*8
			sums = binary.LittleEndian.AppendUint64(sums, blockSum(number, block, words))
			_, err := s.f.WriteAt(bytesOf(words), at)
			return err
		})
		if err == nil {
			_, err = s.f.WriteAt(sums, t.sumsAt(s.header, number))
		}
		if err != nil {
			return fmt.Errorf("index: saving %s: %w", s.path, err)
		}
		s.digests[number] = xxh3.Hash(sums)
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
// and Variable are those of the file, and may be left out of cfg. A truncated, foreign or
// corrupt file is refused on every rank. Collective.
func Load(ctx context.Context, job rma.Job, path string, cfg Config) (*Index, error) {
	m, err := sameImage(ctx, job, path)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return loadRecords(ctx, job, path, cfg)
	}
	t := m.table(job)
	t.image = m
	defer m.close()
	is := contents{kindIndex, m.KeySize, m.ValueSize, m.Variable, m.description.Records}
	err = is.accept(path, &cfg)
	for _, number := range t.share() { // before anybody uses a record
		if err == nil {
			err = m.verify(ctx, t, number)
		}
	}
	if err = rma.AllSucceeded(ctx, job, "index: loading "+path, err); err != nil {
		return nil, err
	}
	return is.build(ctx, job, path, cfg, (&Index{job: job, t: t}).Local(ctx))
}

// build makes an index of the records of a file.
func (is *contents) build(ctx context.Context, job rma.Job, path string, cfg Config,
	records iter.Seq2[Record, error]) (*Index, error) {
	x, err := Build(ctx, job, cfg, records)
	if err == nil && x.Len() != is.Records {
		err = fmt.Errorf("index: %s is corrupt: it has %d records and says %d", path, x.Len(),
			is.Records)
		return nil, errors.Join(err, x.Close()) // the same on every rank
	}
	return x, err
}

// loadRecords loads a file of records.
func loadRecords(ctx context.Context, job rma.Job, path string, cfg Config) (*Index, error) {
	var is contents
	l, err := archive.NewLoader(ctx, job, path, func(description []byte) error {
		if err := json.Unmarshal(description, &is); err != nil || is.Kind != kindIndex {
			return fmt.Errorf("index: %s is no %s (it is described as %.100q)", path, kindIndex,
				description)
		}
		return is.accept(path, &cfg)
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return is.build(ctx, job, path, cfg, recordsIn(ctx, l, path, formOf(&cfg)))
}

// accept refuses a configuration with other sizes, and completes its own.
func (is *contents) accept(path string, cfg *Config) error {
	given := cfg.KeySize != 0 || cfg.ValueSize != 0 || cfg.Variable
	if given && (cfg.KeySize != 0 && cfg.KeySize != is.KeySize || cfg.ValueSize != is.ValueSize ||
		cfg.Variable != is.Variable) {
		return fmt.Errorf("index: %s has keys of %d bytes and values of %d (variable: %v), "+
			"and %d and %d (%v) are asked for; leave the sizes at 0", path, is.KeySize,
			is.ValueSize, is.Variable, cfg.KeySize, cfg.ValueSize, cfg.Variable)
	}
	cfg.KeySize, cfg.ValueSize, cfg.Variable = is.KeySize, is.ValueSize, is.Variable
	check := *cfg
	if err := check.complete(); err != nil {
		return fmt.Errorf("index: loading %s: %w", path, err)
	}
	return nil
}

// recordsIn are the records in this rank's share of a file.
func recordsIn(ctx context.Context, l *archive.Loader, path string,
	f form) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stopped := errors.New("nobody wants more")
		err := l.Each(ctx, 0, func(payload []byte) error {
			for len(payload) > 0 {
				r, n, ok := f.decode(payload)
				if !ok {
					return fmt.Errorf("index: %s is corrupt: a block ends within a record",
						path)
				}
				if !yield(r, nil) {
					return stopped
				}
				payload = payload[n:]
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(Record{}, err)
		}
	}
}

// decode reads the first record of a block and returns its length.
func (f form) decode(b []byte) (r Record, n int, ok bool) {
	value := f.valueSize
	if f.prefix > 0 {
		if len(b) < prefixBytes {
			return r, 0, false
		}
		value = int(binary.LittleEndian.Uint16(b))
	}
	key := f.prefix + f.keySize
	if n = key + value; n > len(b) {
		return r, 0, false
	}
	return Record{b[f.prefix:key], b[key:n]}, n, true
}
