package dedup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// maxComparedBytes is the longest Config.Compared: it is in the header of a file.
const maxComparedBytes = 1000

// Compared says in words what a format compares, for Config.Compared. Formats whose filters may
// load what the other has saved say the same: the ends of records do not matter, nor do quotes that
// are refused.
func (f *Format) Compared() string {
	switch {
	case f.Key != "":
		return fmt.Sprintf("values of the key %q", f.Key)
	case f.Field > 0 && f.Quotes == QuotesPlain:
		return fmt.Sprintf("field %d separated by %q, with its quotes", f.Field, f.delimiter())
	case f.Field > 0:
		return fmt.Sprintf("field %d separated by %q", f.Field, f.delimiter())
	}
	return "whole records"
}

// Save writes what was seen to a file, for Load of a filter that is exact as well, or is not as
// well, and that has the same Config.Compared. A filter that counts is not saved, and no exact one
// that has seen a record of 64 KiB.
func (f *Filter) Save(ctx context.Context, path string) error {
	if err := f.savable(); err != nil {
		return err
	}
	if f.exact != nil && f.exact.chains > 0 {
		return fmt.Errorf("dedup: records of %d bytes or more cannot be saved by an exact filter",
			set.MaxStringBytes)
	}
	s := f.store()
	return archive.SaveTable(ctx, s.job, path, s.contents, s.local(ctx))
}

// Load adds what Save has written. If memory becomes full, a part of that is there.
func (f *Filter) Load(ctx context.Context, path string) error {
	if err := f.savable(); err != nil {
		return err
	}
	s := f.store()
	n, err := s.load(ctx, path)
	if err != nil {
		return err
	}
	if f.prints != nil {
		f.prints.taken = n
		n /= 2 // words of a record
	}
	f.distinct = n
	return nil
}

func (f *Filter) savable() error {
	switch {
	case f.cfg.Count:
		return errors.New("dedup: a filter that counts is not saved; use one without Count")
	case f.shared && f.exact == nil:
		return errors.New("dedup: fingerprints of several ranks are not saved; use an exact filter")
	case len(f.cfg.Compared) > maxComparedBytes || !utf8.ValidString(f.cfg.Compared):
		return fmt.Errorf("dedup: Compared has %d bytes; it must be UTF-8 of at most %d",
			len(f.cfg.Compared), maxComparedBytes)
	}
	return f.broken
}

// store is what a filter has in memory, as it is saved and loaded.
type store struct {
	job      rma.Job
	contents archive.Contents
	local    func(ctx context.Context) iter.Seq2[[]byte, error]
	count    archive.Count
	insert   func(payload []byte) error
	length   func(ctx context.Context) (uint64, error)
}

func (f *Filter) store() store {
	is := archive.Contents{Kind: "farhash dedup of records", Of: f.cfg.Compared}
	if f.exact != nil {
		return f.exact.store(is)
	}
	is.Kind, is.ElementBytes = "farhash dedup of fingerprints", 8
	return f.prints.store(is)
}

// load inserts the contents of a file, and returns how many there are then.
func (s *store) load(ctx context.Context, path string) (uint64, error) {
	l, _, err := archive.LoadTable(ctx, s.job, path, s.contents, s.count)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	err = l.Each(ctx, 0, s.insert)
	if err = rma.AllSucceeded(ctx, s.job, "dedup: loading "+path, err); err != nil {
		return 0, err
	}
	n, err := s.length(ctx)
	if err == nil && n < l.Records {
		err = fmt.Errorf("dedup: %s is corrupt: it has %d elements, some more than once", path,
			l.Records)
	}
	return n, rma.AllSucceeded(ctx, s.job, "dedup: loading "+path, err)
}

func (p *prints) store(is archive.Contents) store {
	return store{job: p.job, contents: is, count: archive.Fixed(8), length: p.set.Len,
		local: func(ctx context.Context) iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) {
				record := make([]byte, 8)
				for word, err := range p.set.Local(ctx) {
					binary.LittleEndian.PutUint64(record, word)
					if !yield(record, err) || err != nil {
						return
					}
				}
			}
		},
		insert: func(payload []byte) error {
			words := make([]uint64, len(payload)/8)
			for i := range words {
				words[i] = binary.LittleEndian.Uint64(payload[i*8:])
			}
			return p.set.FindOrPutBatch(words, make([]set.Result, len(words)))
		},
	}
}

// A record of an exact filter is saved as its length, in four bytes, and its bytes.
func (e *exact) store(is archive.Contents) store {
	return store{job: e.job, contents: is, length: e.set.Len,
		count: func(_ uint32, payload []byte) (int, error) {
			records, err := recordsOf(payload)
			return len(records), err
		},
		local: func(ctx context.Context) iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) {
				var saved []byte
				for record, err := range e.set.Local(ctx) {
					saved = binary.LittleEndian.AppendUint32(saved[:0], uint32(len(record)))
					saved = append(saved, record...)
					if !yield(saved, err) || err != nil {
						return
					}
				}
			}
		},
		insert: func(payload []byte) error {
			records, err := recordsOf(payload)
			if err != nil {
				return err
			}
			return e.set.FindOrPutBatch(records, make([]set.Result, len(records)))
		},
	}
}

// recordsOf is the records of a block.
func recordsOf(payload []byte) (records [][]byte, err error) {
	for len(payload) >= 4 {
		n := binary.LittleEndian.Uint32(payload)
		if n >= set.MaxStringBytes || int(n) > len(payload)-4 {
			break
		}
		payload = payload[4:]
		records, payload = append(records, payload[:n]), payload[n:]
	}
	if len(payload) > 0 {
		return nil, fmt.Errorf("is corrupt: its bytes end within record %d", len(records))
	}
	return records, nil
}
