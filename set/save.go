package set

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
)

var wordContents = archive.Contents{Kind: "farhash set of words", ElementBytes: 8}

// Save writes the set to a file, in a form that is loaded with any number of ranks
// and buckets. The ranks write it together: path must mean the same file on each.
// It replaces an existing file only when it is complete; a symbolic link stays, and the
// file that it leads to is replaced. Collective; nothing may insert on any rank at the same time.
func (s *Set) Save(ctx context.Context, path string) error {
	record := make([]byte, 8)
	return archive.SaveTable(ctx, s.job, path, wordContents,
		func(yield func([]byte, error) bool) {
			for word, err := range s.Local(ctx) {
				binary.LittleEndian.PutUint64(record, word)
				if !yield(record, err) || err != nil {
					return
				}
			}
		})
}

// Save writes the set to a file; see Set.Save.
func (e *Elements) Save(ctx context.Context, path string) error {
	return archive.SaveTable(ctx, e.job, path, e.contents(), e.Local(ctx))
}

func (e *Elements) contents() archive.Contents {
	return archive.Contents{Kind: "farhash set of elements", ElementBytes: e.size}
}

// Load inserts the contents of a file that Save has written. A truncated, foreign or corrupt file
// is refused on every rank, and the set is unchanged. If the set becomes full, the error is a
// *FullError on one rank at least, and what has been inserted stays. Collective; no other call may
// run on any rank.
func (s *Set) Load(ctx context.Context, path string) error {
	return s.load(ctx, path, wordContents, nil, func(payload []byte) error {
		words := make([]uint64, len(payload)/8)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(payload[i*8:])
		}
		return s.FindOrPutBatch(words, make([]Result, len(words)))
	})
}

// Load inserts the contents of a file that Save has written; see Set.Load.
func (e *Elements) Load(ctx context.Context, path string) error {
	return e.load(ctx, path, e.contents(), nil, func(payload []byte) error {
		return e.FindOrPutBatch(payload, make([]Result, len(payload)/e.size))
	})
}

// A record of a saved set of strings is its length, in four bytes, little-endian, and its bytes.
const lengthBytes = 4

var stringContents = archive.Contents{Kind: "farhash set of strings"}

// Save writes the set to a file; see Set.Save.
func (s *Strings) Save(ctx context.Context, path string) error {
	var record []byte
	return archive.SaveTable(ctx, s.job, path, stringContents,
		func(yield func([]byte, error) bool) {
			for element, err := range s.Local(ctx) {
				record = binary.LittleEndian.AppendUint32(record[:0], uint32(len(element)))
				if !yield(append(record, element...), err) || err != nil {
					return
				}
			}
		})
}

// Load inserts the contents of a file that Save has written; see Set.Load.
func (s *Strings) Load(ctx context.Context, path string) error {
	count := func(_ uint32, payload []byte) (int, error) {
		elements, err := recordsOf(payload)
		return len(elements), err
	}
	return s.load(ctx, path, stringContents, count, func(payload []byte) error {
		elements, err := recordsOf(payload)
		if err != nil {
			return err
		}
		return s.FindOrPutBatch(elements, make([]Result, len(elements)))
	})
}

// recordsOf is the strings of a block.
func recordsOf(payload []byte) (elements [][]byte, err error) {
	for len(payload) >= lengthBytes {
		n := binary.LittleEndian.Uint32(payload)
		if n > MaxStringBytes || int(n) > len(payload)-lengthBytes {
			break
		}
		payload = payload[lengthBytes:]
		elements, payload = append(elements, payload[:n]), payload[n:]
	}
	if len(payload) > 0 {
		return nil, fmt.Errorf("is corrupt: its bytes end within string %d", len(elements))
	}
	return elements, nil
}

// load verifies a file and inserts its contents.
func (s *anySet) load(ctx context.Context, path string, want archive.Contents, count archive.Count,
	insert func(payload []byte) error) error {
	job := s.job
	l, _, err := archive.LoadTable(ctx, job, path, want, count)
	if err != nil {
		return err
	}
	defer l.Close()
	err = l.Each(ctx, 0, insert)
	if err = rma.AllSucceeded(ctx, job, "set: loading "+path, err); err != nil {
		return err
	}
	n, err := s.Len(ctx)
	if err == nil && n < l.Records {
		err = fmt.Errorf("set: %s is corrupt: it has %d elements, some more than once; %d are in "+
			"the set now", path, l.Records, n)
	}
	return rma.AllSucceeded(ctx, job, "set: loading "+path, err)
}
