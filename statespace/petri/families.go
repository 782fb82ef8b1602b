package petri

import (
	"fmt"
	"slices"
	"strings"
)

// families are the nets that Family knows, by name.
var families = []struct {
	name string
	make func(n int) (*Net, error)
}{
	{"philosophers", philosophers},
	{"rwmutex", func(n int) (*Net, error) { return rwMutex(n, n) }},
	{"referendum", referendum},
	{"dekker", dekker},
	{"kanban", kanban},
	{"walker", walker},
}

// FamilyNames returns the names that [Family] knows.
func FamilyNames() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return names
}

// Family returns the net of size n of the named family, most of them of the Model Checking Contest:
//
//	philosophers  n dining philosophers, 2 to 100000: 3^n reachable states
//	rwmutex       a lock of n readers and n writers, 1 to 1000: 2^n + n
//	referendum    n voters, 1 to 100000: 3^n + 1
//	dekker        mutual exclusion of n processes, 1 to 500: 2^(n-1)*(n+2)
//	kanban        a production line with n cards in each of 4 cells, 1 to MaxTokens
//	walker        a molecule that walks on a ring of n anchorages, 2 to 10000
func Family(name string, n int) (*Net, error) {
	for _, f := range families {
		if f.name == name {
			return f.make(n)
		}
	}
	return nil, fmt.Errorf("there is no family %s of nets; choose one of %s",
		quote(name), strings.Join(FamilyNames(), ", "))
}

// philosophers returns the net of n dining philosophers, 2 to 100000. Each
// takes the fork on either side first and then the other one, and puts both
// back at once.
//
// The net has 5n places and 5n transitions, 3^n reachable states and
// 7n*3^(n-2) arcs. Two states are deadlocks: all hold their left fork, or all
// their right one. It is the Philosophers net of the Model Checking Contest.
func philosophers(n int) (*Net, error) {
	const maxSize = 100_000
	if err := checkSize("philosophers", n, 2, maxSize); err != nil {
		return nil, err
	}
	b := newBuilder(fmt.Sprintf("Philosophers-%d", n), 5*n, 5*n)
	think := b.places("Think", n, 1)
	fork := b.places("Fork", n, 1)
	catch1 := b.places("Catch1", n, 0)
	catch2 := b.places("Catch2", n, 0)
	eat := b.places("Eat", n, 0)
	for i := range n {
		left, right := fork+(i+n-1)%n, fork+i
		id := i + 1
		b.transition(fmt.Sprintf("FF1a_%d", id), []int{think + i, left}, []int{catch1 + i})
		b.transition(fmt.Sprintf("FF1b_%d", id), []int{think + i, right}, []int{catch2 + i})
		b.transition(fmt.Sprintf("FF2a_%d", id), []int{catch1 + i, right}, []int{eat + i})
		b.transition(fmt.Sprintf("FF2b_%d", id), []int{catch2 + i, left}, []int{eat + i})
		b.transition(fmt.Sprintf("End_%d", id), []int{eat + i}, []int{think + i, left, right})
	}
	return b.net, nil
}

// rwMutex returns the net of a lock shared by readers, 1 to 10000, and writers,
// 0 to 10000, with readers*writers at most 1000000. Each reader takes a ticket
// of its own; a writer takes the tickets of all readers at once.
//
// With r readers and w writers the net has 3r+2w places and 2r+2w transitions,
// 2^r + w reachable states and r*2^r + 2w arcs, and no deadlock. It is the
// RwMutex net of the Model Checking Contest.
func rwMutex(readers, writers int) (*Net, error) {
	const maxSize, maxArcs = 10_000, 1_000_000
	if err := checkSize("readers", readers, 1, maxSize); err != nil {
		return nil, err
	}
	if err := checkSize("writers", writers, 0, maxSize); err != nil {
		return nil, err
	}
	if readers*writers > maxArcs {
		return nil, fmt.Errorf("%d readers with %d writers are too many; "+
			"their product must be at most %d", readers, writers, maxArcs)
	}
	b := newBuilder(fmt.Sprintf("RwMutex-r%d-w%d", readers, writers),
		3*readers+2*writers, 2*readers+2*writers)
	tickets := b.places("Ticket", readers, 1)
	idleReader := b.places("IdleReader", readers, 1)
	reading := b.places("Reading", readers, 0)
	idleWriter := b.places("IdleWriter", writers, 1)
	writing := b.places("Writing", writers, 0)
	for i := range readers {
		free, busy := []int{tickets + i, idleReader + i}, []int{reading + i}
		b.transition(fmt.Sprintf("BeginRead_%d", i+1), free, busy)
		b.transition(fmt.Sprintf("EndRead_%d", i+1), busy, free)
	}
	for i := range writers {
		free, busy := append(span(tickets, readers), idleWriter+i), []int{writing + i}
		b.transition(fmt.Sprintf("BeginWrite_%d", i+1), free, busy)
		b.transition(fmt.Sprintf("EndWrite_%d", i+1), busy, free)
	}
	return b.net, nil
}

