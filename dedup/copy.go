package dedup

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
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
	// Delimiter is what separates fields. 0 means a tab, and a comma with QuotesCSV.
	Delimiter byte
	// Quotes is what quotes mean to fields. By default a field that begins with one is refused, if
	// it is before the compared field or is that field.
	Quotes Quotes
	// Key compares the value of this key of a record that is a JSON object. Strings are equal if
	// their characters are, however they are escaped; invalid bytes and halves of surrogate pairs
	// are compared as they are.
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
	blockBytes = 1 << 20 // read at once
	blocks     = 3       // that are in use: one is read, one waits, one is looked up
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
	case f.Quotes == QuotesCSV && f.Field == 0:
		return fmt.Errorf("dedup: QuotesCSV needs Field")
	case f.Quotes == QuotesCSV && (f.Delimiter == '"' || f.Delimiter == '\r'):
		return fmt.Errorf("dedup: fields of CSV are not separated by %q", f.Delimiter)
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
	c := copying{filter: f, format: format, out: out}
	if err := format.check(); err != nil {
		return c.stats, err
	}
	r := readBlocks(in, format)
	defer close(r.stop)
	err := c.all(ctx, r)
	return c.stats, err
}

// block is whole records, or why there are no more.
type block struct {
	data []byte
	err  error // io.EOF: the end
}

// reader reads blocks ahead, until stop is closed.
type reader struct {
	full  chan block
	empty chan []byte // memory of blocks to be used again
	stop  chan struct{}
}

func readBlocks(in io.Reader, format Format) *reader {
	r := &reader{make(chan block, blocks), make(chan []byte, blocks), make(chan struct{})}
	for range blocks {
		r.empty <- nil
	}
	go r.read(&splitter{in: in, format: format})
	return r
}

func (r *reader) read(s *splitter) {
	for {
		var buf []byte
		select {
		case buf = <-r.empty:
		case <-r.stop:
			return
		}
		b := s.next(buf)
		r.full <- b
		if b.err != nil {
			return
		}
	}
}

// splitter cuts a stream after the last record of each block.
type splitter struct {
	in     io.Reader
	format Format
	rest   []byte // begins a record
	atEnd  bool

	inQuotes bool // what comes next, of records of CSV
}

// next is the next block, in the memory of buf if that is large enough.
func (s *splitter) next(buf []byte) block {
	if need := max(blockBytes, 2*len(s.rest)); cap(buf) < need || cap(buf) > 4*need {
		buf = make([]byte, 0, need)
	}
	buf = buf[:len(s.rest)]
	copy(buf, s.rest) // which may be in the same memory
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
	if s.format.Quotes == QuotesCSV {
		return s.wholeOfCSV(buf, from)
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
	out    io.Writer
	stats  Stats

	ends [batchRecords]int // of records in the block
	seen [batchRecords]bool

	keys, records [batchRecords][]byte // for exact filters
}

// all copies all blocks.
func (c *copying) all(ctx context.Context, r *reader) error {
	for {
		var b block
		select {
		case b = <-r.full:
		case <-ctx.Done():
			return ctx.Err()
		}
		before := c.stats
		kept, err := c.block(ctx, b.data)
		if kept > 0 {
			if _, err := c.out.Write(b.data[:kept]); err != nil {
				c.stats.Kept, c.stats.KeptBytes = before.Kept, before.KeptBytes
				return fmt.Errorf("writing: %w", err)
			}
		}
		switch {
		case err != nil:
			return err
		case b.err == io.EOF:
			return nil
		case b.err != nil:
			return b.err
		}
		r.empty <- b.data
	}
}

// block looks up the records of a block, and moves those that are to be written to its beginning.
// It returns the bytes that they take.
func (c *copying) block(ctx context.Context, data []byte) (kept int, err error) {
	for at := 0; at < len(data); {
		if err := ctx.Err(); err != nil {
			return kept, err
		}
		n, end, bad := c.split(data, at)
		answered, err := c.lookUp(n)
		kept = c.keep(data, at, kept, answered)
		if err == nil {
			err = bad
		}
		if err != nil {
			return kept, err
		}
		at = end
	}
	return kept, nil
}

// split makes a batch of the records of data from at on. It returns how many they are and where
// they end. A record that has no key is an error, and ends the batch.
func (c *copying) split(data []byte, at int) (n, end int, err error) {
	f, compared, past := c.filter, c.format.Field > 0 || c.format.Key != "", 1
	if c.format.RecordBytes > 0 {
		past = 0
	}
	pattern := uint64(c.format.end()) * lowBits
	if f.prints != nil {
		f.prints.begin(batchRecords)
	}
	for ; n < batchRecords && at < len(data); n++ {
		size := c.format.RecordBytes
		if c.format.Quotes == QuotesCSV {
			size = sizeOfCSV(data[at:], c.format.end())
		} else if size == 0 {
			size = indexByte(data[at:], pattern)
		}
		record := data[at : at+size]
		key := record
		if compared {
			number := c.stats.Read + uint64(n) + 1
			if c.format.Quotes == QuotesCSV && number == 1 {
				key = bytes.TrimPrefix(key, []byte(byteOrderMark))
			}
			if key, err = c.format.key(key); err != nil {
				return n, at, &RecordError{number, err}
			}
		}
		if f.prints != nil {
			f.prints.add(f.print(key))
		} else {
			c.keys[n], c.records[n] = key, record
		}
		at += size + past
		c.ends[n] = at
	}
	return n, at, nil
}

// lowBits is the lowest bit of each byte.
const lowBits = 0x0101010101010101

// indexByte is bytes.IndexByte for the byte that pattern repeats. It is faster where the byte is
// near: the first words are searched without a call.
func indexByte(data []byte, pattern uint64) int {
	i := 0
	for ; i < 32 && i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:]) ^ pattern // the byte has become zero
		if zero := (x - lowBits) &^ x & (lowBits << 7); zero != 0 {
			return i + bits.TrailingZeros64(zero)/8
		}
	}
	return i + bytes.IndexByte(data[i:], byte(pattern))
}

// lookUp answers the batch of n records.
func (c *copying) lookUp(n int) (answered int, err error) {
	f := c.filter
	switch {
	case f.broken != nil:
		return 0, f.broken
	case f.exact != nil:
		return f.exactBatch(c.keys[:n], c.records[:n], c.seen[:n])
	}
	return f.answer(c.seen[:n])
}

// keep moves the new ones of n records from begin on to the end of the records that are kept, and
// returns the new end. Neighbours move together.
func (c *copying) keep(data []byte, begin, kept, n int) int {
	at := begin
	for i := 0; i < n; i++ {
		if c.seen[i] {
			at = c.ends[i]
			continue
		}
		first := i
		for i+1 < n && !c.seen[i+1] {
			i++
		}
		c.stats.Kept += uint64(i + 1 - first)
		c.stats.KeptBytes += uint64(c.ends[i] - at)
		if !c.filter.cfg.Count {
			if kept != at {
				copy(data[kept:], data[at:c.ends[i]])
			}
			kept += c.ends[i] - at
		}
		at = c.ends[i]
	}
	c.stats.Read += uint64(n)
	c.stats.ReadBytes += uint64(at - begin)
	return kept
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
