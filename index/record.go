package index

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/plural"
)

// Record is a key with a value, as it goes into a table and comes out of it.
type Record struct{ Key, Value []byte }

// form is how records lie in whole words, while a table is built and in its heap:
//
//	fixed      | key | value | zeros |
//	variable   | bytes of the value: 2 | key | value | zeros |
type form struct {
	keySize, valueSize int
	prefix             int // bytes in front of the key: 0 or 2
}

const prefixBytes = 2

func formOf(c *Config) form {
	f := form{keySize: c.KeySize, valueSize: c.ValueSize}
	if c.Variable {
		f.prefix = prefixBytes
	}
	return f
}

// check refuses a record of the wrong size.
func (f form) check(r Record) error {
	switch {
	case len(r.Key) != f.keySize:
		return fmt.Errorf("index: a key of %s; this index has keys of %d",
			plural.Of(len(r.Key), "byte"), f.keySize)
	case f.prefix == 0 && len(r.Value) != f.valueSize:
		return fmt.Errorf("index: a value of %s; this index has values of %d",
			plural.Of(len(r.Value), "byte"), f.valueSize)
	case len(r.Value) > f.valueSize:
		return fmt.Errorf("index: a value of %s; this index has values of at most %d",
			plural.Of(len(r.Value), "byte"), f.valueSize)
	}
	return nil
}

// words is the length of a record.
func (f form) words(valueSize int) int { return (f.prefix + f.keySize + valueSize + 7) / 8 }

// maxWords is that of the longest one.
func (f form) maxWords() int { return f.words(f.valueSize) }

// wordsAt is the length of the record that begins with a word.
func (f form) wordsAt(first uint64) int {
	if f.prefix == 0 {
		return f.maxWords()
	}
	return f.words(f.valueSizeAt(first))
}

func (f form) valueSizeAt(first uint64) int {
	if f.prefix == 0 {
		return f.valueSize
	}
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], first)
	return int(binary.LittleEndian.Uint16(b[:]))
}

// encode writes a record into as many words as it has.
func (f form) encode(to []uint64, key, value []byte) {
	to[len(to)-1] = 0
	b := bytesOf(to)
	if f.prefix > 0 {
		binary.LittleEndian.PutUint16(b, uint16(len(value)))
		b = b[prefixBytes:]
	}
	copy(b, key)
	copy(b[len(key):], value)
}

// key is the key of a record, of which at least so much is there.
func (f form) key(record []uint64) []byte {
	return bytesOf(record)[f.prefix : f.prefix+f.keySize : f.prefix+f.keySize]
}

// value is the value of a whole record.
func (f form) value(record []uint64) []byte {
	from := f.prefix + f.keySize
	to := from + f.valueSizeAt(record[0])
	return bytesOf(record)[from:to:to]
}

// bytesOf is the memory of words.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
