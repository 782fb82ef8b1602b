package index

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
)

// contents describes a file that an index was saved to. A record is its key and value, with
// the size of the value in 2 bytes before it where that is variable.
type contents struct {
	Kind      string `json:"kind"`
	KeySize   int    `json:"keyBytes"`
	ValueSize int    `json:"valueBytes"`
	Variable  bool   `json:"variable"`
	Records   uint64 `json:"records"`
}

const kindIndex = "farhash index"

// Save writes the records to a file, from which Load makes an index again, with any number
// of ranks, any layout and any storage. The ranks write it together: path must mean the
// same file on each. It replaces what was there only when it is complete. Collective.
func (x *Index) Save(ctx context.Context, path string) error {
	c := x.t.cfg
	description, err := json.Marshal(contents{kindIndex, c.KeySize, c.ValueSize, c.Variable,
		x.t.records})
	if err != nil {
		return err
	}
	s, err := archive.NewSaver(ctx, x.job, path)
	if err != nil {
		return err
	}
	var buf []byte
	for r, readErr := range x.Local(ctx) {
		if err = readErr; err == nil {
			buf = buf[:0]
			if c.Variable {
				buf = binary.LittleEndian.AppendUint16(buf, uint16(len(r.Value)))
			}
			err = s.Add(ctx, 0, append(append(buf, r.Key...), r.Value...))
		}
		if err != nil {
			break
		}
	}
	return s.Finish(ctx, err, description)
}

// Load makes an index of the records in a file that Save has written. KeySize, ValueSize
// and Variable are those of the file, and may be left out of cfg. A truncated, foreign or
// corrupt file is refused on every rank. Collective.
func Load(ctx context.Context, job rma.Job, path string, cfg Config) (*Index, error) {
	var is contents
	l, err := archive.NewLoader(ctx, job, path, func(description []byte) (err error) {
		is, err = accept(path, description, &cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	x, err := Build(ctx, job, cfg, recordsOf(ctx, l, path, formOf(&cfg)))
	if err == nil && x.Len() != is.Records {
		err = fmt.Errorf("index: %s is corrupt: it has %d records and says %d", path, x.Len(),
			is.Records)
		return nil, errors.Join(err, x.Close()) // the same on every rank
	}
	return x, err
}

// accept refuses the description of something else, and takes the sizes from it.
func accept(path string, description []byte, cfg *Config) (contents, error) {
	var is contents
	if err := json.Unmarshal(description, &is); err != nil || is.Kind != kindIndex {
		return is, fmt.Errorf("index: %s is no %s (it is described as %.100q)", path, kindIndex,
			description)
	}
	if cfg.KeySize != 0 && (cfg.KeySize != is.KeySize || cfg.ValueSize != is.ValueSize ||
		cfg.Variable != is.Variable) {
		return is, fmt.Errorf("index: %s has keys of %d bytes and values of %d (variable: %v), "+
			"and %d and %d (%v) are asked for; leave the sizes at 0", path, is.KeySize,
			is.ValueSize, is.Variable, cfg.KeySize, cfg.ValueSize, cfg.Variable)
	}
	cfg.KeySize, cfg.ValueSize, cfg.Variable = is.KeySize, is.ValueSize, is.Variable
	check := *cfg
	if err := check.complete(); err != nil {
		return is, fmt.Errorf("index: loading %s: %w", path, err)
	}
	return is, nil
}

// recordsOf are the records in this rank's share of a file.
func recordsOf(ctx context.Context, l *archive.Loader, path string,
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
