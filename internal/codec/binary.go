package codec

import (
	"encoding"
	"fmt"
)

// HasMethods reports whether a type has AppendBinary and UnmarshalBinary, for its pointer.
func HasMethods[T any]() bool {
	v := any(new(T))
	_, appends := v.(encoding.BinaryAppender)
	_, reads := v.(encoding.BinaryUnmarshaler)
	return appends && reads
}

// AppendBinary calls the method of that name.
func AppendBinary[T any](v *T, to []byte) ([]byte, error) {
	to, err := any(v).(encoding.BinaryAppender).AppendBinary(to)
	if err != nil {
		return nil, fmt.Errorf("AppendBinary: %w", err)
	}
	return to, nil
}

// UnmarshalBinary calls the method of that name for a value that is empty before.
func UnmarshalBinary[T any](from []byte, v *T) error {
	*v = *new(T)
	err := any(v).(encoding.BinaryUnmarshaler).UnmarshalBinary(from[:len(from):len(from)])
	if err != nil {
		return fmt.Errorf("UnmarshalBinary: %w", err)
	}
	return nil
}
