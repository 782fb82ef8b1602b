package dedup

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Format says where records end, and which part of a record is compared. The zero Format is lines,
// compared as a whole.
type Format struct {
	// Null ends records with a zero byte in place of a newline.
	Null bool
	// RecordBytes is the length of records that nothing ends. 0: Null decides.
	RecordBytes int
	// Field compares the field of this number, from 1 on. 0 compares all of the record.
	Field int
	// Delimiter is what separates fields. 0 means a tab.
	Delimiter byte
	// Key compares the value of this key of a record that is a JSON object.
	Key string
}

// Stats counts records and bytes.
type Stats struct {
	Read, Kept           uint64 // records
	ReadBytes, KeptBytes uint64 // with their ends
}

// MaxRecordBytes is the longest record of a stream.
const MaxRecordBytes = 1 << 30

const (
	blockBytes  = 4 << 20 // read at once
	blocksAhead = 2       // read and not yet looked up
)

// RecordError says which record of a stream cannot be used.
type RecordError struct {
	Number uint64 // from 1 on
	Err    error
}

func (e *RecordError) Error() string { return fmt.Sprintf("record %d: %v", e.Number, e.Err) }

func (e *RecordError) Unwrap() error { return e.Err }

func (f *Format) check() error {
	switch {
	case f.RecordBytes < 0 || f.RecordBytes > MaxRecordBytes:
		return fmt.Errorf("dedup: records have 1 to %d bytes, not %d", MaxRecordBytes,
			f.RecordBytes)
	case f.Field < 0:
		return fmt.Errorf("dedup: fields are numbered from 1 on, not %d", f.Field)
	case f.RecordBytes > 0 && f.Null, f.Field > 0 && f.Key != "",
		f.RecordBytes > 0 && (f.Field > 0 || f.Key != ""):
		return fmt.Errorf("dedup: RecordBytes excludes Null, Field and Key, and Field excludes Key")
	}
	return nil
}

func (f *Format) end() byte {
	if f.Null {
		return 0
	}
	return '\n'
}

// Copy writes the first occurrences of the records of in to out, in order. A last record without
// an end gets one. With Config.Count it writes nothing: Counts has the records. What was written
// at an error is right, and Stats describes it. Where ctx ends Copy does not wait for in.
func (f *Filter) Copy(ctx context.Context, out io.Writer, in io.Reader, format Format) (Stats,
	error) {
	c := copying{filter: f, format: format, out: bufio.NewWriterSize(out, 1<<20)}
	if err := format.check(); err != nil {
		return c.stats, err
	}
	stop := make(chan struct{})
	defer close(stop)
	blocks := readBlocks(in, format, stop)
	err := c.all(ctx, blocks)
	if flushed := c.out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("writing: %w", flushed)
	}
	return c.stats, err
}

// block is whole records, or why there are no more.
type block struct {
	data []byte
	err  error // io.EOF: the end
}

// readBlocks reads in ahead, until stop is closed.
func readBlocks(in io.Reader, format Format, stop <-chan struct{}) <-chan block {
	blocks := make(chan block, blocksAhead)
	go func() {
		defer close(blocks)
		s := splitter{in: in, format: format}
		for {
			b := s.next()
			select {
			case blocks <- b:
			case <-stop:
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
	return blocks
}

// splitter cuts a stream after the last record of each block.
type splitter struct {
	in     io.Reader
	format Format
	rest   []byte // begins a record
	atEnd  bool
}

// next is the next block.
func (s *splitter) next() block {
	buf := make([]byte, len(s.rest), max(blockBytes, 2*len(s.rest)))
	copy(buf, s.rest)
	for !s.atEnd {
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, len(buf))...)[:len(buf)]
		}
		n, err := s.in.Read(buf[len(buf):cap(buf)])
		from := len(buf)
		buf = buf[:from+n]
		if err == io.EOF {
			s.atEnd = true
			break
		}
		whole := s.whole(buf, from)
		if whole > 0 || err != nil {
			s.rest = buf[whole:]
			return block{buf[:whole], err}
		}
		if len(buf) > MaxRecordBytes {
			return block{err: fmt.Errorf("a record is longer than %d bytes", MaxRecordBytes)}
		}
	}
	s.rest = nil
	if size := s.format.RecordBytes; size > 0 && len(buf)%size != 0 {
		whole := len(buf) / size * size
		return block{buf[:whole], fmt.Errorf("the last record has %d bytes in place of %d",
			len(buf)-whole, size)}
	}
	if end := s.format.end(); s.format.RecordBytes == 0 && len(buf) > 0 && buf[len(buf)-1] != end {
		buf = append(buf, end)
	}
	return block{buf, io.EOF}
}

