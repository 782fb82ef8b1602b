package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/farhash/farhash/rma"
)

// Contents describes a file that a table was saved to.
type Contents struct {
	Kind string `json:"kind"` // "farhash cache"
	// Of says what was saved, where the kind leaves that open. A file of something else is refused.
	Of string `json:"of,omitempty"`
	// The sizes of all records; 0 where the kind has no such size.
	ElementBytes int `json:"elementBytes,omitempty"`
	KeyBytes     int `json:"keyBytes,omitempty"`
	ValueBytes   int `json:"valueBytes,omitempty"`
	// Expires: a record ends with when it expires. A table loads files with and without it.
	Expires bool `json:"expires,omitempty"`
}

// ExpiryBytes is the size of the word, little-endian, that says when a record expires.
const ExpiryBytes = 8

// RecordBytes is the size of a record, where all have the same.
func (c Contents) RecordBytes() int {
	size := c.ElementBytes + c.KeyBytes + c.ValueBytes
	if c.Expires {
		size += ExpiryBytes
	}
	return size
}

// sizes is the sizes in words.
func (c Contents) sizes() string {
	if c.ElementBytes > 0 {
		return fmt.Sprintf("elements of %d bytes", c.ElementBytes)
	}
	return fmt.Sprintf("keys of %d bytes and values of %d", c.KeyBytes, c.ValueBytes)
}

// SaveTable writes the records of each rank to a file. Collective.
func SaveTable(ctx context.Context, job rma.Job, path string, is Contents,
	records iter.Seq2[[]byte, error]) error {
	description, err := json.Marshal(is)
	if err != nil {
		return err
	}
	s, err := NewSaver(ctx, job, path, is.Kind)
	if err != nil {
		return err
	}
	for record, readErr := range records {
		if err = readErr; err == nil {
			err = s.Add(ctx, 0, record)
		}
		if err != nil {
			break
		}
	}
	return s.Finish(ctx, err, description)
}

// LoadTable opens a file that SaveTable has written, and returns what it says of its contents. It
// refuses one of others. A nil count is for records of RecordBytes. Collective.
func LoadTable(ctx context.Context, job rma.Job, path string, want Contents, count Count) (
	l *Loader, is Contents, err error) {
	sized := func(section uint32, payload []byte) (int, error) {
		if count == nil {
			count = Fixed(is.RecordBytes())
		}
		return count(section, payload)
	}
	l, err = NewLoader(ctx, job, path, sized, func(description []byte) error {
		if err := json.Unmarshal(description, &is); err != nil || is.Kind != want.Kind {
			return fmt.Errorf("%s is no %s (it is described as %.100q)", path, want.Kind,
				description)
		}
		if is.Of != want.Of {
			return fmt.Errorf("%s is of %s and not of %s; use another file", path,
				cmp.Or(is.Of, "unknown records"), cmp.Or(want.Of, "unknown records"))
		}
		if want.Expires = is.Expires; is != want {
			return fmt.Errorf("%s has %s, this table has %s", path, is.sizes(), want.sizes())
		}
		return nil
	})
	return l, is, err
}
