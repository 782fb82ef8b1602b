package petri

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"

	"github.com/farhash/farhash/internal/system/regular"
)

// The limits of a file, unless others are given.
const (
	defaultFileBytes = 1 << 30
	defaultTextBytes = 16 << 20
)

// Options say how much is read, so that input that is no net, or never ends, cannot take all memory
// or endless time, and what is left out. What is beyond a limit is a *SyntaxError.
type Options struct {
	// FileBytes is the length of the longest file; 0 means 1 GiB.
	FileBytes int64
	// TextBytes is the length of the longest tag, comment or text between two tags, which is in
	// memory at once; 0 means 16 MiB. A text that is longer by less than twice the 64 KiB
	// that are read at a time may pass.
	TextBytes int64
	// LeaveOut is called for everything that the file says of timing and priorities, which is
	// then left out. If it is nil, the first is the error.
	LeaveOut func(*SyntaxError)
}

// Read is like the function [Read], with these options.
func (o Options) Read(r io.Reader) (*Net, error) {
	o.complete()
	p, err := newParser(r, o)
	if err != nil {
		return nil, err
	}
	if err := p.document(); err != nil {
		return nil, err
	}
	return p.build()
}

// ReadFile is like the function [ReadFile], with these options.
func (o Options) ReadFile(path string) (*Net, error) {
	o.complete()
	f, err := regular.OpenStream(path)
	if err != nil {
		return nil, err // names the path already
	}
	defer f.Close() // nothing was written: an error of Close loses nothing
	info, err := f.Stat()
	if err == nil && info.Size() > o.FileBytes {
		err = &SyntaxError{Line: 1, Msg: o.fileTooLong().Error()} // before the time is spent
	}
	var n *Net
	if err == nil {
		n, err = o.readPlain(f)
	}
	if err != nil && info.Mode()&fs.ModeNamedPipe != 0 {
		path += " (a pipe, which its writer opens first)"
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// readPlain is Read of a file that gzip may have compressed, which its first two bytes say. The
// limits are of what it holds.
func (o Options) readPlain(f io.Reader) (*Net, error) {
	file := bufio.NewReader(f)
	if magic, _ := file.Peek(2); string(magic) != "\x1f\x8b" {
		return o.Read(file)
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading what gzip has compressed: %w", err)
	}
	return o.Read(plain)
}

func (o *Options) complete() {
	if o.FileBytes <= 0 {
		o.FileBytes = defaultFileBytes
	}
	if o.TextBytes <= 0 {
		o.TextBytes = defaultTextBytes
	}
}

// limitError says which limit is exceeded.
type limitError string

func (e limitError) Error() string { return string(e) }

func (o *Options) fileTooLong() error {
	return limitError(fmt.Sprintf("the file has more than %d bytes; if it is a net, raise this "+
		"limit (Options.FileBytes, farhash explore --max-net)", o.FileBytes))
}

func (o *Options) textTooLong() error {
	return limitError(fmt.Sprintf("more than %d bytes follow without the next tag; if this is a "+
		"net, shorten the text, or raise this limit (Options.TextBytes)", o.TextBytes))
}
