package set

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/rma/file"
)

// controlBytes is what the file of a small set takes beside tables and arenas: its header, counters
// and marks, each in whole pages.
const controlBytes = 64 << 10

// fill inserts numbers until a set is full, and returns how many it inserted.
func (s byName) fill(t *testing.T) (inserted int) {
	t.Helper()
	const batch = 1000
	for {
		var numbers []int
		for range batch {
			numbers = append(numbers, inserted+len(numbers))
		}
		results, err := s.batch(numbers)
		for _, r := range results {
			if r == Inserted {
				inserted++
			}
		}
		if full := (*FullError)(nil); errors.As(err, &full) {
			return inserted
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// boundedKinds open sets that have MaxBytes.
func boundedKinds(maxBytes uint64) map[string]func(path string) (byName, error) {
	cfg := Config{MaxBytes: maxBytes, Buckets: 1 << 8}
	elements := func(size int) func(path string) (byName, error) {
		return func(path string) (byName, error) {
			s, err := OpenBytes(path, BytesConfig{Config: cfg, ElementBytes: size})
			if err != nil {
				return byName{}, err
			}
			return byName{Check: s.Check, Close: s.Close, space: s.space,
				put: func(n int) (Result, error) { return s.FindOrPut(textOf(n, size)) },
				batch: func(n []int) ([]Result, error) {
					var all []byte
					for _, n := range n {
						all = append(all, textOf(n, size)...)
					}
					results := make([]Result, len(n))
					return results, s.FindOrPutPacked(all, results, nil)
				}}, nil
		}
	}
	texts := func(size int) func(path string) (byName, error) {
		return func(path string) (byName, error) {
			s, err := OpenBytes(path, BytesConfig{Config: cfg})
			if err != nil {
				return byName{}, err
			}
			return byName{Check: s.Check, Close: s.Close, space: s.space,
				put: func(n int) (Result, error) { return s.FindOrPut(textOf(n, size)) },
				batch: func(n []int) ([]Result, error) {
					all, results := [][]byte(nil), make([]Result, len(n))
					for _, n := range n {
						all = append(all, textOf(n, size))
					}
					return results, s.FindOrPutBatch(all, results)
				}}, nil
		}
	}
	return map[string]func(path string) (byName, error){
		"words": func(path string) (byName, error) {
			s, err := Open(path, cfg)
			if err != nil {
				return byName{}, err
			}
			return byName{Check: s.Check, Close: s.Close, space: s.space,
				put: func(n int) (Result, error) { return s.FindOrPut(uint64(n)) },
				batch: func(n []int) ([]Result, error) {
					words, results := make([]uint64, len(n)), make([]Result, len(n))
					for i := range n {
						words[i] = uint64(n[i])
					}
					return results, s.FindOrPutBatch(words, results)
				}}, nil
		},
		"elements of 12 bytes":  elements(12),
		"elements of 600 bytes": elements(600),
		"strings of 12 bytes":   texts(12),
		"strings of 3 KiB":      texts(3 << 10),
	}
}

// A set by name takes MaxBytes at most, with all the tables that it has had and the slots that
// nobody has used yet. Processes that have put an element each hold few of these: another one fills
// the set nearly as far as if it were alone.
func TestMaxBytesByName(t *testing.T) {
	const maxBytes, processes = 400 << 10, 20
	for kind, open := range boundedKinds(maxBytes) {
		t.Run(kind, func(t *testing.T) {
			filled := func(processes int) (inserted int) {
				path := named(t)
				for i := range processes {
					s, err := open(path)
					must(t, err)
					defer s.Close()
					_, err = s.put(1<<30 + i)
					must(t, err)
				}
				s, err := open(path)
				must(t, err)
				inserted = s.fill(t) + processes
				info, err := file.Stat(path)
				must(t, err, s.Check(t.Context()), s.Close())
				if info.Bytes > maxBytes+controlBytes || info.Size > maxBytes+controlBytes {
					t.Errorf("MaxBytes is %d, and the file takes %d of %d bytes", maxBytes,
						info.Bytes, info.Size)
				}
				return inserted
			}
			alone, beside := filled(0), filled(processes)
			t.Logf("%d elements, %d beside others", alone, beside)
			if beside < alone*3/4 {
				t.Errorf("%d elements fit in, and %d if nobody holds free slots", beside, alone)
			}
		})
	}
}
