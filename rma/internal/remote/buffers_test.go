package remote

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// Buffers have their length, overlap nowhere, are known again, and all memory comes back.
func TestBuffers(t *testing.T) {
	taken := map[unsafe.Pointer]bool{}
	s := buffers{engine: "test", memory: Memory{
		Allocate: func(words int) *uint64 {
			memory := unsafe.SliceData(make([]uint64, words))
			taken[unsafe.Pointer(memory)] = true
			return memory
		},
		Free: func(memory unsafe.Pointer) { delete(taken, memory) },
	}}
	var all []rma.Buf
	for i, words := range []int{1, 0, chunkWords - 1, 1, 3 * chunkWords, 7} {
		buf, err := s.alloc(words)
		if err != nil || len(buf) != words || cap(buf) != words {
			t.Fatalf("%d words: %d of %d, %v", words, len(buf), cap(buf), err)
		}
		for at := range buf {
			if buf[at] != 0 {
				t.Fatalf("buffer %d begins with what another one holds", i)
			}
			buf[at] = uint64(i + 1)
		}
		all = append(all, buf)
	}
	for i, buf := range all {
		for _, word := range buf {
			if word != uint64(i+1) {
				t.Fatalf("buffer %d overlaps another one", i)
			}
		}
		if len(buf) > 0 && s.own(buf[len(buf)-1:]) != &buf[len(buf)-1] {
			t.Errorf("buffer %d is not known", i)
		}
	}
	s.release()
	if len(taken) != 0 {
		t.Errorf("%d chunks did not come back", len(taken))
	}
}

// What cannot be had is an error, and what is of another store a panic.
func TestBuffersRefused(t *testing.T) {
	s := buffers{engine: "test",
		memory: Memory{Allocate: func(int) *uint64 { return nil }}}
	for _, words := range []int{-1, 1, wordsMost + 1} {
		if _, err := s.alloc(words); err == nil || !strings.HasPrefix(err.Error(), "test: ") {
			t.Errorf("%d words: %v", words, err)
		}
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "not of this queue") {
			t.Errorf("a foreign buffer gives %q", text)
		}
	}()
	s.own(make(rma.Buf, 1))
}
