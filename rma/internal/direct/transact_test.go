package direct

import (
	"sync"
	"testing"

	"github.com/farhash/farhash/rma"
)

// TestTransactionsTakeTurns: goroutines move what is in one word to another, and each sees that
// the sum stays. They go on for so long that they meet.
func TestTransactionsTakeTurns(t *testing.T) {
	const goroutines, transfers = 4, 20_000
	var lock sync.Mutex
	var all sync.WaitGroup
	memory := make([]uint64, 3)
	w := NewWindow(0, 1, memory, true, func() error { return nil })
	for range goroutines {
		all.Go(func() {
			q, err := NewTransactor(1, &lock)
			if err != nil {
				t.Error(err)
				return
			}
			changes := rma.Transaction{{Off: 0, New: 1}, {Off: 2, New: ^uint64(0)}}
			for done := 0; done < transfers; {
				h := q.(rma.Transactor).Transact(w, 0, changes)
				_ = q.Submit()
				agreed, _ := q.Value(h)
				first, second := changes[0].Seen, changes[1].Seen
				if first+second != 0 {
					t.Errorf("a transaction sees %d and %d", first, second)
					return
				}
				done += int(agreed)
				changes[0].Old, changes[1].Old = first, second
				changes[0].New, changes[1].New = first+1, second-1
			}
		})
	}
	all.Wait()
	if memory[0] != goroutines*transfers && !t.Failed() {
		t.Errorf("%d transfers leave %d", goroutines*transfers, memory)
	}
}
