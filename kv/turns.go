package kv

// turns has the writes of a batch that are about the same key wait for each other: of those that
// are made at the same time one wins the compare-and-swap, and the others have made their
// requests in vain. The machine that makes one of them makes those that wait for it as well.
// Where many keys are written at once two that are not the same may be taken for it.
type turns struct {
	holders []int32 // by a part of the hash: the machine that writes such a key, plus 1
	held    []int   // by machine: which of these, -1 for none
	first   []int   // by machine: the call that waits, -1 for none
	last    []int
	behind  []int // by call: the one that waits behind it
}

// turnsPerMachine keeps machines that write other keys apart.
const turnsPerMachine = 16

func newTurns(machines int) turns {
	size := 1
	for size < turnsPerMachine*machines {
		size *= 2
	}
	t := turns{holders: make([]int32, size)}
	for range machines {
		t.held, t.first, t.last = append(t.held, -1), append(t.first, -1), append(t.last, -1)
	}
	return t
}

// begin makes room for calls with numbers less than n.
func (t *turns) begin(n int) {
	if len(t.behind) < n {
		t.behind = make([]int, n)
	}
}

// take gives a machine the turn for a call that writes a key of this hash, or has the call wait
// for the machine that has it.
func (t *turns) take(machine, call int, hash uint64) bool {
	at := int(hash) & (len(t.holders) - 1)
	if holder := int(t.holders[at]) - 1; holder >= 0 {
		t.behind[call] = -1
		if t.first[holder] < 0 {
			t.first[holder] = call
		} else {
			t.behind[t.last[holder]] = call
		}
		t.last[holder] = call
		return false
	}
	t.holders[at] = int32(machine) + 1
	t.held[machine] = at
	return true
}

// next is the call that has waited longest for this machine, whose own is done, and -1 where none
// has: then another machine may write such a key.
func (t *turns) next(machine int) (call int) {
	if t.held[machine] < 0 {
		return -1
	}
	if call = t.first[machine]; call >= 0 {
		t.first[machine] = t.behind[call]
		return call
	}
	t.holders[t.held[machine]] = 0
	t.held[machine] = -1
	return -1
}
