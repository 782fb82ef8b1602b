package direct

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// newServed returns the windows of two ranks that answer requests.
func newServed() (windows [2]*ServedWindow) {
	handlers := make([]remote.Handlers, 2)
	flat := make([]uint64, 4)
	for rank := range windows {
		w := NewWindow(rank, 2, flat, false, func() error { return nil })
		windows[rank] = Served(w, handlers, 0)
	}
	return windows
}

// ask has rank 0 ask rank 1.
func ask(t *testing.T, w rma.Window, request uint64) (words uint64, answer rma.Buf, err error) {
	t.Helper()
	q, err := NewCarrier(1)
	if err != nil {
		t.Fatal(err)
	}
	answer = make(rma.Buf, 2)
	h := q.Ship(rma.Buf{request}, answer, w, 1)
	if err := q.Submit(); err != nil {
		t.Fatal(err)
	}
	words, err = q.Value(h)
	return words, answer, err
}

// A request is answered by the handler of the rank that is asked, which learns who asks.
func TestShip(t *testing.T) {
	windows := newServed()
	windows[0].Serve(func(int, []uint64, []uint64) int { panic("rank 0 was not asked") })
	windows[1].Serve(func(from int, request, answer []uint64) int {
		answer[0] = request[0] + uint64(from)
		return 1
	})
	words, answer, err := ask(t, windows[0], 10)
	if err != nil || words != 1 || answer[0] != 10 {
		t.Errorf("%d words, %v, %v; want 1 word, 10", words, answer, err)
	}
	windows[1].Serve(nil)
	if _, _, err := ask(t, windows[0], 10); !errors.Is(err, rma.ErrNotServed) {
		t.Errorf("without a handler: %v", err)
	}
}
