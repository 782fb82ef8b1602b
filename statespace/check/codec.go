package check

import (
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/codec"
)

// maxStateBits is the size of the largest state.
const maxStateBits = 512 * 64

// packing packs states into words. It is read-only.
type packing[S any] interface {
	Bits() int
	// Encode packs s into words that are 0.
	Encode(s *S, words []uint64) error
	// EncodeNext packs what follows a state, given the words of that.
	EncodeNext(s, before *codec.Padded[S], packed, words []uint64) error
	Decode(words []uint64, s *S) error
}

// newPacking makes the packing for a type: its methods', if it has some.
func newPacking[S any](maxBytes int) (packing[S], error) {
	if codec.HasMethods[S]() {
		if maxBytes < 1 || maxBytes > maxBytesOfState {
			return nil, fmt.Errorf("check: %T has AppendBinary, and Model.MaxBytes is %d; set it "+
				"to the most that is appended, 1 to %d", *new(S), maxBytes, maxBytesOfState)
		}
		return binaryCodec[S]{maxBytes}, nil
	}
	fields, err := codec.NewFields[S](codec.NoFloats, maxStateBits)
	if err != nil {
		return nil, fmt.Errorf("check: the state: %w", err)
	}
	return fields, nil
}

// maxBytesOfState is how long what AppendBinary appends may be.
const maxBytesOfState = maxStateBits/8 - 2

// binaryCodec packs what AppendBinary appends: two bytes for its length, then itself.
type binaryCodec[S any] struct{ maxBytes int }

func (c binaryCodec[S]) Bits() int { return 8 * (2 + c.maxBytes) }

func (c binaryCodec[S]) Encode(s *S, to []uint64) error {
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to))), 8*len(to))
	out, err := codec.AppendBinary(s, all[2:2:len(all)])
	if err != nil {
		return err
	}
	if len(out) > c.maxBytes {
		return fmt.Errorf("AppendBinary appended %d bytes, and Model.MaxBytes is %d", len(out),
			c.maxBytes)
	}
	copy(all[2:], out)
	all[0], all[1] = byte(len(out)), byte(len(out)>>8)
	return nil
}

func (c binaryCodec[S]) EncodeNext(s, _ *codec.Padded[S], _, to []uint64) error {
	clear(to)
	return c.Encode(&s.Value, to)
}

func (c binaryCodec[S]) Decode(from []uint64, s *S) error {
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(from))), 8*len(from))
	n := int(all[0]) | int(all[1])<<8
	return codec.UnmarshalBinary(all[2:2+n], s)
}
