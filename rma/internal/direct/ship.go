package direct

import (
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// ServedWindow is a window whose ranks answer requests. The queue that ships one calls the handler
// itself, at Submit.
type ServedWindow struct {
	*Window
	handlers []remote.Handlers // by rank
	number   uint32
}

var _ rma.Server = (*ServedWindow)(nil)

// Served returns w with the handlers of all ranks, where it has a number.
func Served(w *Window, handlers []remote.Handlers, number int) *ServedWindow {
	return &ServedWindow{w, handlers, uint32(number)}
}

// Serve has handler answer what is shipped to this rank's segment.
func (w *ServedWindow) Serve(handler rma.Handler) {
	w.handlers[w.rank].Serve(w.number, handler)
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
	window *ServedWindow
	rank   int
	words  rma.Buf
	answer rma.Buf
}

func (r *request) run() (uint64, error) {
	words, served := r.window.handlers[r.rank].Answer(r.window.number, r.window.rank, r.words,
		r.answer)
	if !served {
		return 0, rma.ErrNotServed
	}
	return uint64(words), nil
}

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
	remote.CheckShip(words, answer, w, rank)
	q.stats.Ships++
	q.stats.Bytes += uint64(len(words)+len(answer)) * 8
	return q.post(operation{kind: ship,
		request: &request{w.(*ServedWindow), rank, words, answer}})
}
