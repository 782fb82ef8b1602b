package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"unsafe"
)

// Padded is a value that can be read in pieces of 8 bytes.
type Padded[T any] struct {
	Value T
	_     [7]byte
}

func (p *Padded[T]) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), (unsafe.Sizeof(p.Value)+7)&^7)
}

// Words is how many words so many bits take.
func Words(bits int) int { return (bits + 63) / 64 }

// Floats says what fields of floating-point values become.
type Floats uint8

const (
	NoFloats    Floats = iota // they are refused
	ExactFloats               // all their bits are kept
	KeyFloats                 // -0 becomes 0, and any NaN the same one: equal keys have equal bits
)

// Fields packs the fields of a type of fixed size one after the other.
//
//	bit 63                                  bit 0
//	+---------+--------------+-----+---+---+
//	| 0 ... 0 | uint8        | bool| bits:"3" |    the first field is in the lowest bits
//	+---------+--------------+-----+---+---+
type Fields[T any] struct {
	fields []field
	owner  []int32 // for each byte of the type its field, or -1 where there is none
	size   int     // bits
	whole  bool    // what is packed is the memory of the value, in the order of its bytes
}

// NewFields makes the packing of a type. The error names the field that has no fixed size, or whose
// tag is wrong. A type of more than maxBits is refused.
func NewFields[T any](floats Floats, maxBits int) (*Fields[T], error) {
	c := &Fields[T]{}
	t, w := reflect.TypeFor[T](), walk{floats: floats, maxBits: maxBits}
	if err := w.add(t, 0, t.String(), 0); err != nil {
		return nil, err
	}
	if w.size > maxBits {
		return nil, fmt.Errorf("%s has more than %d bits", t, maxBits)
	}
	c.fields, c.size = w.fields, w.size
	c.merge()
	return c, nil
}

// field is an integer or bool somewhere in the type, or some that are neighbours.
type field struct {
	offset uintptr
	bytes  int // in memory: 1, 2, 4 or 8
	bits   int // packed
	signed bool
	float  bool // it is normalized: see KeyFloats
	at     int  // its first packed bit
	name   string
}

// whole reports whether the field is packed as it is in memory.
func (f *field) whole() bool { return !f.float && f.bits == 8*f.bytes }

// walk lists the fields of a type.
type walk struct {
	floats  Floats
	maxBits int
	fields  []field
	size    int // bits
}

