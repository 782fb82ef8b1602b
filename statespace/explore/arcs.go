package explore

import (
	"errors"
	"slices"
)

// arcs remembers the arcs from the states of a log: from the first states on, as long as there is
// memory. If it has the arcs of all states, it can find the states of the log that lead to a state.
type arcs struct {
	to     *levelLog // the successors of one state after the other; see numberBits
	begins *levelLog // where the successors of each state begin in to
	room   uint64    // bytes that arcs may still take
	full   bool      // nothing more is added

	marks    []uint64          // the marks that arcs have, each once
	ordinals map[uint64]uint64 // where marks has each of them

	// A state has a place if it is in the log, an arc leads to it, or it is an initial state. A
	// state of the log has the same place here and there; the others follow.
	places       []uint32 // the place of each number, plus 1; 0: it has none
	known        int      // how many states have places
	before       []uint32 // the states of the log that lead to each place; nil if not known
	beforeBegins []uint32 // where those of each place begin in before; the last entry is the end
}

// An arc is a number below 1<<numberBits, and above it the ordinal of its marks.
const (
	numberBits = 48
	maxMarks   = 1 << (63 - numberBits)
)

func newArcs(room uint64) *arcs {
	return &arcs{to: newLevelLog(), begins: newLevelLog(), room: room,
		ordinals: map[uint64]uint64{}}
}

// states is how many states have their arcs here: the first ones of the log.
func (a *arcs) states() int { return a.begins.n }

// add adds the arcs from state i of the log, if it is the next one. Marks may be nil.
func (a *arcs) add(i int, numbers, marks []uint64) {
	if a.full || i != a.states() {
		return
	}
	bytes, all := 8*uint64(1+len(numbers)), uint64(0)
	for _, number := range numbers {
		all |= number
	}
	if a.full = bytes > a.room || all>>numberBits != 0 ||
		len(a.marks)+len(marks) > maxMarks; a.full {
		return
	}
	a.room -= bytes
	a.begins.add(uint64(a.to.n))
	for k, number := range numbers {
		if marks != nil {
			number |= a.ordinal(marks[k]) << numberBits
		}
		a.to.add(number)
	}
}

// ordinal says where marks has the marks of an arc.
func (a *arcs) ordinal(marks uint64) uint64 {
	ordinal, known := a.ordinals[marks]
	if !known {
		ordinal = uint64(len(a.marks))
		a.marks = append(a.marks, marks)
		a.ordinals[marks] = ordinal
	}
	return ordinal
}

// from appends the successors of state i of the log, and their marks if there are any.
func (a *arcs) from(i int, numbers, marks []uint64) (_, _ []uint64) {
	begin, end := a.span(i)
	for begin < end {
		chunk := a.to.chunks[begin/logChunk][begin%logChunk:]
		chunk = chunk[:min(len(chunk), end-begin)]
		begin += len(chunk)
		for _, arc := range chunk {
			numbers = append(numbers, arc&(1<<numberBits-1))
			if len(a.marks) > 0 {
				marks = append(marks, a.marks[arc>>numberBits])
			}
		}
	}
	return numbers, marks
}

// span is where the arcs of a state are.
func (a *arcs) span(i int) (begin, end int) {
	if end = a.to.n; i+1 < a.states() {
		end = int(a.begins.task(i + 1))
	}
	return int(a.begins.task(i)), end
}

// reverse finds for each place the states of the log that lead there, if the arcs of all states are
// known and there is memory.
func (a *arcs) reverse(log *levelLog, first []uint64) {
	most := uint64(a.to.n + log.n + len(first)) // places
	if a.states() < log.n || most >= 1<<31 || !a.findPlaces(log, first) {
		return
	}
	bytes := 4*uint64(a.known+2+a.to.n) + 8*uint64(log.n) // with the queue of a worklist
	if bytes > a.room {
		return
	}
	a.room -= bytes
	begins := make([]uint32, a.known+2) // begins[i+2] counts what leads to place i, then less
	for k := range a.to.n {
		begins[a.place(k)+1]++
	}
	for i := range a.known {
		begins[i+2] += begins[i+1]
	}
	a.before = make([]uint32, a.to.n)
	for i := range log.n {
		begin, end := a.span(i)
		for k := begin; k < end; k++ {
			at := &begins[a.place(k)]
			a.before[*at] = uint32(i)
			*at++
		}
	}
	a.beforeBegins = begins
}

// leading has the states of the log that lead to one, by its place.
func (a *arcs) leading(place int) []uint32 {
	return a.before[a.beforeBegins[place]:a.beforeBegins[place+1]]
}

// findPlaces gives states their places, and reports whether there is memory for them.
func (a *arcs) findPlaces(log *levelLog, first []uint64) bool {
	most := slices.Max(first)
	for i := range log.n {
		most = max(most, log.task(i))
	}
	for k := range a.to.n {
		most = max(most, a.number(k))
	}
	bytes := 4 * (most + 1)
	if bytes > a.room {
		return false
	}
	a.room -= bytes
	a.places, a.known = make([]uint32, most+1), log.n
	for i := range log.n {
		a.places[log.task(i)] = uint32(i + 1)
	}
	give := func(number uint64) {
		if at := &a.places[number]; *at == 0 {
			a.known++
			*at = uint32(a.known)
		}
	}
	for k := range a.to.n {
		give(a.number(k))
	}
	for _, number := range first {
		give(number)
	}
	return true
}

// number is the number of the state that an arc leads to, and place is its place plus 1.
func (a *arcs) number(k int) uint64 { return a.to.task(k) & (1<<numberBits - 1) }
func (a *arcs) place(k int) uint32  { return a.places[a.number(k)] }

// placeOf is the place of a number, negative if it has none.
func (a *arcs) placeOf(number uint64) int {
	if number >= uint64(len(a.places)) {
		return -1
	}
	return int(a.places[number]) - 1
}

func (a *arcs) close() error {
	if a == nil {
		return nil
	}
	return errors.Join(a.to.close(), a.begins.close())
}
