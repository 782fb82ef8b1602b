package kv

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// Goroutines that take items and give them back never have the same one, and none is lost.
func TestItemsOfManyGoroutines(t *testing.T) {
	const units, goroutines, rounds = 1 << 5, 8, 2000
	job := local.Single()
	defer job.Close()
	m, err := New(context.Background(), job,
		Config{Slots: 8, MaxKey: 8, MaxValue: 8, Bytes: units * 8 * unitWords})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	a, b := m.arena, expectation{m: m}
	holders := make([]atomic.Int32, units)
	var group sync.WaitGroup
	for g := range int32(goroutines) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(g)))
			var held []item
			for range rounds {
				if it, ok, err := a.take(0, rng.Uint64()); err != nil {
					t.Error(err)
				} else if ok && !holders[it.number].CompareAndSwap(0, g+1) {
					t.Errorf("item %d has two holders", it.number)
				} else if ok {
					held = append(held, it)
				}
				for len(held) > 0 && rng.IntN(3) > 0 {
					it := last(&held)
					holders[it.number].Store(0)
					a.publish(it)
					how := rng.IntN(3) // marked, given back, or both: one of these takes effect
					if how > 0 {
						atomic.StoreUint64(b.mark(it), markOf(it))
					}
					if how < 2 {
						a.giveBack(it, rng.Uint64())
					}
				}
			}
			for _, it := range held {
				holders[it.number].Store(0)
				a.giveBack(it, rng.Uint64())
			}
		})
	}
	group.Wait()
	for range units {
		if _, ok, err := a.take(0, 0); err != nil || !ok {
			t.Fatalf("an item is lost: %v, %v", ok, err)
		}
	}
	if it, ok, _ := a.take(0, 0); ok {
		t.Errorf("item %d is handed out twice", it.number)
	}
}
