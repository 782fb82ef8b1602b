package rma

import "errors"

// A Server is a window of an engine that ships requests to the programs of other ranks, and their
// answers back (function shipping). Engines whose messages cost far more than a read of memory
// have it: there one request may replace thousands of gets. Package ship groups the operations of
// a batch into requests.
type Server interface {
	Window
	// Serve has handler answer the requests to this rank from now on. A nil handler ends
	// that. Serve, and Close of the window, return when a call of the former handler has
	// returned. Without a handler the answer to a request is ErrNotServed.
	Serve(handler Handler)
}

// Handler does a request: it writes to answer and returns how many words it wrote. Both
// slices are memory of the engine and are only valid during the call. from is the rank that sent
// the request. The engine calls the handlers of a rank one at a time, so they use at most one
// processor, in a goroutine of its own or in one that waits for the answer to a request. They may
// use queues, but must not ship and must not close what they serve. What a handler has written is
// visible to the rank that has its answer, as after a put that is done.
type Handler func(from int, request, answer []uint64) (words int)

// A Carrier is a queue of an engine whose windows are Servers.
type Carrier interface {
	Queue
	// Ship sends request to the handler that rank has for w. When it is done, Value is the
	// number of words in answer, which must be as long as the longest answer to the request.
	// Neither may be longer than MaxShipWords. Requests are ordered neither among themselves
	// nor with other operations. An engine has only a few requests in flight to a rank at a
	// time; the others wait.
	Ship(request, answer Buf, w Window, rank int) Handle
}

// MaxShipWords is the largest length of a request, and of an answer, in words: 64 KiB.
const MaxShipWords = 1 << 13

// ErrNotServed is the answer to a request to a rank that has no handler for the window, because
// it has closed the table or has not made it yet. Nothing was done.
var ErrNotServed = errors.New("rma: the rank has no handler for this window")
