package remote

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

const (
	chunkWords = 1 << 13 // how much memory is asked for at least
	wordsMost  = min(1<<50, math.MaxInt/8)
)

// Memory is how memory that Go does not manage is allocated.
type Memory struct {
	// Allocate returns so many zeroed words, or nil.
	Allocate func(words int) *uint64
	Free     func(memory unsafe.Pointer)
}

// buffers are the buffers of a queue, cut out of memory that Go does not manage: a library writes
// there until an operation is done, and Go may move or free what is its own.
//
//	chunk 0    | buffer | buffer | buffer |  |       at least 64 KiB, zeroed
//	chunk 1    | buffer that is longer |
//
// Buffers live as long as their queue; none is given back alone.
type buffers struct {
	engine string // its name, for messages
	memory Memory
	chunks [][]uint64
	used   int // words of the last chunk
}

// alloc returns a zeroed buffer.
func (s *buffers) alloc(words int) (rma.Buf, error) {
	if words < 0 || words > wordsMost {
		return nil, fmt.Errorf("%s: a buffer of %d words cannot be made", s.engine, words)
	}
	if n := len(s.chunks); n == 0 || words > len(s.chunks[n-1])-s.used {
		size := max(words, chunkWords)
		memory := s.memory.Allocate(size)
		if memory == nil {
			return nil, fmt.Errorf("%s: no memory for a buffer of %d words", s.engine, words)
		}
		s.chunks, s.used = append(s.chunks, unsafe.Slice(memory, size)), 0
	}
	last := s.chunks[len(s.chunks)-1]
	buf := last[s.used : s.used+words : s.used+words]
	s.used += words
	return rma.Buf(buf), nil
}

// own returns where a buffer is. One that is not of alloc is a bug of the caller.
func (s *buffers) own(buf rma.Buf) *uint64 {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	for i := len(s.chunks) - 1; i >= 0; i-- {
		c := s.chunks[i]
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(c)))
		if at >= begin && at+uintptr(len(buf))*8 <= begin+uintptr(len(c))*8 {
			return unsafe.SliceData(buf)
		}
	}
	panic(s.engine + ": a buffer that is not of this queue's Alloc")
}

// release gives all memory back.
func (s *buffers) release() {
	for _, c := range s.chunks {
		s.memory.Free(unsafe.Pointer(unsafe.SliceData(c)))
	}
	s.chunks, s.used = nil, 0
}
