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

// Limits say how much is read, so that input that is no net, or never ends, cannot take all memory
// or endless time. What is beyond one is a *SyntaxError.
type Limits struct {
	// FileBytes is the length of the longest file; 0 means 1 GiB.
	FileBytes int64
	// TextBytes is the length of the longest tag, comment or text between two tags, which is in
	// memory at once; 0 means 16 MiB. A text that is longer by less than twice the 64 KiB
	// that are read at a time may pass.
	TextBytes int64
}

// Read is like the function [Read], with these limits.
func (l Limits) Read(r io.Reader) (*Net, error) {
	l.complete()
	p, err := newParser(r, l)
	if err != nil {
		return nil, err
	}
	if err := p.document(); err != nil {
		return nil, err
	}
	return p.build()
}

// ReadFile is like the function [ReadFile], with these limits.
func (l Limits) ReadFile(path string) (*Net, error) {
	l.complete()
	f, err := regular.OpenStream(path)
	if err != nil {
		return nil, err // names the path already
	}
	defer f.Close() // nothing was written: an error of Close loses nothing
	info, err := f.Stat()
	if err == nil && info.Size() > l.FileBytes {
		err = &SyntaxError{Line: 1, Msg: l.fileTooLong().Error()} // before the time is spent
	}
	var n *Net
	if err == nil {
		n, err = l.readPlain(f)
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
func (l Limits) readPlain(f io.Reader) (*Net, error) {
	file := bufio.NewReader(f)
	if magic, _ := file.Peek(2); string(magic) != "\x1f\x8b" {
		return l.Read(file)
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading what gzip has compressed: %w", err)
	}
	return l.Read(plain)
}

func (l *Limits) complete() {
	if l.FileBytes <= 0 {
		l.FileBytes = defaultFileBytes
	}
	if l.TextBytes <= 0 {
		l.TextBytes = defaultTextBytes
	}
}

// limitError says which limit is exceeded.
type limitError string

func (e limitError) Error() string { return string(e) }

func (l *Limits) fileTooLong() error {
	return limitError(fmt.Sprintf("the file has more than %d bytes; if it is a net, raise this "+
		"limit (Limits.FileBytes, farhash explore --max-net)", l.FileBytes))
}

func (l *Limits) textTooLong() error {
	return limitError(fmt.Sprintf("more than %d bytes follow without the next tag; if this is a "+
		"net, shorten the text, or raise this limit (Limits.TextBytes)", l.TextBytes))
}
