package codec

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Use is what a type is used for.
type Use uint8

const (
	Key   Use = iota // equal values have equal bytes
	Value            // what is decoded is what was encoded, to the last bit
)

// maxBits is the size of the largest type of fixed size: 256 KiB, more than any table takes.
const maxBits = 1 << 21

// form is how a type becomes bytes.
type form uint8

const (
	plain form = iota
	packed
	text
	slice
	methods
)

// Codec gives the bytes of values of a type, and the values of bytes. It is read-only.
type Codec[T any] struct {
	form   form
	size   int        // bytes of plain and packed
	words  int        // words of these
	fields *Fields[T] // of plain and packed
}

// New makes the codec of a type. The error names the field that a key or value cannot have.
func New[T any](use Use) (*Codec[T], error) {
	if HasMethods[T]() {
		return &Codec[T]{form: methods}, nil
	}
	switch t := reflect.TypeFor[T](); {
	case t.Kind() == reflect.String:
		return &Codec[T]{form: text}, nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &Codec[T]{form: slice}, nil
	}
	floats := KeyFloats
	if use == Value {
		floats = ExactFloats
	}
	fields, err := NewFields[T](floats, maxBits)
	if err != nil {
		return nil, err
	}
	c := &Codec[T]{form: packed, size: (fields.Bits() + 7) / 8, words: Words(fields.Bits()),
		fields: fields}
	if fields.whole && fields.size > 0 {
		c.form = plain
	}
	return c, nil
}

// Size is how many bytes every value has. fixed is false where their number varies.
func (c *Codec[T]) Size() (bytes int, fixed bool) { return c.size, c.form <= packed }

// Plain reports whether the bytes of a value are its memory.
func (c *Codec[T]) Plain() bool { return c.form == plain }

// Bits is how many bits every value has, of a type of fixed size.
func (c *Codec[T]) Bits() int { return c.fields.Bits() }

// Room is memory for the bytes of a value of fixed size. New memory is zero, which Codec.Words
// needs.
type Room[T any] struct {
	_ [0]uint64 // aligned
	Padded[T]
}

// Words is a room as words.
func (r *Room[T]) Words() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(r)), unsafe.Sizeof(*r)/8)
}

// Bytes is a room as bytes.
func (r *Room[T]) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

// Words is a value of fixed size as words, in a room. Zeros fill up the last one. The error names a
// field whose value its tag does not allow.
func (c *Codec[T]) Words(v *T, room *Room[T]) ([]uint64, error) {
	if c.form == plain { // this is inlined
		room.Value = *v
		return room.Words()[:c.words], nil
	}
	return c.encode(v, room)
}

func (c *Codec[T]) encode(v *T, room *Room[T]) ([]uint64, error) {
	words := room.Words()[:c.words]
	return words, c.fields.Encode(v, words)
}

// FromWords is the value of fixed size that Words has made.
func (c *Codec[T]) FromWords(words []uint64, v *T) {
	if c.form == plain {
		*v = *(*T)(unsafe.Pointer(unsafe.SliceData(words)))
		return
	}
	_ = c.fields.Decode(words, v) // it is nil
}

// Encode is the bytes of a value: in a room where their number is fixed, else the bytes of a string
// or slice themselves, or new ones.
func (c *Codec[T]) Encode(v *T, room *Room[T]) ([]byte, error) {
	switch c.form {
	case text:
		s := *(*string)(unsafe.Pointer(v))
		return unsafe.Slice(unsafe.StringData(s), len(s)), nil
	case slice:
		return *(*[]byte)(unsafe.Pointer(v)), nil
	case methods:
		own := new(T) // v is on the stack of its caller, unless a method gets it
		*own = *v
		return AppendBinary(own, nil)
	}
	_, err := c.Words(v, room)
	return room.Bytes()[:c.size], err
}

// EncodeHidden is Encode for bytes that are used while the value and the room are kept alive. Those
// of a plain value are its memory.
func (c *Codec[T]) EncodeHidden(v *T, room *Room[T]) ([]byte, error) {
	if c.form == plain {
		return Hide(unsafe.Slice((*byte)(unsafe.Pointer(v)), c.size)), nil
	}
	b, err := c.Encode(v, room)
	return Hide(b), err
}

// Into is where the bytes of a value of fixed size are to come, for Decode: to the value itself if
// they are its memory, else into a room.
func (c *Codec[T]) Into(v *T, room *Room[T]) []byte {
	if c.form == plain {
		return unsafe.Slice((*byte)(unsafe.Pointer(v)), c.size)[:0]
	}
	return room.Bytes()[:0:c.size]
}

// Decode is the value of bytes that Encode has made. A string or slice has them from then on, so
// nobody may change them.
func (c *Codec[T]) Decode(from []byte, v *T) error {
	switch {
	case c.form == text:
		*(*string)(unsafe.Pointer(v)) = unsafe.String(unsafe.SliceData(from), len(from))
	case c.form == slice:
		*(*[]byte)(unsafe.Pointer(v)) = from[:len(from):len(from)]
	case c.form == methods:
		own := new(T)
		err := UnmarshalBinary(from, own)
		*v = *own
		return err
	case len(from) != c.size:
		return fmt.Errorf("%d bytes are no %T, which has %d: give the table one type alone",
			len(from), *new(T), c.size)
	case c.form == plain:
		if to := (*byte)(unsafe.Pointer(v)); to != unsafe.SliceData(from) {
			copy(unsafe.Slice(to, c.size), from)
		}
	default:
		var room Room[T]
		copy(room.Bytes(), from)
		_ = c.fields.Decode(room.Words(), v) // it is nil
	}
	return nil
}

// Hide is the same slice, which the compiler takes for another one: what is on the stack remains
// there. See the documentation of the package. The stack cannot move while only the number of the
// address is known, as nothing is called here.
//
//go:nosplit
//go:nocheckptr
func Hide[E any](s []E) []E {
	address := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return unsafe.Slice(*(**E)(unsafe.Pointer(&address)), cap(s))[:len(s)]
}
