package rma

import (
	"errors"
	"fmt"
)

// A Server is a window of an engine that carries requests to the programs of other ranks, and
// their answers back. Engines whose messages cost far more than a look at memory have it:
// there one request may stand for thousands of gets. Package ship groups the operations of
// a batch into requests.
type Server interface {
	Window
	// Serve has handler answer what other ranks ship to this rank's segment, from now on.
	// A nil handler ends that, and Serve returns when the one under way has returned, as
	// Close of the window does. What is shipped while there is no handler is answered with
	// ErrNotServed.
	Serve(handler Handler)
}

// Handler answers a request: it writes to answer and returns how many words. Both are memory
// of the engine and are only valid during the call. The handlers of a rank are called
// one at a time, by a goroutine of the engine's, so they take no more than a processor from
// the program. They may use queues, but must not ship and must not close what they serve. What
// a handler has done is visible to whoever has its answer, as after a put that is done.
type Handler func(from int, request, answer []uint64) (words int)

// A Carrier is a queue of an engine whose windows are Servers.
type Carrier interface {
	Queue
	// Ship sends request to the handler that rank has for w. When it is done, Value tells how
	// many words came into answer, which must be as long as any answer to the request
	// can be. Neither may be longer than ShipMax. Requests are not ordered among
	// themselves nor with other operations. An engine has no more than a few requests on
	// their way to a rank at a time; others wait.
	Ship(request, answer Buf, w Window, rank int) Handle
}

// ShipMax is the most words of a request, and of an answer: 64 KiB.
const ShipMax = 1 << 13

// ErrNotServed is the answer to a request to a rank that has no handler for the window, because
// it has closed the table or has not made it yet. Nothing was done.
var ErrNotServed = errors.New("rma: the rank has no handler for this window")

// CheckShip panics where a request could not be sent: that is a bug of the caller, as an
// operation outside a segment is.
func CheckShip(request, answer Buf, w Window, rank int) {
	if n := max(len(request), len(answer)); n > ShipMax || len(request) == 0 {
		panic(fmt.Sprintf("rma: a request of %d words with an answer of %d; they are limited "+
			"to %d, and a request has one at least", len(request), len(answer), ShipMax))
	}
	if rank < 0 || rank >= w.Size() {
		panic(fmt.Sprintf("rma: a request to rank %d of %d", rank, w.Size()))
	}
}
