package model

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Format is a format of files.
type Format string

const (
	LDD Format = "ldd" // of LTSmin and Sylvan
	BDD Format = "bdd" // of DistBDD
)

// Model is what a file has.
type Model struct {
	Format   Format
	Integers int // of a state
	Levels   int // that a symbolic.Store must have: one for each integer, or for each of their bits
	Groups   int // relations in the file

	load func(s *symbolic.Store) (symbolic.Node, []symbolic.Relation, error)
}

// FormatError says what is wrong with a file.
type FormatError struct {
	Offset int64 // of the byte where that was found
	Msg    string
}

func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }

// maxLevels is the largest number of levels: operations could not go deeper.
const maxLevels = 1 << 18

// ReadFile reads a file of at most so many bytes.
func ReadFile(path string, maxBytes int64) (*Model, error) {
	f, err := regular.OpenStream(path)
	if err != nil {
		return nil, err // names the path already
	}
	defer f.Close() // nothing was written: an error of Close loses nothing
	m, err := Read(f, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Read reads a model of at most so many bytes. The memory that it takes is some three times as
// much. Where the bytes are no model, the error is a *FormatError.
func Read(r io.Reader, maxBytes int64) (m *Model, err error) {
	in := &input{r: bufio.NewReaderSize(r, 1<<16), left: maxBytes}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			m, err = nil, r.error
		default:
			panic(r)
		}
	}()
	integers := in.count("the number of integers of a state", maxLevels)
	if integers == 0 {
		in.fail("a state has no integers")
	}
	if second := in.int(); second != -1 {
		return readBDD(in, integers, second), nil
	}
	return readLDD(in, integers), nil
}

// Load adds what a model has to a store of so many levels as it needs. The initial set and the
// relations are held.
func (m *Model) Load(s *symbolic.Store) (symbolic.Node, []symbolic.Relation, error) {
	return m.load(s)
}

// failure is the panic with which reading ends.
type failure struct{ error }

// input reads numbers.
type input struct {
	r      *bufio.Reader
	offset int64
	at     int64 // the offset of the number that was read last
	left   int64
	buffer [8]byte
}

// fail ends reading, because of the number that was read last.
func (in *input) fail(format string, args ...any) {
	panic(failure{&FormatError{in.at, fmt.Sprintf(format, args...)}})
}

func (in *input) bytes(n int) []byte {
	in.at = in.offset
	if in.left -= int64(n); in.left < 0 {
		in.fail("the file is longer than it may be")
	}
	got, err := io.ReadFull(in.r, in.buffer[:n])
	in.offset += int64(got)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		in.at = in.offset
		in.fail("the file ends too early")
	} else if err != nil {
		panic(failure{err})
	}
	return in.buffer[:n]
}

func (in *input) int() int32   { return int32(binary.LittleEndian.Uint32(in.bytes(4))) }
func (in *input) word() uint64 { return binary.LittleEndian.Uint64(in.bytes(8)) }

// count reads a number of things.
func (in *input) count(what string, most int) int {
	n := in.int()
	if n < 0 || int(n) > most {
		in.fail("%s is %d; it can be 0 to %d", what, n, most)
	}
	return int(n)
}

// builder makes nodes of a store, which it holds while there may be others to make.
type builder struct {
	s    *symbolic.Store
	held []symbolic.Node
}

// list is List of the store, of what this builder has made.
func (b *builder) list(value uint32, down, right symbolic.Node) symbolic.Node {
	n, err := b.s.List(value, down, right)
	if err != nil {
		panic(failure{err})
	}
	b.s.Hold(n)
	b.held = append(b.held, n)
	return n
}

// relation adds a relation to the store, which holds it.
func (b *builder) relation(pairs symbolic.Node, access []symbolic.Access) symbolic.Relation {
	r, err := b.s.NewRelation(pairs, access)
	if err != nil {
		panic(failure{err})
	}
	return r
}

// release releases what was made since there were so many nodes.
func (b *builder) release() {
	for _, n := range b.held {
		b.s.Release(n)
	}
	b.held = b.held[:0]
}

// building runs what makes nodes.
func building(s *symbolic.Store, levels int, build func(b *builder)) (err error) {
	if s.Levels() != levels {
		return fmt.Errorf("model: the store has %d levels, and the model needs %d", s.Levels(),
			levels)
	}
	b := &builder{s: s}
	defer func() {
		b.release()
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	build(b)
	return nil
}
