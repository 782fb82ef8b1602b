package set

import (
	"errors"
	"testing"
)

// A process that ends when it owns a run, and the counter is not over it yet, leaves the run to
// others.
func TestRunAtTheCounterIsInherited(t *testing.T) {
	path, cfg := named(t), BytesConfig{ElementBytes: 8}
	first, err := OpenBytes(path, cfg)
	must(t, err)
	a := first.arenas
	taken, err := a.counter.Load(t.Context(), 0, cellTaken)
	must(t, err)
	run := int(taken / a.run)
	won, err := a.shared.owners.CompareAndSwap(t.Context(), 0, run, 0, a.shared.mine(1))
	if must(t, err); !won {
		t.Fatal("the run at the counter has an owner")
	}
	a.shared.took = true
	must(t, first.Close())

	second, err := OpenBytes(path, BytesConfig{})
	must(t, err)
	_, err = second.FindOrPut(make([]byte, 8))
	must(t, err)
	owner, err := second.arenas.shared.owners.Load(t.Context(), 0, run)
	must(t, err)
	after, err := second.arenas.counter.Load(t.Context(), 0, cellTaken)
	must(t, err)
	if owner != second.arenas.shared.mine(1) || after != taken+a.run {
		t.Errorf("the run has owner %#x, not %#x, and %d slots are taken, not %d", owner,
			second.arenas.shared.mine(1), after, taken+a.run)
	}
	must(t, errors.Join(second.Check(t.Context()), second.Close()))
}
