package direct

import (
	"sync"

	"github.com/farhash/farhash/rma"
)

// Desks are where requests to the segments of a window are answered, by rank. The queue that
// ships a request calls the handler itself, at Submit.
type Desks []desk

type desk struct {
	turn    *sync.Mutex // of the rank whose segment it is: one handler at a time
	handler rma.Handler
}

// NewDesks returns desks without handlers. turns has a lock for each rank of the job.
func NewDesks(turns []sync.Mutex) Desks {
	desks := make(Desks, len(turns))
	for rank := range desks {
		desks[rank].turn = &turns[rank]
	}
	return desks
}

// ask has a request answered.
func (d *desk) ask(from int, request, answer []uint64) (uint64, error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	if d.handler == nil {
		return 0, rma.ErrNotServed
	}
	return uint64(d.handler(from, request, answer)), nil
}

// ServedWindow is a window whose ranks answer requests.
type ServedWindow struct {
	*Window
	desks Desks
}

var _ rma.Server = (*ServedWindow)(nil)

// Served returns w with desks, which its ranks share.
func Served(w *Window, desks Desks) *ServedWindow { return &ServedWindow{w, desks} }

// Serve has handler answer what is shipped to this rank's segment.
func (w *ServedWindow) Serve(handler rma.Handler) { w.desks.Serve(w.rank, handler) }

// Serve has handler answer what is shipped to a rank. nil ends that.
func (desks Desks) Serve(rank int, handler rma.Handler) {
	d := &desks[rank]
	d.turn.Lock()
	defer d.turn.Unlock()
	d.handler = handler
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
	desk   *desk
	from   int
	words  rma.Buf
	answer rma.Buf
}

func (r *request) run() (uint64, error) { return r.desk.ask(r.from, r.words, r.answer) }

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
	rma.CheckShip(words, answer, w, rank)
	served := w.(*ServedWindow)
	q.stats.Ships++
	q.stats.Bytes += uint64(len(words)+len(answer)) * 8
	return q.post(operation{kind: ship,
		request: &request{&served.desks[rank], served.rank, words, answer}})
}
