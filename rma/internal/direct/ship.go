package direct

import (
	"fmt"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Handlers are the handlers of a window, by rank. The queue that ships a request calls the handler
// itself, at Submit.
type Handlers []handler

type handler struct {
	running *sync.Mutex // of the rank: one handler runs at a time
	call    rma.Handler // nil: none
}

// NewHandlers returns handlers that answer nothing yet. running has a lock for each rank of the
// job.
func NewHandlers(running []sync.Mutex) Handlers {
	all := make(Handlers, len(running))
	for rank := range all {
		all[rank].running = &running[rank]
	}
	return all
}

// answer has the handler answer a request.
func (h *handler) answer(from int, request, answer []uint64) (uint64, error) {
	h.running.Lock()
	defer h.running.Unlock()
	if h.call == nil {
		return 0, rma.ErrNotServed
	}
	return uint64(h.call(from, request, answer)), nil
}

// ServedWindow is a window whose ranks answer requests.
type ServedWindow struct {
	*Window
	handlers Handlers
}

var _ rma.Server = (*ServedWindow)(nil)

// Served returns w with handlers, which its ranks share.
func Served(w *Window, handlers Handlers) *ServedWindow { return &ServedWindow{w, handlers} }

// Serve has handler answer what is shipped to this rank's segment.
func (w *ServedWindow) Serve(handler rma.Handler) { w.handlers.Serve(w.rank, handler) }

// Serve has handler answer what is shipped to a rank. nil ends that.
func (all Handlers) Serve(rank int, handler rma.Handler) {
	h := &all[rank]
	h.running.Lock()
	defer h.running.Unlock()
	h.call = handler
}

// segmented is the window of this package in one that an operation names. A window of another
// engine is a bug of the caller.
func segmented(w rma.Window) *Window {
	if s, ok := w.(*ServedWindow); ok {
		return s.Window
	}
	return w.(*Window)
}

// request is one that is in flight.
type request struct {
	handler *handler
	from    int
	words   rma.Buf
	answer  rma.Buf
}

func (r *request) run() (uint64, error) { return r.handler.answer(r.from, r.words, r.answer) }

// carrier is a queue that ships requests.
type carrier struct{ Queue }

var _ rma.Carrier = (*carrier)(nil)

// NewCarrier is NewQueue for a queue that ships requests. The windows of its job must be
// [ServedWindow]s.
func NewCarrier(depth int) (rma.Carrier, error) {
	q, err := NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return &carrier{*q.(*Queue)}, nil
}

// Ship sends a request to a rank, whose handler Submit will call.
func (q *carrier) Ship(words, answer rma.Buf, w rma.Window, rank int) rma.Handle {
	CheckShip(words, answer, w, rank)
	served := w.(*ServedWindow)
	q.stats.Ships++
	q.stats.Bytes += uint64(len(words)+len(answer)) * 8
	return q.post(operation{kind: ship,
		request: &request{&served.handlers[rank], served.rank, words, answer}})
}

// CheckShip panics where a request could not be sent: that is a bug of the caller, as an
// operation outside a segment is.
func CheckShip(request, answer rma.Buf, w rma.Window, rank int) {
	if n := max(len(request), len(answer)); n > rma.MaxShipWords || len(request) == 0 {
		panic(fmt.Sprintf("rma: a request of %d words with an answer of %d; they are limited "+
			"to %d, and a request has one at least", len(request), len(answer),
			rma.MaxShipWords))
	}
	if rank < 0 || rank >= w.Size() {
		panic(fmt.Sprintf("rma: a request to rank %d of %d", rank, w.Size()))
	}
}