// referendum returns the net of a referendum among n voters, 1 to 100000. One
// transition calls all voters; then each votes yes or no.
//
// The net has 3n+1 places and 2n+1 transitions, 3^n + 1 reachable states and
// 2n*3^(n-1) + 1 arcs. The 2^n states in which all have voted are deadlocks.
// It is the Referendum net of the Model Checking Contest.
func referendum(n int) (*Net, error) {
	const maxSize = 100_000
	if err := checkSize("voters", n, 1, maxSize); err != nil {
		return nil, err
	}
	b := newBuilder(fmt.Sprintf("Referendum-%d", n), 3*n+1, 2*n+1)
	ready := b.place("Ready", 1)
	voting := b.places("Voting", n, 0)
	yes := b.places("VotedYes", n, 0)
	no := b.places("VotedNo", n, 0)
	b.transition("Start", []int{ready}, span(voting, n))
	for i := range n {
		b.transition(fmt.Sprintf("Yes_%d", i+1), []int{voting + i}, []int{yes + i})
		b.transition(fmt.Sprintf("No_%d", i+1), []int{voting + i}, []int{no + i})
	}
	return b.net, nil
}

// dekker returns the net of Dekker's mutual exclusion among n processes, 1 to
// 500. A process raises its flag to try, lowers it again on seeing another flag
// raised, and enters when it sees all others lowered.
//
// The net has 5n places and n^2 + 2n transitions, 2^(n-1)*(n+2) reachable
// states and n + n*2^(n-3)*(n^2 + 3n + 4) arcs, and no deadlock. It is the
// Dekker net of the Model Checking Contest.
func dekker(n int) (*Net, error) {
	const maxSize = 500 // the arcs grow with the square of n
	if err := checkSize("processes", n, 1, maxSize); err != nil {
		return nil, err
	}
	b := newBuilder(fmt.Sprintf("Dekker-%d", n), 5*n, n*n+2*n)
	idle := b.places("p0", n, 1)
	trying := b.places("p1", n, 0)
	inside := b.places("p3", n, 0)
	lowered := b.places("flag_0", n, 1)
	raised := b.places("flag_1", n, 0)
	for i := range n {
		b.transition(fmt.Sprintf("try_%d", i+1),
			[]int{idle + i, lowered + i}, []int{trying + i, raised + i})
		for j := range n {
			if j != i {
				b.transition(fmt.Sprintf("withdraw_%d_%d", i+1, j+1),
					[]int{trying + i, raised + i, raised + j},
					[]int{idle + i, lowered + i, raised + j})
			}
		}
		others := slices.Delete(span(lowered, n), i, i+1)
		b.transition(fmt.Sprintf("enter_%d", i+1),
			append(others, trying+i), append(slices.Clone(others), inside+i))
		b.transition(fmt.Sprintf("exit_%d", i+1),
			[]int{inside + i, raised + i}, []int{idle + i, lowered + i})
	}
	return b.net, nil
}

// checkSize refuses a size before it exhausts memory.
func checkSize(what string, n, minSize, maxSize int) error {
	if n < minSize || n > maxSize {
		return fmt.Errorf("the number of %s is %d; it must be %d to %d", what, n, minSize, maxSize)
	}
	return nil
}

// span returns the n indices from first.
func span(first, n int) []int {
	s := make([]int, n, n+1) // callers add one
	for i := range s {
		s[i] = first + i
	}
	return s
}

// builder makes nets. The weight of an arc is how often its place is named.
type builder struct {
	net *Net
}

func newBuilder(name string, places, transitions int) builder {
	return builder{&Net{
		Name:        name,
		Places:      make([]Place, 0, places),
		Transitions: make([]Transition, 0, transitions),
	}}
}

// place adds a place and returns its index.
func (b builder) place(id string, initial int64) int {
	b.net.Places = append(b.net.Places, Place{ID: id, Name: id, Initial: initial})
	return len(b.net.Places) - 1
}

// places adds n places, numbered from 1, and returns the index of the first.
func (b builder) places(id string, n int, initial int64) int {
	first := len(b.net.Places)
	for i := range n {
		b.place(fmt.Sprintf("%s_%d", id, i+1), initial)
	}
	return first
}

// transition adds a transition between places, which are in any order.
func (b builder) transition(id string, in, out []int) {
	b.net.Transitions = append(b.net.Transitions,
		Transition{ID: id, Name: id, In: arcsOf(in), Out: arcsOf(out)})
}

func arcsOf(places []int) []Arc {
	var arcs []Arc
	for _, p := range slices.Sorted(slices.Values(places)) {
		if last := len(arcs) - 1; last >= 0 && arcs[last].Place == p {
			arcs[last].Weight++
		} else {
			arcs = append(arcs, Arc{Place: p, Weight: 1})
		}
	}
	return arcs
}