// add adds the fields of a type that is at an offset. limit is the bits that the tag of a field
// allows, 0 if there is none. Fields without a name are no part of a value, as for ==.
func (c *walk) add(t reflect.Type, offset uintptr, name string, limit int) error {
	kind := t.Kind()
	switch kind {
	case reflect.Struct:
		if limit > 0 {
			return fmt.Errorf("%s has the tag bits:\"%d\" and is a struct; give the tag to "+
				"its fields", name, limit)
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			bits, err := tagBits(f, name)
			if err == nil {
				err = c.add(f.Type, offset+f.Offset, name+"."+f.Name, bits)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		for i := 0; i < t.Len() && t.Size() > 0; i++ {
			if c.size > c.maxBits {
				return nil // is refused
			}
			err := c.add(t.Elem(), offset+uintptr(i)*t.Elem().Size(),
				fmt.Sprintf("%s[%d]", name, i), limit)
			if err != nil {
				return err
			}
		}
		return nil
	}
	size := int(t.Size())
	f := field{offset: offset, bytes: size, bits: 8 * size, name: name, at: c.size}
	if err := c.kind(&f, t); err != nil {
		return err
	}
	switch {
	case limit > 0 && (kind == reflect.Float32 || kind == reflect.Float64 ||
		kind == reflect.Complex64 || kind == reflect.Complex128):
		return fmt.Errorf("%s has the tag bits:\"%d\" and is a %s; tags are for integers", name,
			limit, t)
	case limit > f.bits:
		return fmt.Errorf("%s has the tag bits:\"%d\" and only %d bits", name, limit, f.bits)
	case limit > 0:
		f.bits = limit
	}
	c.fields = append(c.fields, f)
	c.size += f.bits
	if kind == reflect.Complex64 || kind == reflect.Complex128 { // f is the real part
		f.offset, f.at = f.offset+uintptr(f.bytes), c.size
		c.fields = append(c.fields, f)
		c.size += f.bits
	}
	return nil
}

// kind fills in what follows from the kind of a type.
func (c *walk) kind(f *field, t reflect.Type) error {
	kind := t.Kind()
	switch kind {
	case reflect.Bool:
		f.bits = 1
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.signed = true
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	case reflect.Complex64, reflect.Complex128:
		f.bytes, f.bits = f.bytes/2, f.bits/2
		fallthrough
	case reflect.Float32, reflect.Float64:
		if f.float = c.floats == KeyFloats; c.floats != NoFloats {
			return nil
		}
	}
	floats := ""
	if c.floats != NoFloats {
		floats = ", floats"
	}
	return fmt.Errorf("%s is a %s, which has no packed form: use structs, arrays, integers%s "+
		"and bools, or give the type AppendBinary and UnmarshalBinary", f.name, t, floats)
}

// tagBits is the number in the tag of a field.
func tagBits(f reflect.StructField, name string) (int, error) {
	text, ok := f.Tag.Lookup("bits")
	if !ok {
		return 0, nil
	}
	bits, err := strconv.Atoi(text)
	if err != nil || bits < 1 || bits > 64 {
		return 0, fmt.Errorf("%s.%s has the tag bits:%q; give it a number from 1 to 64",
			name, f.Name, text)
	}
	return bits, nil
}

// merge joins whole fields that are neighbours in memory, so that eight bytes are one field.
func (c *Fields[T]) merge() {
	var merged []field
	for _, f := range c.fields {
		for len(merged) > 0 {
			last := &merged[len(merged)-1]
			if !last.whole() || !f.whole() || last.bytes != f.bytes || f.bytes > 4 ||
				last.offset+uintptr(last.bytes) != f.offset {
				break
			}
			f = field{offset: last.offset, bytes: 2 * f.bytes, bits: 2 * f.bits, at: last.at,
				name: last.name}
			merged = merged[:len(merged)-1]
		}
		merged = append(merged, f)
	}
	c.fields = merged
	bytes := 0
	for _, f := range merged {
		if f.whole() {
			bytes += f.bytes
		}
	}
	c.whole = bytes == int(unsafe.Sizeof(*new(T)))
	c.owner = slices.Repeat([]int32{-1}, int(unsafe.Sizeof(*new(T))+7))
	for i, f := range merged {
		for b := range f.bytes {
			c.owner[int(f.offset)+b] = int32(i)
		}
	}
}

// Bits is the size of a packed value. A type without fields has one.
func (c *Fields[T]) Bits() int { return max(c.size, 1) }

// Encode packs s into words that are 0. The error names a field whose value its tag does not allow.
func (c *Fields[T]) Encode(s *T, to []uint64) error {
	base := unsafe.Pointer(s)
	for i := range c.fields {
		if err := c.fields[i].encode(base, to); err != nil {
			return err
		}
	}
	return nil
}

// EncodeNext packs s, which differs in few fields from another value, given the words of that.
func (c *Fields[T]) EncodeNext(s, before *Padded[T], packed, to []uint64) error {
	copy(to, packed)
	base := unsafe.Pointer(s)
	is, was := s.bytes(), before.bytes()
	for at := 0; at < len(is); at += 8 {
		changed := binary.LittleEndian.Uint64(is[at:]) ^ binary.LittleEndian.Uint64(was[at:])
		for changed != 0 {
			end := bits.TrailingZeros64(changed)/8 + 1
			if i := c.owner[at+end-1]; i >= 0 {
				f := &c.fields[i]
				if err := f.encode(base, to); err != nil {
					return err
				}
				end = int(f.offset) + f.bytes - at
			}
			changed &^= 1<<(8*end) - 1
		}
	}
	return nil
}

// encode packs the field, whatever its bits are so far.
func (f *field) encode(base unsafe.Pointer, to []uint64) error {
	word := f.load(base)
	if f.float {
		word = normal(word, f.bytes)
	}
	if f.bits < 64 {
		rest := word >> f.bits
		if f.signed {
			rest = uint64(int64(word<<(64-8*f.bytes))>>(64-8*f.bytes)>>(f.bits-1)) + 1
			if rest > 1 {
				return f.tooLarge(word)
			}
		} else if rest != 0 {
			return f.tooLarge(word)
		}
		word &= f.mask()
	}
	at, shift := f.at/64, f.at%64
	to[at] = to[at]&^(f.mask()<<shift) | word<<shift
	if shift+f.bits > 64 {
		to[at+1] = to[at+1]&^(f.mask()>>(64-shift)) | word>>(64-shift)
	}
	return nil
}

// normal is the same word for all floating-point values that are equal, and for all NaNs.
func normal(word uint64, bytes int) uint64 {
	x, nan := math.Float64frombits(word), math.Float64bits(math.NaN())
	if bytes == 4 {
		x, nan = float64(math.Float32frombits(uint32(word))), 0x7fc00000
	}
	switch {
	case x != x:
		return nan
	case x == 0:
		return 0
	}
	return word
}

// mask is its bits, in the lowest ones of a word.
func (f *field) mask() uint64 { return 1<<f.bits - 1 }

// Decode unpacks a value. The error is nil.
func (c *Fields[T]) Decode(from []uint64, s *T) error {
	base := unsafe.Pointer(s)
	for i := range c.fields {
		f := &c.fields[i]
		at, shift := f.at/64, f.at%64
		word := from[at] >> shift
		if shift+f.bits > 64 {
			word |= from[at+1] << (64 - shift)
		}
		if unused := 64 - f.bits; f.signed {
			word = uint64(int64(word<<unused) >> unused)
		} else {
			word = word << unused >> unused
		}
		f.store(base, word)
	}
	return nil
}

// load reads the field from memory.
func (f *field) load(base unsafe.Pointer) uint64 {
	at := unsafe.Add(base, f.offset)
	switch f.bytes {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	default:
		return *(*uint64)(at)
	}
}

// store writes the field to memory.
func (f *field) store(base unsafe.Pointer, word uint64) {
	at := unsafe.Add(base, f.offset)
	switch f.bytes {
	case 1:
		*(*uint8)(at) = uint8(word)
	case 2:
		*(*uint16)(at) = uint16(word)
	case 4:
		*(*uint32)(at) = uint32(word)
	default:
		*(*uint64)(at) = word
	}
}

func (f *field) tooLarge(word uint64) error {
	if f.signed {
		unused := 64 - 8*f.bytes
		return fmt.Errorf("%s is %d, which %d bits do not hold; raise its tag", f.name,
			int64(word<<unused)>>unused, f.bits)
	}
	return fmt.Errorf("%s is %d, which %d bits do not hold; raise its tag", f.name, word, f.bits)
}
