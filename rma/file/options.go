package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Option changes how a file is made or opened.
type Option func(*options)

type options struct {
	mode     fs.FileMode
	anyOwner bool
	existing bool
	onLocks  func(fd int, open bool)
}

// Mode gives a new file other permissions than 0600, such as 0660 for a group, whatever the umask
// is. Each process that may use the file must be able to read and write it.
func Mode(mode fs.FileMode) Option { return func(o *options) { o.mode = mode } }

// AnyOwner accepts a file that belongs to another user. Whoever may write to it can make the
// processes that use it fail, or give them wrong answers.
func AnyOwner() Option { return func(o *options) { o.anyOwner = true } }

// Existing makes no file: where there is none Open returns an error that wraps [fs.ErrNotExist].
func Existing() Option { return func(o *options) { o.existing = true } }

// OnLocks has tell called with the descriptor of the file's locks, after it is opened and before it
// is closed. It is for libraries that C programs load, as those fork: a child has to close the
// descriptor, since the locks of its parent would last as long as the child.
func OnLocks(tell func(fd int, open bool)) Option {
	return func(o *options) { o.onLocks = tell }
}

func newOptions(list []Option) (o options, err error) {
	o.mode = 0o600
	for _, option := range list {
		option(&o)
	}
	if o.mode&^fs.ModePerm != 0 || o.mode&0o600 != 0o600 {
		return o, fmt.Errorf("rma/file: mode %#o: give permissions that have 0600, such as 0660",
			uint32(o.mode))
	}
	return o, nil
}

// Kind is what a table is, and which of its layouts.
type Kind struct {
	Name   string // up to 16 letters
	Layout uint64 // other numbers are refused
}

// DefaultDir has the files whose names have no slash.
const DefaultDir = "/dev/shm"

// ErrNoTable is in the error of a file that is no table.
var ErrNoTable = errors.New("it is not a table of farhash")

// ErrKind is in the error of a table of another kind than is opened.
var ErrKind = errors.New("it is a table of another kind")

// Path is the path of the file with a name.
func Path(name string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	return filepath.Join(DefaultDir, name)
}

// Info describes the file of a table.
type Info struct {
	Path    string
	Kind    Kind
	Bytes   uint64 // that it takes
	Size    uint64 // that it may take
	Members int    // processes that have it open
	Owner   int    // the user to whom it belongs
}
