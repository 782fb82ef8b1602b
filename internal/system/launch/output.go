package launch

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"sync"
)

// maxLineBytes bounds what is held back of a line that does not end.
const maxLineBytes = 1 << 20

// sink is one destination of output. Many goroutines write to it; what one call
// of write brings stays together.
type sink struct {
	w    io.Writer
	lock *sync.Mutex
}

// newSinks returns the two destinations, with one lock where they are the same.
func newSinks(stdout, stderr io.Writer) (*sink, *sink) {
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = io.Discard
	}
	first := &sink{stdout, new(sync.Mutex)}
	second := &sink{stderr, new(sync.Mutex)}
	simple := reflect.ValueOf(stdout).Comparable() && reflect.ValueOf(stderr).Comparable()
	if simple && stdout == stderr {
		second.lock = first.lock
	}
	return first, second
}

func (s *sink) write(p []byte) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	_, err := s.w.Write(p)
	return err
}

// streams are the ends of the pipes that the output of one rank goes through.
type streams struct {
	ours   []*os.File // to read from
	sinks  []*sink    // where it goes, one for each of ours
	theirs []*os.File // for the rank, closed here when it has started
}

// output returns what a rank writes to, to have it arrive in the sink. A file
// may be written to directly.
func (st *streams) output(s *sink, direct bool) (*os.File, error) {
	if file, ok := s.w.(*os.File); ok && direct {
		return file, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	st.ours = append(st.ours, read)
	st.sinks = append(st.sinks, s)
	st.theirs = append(st.theirs, write)
	return write, nil
}

// forward passes on what arrives through a pipe, in whole lines, each with the
// prefix, until the pipe is at its end. When the destination fails, the pipe is
// closed, and the rank gets SIGPIPE as if it wrote to the destination itself.
func forward(s *sink, pipe *os.File, prefix string) {
	defer pipe.Close()
	lines := lineBuffer{prefix: prefix}
	chunk := make([]byte, 1<<16)
	for {
		n, err := pipe.Read(chunk)
		if out := lines.add(chunk[:n]); len(out) > 0 {
			if s.write(out) != nil {
				return
			}
		}
		if err != nil {
			if out := lines.rest(); len(out) > 0 {
				_ = s.write(out) // the pipe is at its end anyway
			}
			return
		}
	}
}

// lineBuffer holds back the beginning of a line until the line is complete.
type lineBuffer struct {
	prefix string
	held   []byte
	out    []byte
}

// add takes more bytes and returns the lines that are complete, or what is held
// of a line that has grown too long. The result is valid until the next call.
func (b *lineBuffer) add(p []byte) []byte {
	b.out = b.out[:0]
	end := bytes.LastIndexByte(p, '\n') + 1
	if end > 0 {
		b.held = append(b.held, p[:end]...)
		b.emit()
	}
	b.held = append(b.held, p[end:]...)
	if len(b.held) >= maxLineBytes {
		b.emit()
	}
	return b.out
}

// rest returns the last line, which has no end. With a prefix it gets one, lest
// the line of another rank follow on it.
func (b *lineBuffer) rest() []byte {
	b.out = b.out[:0]
	b.emit()
	return b.out
}

func (b *lineBuffer) emit() {
	if b.prefix == "" {
		b.out = append(b.out, b.held...)
		b.held = b.held[:0]
		return
	}
	for line := range bytes.Lines(b.held) {
		b.out = append(b.out, b.prefix...)
		b.out = append(b.out, line...)
		if line[len(line)-1] != '\n' {
			b.out = append(b.out, '\n')
		}
	}
	b.held = b.held[:0]
}