// whole is how many bytes of buf are whole records, if no record ends before from.
func (s *splitter) whole(buf []byte, from int) int {
	if size := s.format.RecordBytes; size > 0 {
		return len(buf) / size * size
	}
	if i := bytes.LastIndexByte(buf[from:], s.format.end()); i >= 0 {
		return from + i + 1
	}
	return 0
}

// copying is one Copy.
type copying struct {
	filter *Filter
	format Format
	out    *bufio.Writer
	stats  Stats

	keys [batchRecords][]byte
	ends [batchRecords]int // of records in the block
	seen [batchRecords]bool
}

// all copies all blocks.
func (c *copying) all(ctx context.Context, blocks <-chan block) error {
	for {
		var b block
		select {
		case b = <-blocks:
		case <-ctx.Done():
			return ctx.Err()
		}
		for len(b.data) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := c.batch(b.data)
			if err != nil {
				return err
			}
			b.data = b.data[n:]
		}
		if b.err == io.EOF {
			return nil
		} else if b.err != nil {
			return b.err
		}
		if len(blocks) == 0 { // the input may be slow
			if err := c.out.Flush(); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
		}
	}
}

// batch looks up the first records of data, and writes those that are new. It returns the bytes
// that they take.
func (c *copying) batch(data []byte) (int, error) {
	n, at, end := 0, 0, c.format.end()
	var bad error
	for ; n < batchRecords && at < len(data); n++ {
		size, past := c.format.RecordBytes, c.format.RecordBytes
		if size == 0 {
			size = bytes.IndexByte(data[at:], end)
			past = size + 1
		}
		if c.keys[n], bad = c.format.key(data[at : at+size]); bad != nil {
			bad = &RecordError{c.stats.Read + uint64(n) + 1, bad}
			break
		}
		at += past
		c.ends[n] = at
	}
	answered, err := c.filter.SeenBatch(c.keys[:n], c.seen[:n])
	if err := c.write(data, answered); err != nil {
		return 0, fmt.Errorf("writing: %w", err)
	}
	if err == nil {
		err = bad
	}
	return at, err
}

// write writes the new ones of the first n records of data. Neighbours are one piece.
func (c *copying) write(data []byte, n int) error {
	begin := 0
	for i := 0; i < n; {
		if c.seen[i] {
			begin = c.ends[i]
			i++
			continue
		}
		for ; i < n && !c.seen[i]; i++ {
			c.stats.Kept++
		}
		piece := data[begin:c.ends[i-1]]
		begin = c.ends[i-1]
		c.stats.KeptBytes += uint64(len(piece))
		if c.filter.cfg.Count {
			continue
		}
		if _, err := c.out.Write(piece); err != nil {
			return err
		}
	}
	c.stats.Read += uint64(n)
	c.stats.ReadBytes += uint64(begin)
	return nil
}

// key is the part of a record that is compared.
func (f *Format) key(record []byte) ([]byte, error) {
	switch {
	case f.Field > 0:
		return f.field(record)
	case f.Key != "":
		return f.value(record)
	}
	return record, nil
}

func (f *Format) field(record []byte) ([]byte, error) {
	delimiter := f.Delimiter
	if delimiter == 0 {
		delimiter = '\t'
	}
	for n := 1; ; n++ {
		end := bytes.IndexByte(record, delimiter)
		if n == f.Field && end >= 0 {
			return record[:end], nil
		} else if n == f.Field {
			return record, nil
		} else if end < 0 {
			return nil, fmt.Errorf("there is no field %d, only %d", f.Field, n)
		}
		record = record[end+1:]
	}
}

// value is the value of the key, without the spaces and escapes that JSON leaves to the writer.
func (f *Format) value(record []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(record, &object); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	value, ok := object[f.Key]
	if !ok {
		return nil, fmt.Errorf("the JSON object has no key %q", f.Key)
	}
	if value[0] == '"' {
		var text string
		err := json.Unmarshal(value, &text)
		return append([]byte{'"'}, text...), err
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, value)
	return compact.Bytes(), err
}
