//go:build !linux

package file

import (
	"context"
	"errors"
	"io"

	"github.com/farhash/farhash/rma"
)

// Table is what a file holds: it closes the job that it was made with, and finds out whether it is
// damaged.
type Table interface {
	io.Closer
	Check(ctx context.Context) error
}

var errLinux = errors.New("rma/file: tables by name need Linux")

// Open opens the table with a name, or makes it. Here it returns an error.
func Open[T Table](string, Kind, []Option, func(job rma.Job) (T, error)) (table T, err error) {
	return table, errLinux
}

// Remove removes the table with a name. Here it returns an error.
func Remove(string) error { return errLinux }

// Stat describes the table with a name. Here it returns an error.
func Stat(string) (Info, error) { return Info{}, errLinux }

// List describes the tables in a directory. Here it returns an error.
func List(string) ([]Info, error) { return nil, errLinux }
