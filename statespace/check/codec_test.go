package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/codec"
)

// bytesState is the bytes that it is packed to.
type bytesState struct{ bytes []byte }

func (s *bytesState) AppendBinary(b []byte) ([]byte, error) { return append(b, s.bytes...), nil }
func (s *bytesState) UnmarshalBinary(b []byte) error {
	if cap(b) != len(b) {
		return fmt.Errorf("%d bytes have room for %d", len(b), cap(b))
	}
	s.bytes = slices.Clone(b)
	return nil
}

// States of methods are of any length up to the bound, in words that had something else.
func TestBinaryLengths(t *testing.T) {
	const most = maxBytesOfState
	for _, maxBytes := range []int{-1, 0, most + 1} {
		_, err := newPacking[bytesState](maxBytes)
		if err == nil || !strings.Contains(err.Error(), "1 to 4094") {
			t.Errorf("Model.MaxBytes %d: %v", maxBytes, err)
		}
	}
	c, err := newPacking[bytesState](most)
	if err != nil {
		t.Fatal(err)
	}
	packed, fresh := make([]uint64, codec.Words(c.Bits())), make([]uint64, codec.Words(c.Bits()))
	for _, n := range []int{most, 0, 255, 1, 256, 4000, 257, 3} {
		s := codec.Padded[bytesState]{Value: bytesState{slices.Repeat([]byte{0xa5}, n)}}
		clear(fresh)
		err := c.Encode(&s.Value, fresh)
		if err == nil {
			err = c.EncodeNext(&s, nil, nil, packed)
		}
		var again bytesState
		if err == nil {
			err = c.Decode(packed, &again)
		}
		if err != nil || !slices.Equal(again.bytes, s.Value.bytes) ||
			!slices.Equal(packed, fresh) {
			t.Errorf("%d bytes became %d, %v", n, len(again.bytes), err)
		}
	}
	small, err := newPacking[bytesState](8)
	if err != nil {
		t.Fatal(err)
	}
	err = small.Encode(&bytesState{make([]byte, 9)}, fresh)
	if err == nil || !strings.Contains(err.Error(), "Model.MaxBytes is 8") {
		t.Errorf("error %v", err)
	}
}
