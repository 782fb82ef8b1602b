// Package buffers cuts the buffers of a queue out of memory that Go does not manage, as engines
// need whose library writes there at any time until an operation is done: Go may move or free
// what is its own.
//
//	chunk 0    | buffer | buffer | buffer |  |       at least 64 KiB, zeroed
//	chunk 1    | buffer that is longer |
//
// Buffers live as long as their queue; none is given back alone.
package buffers

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

// Store is the buffers of one queue.
type Store struct {
	// Engine is its name, for messages.
	Engine string
	// Allocate returns so many zeroed words, or nil.
	Allocate func(words int) *uint64

	chunks [][]uint64
	used   int // words of the last chunk
}

// Alloc returns a zeroed buffer.
func (s *Store) Alloc(words int) (rma.Buf, error) {
	if words < 0 || words > wordsMost {
		return nil, fmt.Errorf("%s: a buffer of %d words cannot be made", s.Engine, words)
	}
	if n := len(s.chunks); n == 0 || words > len(s.chunks[n-1])-s.used {
		size := max(words, chunkWords)
		memory := s.Allocate(size)
		if memory == nil {
			return nil, fmt.Errorf("%s: no memory for a buffer of %d words", s.Engine, words)
		}
		s.chunks, s.used = append(s.chunks, unsafe.Slice(memory, size)), 0
	}
	last := s.chunks[len(s.chunks)-1]
	buf := last[s.used : s.used+words : s.used+words]
	s.used += words
	return rma.Buf(buf), nil
}

// Own returns where a buffer lies. One that is not of Alloc is a bug of the caller.
func (s *Store) Own(buf rma.Buf) *uint64 {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	for i := len(s.chunks) - 1; i >= 0; i-- {
		c := s.chunks[i]
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(c)))
		if at >= begin && at+uintptr(len(buf))*8 <= begin+uintptr(len(c))*8 {
			return unsafe.SliceData(buf)
		}
	}
	panic(s.Engine + ": a buffer that is not of this queue's Alloc")
}

// Release has all memory given back by free, and forgets it.
func (s *Store) Release(free func(memory unsafe.Pointer)) {
	for _, c := range s.chunks {
		free(unsafe.Pointer(unsafe.SliceData(c)))
	}
	s.chunks, s.used = nil, 0
}
