package codec

import (
	"slices"
	"strings"
	"testing"
)

// holes has holes between fields that are whole and of the same size.
type holes struct {
	A uint8
	B struct {
		C uint8
		D uint16
	}
	E [2]struct {
		F uint32
		_ [0]uint64
	}
	G [3]uint16
	H int64
}

// across has fields across words.
type across struct {
	A uint64 `bits:"60"`
	B int32  `bits:"4"`
	C int64  `bits:"50"`
	D [9]uint8
	E int16 `bits:"13"`
	F bool
	G [3]int8
	H uint64 `bits:"63"`
}

// full has a field that ends with the last word.
type full struct {
	A uint64 `bits:"60"`
	B uint8  `bits:"4"`
}

// Each bit of a packed state is one of the state, and no other.
func TestEachBit(t *testing.T) {
	mustPack[holes](t)
	mustPack[across](t)
	mustPack[full](t)
}

// mustPack takes the states whose bits are all 0, all 1, or all but one the same. Each can be
// packed alone, and after each other one, and is unpacked again.
func mustPack[S comparable](t *testing.T) {
	t.Helper()
	c, err := NewFields[S](NoFloats, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var packed [][]uint64
	for _, bit := range []uint64{0, 1} {
		all := make([]uint64, Words(c.Bits()))
		for i := range c.Bits() {
			all[i/64] |= bit << (i % 64)
		}
		packed = append(packed, all)
		for i := range c.Bits() {
			but := slices.Clone(all)
			but[i/64] ^= 1 << (i % 64)
			packed = append(packed, but)
		}
	}
	states, differ := make([]Padded[S], len(packed)), map[S]bool{}
	for i := range states {
		s, again := &states[i], make([]uint64, len(packed[i]))
		if err := c.Decode(packed[i], &s.Value); err != nil {
			t.Fatal(err)
		}
		if err := c.Encode(&s.Value, again); err != nil || !slices.Equal(again, packed[i]) {
			t.Fatalf("%+v is packed to %x, %v, and was %x", s.Value, again, err, packed[i])
		}
		differ[s.Value] = true
	}
	if len(differ) != len(packed) {
		t.Errorf("%d packed states are %d of %T", len(packed), len(differ), states[0].Value)
	}
	next := make([]uint64, Words(c.Bits()))
	for i := range states {
		for j := range states {
			err := c.EncodeNext(&states[j], &states[i], packed[i], next)
			if err != nil || !slices.Equal(next, packed[j]) {
				t.Fatalf("%+v after %+v is packed to %x, %v, want %x", states[j].Value,
					states[i].Value, next, err, packed[j])
			}
		}
	}
}

// bounded has fields of which one bit is not used, of all, and of few.
type bounded struct {
	A int8   `bits:"3"`
	B uint64 `bits:"63"`
	C int64  `bits:"63"`
	D uint16 `bits:"1"`
	E int64
	F int32 `bits:"1"`
}

// A field holds what its bits hold, and nothing beyond.
func TestLimits(t *testing.T) {
	c, err := NewFields[bounded](NoFloats, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []bounded{{A: 3, B: 1<<63 - 1, C: 1<<62 - 1, D: 1, E: 1<<63 - 1},
		{A: -4, C: -1 << 62, E: -1 << 63, F: -1}} {
		var again bounded
		packed := make([]uint64, Words(c.Bits()))
		if err := c.Encode(&s, packed); err != nil {
			t.Error(err)
		}
		if err := c.Decode(packed, &again); err != nil || again != s {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
	}
	for says, s := range map[string]bounded{"A is 4, which 3": {A: 4}, "A is -5, which 3": {A: -5},
		"B is 9223372036854775808, which 63":  {B: 1 << 63},
		"C is 4611686018427387904, which 63":  {C: 1 << 62},
		"C is -4611686018427387905, which 63": {C: -1<<62 - 1}, "D is 2, which 1": {D: 2},
		"F is 1, which 1": {F: 1}, "F is -2, which 1": {F: -2}} {
		err := c.Encode(&s, make([]uint64, Words(c.Bits())))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
