package explore

import "errors"

// arcs are the arcs from the states of a log, as far as there is memory for them: from the first
// states on. Where all of them are, so are the states of the log that lead to one of it.
type arcs struct {
	to     *levelLog // successors, one state after the other: numbers, with the marks above them
	begins *levelLog // by state: where its successors begin
	room   uint64    // bytes that may still be taken
	full   bool      // nothing more is added

	marks    []uint64 // that arcs have, each once
	ordinals map[uint64]uint64

	tried        bool     // whether what follows was asked for; nil if it cannot be known
	before       []uint32 // states that lead to one, one state after the other
	beforeBegins []uint32 // by state: where they begin; the end follows

	outer    []uint64 // a bit for each state: it leads to one of another log
	expected []uint64 // in a sweep, the same: it is still visited
	queue    []uint32 // those that are visited again
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

// ordinal is where marks has some.
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

// reverse finds for each state of a log which states of it lead there, if all arcs from the log are
// known and there is memory.
func (a *arcs) reverse(log *levelLog) {
	most := uint64(0)
	for i := range log.n {
		most = max(most, log.task(i))
	}
	bytes := 4*(most+3+uint64(log.n+a.to.n)) + 9*uint64(log.n) // with the queue and bits
	if a.states() < log.n || bytes > a.room || uint64(max(a.to.n, log.n)) >= 1<<32-1 {
		return
	}
	places := make([]uint32, most+1) // by number, from 1 on
	for i := range log.n {
		places[log.task(i)] = uint32(i + 1)
	}
	place := func(k int) uint32 {
		if number := a.to.task(k) & (1<<numberBits - 1); number <= most {
			return places[number]
		}
		return 0
	}
	begins := make([]uint32, log.n+2) // begins[i+2] counts what leads to state i, then less by one
	for k := range a.to.n {
		if at := place(k); at > 0 {
			begins[at+1]++
		}
	}
	for i := range log.n {
		begins[i+2] += begins[i+1]
	}
	a.before, a.outer = make([]uint32, begins[log.n+1]), make([]uint64, log.n/64+1)
	for i := range log.n {
		begin, end := a.span(i)
		for k := begin; k < end; k++ {
			at := place(k)
			if at == 0 {
				a.outer[i/64] |= 1 << (i % 64)
				continue
			}
			a.before[begins[at]] = uint32(i)
			begins[at]++
		}
	}
	a.beforeBegins = begins
	a.expected = make([]uint64, log.n/64+1)
}

// expect begins a sweep that visits the states of a log, and is told so. If it repeats the one
// before, it need not visit those that lead to the log alone. It reports whether it visits states
// again, which is when it asks what is expected.
func (a *arcs) expect(log *levelLog, repeats bool) bool {
	if !a.tried {
		a.tried = true
		a.reverse(log)
	}
	for i := range a.expected {
		if a.expected[i] = ^uint64(0); repeats {
			a.expected[i] = a.outer[i]
		}
	}
	return a.expected != nil
}

// expects reports whether a state is to be visited.
func (a *arcs) expects(i int) bool { return a.expected[i/64]>>(i%64)&1 != 0 }

// visiting is told that a state is visited, or is not open.
func (a *arcs) visiting(i int) {
	if a.expected != nil {
		a.expected[i/64] &^= 1 << (i % 64)
	}
}

// changed has those states visited again that lead to one, unless that is still to come.
func (a *arcs) changed(i int) {
	if a.expected == nil {
		return
	}
	for _, at := range a.before[a.beforeBegins[i]:a.beforeBegins[i+1]] {
		if bit := uint64(1) << (at % 64); a.expected[at/64]&bit == 0 {
			a.expected[at/64] |= bit
			a.queue = append(a.queue, at)
		}
	}
}

// queued reports whether states are to be visited again.
func (a *arcs) queued() bool { return len(a.queue) > 0 }

// take takes up to most of them, last ones first, each once.
func (a *arcs) take(index []int, most int) []int {
	for ; len(a.queue) > 0 && len(index) < most; a.queue = a.queue[:len(a.queue)-1] {
		if i := int(a.queue[len(a.queue)-1]); a.expects(i) {
			a.visiting(i)
			index = append(index, i)
		}
	}
	return index
}

func (a *arcs) close() error {
	if a == nil {
		return nil
	}
	return errors.Join(a.to.close(), a.begins.close())
}
