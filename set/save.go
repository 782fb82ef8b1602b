package set

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

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

// A record of a saved set of byte strings is an element; of any length, its length in four bytes,
// little-endian, and its bytes.
const lengthBytes = 4

func (b *Bytes) contents() archive.Contents {
	if b.isStrings() {
		return archive.Contents{Kind: "farhash set of strings"}
	}
	return archive.Contents{Kind: "farhash set of elements", ElementBytes: b.size}
}

// Save writes the set to a file; see Set.Save.
func (b *Bytes) Save(ctx context.Context, path string) error {
	records := b.Local(ctx)
	if b.isStrings() {
		records = withLengths(records)
	}
	return archive.SaveTable(ctx, b.job, path, b.contents(), records)
}

// withLengths puts the length of each element before it.
func withLengths(elements iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var record []byte
		for element, err := range elements {
			record = binary.LittleEndian.AppendUint32(record[:0], uint32(len(element)))
			if record = append(record, element...); !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Load inserts the contents of a file that Save has written; see Set.Load.
func (b *Bytes) Load(ctx context.Context, path string) error {
	if !b.isStrings() {
		return b.load(ctx, path, b.contents(), nil, func(payload []byte) error {
			return b.FindOrPutPacked(payload, make([]Result, len(payload)/b.size), nil)
		})
	}
	count := func(_ uint32, payload []byte) (int, error) {
		elements, err := recordsOf(payload)
		return len(elements), err
	}
	return b.load(ctx, path, b.contents(), count, func(payload []byte) error {
		elements, err := recordsOf(payload)
		if err != nil {
			return err
		}
		return b.FindOrPutBatch(elements, make([]Result, len(elements)))
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
