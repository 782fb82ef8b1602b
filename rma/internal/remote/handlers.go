package remote

import (
	"fmt"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Handlers are the handlers of a rank, by the numbers of its windows. The zero Handlers has none.
type Handlers struct {
	handling sync.Mutex // around the following, and each call of a handler
	by       map[uint32]rma.Handler
}

// Serve has handler answer the requests for the window of a number, which is the same on all
// ranks; nil ends that. It returns when a handler under way has returned.
func (h *Handlers) Serve(window uint32, handler rma.Handler) {
	h.handling.Lock()
	defer h.handling.Unlock()
	if handler == nil {
		delete(h.by, window)
		return
	}
	if h.by == nil {
		h.by = map[uint32]rma.Handler{}
	}
	h.by[window] = handler
}

// Close ends all handlers. It returns when one under way has returned.
func (h *Handlers) Close() {
	h.handling.Lock()
	defer h.handling.Unlock()
	h.by = nil
}

// Answer has the handler of a window answer a request. served is false if there is none.
func (h *Handlers) Answer(window uint32, from int, request, answer []uint64) (
	words int, served bool) {
	h.handling.Lock()
	defer h.handling.Unlock()
	handler := h.by[window]
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
