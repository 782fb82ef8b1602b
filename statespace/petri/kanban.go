package petri

import (
	"fmt"
	"math"
)

// kanban returns the net of a production line of four cells with n cards each, 1 to
// MaxTokens. A part is made in cell 1, then in cells 2 and 3 at once, then in cell 4; in
// each it may have to be done again.
//
// The net has 16 places and 16 transitions. It has 160 reachable states for n = 1, 4600
// for 2, 58400 for 3, 454475 for 4, 2546432 (with 24460016 arcs) for 5, and no deadlock.
// It is the Kanban net of the Model Checking Contest.
func kanban(n int) (*Net, error) {
	const cells = 4
	if err := checkSize("kanban", n, 1, min(MaxTokens, math.MaxInt)); err != nil {
		return nil, err
	}
	b := newBuilder(fmt.Sprintf("Kanban-%d", n), 4*cells, 4*cells)
	cards := b.places("P", cells, int64(n))
	work := b.places("Pm", cells, 0)
	back := b.places("Pback", cells, 0)
	done := b.places("Pout", cells, 0)
	for i := range cells {
		id := i + 1
		b.transition(fmt.Sprintf("tredo%d", id), []int{work + i}, []int{back + i})
		b.transition(fmt.Sprintf("tback%d", id), []int{back + i}, []int{work + i})
		b.transition(fmt.Sprintf("tok%d", id), []int{work + i}, []int{done + i})
	}
	b.transition("tin1", []int{cards}, []int{work})
	b.transition("tsynch1_23", []int{done, cards + 1, cards + 2},
		[]int{cards, work + 1, work + 2})
	b.transition("tsynch23_4", []int{done + 1, done + 2, cards + 3},
		[]int{cards + 1, cards + 2, work + 3})
	b.transition("tout4", []int{done + 3}, []int{cards + 3})
	return b.net, nil
}
