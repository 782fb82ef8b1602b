package remote

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

var goMemory = Memory{
	Allocate: func(words int) *uint64 { return unsafe.SliceData(make([]uint64, words)) },
	Free:     func(unsafe.Pointer) {},
}

// newQueue returns a queue with two slots and no library, and a window of 2 ranks with 8 words.
func newQueue(t *testing.T) (q *Queue, w *Server, request, answer rma.Buf) {
	t.Helper()
	q, w = new(Queue), new(Server)
	q.Init("test", []*Op{{}, {}}, make([]int32, 2), goMemory)
	w.Init("test", 1, 2, 8, 7, new(Handlers))
	request, err := q.Alloc(1)
	if err == nil {
		answer, err = q.Alloc(3)
	}
	if err != nil {
		t.Fatal(err)
	}
	return q, w, request, answer
}

// end has the operation of a slot end as the library would.
func (q *Queue) end(h rma.Handle, seen uint64, code int32) {
	q.ops[h].seen, q.ops[h].error, q.ops[h].state = seen, code, Done
}

// What is posted is in its slot, in the ring in the order of posting, and counted.
func TestQueue(t *testing.T) {
	q, w, request, answer := newQueue(t)
	faults := errors.New("a fault")
	q.Fault = func(rank int, code int32) error {
		if rank != 1 || code != 9 {
			t.Errorf("the fault is of rank %d with code %d", rank, code)
		}
		return faults
	}
	for round := range 3 {
		swap := q.CompareAndSwap(w, 0, 5, 11, 12)
		ship := q.Ship(request, answer, w, 1)
		for at, h := range []rma.Handle{swap, ship} {
			if q.ring[(2*round+at)%2] != int32(h) || q.State(h) != Posted {
				t.Errorf("round %d: the ring is %v, want %d at %d", round, q.ring, h, at)
			}
		}
		want := Op{rank: 1, words: 1, room: 3, kind: Ship, state: Posted,
			buf: &request[0], answer: &answer[0]}
		if got := *q.ops[ship]; got != want || !q.IsShip(ship) {
			t.Errorf("round %d: a request is %+v, want %+v", round, got, want)
		}
		if n := q.TakePosts(); n != 2 || q.TakePosts() != 0 {
			t.Errorf("%d operations were posted, want 2", n)
		}
		q.end(swap, 11, 0)
		q.end(ship, 2, 0)
		for h, want := range map[rma.Handle]uint64{swap: 11, ship: 2} {
			if got, err := q.Value(h); got != want || err != nil {
				t.Errorf("round %d: operation %d saw %d, %v; want %d", round, h, got, err, want)
			}
		}
	}
	want := rma.Stats{CompareAndSwaps: 3, Ships: 3, Bytes: 3 * (8 + 8 + 16)}
	if got := *q.Stats(); got != want {
		t.Errorf("the queue has counted %+v, want %+v", got, want)
	}
	h := q.Get(answer, w, 1, 0)
	q.end(h, 0, 9)
	if _, err := q.Value(h); !errors.Is(err, faults) {
		t.Errorf("a fault is %v", err)
	}
	h = q.Ship(request, nil, w, 1)
	q.end(h, 0, Unserved)
	if _, err := q.Value(h); !errors.Is(err, rma.ErrNotServed) {
		t.Errorf("a request without a handler is %v", err)
	}
}

// The slot of an operation that the library may still write is not used again.
func TestQueueOrphan(t *testing.T) {
	q, w, _, _ := newQueue(t)
	q.Fault = func(int, int32) error { return errors.New("lost") }
	renewed := rma.NoHandle
	q.Renew = func(h rma.Handle) { renewed, q.ops[h] = h, new(Op) }
	h := q.FetchAdd(w, 1, 0, 1)
	orphan := q.ops[h]
	orphan.orphan = 1
	q.end(h, 0, 9)
	if _, err := q.Value(h); err == nil || renewed != h || orphan.state != Done {
		t.Errorf("%v; operation %d was renewed, want %d", err, renewed, h)
	}
}

// What is a bug of the caller panics, and says what.
func TestQueueMisuse(t *testing.T) {
	for says, misuse := range map[string]func(q *Queue, w *Server, buf rma.Buf){
		"outside a window": func(q *Queue, w *Server, buf rma.Buf) { q.Get(buf, w, 0, 6) },
		"more than 2 operations": func(q *Queue, w *Server, buf rma.Buf) {
			for range 3 {
				q.Put(buf, w, 0, 0)
			}
		},
		"has closed": func(q *Queue, w *Server, buf rma.Buf) {
			_ = w.Close()
			q.Get(buf, w, 0, 0)
		},
		"not done": func(q *Queue, w *Server, buf rma.Buf) {
			_, _ = q.Value(q.Get(buf, w, 0, 0))
		},
		"not of this": func(q *Queue, w *Server, _ rma.Buf) {
			q.Get(make(rma.Buf, 1), w, 0, 0)
		},
		"to rank 2 of 2":  func(q *Queue, w *Server, buf rma.Buf) { q.Ship(buf, nil, w, 2) },
		"limited to 8192": func(q *Queue, w *Server, buf rma.Buf) { q.Ship(nil, buf, w, 0) },
		"is not rma.Server": func(q *Queue, w *Server, buf rma.Buf) {
			q.Ship(buf, nil, &w.Window, 0)
		},
	} {
		q, w, _, buf := newQueue(t)
		func() {
			defer func() {
				text := ""
				switch p := recover().(type) {
				case string:
					text = p
				case error:
					text = p.Error()
				}
				if !strings.Contains(text, says) {
					t.Errorf("the panic says %q, want %q", text, says)
				}
			}()
			misuse(q, w, buf)
		}()
	}
	for _, depth := range []int{0, MaxQueueDepth + 1} {
		if err := CheckDepth("test", depth); err == nil {
			t.Errorf("a depth of %d is accepted", depth)
		}
	}
}

// A window answers requests until it is closed.
func TestServer(t *testing.T) {
	_, w, _, _ := newQueue(t)
	answers := func() bool {
		_, served := w.handlers.Answer(w.Number(), 0, nil, nil)
		return served
	}
	handler := func(int, []uint64, []uint64) int { return 0 }
	if w.Serve(handler); !answers() {
		t.Error("a window with a handler does not answer")
	}
	if err := w.Close(); err != nil || answers() || !w.Closed() {
		t.Errorf("a closed window: %v, or it answers", err)
	}
	w.Serve(nil)
	_ = w.Close()
	defer func() {
		if recover() == nil {
			t.Error("a closed window is served again")
		}
	}()
	w.Serve(handler)
}
