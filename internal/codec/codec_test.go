package codec

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

type name string

type raw []byte

// mixed has every kind of field, and holes.
type mixed struct {
	A bool
	B int16
	C [3]struct {
		D uint8
		E float64
	}
	F complex64
	G uint32 `bits:"32"`
	H [2]bool
}

// packs has no hole, and so is plain.
type packs struct {
	A, B uint32
	C    [2]int16
	D    int32
	E    int
}

// hidden has fields that are not exported.
type hidden struct {
	a bool
	b int16
	c float64
}

// Values that are encoded are decoded again, and equal ones alone have equal bytes.
func TestRoundTrips(t *testing.T) {
	roundTrips[bool](t, packed)
	roundTrips[int8](t, plain)
	roundTrips[uint16](t, plain)
	roundTrips[int](t, plain)
	roundTrips[[7]uint8](t, plain)
	roundTrips[float32](t, plain)
	roundTrips[float64](t, plain)
	roundTrips[complex128](t, plain)
	roundTrips[[3]bool](t, packed)
	roundTrips[mixed](t, packed)
	roundTrips[packs](t, plain)
	roundTrips[struct {
		A uint8
		B uint32
	}](t, packed)
	roundTrips[struct{}](t, packed)
	roundTrips[[200]int32](t, plain)
	roundTrips[string](t, text)
	roundTrips[name](t, text)
}

func roundTrips[T comparable](t *testing.T, want form) {
	t.Helper()
	keys, values := must(New[T](Key))(t), must(New[T](Value))(t)
	if values.form != want {
		t.Errorf("%T has form %d, want %d", *new(T), values.form, want)
	}
	check := func(v, w T) bool {
		for _, c := range []*Codec[T]{keys, values} {
			var a, b Room[T]
			first, second := encode(t, c, &v, &a), encode(t, c, &w, &b)
			if bytes.Equal(first, second) != (v == w) {
				t.Errorf("%+v and %+v have %x and %x", v, w, first, second)
				return false
			}
			if got := decode(t, c, first); got != v {
				t.Errorf("%+v became %+v", v, got)
				return false
			}
			if n, fixed := c.Size(); fixed && n != len(first) || fixed != (want <= packed) {
				t.Errorf("%T has %d bytes, Size says %d, %v", v, len(first), n, fixed)
			}
			if want <= packed {
				var again T
				if c.FromWords(must(c.Words(&v, new(Room[T])))(t), &again); again != v {
					t.Errorf("%+v became %+v by its words", v, again)
				}
			}
		}
		return true
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	var zero T
	same := func(v T) bool { return check(zero, v) && check(v, v) }
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func must[V any](v V, err error) func(t *testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func encode[T any](t *testing.T, c *Codec[T], v *T, room *Room[T]) []byte {
	t.Helper()
	return must(c.Encode(v, room))(t)
}

func decode[T any](t *testing.T, c *Codec[T], from []byte) (v T) {
	t.Helper()
	if err := c.Decode(from, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Any bytes of the right number are a value, which has the same bytes after one round trip.
func FuzzDecode(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0xff}, 44))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := must(New[mixed](Key))(t)
		size, _ := c.Size()
		var v mixed
		err := c.Decode(b, &v)
		if (err == nil) != (len(b) == size) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err != nil {
			return
		}
		first := slices.Clone(encode(t, c, &v, new(Room[mixed])))
		v = decode(t, c, first)
		if second := encode(t, c, &v, new(Room[mixed])); !bytes.Equal(first, second) {
			t.Fatalf("%x, then %x", first, second)
		}
	})
}

