package check

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"unsafe"
)

// maxStateBits is the size of the largest state.
const maxStateBits = 512 * 64

// codec packs states into words. It is read-only.
type codec[S any] interface {
	bits() int
	// encode packs s into words that are 0.
	encode(s *S, words []uint64) error
	// encodeNext packs what follows a state, given the words of that.
	encodeNext(s, before *padded[S], packed, words []uint64) error
	decode(words []uint64, s *S) error
}

// padded is a state that can be read in pieces of 8 bytes.
type padded[S any] struct {
	state S
	_     [7]byte
}

func (p *padded[S]) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), (unsafe.Sizeof(p.state)+7)&^7)
}

// words is how many words so many bits take.
func words(bits int) int { return (bits + 63) / 64 }

// newCodec makes the codec for a type: its methods', if it has some.
func newCodec[S any](maxBytes int) (codec[S], error) {
	var s S
	_, appends := any(&s).(encoding.BinaryAppender)
	_, reads := any(&s).(encoding.BinaryUnmarshaler)
	if appends && reads {
		if maxBytes < 1 || maxBytes > maxBytesOfState {
			return nil, fmt.Errorf("check: %T has AppendBinary, and Model.MaxBytes is %d; set it "+
				"to the most that is appended, 1 to %d", s, maxBytes, maxBytesOfState)
		}
		return binaryCodec[S]{maxBytes}, nil
	}
	c := &fieldCodec[S]{}
	t := reflect.TypeFor[S]()
	if err := c.add(t, 0, t.String(), 0); err != nil {
		return nil, err
	}
	if c.size > maxStateBits {
		return nil, fmt.Errorf("check: %s has %d bits; a state has at most %d", t, c.size,
			maxStateBits)
	}
	c.merge()
	return c, nil
}

// fieldCodec packs the fields of a type of fixed size one after the other.
//
//	bit 63                                  bit 0
//	+---------+--------------+-----+---+---+
//	| 0 ... 0 | uint8        | bool| bits:"3" |    the first field is in the lowest bits
//	+---------+--------------+-----+---+---+
type fieldCodec[S any] struct {
	fields []field
	owner  []int32 // for each byte of the type its field, or -1 where there is none
	size   int     // bits
}

// field is an integer or bool somewhere in the type, or some that are neighbours.
type field struct {
	offset uintptr
	bytes  int // in memory: 1, 2, 4 or 8
	bits   int // packed
	signed bool
	at     int // its first packed bit
	name   string
}

// add adds the fields of a type that is at an offset. limit is the bits that the tag of a field
// allows, 0 if there is none.
func (c *fieldCodec[S]) add(t reflect.Type, offset uintptr, name string, limit int) error {
	kind := t.Kind()
	switch kind {
	case reflect.Struct:
		if limit > 0 {
			return fmt.Errorf("check: %s has the tag bits:\"%d\" and is a struct; give the tag to "+
				"its fields", name, limit)
		}
		for i := range t.NumField() {
			f := t.Field(i)
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
			if c.size > maxStateBits {
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
	switch kind {
	case reflect.Bool:
		f.bits = 1
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.signed = true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		return fmt.Errorf("check: %s is a %s, which a state cannot have: use structs, arrays, "+
			"integers and bools, or give the state AppendBinary and UnmarshalBinary", name, t)
	}
	if limit > f.bits {
		return fmt.Errorf("check: %s has the tag bits:\"%d\" and only %d bits", name, limit, f.bits)
	}
	if limit > 0 {
		f.bits = limit
	}
	c.fields = append(c.fields, f)
	c.size += f.bits
	return nil
}

// tagBits is the number in the tag of a field.
func tagBits(f reflect.StructField, name string) (int, error) {
	text, ok := f.Tag.Lookup("bits")
	if !ok {
		return 0, nil
	}
	bits, err := strconv.Atoi(text)
	if err != nil || bits < 1 || bits > 64 {
		return 0, fmt.Errorf("check: %s.%s has the tag bits:%q; give it a number from 1 to 64",
			name, f.Name, text)
	}
	return bits, nil
}

// merge joins whole fields that are neighbours in memory, so that eight bytes are one field.
func (c *fieldCodec[S]) merge() {
	var merged []field
	for _, f := range c.fields {
		for len(merged) > 0 {
			last := &merged[len(merged)-1]
			if last.bits != 8*last.bytes || f.bits != 8*f.bytes || last.bytes != f.bytes ||
				f.bytes > 4 || last.offset+uintptr(last.bytes) != f.offset {
				break
			}
			f = field{offset: last.offset, bytes: 2 * f.bytes, bits: 2 * f.bits, at: last.at,
				name: last.name}
			merged = merged[:len(merged)-1]
		}
		merged = append(merged, f)
	}
	c.fields = merged
	c.owner = slices.Repeat([]int32{-1}, int(unsafe.Sizeof(*new(S))+7))
	for i, f := range merged {
		for b := range f.bytes {
			c.owner[int(f.offset)+b] = int32(i)
		}
	}
}

func (c *fieldCodec[S]) bits() int { return max(c.size, 1) }

func (c *fieldCodec[S]) encode(s *S, to []uint64) error {
	base := unsafe.Pointer(s)
	for i := range c.fields {
		if err := c.fields[i].encode(base, to); err != nil {
			return err
		}
	}
	return nil
}

// encodeNext packs the fields that have changed. Next changes few of them.
func (c *fieldCodec[S]) encodeNext(s, before *padded[S], packed, to []uint64) error {
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

// mask is its bits, in the lowest ones of a word.
func (f *field) mask() uint64 { return 1<<f.bits - 1 }

func (c *fieldCodec[S]) decode(from []uint64, s *S) error {
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

// maxBytesOfState is how long what AppendBinary appends may be.
const maxBytesOfState = maxStateBits/8 - 2

// binaryCodec packs what AppendBinary appends: two bytes for its length, then itself.
type binaryCodec[S any] struct{ maxBytes int }

func (c binaryCodec[S]) bits() int { return 8 * (2 + c.maxBytes) }

func (c binaryCodec[S]) encode(s *S, to []uint64) error {
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to))), 8*len(to))
	out, err := any(s).(encoding.BinaryAppender).AppendBinary(all[2:2:len(all)])
	if err != nil {
		return fmt.Errorf("AppendBinary: %w", err)
	}
	if len(out) > c.maxBytes {
		return fmt.Errorf("AppendBinary appended %d bytes, and Model.MaxBytes is %d", len(out),
			c.maxBytes)
	}
	copy(all[2:], out)
	all[0], all[1] = byte(len(out)), byte(len(out)>>8)
	return nil
}

func (c binaryCodec[S]) encodeNext(s, _ *padded[S], _, to []uint64) error {
	clear(to)
	return c.encode(&s.state, to)
}

func (c binaryCodec[S]) decode(from []uint64, s *S) error {
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(from))), 8*len(from))
	n := int(all[0]) | int(all[1])<<8
	var empty S
	*s = empty
	if err := any(s).(encoding.BinaryUnmarshaler).UnmarshalBinary(all[2 : 2+n : 2+n]); err != nil {
		return fmt.Errorf("UnmarshalBinary: %w", err)
	}
	return nil
}
