package dedup

import (
	"bytes"
	"errors"
	"fmt"
)

// Quotes is what quotes mean to fields.
type Quotes int

const (
	// QuotesRefused makes a field that begins with a quote an error that wraps ErrQuote: the
	// delimiters in the quotes would be taken for the ends of fields.
	QuotesRefused Quotes = iota
	// QuotesCSV reads records of CSV (RFC 4180): a field that is enclosed in quotes may have
	// delimiters, ends of records and doubled quotes in it, and is compared without the quotes. A
	// carriage return at the end of a record is not compared, nor is a byte order mark at the
	// beginning of the stream. A quote anywhere else is an error.
	QuotesCSV
	// QuotesPlain takes quotes for bytes as any others.
	QuotesPlain
)

// ErrQuote says that a field begins with a quote, which is refused.
var ErrQuote = errors.New("begins with a quote")

// byteOrderMark begins files of UTF-8 that some spreadsheets write.
const byteOrderMark = "\ufeff"

func (f *Format) delimiter() byte {
	switch {
	case f.Delimiter != 0:
		return f.Delimiter
	case f.Quotes == QuotesCSV:
		return ','
	}
	return '\t'
}

func (f *Format) field(record []byte) ([]byte, error) {
	if f.Quotes == QuotesCSV {
		return f.fieldOfCSV(record)
	}
	delimiter := f.delimiter()
	for n := 1; ; n++ {
		if f.Quotes == QuotesRefused && len(record) > 0 && record[0] == '"' && delimiter != '"' {
			return nil, fmt.Errorf("field %d %w", n, ErrQuote)
		}
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

// fieldOfCSV reads all fields, also those after the one that is compared: a quote that does not
// belong into a field hides where its record ends.
func (f *Format) fieldOfCSV(record []byte) (field []byte, err error) {
	record = bytes.TrimSuffix(record, []byte{'\r'})
	for n := 1; ; n++ {
		text, size, err := firstOfCSV(record, f.delimiter())
		if err != nil {
			return nil, fmt.Errorf("field %d %w", n, err)
		}
		if n == f.Field {
			field = text
		}
		if size == len(record) && n < f.Field {
			return nil, fmt.Errorf("there is no field %d, only %d", f.Field, n)
		} else if size == len(record) {
			return field, nil
		}
		record = record[size+1:]
	}
}

// firstOfCSV is the text of the first field of a record, and how many bytes it takes there.
func firstOfCSV(record []byte, delimiter byte) (text []byte, size int, err error) {
	if len(record) == 0 || record[0] != '"' {
		if size = bytes.IndexByte(record, delimiter); size < 0 {
			size = len(record)
		}
		if text = record[:size]; bytes.IndexByte(text, '"') >= 0 {
			return nil, 0, errors.New("has a quote, and is not enclosed in quotes")
		}
		return text, size, nil
	}
	doubled := false
	for size = 1; ; size += 2 {
		quote := bytes.IndexByte(record[size:], '"')
		if quote < 0 {
			return nil, 0, errors.New("begins with a quote, and none ends it")
		}
		if size += quote; size+1 == len(record) || record[size+1] != '"' {
			break
		}
		doubled = true
	}
	if text = record[1:size]; doubled {
		text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
	}
	if size++; size < len(record) && record[size] != delimiter {
		return nil, 0, fmt.Errorf("goes on with %q after its quotes", record[size])
	}
	return text, size, nil
}

// sizeOfCSV is how many bytes the first record of data takes without its end, or all of data if
// that ends in quotes.
func sizeOfCSV(data []byte, end byte) int {
	for at, open := 0, false; ; {
		size := bytes.IndexByte(data[at:], end)
		if size < 0 {
			return len(data) - 1 // the last byte is an end
		}
		if open = open != (bytes.Count(data[at:at+size], []byte{'"'})%2 == 1); !open {
			return at + size
		}
		at += size + 1
	}
}

// wholeOfCSV is whole for records of CSV, whose ends an even number of quotes precedes.
func (s *splitter) wholeOfCSV(buf []byte, from int) (whole int) {
	for at := from; ; {
		quote := bytes.IndexByte(buf[at:], '"')
		next := at + quote
		if quote < 0 {
			next = len(buf)
		}
		if i := bytes.LastIndexByte(buf[at:next], s.format.end()); i >= 0 && !s.inQuotes {
			whole = at + i + 1
		}
		if quote < 0 {
			return whole
		}
		s.inQuotes = !s.inQuotes
		at = next + 1
	}
}