// What is encoded is the same for ever: files have it.
func TestBytes(t *testing.T) {
	v := mixed{A: true, B: -2, F: complex(1, -2), G: 0xaabbccdd, H: [2]bool{false, true}}
	v.C[1].D, v.C[2].E = 5, 1.5
	got := hex.EncodeToString(encode(t, must(New[mixed](Key))(t), &v, new(Room[mixed])))
	want := "fdff01" + "0000000000000000" + "0a" + "000000000000000000000000000000" + "f07f" +
		"0000007f" + "00000080" + "bb997755" + "05"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h := hidden{true, 2, -0.5}
	got = hex.EncodeToString(encode(t, must(New[hidden](Key))(t), &h, new(Room[hidden])))
	if want := "0500" + "000000000000c07f" + "01"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p := packs{1, 2, [2]int16{3, 4}, 5, 6}
	got = hex.EncodeToString(encode(t, must(New[packs](Key))(t), &p, new(Room[packs])))
	if want := "010000000200000003000400050000000600000000000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// As keys all zeros are one, and all NaNs. As values they keep their bits.
func TestFloats(t *testing.T) {
	floats[float32](t, func(bits uint64) float32 { return math.Float32frombits(uint32(bits)) },
		1<<31, 0x7fc00000, 0x7fc00001, 0xff800001)
	floats[float64](t, math.Float64frombits, 1<<63, 0x7ff8000000000001, 0x7ff0000000000001,
		0xfff8000000000000)
	floats[complex64](t, func(bits uint64) complex64 {
		return complex(math.Float32frombits(uint32(bits)), math.Float32frombits(uint32(bits)))
	}, 1<<31, 0x7fc00000, 0x7fc00001)
	floats[[2]complex128](t, func(bits uint64) [2]complex128 {
		return [2]complex128{1: complex(1, math.Float64frombits(bits))}
	}, 1<<63, 0x7ff8000000000001, 0x7ff0000000000001)
}

// floats checks -0 and NaNs, given by their bits.
func floats[T any](t *testing.T, of func(bits uint64) T, negative uint64, nans ...uint64) {
	t.Helper()
	keys, values := must(New[T](Key))(t), must(New[T](Value))(t)
	zeros := []uint64{0, negative}
	for _, same := range [][]uint64{zeros, nans} {
		first := of(same[0])
		for _, bits := range same[1:] {
			v := of(bits)
			a := encode(t, keys, &first, new(Room[T]))
			b := encode(t, keys, &v, new(Room[T]))
			if !bytes.Equal(a, b) {
				t.Errorf("keys %v and %v have %x and %x", first, v, a, b)
			}
			a = encode(t, values, &first, new(Room[T]))
			b = encode(t, values, &v, new(Room[T]))
			if bytes.Equal(a, b) {
				t.Errorf("values %v and %v have %x", first, v, a)
			}
			got := decode(t, values, b)
			if !bytes.Equal(encode(t, values, &got, new(Room[T])), b) {
				t.Errorf("%v loses bits", v)
			}
		}
	}
	zero, nan := of(0), of(nans[0])
	if bytes.Equal(encode(t, keys, &zero, new(Room[T])), encode(t, keys, &nan, new(Room[T]))) {
		t.Errorf("NaN is 0 in %T", zero)
	}
}

// Fields without a name are no part of a value.
func TestBlankFields(t *testing.T) {
	type blank struct {
		A uint32
		_ *int
		B uint32
		_ uint32
	}
	c := must(New[blank](Key))(t)
	v := blank{A: 1, B: 2}
	memory := Room[blank]{}
	for i := range memory.Bytes() {
		memory.Bytes()[i] = 0xee
	}
	memory.Value.A, memory.Value.B = 1, 2
	a, b := encode(t, c, &v, new(Room[blank])), encode(t, c, &memory.Value, new(Room[blank]))
	if hex.EncodeToString(a) != "0100000002000000" || !bytes.Equal(a, b) {
		t.Errorf("%x and %x", a, b)
	}
}

// Types with methods, slices, and what is in their memory afterwards.
func TestMethods(t *testing.T) {
	at := time.Date(2024, 2, 29, 1, 2, 3, 4, time.UTC)
	times := must(New[time.Time](Key))(t)
	if got := decode(t, times, encode(t, times, &at, nil)); !got.Equal(at) {
		t.Errorf("%v became %v", at, got)
	}
	raws := must(New[raw](Value))(t)
	for _, v := range []raw{{}, {1, 2, 3}} {
		if got := decode(t, raws, encode(t, raws, &v, nil)); !bytes.Equal(got, v) {
			t.Errorf("%v became %v", v, got)
		}
	}
	if got := decode(t, raws, make([]byte, 2, 9)); cap(got) != 2 {
		t.Errorf("a slice can grow by %d bytes that are not its own", cap(got)-2)
	}
	sums := must(New[sum](Value))(t)
	for v := range sum(3) {
		if got := decode(t, sums, encode(t, sums, &v, nil)); got != v {
			t.Errorf("%v became %v", v, got)
		}
	}
	v := sum(1)
	if err := UnmarshalBinary([]byte{2, 0, 0}[:1], &v); err != nil || v != 2 {
		t.Errorf("%v, %v", v, err)
	}
	for _, bad := range [][]byte{{}, {200}} {
		if err := sums.Decode(bad, &v); err == nil || !strings.Contains(err.Error(), "Unmarshal") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	v = -1
	_, err := sums.Encode(&v, nil)
	if err == nil || !strings.Contains(err.Error(), "AppendBinary") {
		t.Errorf("error %v", err)
	}
}

// sum is added to by UnmarshalBinary.
type sum int

func (s sum) AppendBinary(b []byte) ([]byte, error) {
	if s < 0 {
		return nil, fmt.Errorf("%d is negative", s)
	}
	return append(b, byte(s)), nil
}

func (s *sum) UnmarshalBinary(b []byte) error {
	if len(b) != 1 || cap(b) != 1 || b[0] > 100 {
		return fmt.Errorf("%v, with room for %d", b, cap(b))
	}
	*s += sum(b[0])
	return nil
}

// Types that are no keys and values are refused by the name of their field.
func TestRefused(t *testing.T) {
	refused[*int](t, "*int is a *int")
	refused[map[int]int](t, "map[int]int is a map")
	refused[chan int](t, "chan int")
	refused[func()](t, "func()")
	refused[any](t, "interface {} is a interface {}")
	refused[error](t, "error is a error")
	refused[uintptr](t, "uintptr is a uintptr")
	refused[[]int](t, "[]int is a []int")
	refused[[]string](t, "[]string")
	refused[struct{ A struct{ b [2]*int } }](t, ".A.b[0] is a *int")
	refused[struct{ A string }](t, ".A is a string")
	refused[struct {
		A int
		T time.Time
	}](t, ".T.loc is a *time.Location")
	refused[[1 << 16]uint64](t, "has more than 2097152 bits")
	refused[struct {
		A float64 `bits:"5"`
	}](t, ".A has the tag bits:\"5\" and is a float64; tags are for integers")
	refused[struct {
		A uint8 `bits:"9"`
	}](t, "and only 8 bits")
}

func refused[T any](t *testing.T, says string) {
	t.Helper()
	for _, use := range []Use{Key, Value} {
		if _, err := New[T](use); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", reflect.TypeFor[T](), err, says)
		}
	}
}

// A value that its tag does not allow is an error, and one of another length.
func TestNoValue(t *testing.T) {
	type small struct {
		A uint8 `bits:"3"`
	}
	c := must(New[small](Key))(t)
	v := small{8}
	if _, err := c.Encode(&v, new(Room[small])); err == nil || !strings.Contains(err.Error(),
		"codec.small.A is 8, which 3 bits do not hold") {
		t.Errorf("error %v", err)
	}
	if err := c.Decode([]byte{1, 2}, &v); err == nil || !strings.Contains(err.Error(),
		"2 bytes are no codec.small, which has 1") {
		t.Errorf("error %v", err)
	}
}

// Encoding and decoding types of fixed size allocates nothing.
func TestAllocations(t *testing.T) {
	values, c, d := [2]mixed{{B: 4}}, must(New[mixed](Key))(t), must(New[packs](Value))(t)
	if n := testing.AllocsPerRun(100, func() {
		var room Room[mixed]
		b, err := c.Encode(&values[0], &room)
		if err == nil {
			err = c.Decode(Hide(b), &values[1])
		}
		var plain Room[packs]
		p := packs{}
		if b, _ := d.Encode(&p, &plain); err != nil || d.Decode(Hide(b), &p) != nil {
			t.Fatal(err)
		}
	}); n != 0 || values[0] != values[1] {
		t.Errorf("%v allocations, %v", n, values)
	}
}
