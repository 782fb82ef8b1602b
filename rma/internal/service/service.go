// Package service calls the handlers of a rank, for engines whose library brings the requests of
// other ranks.
package service

import (
	"fmt"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Service is the handlers of a rank. The zero Service has none.
type Service struct {
	handling sync.Mutex // around the following, and each call of a handler
	handlers map[uint32]rma.Handler
}

// Serve has handler answer the requests for the window of a number, which is the same on all
// ranks; nil ends that. It returns when a handler under way has returned.
func (s *Service) Serve(window uint32, handler rma.Handler) {
	s.handling.Lock()
	defer s.handling.Unlock()
	if handler == nil {
		delete(s.handlers, window)
		return
	}
	if s.handlers == nil {
		s.handlers = map[uint32]rma.Handler{}
	}
	s.handlers[window] = handler
}

// Answer has the handler of a window answer a request. served is false if there is none.
func (s *Service) Answer(window uint32, from int, request, answer []uint64) (
	words int, served bool) {
	s.handling.Lock()
	defer s.handling.Unlock()
	handler := s.handlers[window]
	if handler == nil {
		return 0, false
	}
	words = handler(from, request, answer)
	if words < 0 || words > len(answer) {
		panic(fmt.Sprintf("rma: a handler says that it wrote %d words, and there was room for %d",
			words, len(answer)))
	}
	return words, true
}
