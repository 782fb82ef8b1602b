package remote

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// A request is answered by the handler of its window, while there is one.
func TestAnswer(t *testing.T) {
	var s Handlers
	answer := make([]uint64, 2)
	if _, served := s.Answer(1, 0, nil, answer); served {
		t.Error("a window without a handler answers")
	}
	for window := range uint32(2) {
		s.Serve(window, func(from int, request, answer []uint64) int {
			answer[0] = uint64(window) + uint64(from) + request[0]
			return 1
		})
	}
	words, served := s.Answer(1, 10, []uint64{100}, answer)
	if words != 1 || !served || answer[0] != 111 {
		t.Errorf("the answer is %d words, %v, and begins with %d", words, served, answer[0])
	}
	s.Serve(1, nil)
	if _, served := s.Answer(1, 0, nil, answer); served {
		t.Error("a window answers that is served no more")
	}
	if _, served := s.Answer(0, 0, []uint64{0}, answer); !served {
		t.Error("a window answers no more since another one does not")
	}
}

// Who ends to serve a window waits for the handler that is under way. With one processor for Go,
// the other goroutine runs until it waits or ends while this one yields.
func TestServeWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var s Handlers
	var ended atomic.Bool
	s.Serve(0, func(int, []uint64, []uint64) int {
		go func() {
			s.Serve(0, nil)
			ended.Store(true)
		}()
		for range 1000 {
			runtime.Gosched()
		}
		if ended.Load() {
			t.Error("Serve(nil) has returned, and a handler runs")
		}
		return 0
	})
	s.Answer(0, 0, nil, nil)
}

// An answer that does not fit is a bug of the handler.
func TestAnswerThatDoesNotFit(t *testing.T) {
	for words, says := range map[int]string{3: "3 words", -1: "-1 words"} {
		var s Handlers
		s.Serve(0, func(int, []uint64, []uint64) int { return words })
		func() {
			defer func() {
				text, _ := recover().(string)
				if !strings.Contains(text, says) || !strings.Contains(text, "room for 2") {
					t.Errorf("the panic says %q", text)
				}
			}()
			s.Answer(0, 0, nil, make([]uint64, 2))
		}()
	}
}
