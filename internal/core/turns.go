package core

import "github.com/farhash/farhash/internal/invariant"

// turns has operations of a batch that conflict wait for each other, where many are in flight at
// once: writes of one key, of which one wins the compare-and-swap and the messages of the others
// are wasted, or operations that need one lock. The step machine that runs one of them runs those
// that wait for it as well, in the order in which they came. Hashes say which conflict, by their
// low bits: a few wait that need not. It is for one batch at a time.
//
// Invariant: when all operations have been run no machine has a turn.
type turns struct {
	holders []int32 // by a part of the hash: the machine that has the turn, plus 1
	held    []int   // by machine: which of these, -1 for none
	first   []int   // by machine: the operation that waits, -1 for none
	last    []int
	behind  []int // by operation: the one that waits behind it
}

// perMachine is the number of parts of the hash for each machine: so many that few operations wait
// without need.
const perMachine = 16

// newTurns is for machines with the numbers 0 to machines-1.
func newTurns(machines int) turns {
	size := 1
	for size < perMachine*machines {
		size *= 2
	}
	t := turns{holders: make([]int32, size)}
	for range machines {
		t.held, t.first, t.last = append(t.held, -1), append(t.first, -1), append(t.last, -1)
	}
	return t
}

// take gives a machine that has no turn the one for an operation of this hash, or has the operation
// wait for the machine that has it.
func (t *turns) take(machine, operation int, hash uint64) bool {
	invariant.Check(t.held[machine] < 0, "machine %d has a turn and takes another", machine)
	at := int(hash) & (len(t.holders) - 1)
	if holder := int(t.holders[at]) - 1; holder >= 0 {
		t.behind = append(t.behind, make([]int, max(0, operation+1-len(t.behind)))...)
		t.behind[operation] = -1
		if t.first[holder] < 0 {
			t.first[holder] = operation
		} else {
			t.behind[t.last[holder]] = operation
		}
		t.last[holder] = operation
		return false
	}
	t.holders[at] = int32(machine) + 1
	t.held[machine] = at
	return true
}

// next is the operation that has waited longest for this machine, whose own is done. Where none
// has it is -1, and the turn is given up.
func (t *turns) next(machine int) (operation int) {
	if t.held[machine] < 0 {
		return -1
	}
	if operation = t.first[machine]; operation >= 0 {
		t.first[machine] = t.behind[operation]
		return operation
	}
	t.holders[t.held[machine]] = 0
	t.held[machine] = -1
	return -1
}
