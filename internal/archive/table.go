package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/farhash/farhash/rma"
)

// Contents describes a file that a table was saved to.
type Contents struct {
	Kind string `json:"kind"` // "farhash cache"
	// The sizes of all records; 0 where the kind has no such size.
	ElementBytes int `json:"elementBytes,omitempty"`
	KeyBytes     int `json:"keyBytes,omitempty"`
	ValueBytes   int `json:"valueBytes,omitempty"`
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

// LoadTable opens a file that SaveTable has written, and refuses one of other contents. Collective.
func LoadTable(ctx context.Context, job rma.Job, path string, want Contents, count Count) (*Loader,
	error) {
	return NewLoader(ctx, job, path, count, func(description []byte) error {
		var is Contents
		if err := json.Unmarshal(description, &is); err != nil || is.Kind != want.Kind {
			return fmt.Errorf("%s is no %s (it is described as %.100q)", path, want.Kind,
				description)
		}
		if is != want {
			return fmt.Errorf("%s has %s, this table has %s", path, is.sizes(), want.sizes())
		}
		return nil
	})
}
